"""Predictions of a trained reader: the best span of each query's passage."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from udfs.readers.examples import ReaderExample
from udfs.readers.features import EncodedExample, Encoder, Unencodable, collate, length_batches
from udfs.readers.layers import ReaderNetwork
from udfs.readers.running import threads as running_threads
from udfs.readers.span_scores import BestSpans, best_spans
from udfs.readers.trained_reader import TrainedReader
from udfs.spans import Span

LOGGER = logging.getLogger(__name__)
BATCH_TOKENS = 8192
"""Padded passage tokens in a batch; its attention takes about 16 bytes x ``BATCH_TOKENS`` x the longest passage."""


@dataclass(frozen=True)
class Prediction:
    """A query's answer, a half-open span of characters in its passage text; with ``error`` there is none.

    ``score`` ranks spans of one query; it is no probability: long spans are penalised. ``candidate`` is the answer
    where only the passage's entities may be: the best of ``ReaderExample.candidates`` by the same scores; None
    where there is none.
    """

    query_id: str
    start: int | None
    end: int | None
    text: str | None
    score: float | None
    error: str | None = None
    candidate: Span | None = None
    candidate_score: float | None = None


def predict(
    reader: TrainedReader,
    examples: Sequence[ReaderExample],
    *,
    batch_tokens: int = BATCH_TOKENS,
    threads: int | None = None,
) -> list[Prediction]:
    """One prediction an example, in their order; it does not depend on the other examples.

    Give thousands at once: they are sorted by length, and full batches of equal length are the fast ones.
    An example that can't be read, or whose scores are not numbers, costs only itself: it gets an ``error``.

    Args:
        threads: torch's within this process; None leaves them.
    """
    encoder = Encoder(reader.vocabulary)
    encoded = [encoder.encode(e) for e in examples]
    readable = [i for i, e in enumerate(encoded) if isinstance(e, EncodedExample)]
    with running_threads(threads):
        spans = predict_spans(
            reader.network, [e for e in encoded if isinstance(e, EncodedExample)], batch_tokens=batch_tokens
        )
    outcomes: list[BestSpans | str] = [e.reason if isinstance(e, Unencodable) else "" for e in encoded]
    for i, span in zip(readable, spans, strict=True):
        outcomes[i] = span
    return [_prediction(e, outcome) for e, outcome in zip(examples, outcomes, strict=True)]


def predict_spans(
    network: ReaderNetwork, examples: Sequence[EncodedExample], *, batch_tokens: int
) -> list[BestSpans | str]:
    """The best spans of each example in tokens, or why there is none. Leaves the network in evaluation mode."""
    network.eval()
    outcomes: list[BestSpans | str] = [""] * len(examples)
    for batch in length_batches(examples, batch_tokens):
        for i, outcome in zip(batch, _spans_of(network, [examples[i] for i in batch]), strict=True):
            outcomes[i] = outcome
    return outcomes


def _spans_of(network: ReaderNetwork, examples: list[EncodedExample]) -> list[BestSpans | str]:
    try:
        with torch.inference_mode():
            batch = collate(examples, next(network.parameters()).device)
            candidates = [e.passage.candidates for e in examples]
            found = best_spans(network(batch), batch.passage_lengths.tolist(), candidates)
    except (RuntimeError, MemoryError) as error:  # torch's own errors: out of memory above all
        if len(examples) == 1:
            return [f"{type(error).__name__}: {str(error)[:500]}"]
        LOGGER.warning("a batch of %d examples failed (%s): trying each alone", len(examples), error)
        return [outcome for e in examples for outcome in _spans_of(network, [e])]
    return [best if best.span.score == best.span.score else "scores are not numbers" for best in found]


def _prediction(example: ReaderExample, outcome: BestSpans | str) -> Prediction:
    if isinstance(outcome, str):
        return Prediction(example.query_id, None, None, None, None, outcome)
    first, last, score = outcome.span
    start, end = example.passage[first].start, example.passage[last].end
    made = Prediction(example.query_id, start, end, example.passage_text[start:end], score)
    if outcome.candidate is None:
        return made
    number, candidate_score = outcome.candidate
    return replace(made, candidate=example.candidates[number], candidate_score=candidate_score)
