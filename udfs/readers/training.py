"""Training of a reader: one process, one device, the same weights from the same seed and number of threads.

Every epoch draws from generators seeded with the seed and its number, so a run that is resumed after an
epoch goes on as if it had not been interrupted, and nothing but weights and optimizer need be kept.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_

from udfs.answer_match import best_over_answers, exact_match, f1
from udfs.readers.configuration import RUN_ONLY, SCORING_WINDOW, TrainingError, TrainingOptions
from udfs.readers.examples import ReaderExample
from udfs.readers.features import EncodedExample, Encoder, Ids, Unencodable, collate, shuffled_batches, word_dropout
from udfs.readers.prediction import predict
from udfs.readers.registry import ReaderConfig, make_network
from udfs.readers.running import seeded, threads
from udfs.readers.span_scores import span_loss
from udfs.readers.trained_reader import EpochReport, TrainedReader
from udfs.readers.vocabulary import Vocabulary, build_vocabulary
from udfs.readers.word_vectors import Vectors, random_vectors

LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class _TrainingSet:
    examples: list[EncodedExample]
    left_out: dict[str, int]


def train_reader(
    train: Iterable[ReaderExample],
    held_out: Iterable[ReaderExample],
    config: ReaderConfig,
    options: TrainingOptions,
    *,
    vocabulary: Vocabulary | None = None,
    vectors: Vectors | None = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
    on_checkpoint: Callable[[TrainedReader], None] | None = None,
    resume: TrainedReader | None = None,
) -> TrainedReader:
    """Trains a reader, and gives the one of the last epoch in evaluation mode.

    An example is trained on the first of its answers, in the order given, that begins and ends where
    tokens do. Left out and counted: ``no_answer_span`` (there is none), ``too_long``, ``empty_passage``,
    ``empty_query``.

    Args:
        train: iterated once for the vocabulary and once to be encoded (only the encoded form is kept): a
            list, or an object that reads anew each time. Its order must be the same at each time.
        held_out: scored after every epoch; may be empty. As ``train``, a list or what reads anew each time.
        vocabulary: None builds it from ``train``, or takes that of ``resume``.
        vectors: (words, word_size) for ``vocabulary``, which must be given too; None draws them.
        on_epoch: called after each epoch.
        on_checkpoint: called after each epoch with the reader so far, to be saved within the call: its weights
            go on changing afterwards.
        resume: a reader loaded with its optimizer. Training goes on after its epochs, with its weights.

    Raises:
        TrainingError: nothing to train on; ``resume`` does not fit; the loss is not a number.
    """
    for given, what in ((train, "training"), (held_out, "held-out")):
        if iter(given) is given:
            raise TrainingError(f"the {what} examples are an iterator: give what can be iterated twice, as a list")
    vocabulary = _vocabulary(train, config, options, vocabulary, vectors, resume)
    examples = _encode(train, vocabulary, options)
    with threads(options.threads):
        reader = resume or _new_reader(config, options, vocabulary, vectors)
        reader = replace(reader, options=options, trained_on=len(examples.examples), left_out=examples.left_out)
        _check_same_examples(reader, resume)
        run = _Run(reader, examples.examples)
        for epoch in range(reader.epoch + 1, options.epochs + 1):
            reader = run.epoch(reader, epoch, held_out)
            if on_epoch:
                on_epoch(reader.history[-1])
            if on_checkpoint:
                on_checkpoint(reader)
    reader.network.eval()
    return reader


class _Run:
    """Network and optimizer of one run; they change in place."""

    def __init__(self, reader: TrainedReader, examples: Sequence[EncodedExample]) -> None:
        self.options = reader.options
        self.device = torch.device(self.options.device)
        self.network = reader.network.to(self.device)
        self.examples = examples
        self.parameters = [p for p in self.network.parameters() if p.requires_grad]
        self.optimizer = torch.optim.Adamax(self.parameters, lr=self.options.learning_rate)
        if reader.optimizer is not None:
            self.optimizer.load_state_dict(dict(reader.optimizer))

    def epoch(self, reader: TrainedReader, epoch: int, held_out: Iterable[ReaderExample]) -> TrainedReader:
        began = time.perf_counter()
        rate = learning_rate(self.options, epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        loss = self._train(epoch)
        trained = time.perf_counter()
        scores = held_out_scores(reader, held_out)
        report = EpochReport(
            epoch=epoch,
            loss=loss,
            learning_rate=rate,
            exact_match=scores[0] if scores else None,
            f1=scores[1] if scores else None,
            examples=len(self.examples),
            examples_per_second=len(self.examples) / (trained - began),
            seconds=time.perf_counter() - began,
        )
        LOGGER.info("epoch %d of %d: %s", epoch, self.options.epochs, report)
        return replace(reader, epoch=epoch, history=(*reader.history, report), optimizer=self.optimizer.state_dict())

    def _train(self, epoch: int) -> float:
        """One pass over the examples in a new order; the mean loss."""
        self.network.train()
        rng = np.random.default_rng([self.options.seed, epoch])
        hide = word_dropout(self.options.word_dropout, rng)
        total = 0.0
        with seeded(_epoch_seed(self.options.seed, epoch), self.device):
            for rows in shuffled_batches(len(self.examples), self.options.batch_size, rng):
                total += len(rows) * self._step([self.examples[i] for i in rows], hide)
        if not np.isfinite(total):
            raise TrainingError(
                f"epoch {epoch}: the loss is {total}; lower the learning rate, or check the word vectors' size"
            )
        return total / len(self.examples)

    def _step(self, examples: list[EncodedExample], hide: Callable[[Ids], Ids]) -> float:
        """One update; the mean loss of its batch."""
        batch = collate(examples, self.device, hide=hide)
        assert batch.targets is not None  # only examples with targets are trained on
        loss = span_loss(self.network(batch), batch.targets)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(self.parameters, self.options.clip)
        self.optimizer.step()
        return loss.item()


def learning_rate(options: TrainingOptions, epoch: int) -> float:
    """The rate of an epoch (1 for the first)."""
    return options.learning_rate * options.decay_factor ** sum(epoch > done for done in options.decay_after)


def held_out_scores(reader: TrainedReader, held_out: Iterable[ReaderExample]) -> tuple[float, float] | None:
    """Exact match and F1, as fractions, over the examples with answers; None without such examples.

    An example that can't be read scores 0. A window of examples is held in memory at a time.
    """
    count, em, overlap = 0, 0.0, 0.0
    for window in _batched((e for e in held_out if e.answers), SCORING_WINDOW):
        predictions = predict(reader, window, batch_tokens=reader.options.held_out_batch_tokens)
        for example, prediction in zip(window, predictions, strict=True):
            count += 1
            em += best_over_answers(exact_match, prediction.text or "", example.answer_texts)
            overlap += best_over_answers(f1, prediction.text or "", example.answer_texts)
    return (em / count, overlap / count) if count else None


def _batched(examples: Iterable[ReaderExample], size: int) -> Iterator[list[ReaderExample]]:
    examples = iter(examples)
    while window := list(islice(examples, size)):
        yield window


def _encode(train: Iterable[ReaderExample], vocabulary: Vocabulary, options: TrainingOptions) -> _TrainingSet:
    encoder = Encoder(vocabulary)
    examples: list[EncodedExample] = []
    left_out: Counter[str] = Counter()
    for example in train:
        encoded = encoder.encode(example)
        if isinstance(encoded, Unencodable):
            left_out[encoded.reason] += 1
        elif len(encoded.matches) > options.max_passage_tokens:
            left_out["too_long"] += 1
        elif encoded.target is None:
            left_out["no_answer_span"] += 1
        else:
            examples.append(encoded)
    LOGGER.info("%d examples to train on; left out: %s", len(examples), dict(left_out))
    if not examples:
        raise TrainingError(f"no example to train on; left out: {dict(left_out)}")
    return _TrainingSet(examples, dict(sorted(left_out.items())))


def _new_reader(
    config: ReaderConfig, options: TrainingOptions, vocabulary: Vocabulary, vectors: Vectors | None
) -> TrainedReader:
    if vectors is None:
        vectors = random_vectors(vocabulary, config.word_size, seed=options.seed)
    with seeded(options.seed, torch.device("cpu")):  # drawn on the CPU: the same weights on every device
        network = make_network(config, len(vocabulary.words), len(vocabulary.pos), len(vocabulary.ner))
    network.word_table.set_vectors(torch.from_numpy(vectors))
    return TrainedReader(network, config, options, vocabulary, epoch=0)


def _vocabulary(
    train: Iterable[ReaderExample],
    config: ReaderConfig,
    options: TrainingOptions,
    vocabulary: Vocabulary | None,
    vectors: Vectors | None,
    resume: TrainedReader | None,
) -> Vocabulary:
    """The vocabulary of the reader to resume, else the given one, else a new one."""
    if resume is not None:
        _check_same_run(resume, config, options, vocabulary)
        return resume.vocabulary
    if vocabulary is not None:
        return vocabulary
    if vectors is not None:
        raise TrainingError("word vectors without a vocabulary: give the vocabulary whose rows they are")
    return build_vocabulary(
        train, min_count=options.min_count, max_words=options.max_words, lower_case=options.lower_case
    )


def _check_same_run(
    resume: TrainedReader, config: ReaderConfig, options: TrainingOptions, vocabulary: Vocabulary | None
) -> None:
    if resume.optimizer is None:
        raise TrainingError("the reader to resume has no optimizer state: load it with resume=True")
    if resume.config != config:
        raise TrainingError(f"the reader to resume has {resume.config}, the run {config}: start anew")
    if not trains_alike(resume.options, options):
        raise TrainingError(
            f"the reader to resume was trained with {resume.options}, the run has {options}: start anew"
        )
    if vocabulary is not None and vocabulary != resume.vocabulary:
        raise TrainingError("the reader to resume has another vocabulary: start anew, or give none")


def trains_alike(begun: TrainingOptions, options: TrainingOptions) -> bool:
    """Whether a run begun with some options can be gone on with by others: for more epochs, on another device, ..."""
    return replace(begun, **{name: getattr(options, name) for name in ("epochs", *RUN_ONLY)}) == options


def _check_same_examples(reader: TrainedReader, resume: TrainedReader | None) -> None:
    if resume is not None and (resume.trained_on, resume.left_out) != (reader.trained_on, reader.left_out):
        raise TrainingError(
            f"the reader to resume was trained on {resume.trained_on} examples, these are {reader.trained_on}: "
            "give the same, in the same order, or start anew"
        )


def _epoch_seed(seed: int, epoch: int) -> int:
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> 1)
