"""Fine-tunes the named entity recogniser of a spaCy pipeline; everything else in the pipeline stays as it is.

spaCy's training loop, optimizer and batches, on a pipeline that is loaded and not built anew: so tokenizer,
vocabulary and norms are the base's to the last bit, which a pipeline from a config with sourced components
has only where the same lookup tables are installed.
"""

import logging
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from udfs.annotators.ner_examples import NerText, names_of
from udfs.annotators.spacy_pipelines import PipelineError, hash_of_files, locate, pipeline_identity, use_device
from udfs.annotators.training_options import NerTrainingOptions

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.pipeline.ner import EntityRecognizer
    from spacy.training import Example

LOGGER = logging.getLogger(__name__)

NER = "ner"
# So many texts are held to be drawn from: neighbours come from one article.
_SHUFFLED_TEXTS = 10_000

Texts = Iterable[NerText]


@dataclass(frozen=True)
class Scores:
    """Of the names found in held-out texts, whatever their types: exact spans, 0 to 1."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Evaluation:
    """One evaluation. ``loss``: of a word, mean over the steps since the evaluation before."""

    step: int
    loss: float
    scores: Scores


@dataclass(frozen=True)
class TrainedNer:
    """``best`` is the evaluation whose network was saved; ``base`` are the scores before training.

    ``digest``: hash of the pipeline's files, equal for equal training.
    """

    digest: str
    base: Scores
    best: Evaluation
    curve: tuple[Evaluation, ...]


def train_ner(
    train: Texts,
    held_out: Texts,
    options: NerTrainingOptions,
    folder: Path,
    on_evaluation: Callable[[Evaluation], None] = lambda _: None,
) -> TrainedNer:
    """Trains, and saves to ``folder`` the pipeline with the network of the best evaluation.

    The same texts and options give the same files, on one kind of machine.

    Args:
        train: read anew for each epoch; in the same order each time, as its texts are shuffled here.
        held_out: read anew for each evaluation.

    Raises:
        PipelineError: the base pipeline is not installed, or has no named entity recogniser.
        ValueError: no text to train on or to evaluate with; the device is absent.
    """
    from thinc.api import fix_random_seed

    use_device(options.device)
    fix_random_seed(options.seed)
    nlp = _load_alone(options.base_model)
    base = score_names(nlp, held_out)
    for label in _new_labels(nlp, train):
        _ner_of(nlp).add_label(label)
    # spaCy masks new labels until training meets them, and saves no mask: what is evaluated would not be what is saved.
    _ner_of(nlp).model.attrs["unseen_classes"].clear()
    curve: list[Evaluation] = []
    best: Evaluation | None = None
    weights = b""
    for evaluation, is_best in _evaluations(nlp, train, held_out, options):
        if is_best:
            best, weights = evaluation, _ner_of(nlp).to_bytes(exclude=["vocab"])
        curve.append(evaluation)
        LOGGER.info("step %d: %s (base: %s)", evaluation.step, evaluation, base)
        on_evaluation(evaluation)
    assert best is not None  # step 0 is always evaluated
    _save(options.base_model, weights, _ner_of(nlp).labels, best.scores, folder)
    return TrainedNer(hash_of_files(folder), base, best, tuple(curve))


def score_names(nlp: "Language", texts: Texts) -> Scores:
    """Precision, recall and F1 of a pipeline's names, as the annotator takes them, before linking.

    Raises:
        ValueError: the texts name nothing.
    """
    found = right = wanted = 0
    unread: deque[NerText] = deque()

    def read() -> Iterator[str]:
        for text in texts:
            unread.append(text)
            yield text.text

    with nlp.memory_zone():
        for doc in nlp.pipe(read()):
            names = {(m.start, m.end) for m in names_of(doc)}
            gold = unread.popleft().names()
            found, wanted, right = found + len(names), wanted + len(gold), right + len(names & gold)
    if not wanted:
        raise ValueError("the held-out texts name nothing: there is nothing to evaluate with")
    precision = right / found if found else 0.0
    recall = right / wanted
    return Scores(precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0)


def _evaluations(
    nlp: "Language", train: Texts, held_out: Texts, options: NerTrainingOptions
) -> Iterator[tuple[Evaluation, bool]]:
    """Trains; each evaluation as it is made, with the averaged weights in place, and whether it is the best so far."""
    from spacy.training.loop import create_train_batches, train_while_improving

    training = _training_config(options)
    optimizer = training["optimizer"]

    def evaluate() -> tuple[float, Scores]:
        scores = score_names(nlp, held_out)
        return scores.f1, scores

    steps = train_while_improving(
        nlp,
        optimizer,
        create_train_batches(nlp, _Corpus(train, options.seed), training["batcher"], max_epochs=-1),
        evaluate,
        dropout=options.dropout,
        eval_frequency=options.eval_frequency,
        accumulate_gradient=1,
        patience=options.patience,
        max_steps=options.max_steps,
        exclude=[],
        annotating_components=[],
        before_update=None,
    )
    words = 0
    for _, info, is_best in steps:
        if is_best is None:
            continue
        loss = info["losses"][NER] / max(1, info["words"] - words)
        words = info["words"]
        with nlp.use_params(optimizer.averages):
            yield Evaluation(info["step"], float(loss), info["other_scores"]), is_best


def _training_config(options: NerTrainingOptions) -> dict[str, Any]:
    from spacy.util import registry

    config = {
        "optimizer": {
            "@optimizers": "Adam.v1",
            "learn_rate": options.learning_rate,
            "L2": 0.01,
            "L2_is_weight_decay": True,
            "grad_clip": 1.0,
            "use_averages": True,
        },
        "batcher": {
            "@batchers": "spacy.batch_by_words.v1",
            "size": options.batch_words,
            "tolerance": 0.2,
            "discard_oversize": False,
        },
    }
    resolved: dict[str, Any] = registry.resolve(config)
    return resolved


class _Corpus:
    """Training texts as spaCy takes them: called once an epoch, each time in another order."""

    def __init__(self, texts: Texts, seed: int) -> None:
        self._texts, self._seed, self._epoch = texts, seed, 0

    def __call__(self, nlp: "Language") -> Iterator["Example"]:
        self._epoch += 1
        for text in shuffled(self._texts, random.Random(f"{self._seed} {self._epoch}"), _SHUFFLED_TEXTS):
            if text.text.strip():
                yield example_of(nlp, text)


def shuffled(texts: Texts, rng: random.Random, held: int) -> Iterator[NerText]:
    """The texts in another order, while at most ``held`` of them are in memory."""
    pool: list[NerText] = []
    for text in texts:
        if len(pool) < held:
            pool.append(text)
            continue
        at = rng.randrange(held)
        yield pool[at]
        pool[at] = text
    rng.shuffle(pool)
    yield from pool


def example_of(nlp: "Language", text: NerText) -> "Example":
    """A text with its labels; the tokens of unaligned mentions are marked as unknown."""
    from spacy.training import Example

    reference = nlp.make_doc(text.text)
    labels = [span for s, e, label in text.labels if (span := reference.char_span(s, e, label=label)) is not None]
    if len(labels) < len(text.labels):
        raise ValueError(f"labels that don't fit the tokens of {text.text[:40]!r}: made with another pipeline")
    covered = {t.i for span in labels for t in span}
    unknown = [reference.char_span(s, e, alignment_mode="expand") for s, e in text.unaligned]
    tokens = sorted({t.i for span in unknown if span is not None for t in span} - covered)
    reference.set_ents(labels, missing=[reference[i : i + 1] for i in tokens])
    return Example(nlp.make_doc(text.text), reference)


def _load_alone(base_model: str) -> "Language":
    """The base pipeline with nothing but its named entity recogniser."""
    nlp = _load_independent(base_model)
    for name in nlp.component_names:
        if name != NER:
            nlp.remove_pipe(name)
    return nlp


def _load_independent(base_model: str) -> "Language":
    """The base pipeline, whose named entity recogniser shares no layer with other components.

    Where it listens to a component that others listen to, it gets a copy of that: training it must not
    change what the others find.
    """
    import spacy

    nlp = spacy.load(locate(base_model))
    if NER not in nlp.pipe_names:
        raise PipelineError(
            f"the pipeline {base_model!r} has no component {NER!r} to train: it has {', '.join(nlp.pipe_names)}; give "
            "one that has"
        )
    for name, component in nlp.pipeline:
        if NER in getattr(component, "listening_components", ()):
            nlp.replace_listeners(name, NER, _listeners(nlp.get_pipe_config(NER)["model"], "model"))
    return nlp


def _listeners(config: dict[str, Any], path: str) -> list[str]:
    if "Listener" in str(config.get("@architectures", "")):
        return [path]
    inner = [_listeners(value, f"{path}.{key}") for key, value in config.items() if isinstance(value, dict)]
    return [found for each in inner for found in each]


def _ner_of(nlp: "Language") -> "EntityRecognizer":
    ner: EntityRecognizer = nlp.get_pipe(NER)  # type: ignore[assignment]
    return ner


def _new_labels(nlp: "Language", texts: Texts) -> list[str]:
    wanted = {label.label for text in texts for label in text.labels}
    if not wanted:
        raise ValueError("the texts to train on name nothing")
    return sorted(wanted - set(_ner_of(nlp).labels))


def _save(base_model: str, weights: bytes, labels: Iterable[str], scores: Scores, folder: Path) -> None:
    """The base pipeline as it is installed, but for the network: nothing of the training texts is in the files."""
    nlp = _load_independent(base_model)
    for label in labels:
        if label not in _ner_of(nlp).labels:
            _ner_of(nlp).add_label(label)
    _ner_of(nlp).from_bytes(weights, exclude=["vocab"])
    performance = {k: v for k, v in nlp.meta.get("performance", {}).items() if not k.startswith(("ents_", "ner_"))}
    nlp.meta["performance"] = {
        **performance,
        "names_p": scores.precision,
        "names_r": scores.recall,
        "names_f": scores.f1,
    }
    name, version, _ = pipeline_identity(base_model)
    nlp.meta["description"] = f"{name} {version} with names fine-tuned on stand-off mentions"
    nlp.to_disk(folder)
