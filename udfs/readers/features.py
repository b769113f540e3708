"""Examples as arrays, and batches of them as tensors."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from udfs.readers.examples import ReaderExample, Word
from udfs.readers.vocabulary import PAD, UNKNOWN, Vocabulary
from udfs.spans import Span

Ids = npt.NDArray[np.int32]
MATCH_FEATURES = 4
"""Term frequency; text, lower form, lemma occurs in the query."""


@dataclass(frozen=True)
class EncodedPassage:
    """What queries on one passage share; all of length (passage)."""

    words: Ids
    pos: Ids
    ner: Ids
    frequency: npt.NDArray[np.float32]
    """Occurrences of the word's lower form in the passage / words of the passage."""
    candidates: npt.NDArray[np.int32]
    """(candidates, 3): first and last token of each candidate that covers one, and its number in the example's."""


@dataclass(frozen=True)
class EncodedExample:
    passage: EncodedPassage
    matches: npt.NDArray[np.bool_]  # (passage, 3): text, lower form, lemma occurs in the query
    query: Ids  # (query,)
    query_pos: Ids  # (query,)
    target: tuple[int, int] | None  # first and last token of the answer


@dataclass(frozen=True)
class Batch:
    """Padded with ``PAD``; a row's tokens come first, ``*_lengths`` of them, at least one."""

    passage_words: Tensor  # (batch, passage) int64
    passage_pos: Tensor  # (batch, passage) int64
    passage_ner: Tensor  # (batch, passage) int64
    passage_features: Tensor  # (batch, passage, 4) float32
    passage_lengths: Tensor  # (batch,) int64, on the CPU
    query_words: Tensor  # (batch, query) int64
    query_pos: Tensor  # (batch, query) int64
    query_lengths: Tensor  # (batch,) int64, on the CPU
    targets: Tensor | None = None  # (batch, 2) int64: first and last token of the answer


class Unencodable(NamedTuple):
    """An example that a network can't read, and why."""

    reason: str


class Encoder:
    """Encodes examples; a passage shared by consecutive examples is encoded once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._words: tuple[Word, ...] = ()
        self._candidates: tuple[Span, ...] = ()
        self._passage: EncodedPassage | None = None

    def encode(self, example: ReaderExample) -> EncodedExample | Unencodable:
        """The example's arrays, or why it has none: ``empty_passage``, ``empty_query``."""
        if not example.passage:
            return Unencodable("empty_passage")
        if not example.query:
            return Unencodable("empty_query")
        rows = self._vocabulary
        same = example.passage is self._words and example.candidates == self._candidates
        if self._passage is None or not same:
            self._passage = _encode_passage(example.passage, example.candidates, rows)
            self._words, self._candidates = example.passage, example.candidates
        forms = ((w.text, w.lower, w.lemma) for w in example.query)
        texts, lowers, lemmas = (set(column) for column in zip(*forms, strict=True))
        return EncodedExample(
            self._passage,
            np.array(
                [(w.text in texts, w.lower in lowers, w.lemma in lemmas) for w in example.passage], dtype=np.bool_
            ),
            _ids((rows.form(w) for w in example.query), rows.word_rows),
            _ids((w.pos for w in example.query), rows.pos_rows),
            token_span(example),
        )


def token_span(example: ReaderExample) -> tuple[int, int] | None:
    """First and last token of the first answer, in the order given, that begins and ends where tokens do."""
    starts = {w.start: i for i, w in enumerate(example.passage)}
    ends = {w.end: i for i, w in enumerate(example.passage)}
    for start, end in example.answers:
        first, last = starts.get(start), ends.get(end)
        if first is not None and last is not None and first <= last:
            return first, last
    return None


def collate(
    examples: Sequence[EncodedExample], device: torch.device, *, hide: Callable[[Ids], Ids] | None = None
) -> Batch:
    """One padded batch; with targets where all examples have one.

    Args:
        hide: word dropout, applied to each example's passage and query words.
    """
    hide = hide or (lambda ids: ids)
    longest = max(len(e.matches) for e in examples)
    features = np.zeros((len(examples), longest, MATCH_FEATURES), dtype=np.float32)
    for row, example in enumerate(examples):
        length = len(example.matches)
        features[row, :length, 0] = example.passage.frequency
        features[row, :length, 1:] = example.matches
    targets = [e.target for e in examples if e.target is not None]
    return Batch(
        passage_words=_padded([hide(e.passage.words) for e in examples], device),
        passage_pos=_padded([e.passage.pos for e in examples], device),
        passage_ner=_padded([e.passage.ner for e in examples], device),
        passage_features=torch.from_numpy(features).to(device),
        passage_lengths=torch.tensor([len(e.matches) for e in examples]),
        query_words=_padded([hide(e.query) for e in examples], device),
        query_pos=_padded([e.query_pos for e in examples], device),
        query_lengths=torch.tensor([len(e.query) for e in examples]),
        targets=torch.tensor(targets, device=device) if len(targets) == len(examples) else None,
    )


def word_dropout(rate: float, rng: np.random.Generator) -> Callable[[Ids], Ids]:
    """Makes each word unknown with probability ``rate``."""

    def hide(ids: Ids) -> Ids:
        return np.where(rng.random(len(ids)) < rate, np.int32(UNKNOWN), ids)

    return hide


def length_batches(examples: Sequence[EncodedExample], batch_tokens: int) -> Iterator[list[int]]:
    """Indices of examples of similar length, at most ``batch_tokens`` padded passage tokens together.

    The longest come first, so that what does not fit into memory fails at once. A passage longer than
    ``batch_tokens`` gets a batch of its own.
    """
    order = sorted(range(len(examples)), key=lambda i: (-len(examples[i].matches), -len(examples[i].query), i))
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * len(examples[batch[0]].matches) > batch_tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def shuffled_batches(count: int, batch_size: int, rng: np.random.Generator) -> Iterator[list[int]]:
    """All indices below ``count`` in random order, ``batch_size`` at a time; the last batch may be smaller."""
    order: list[int] = rng.permutation(count).tolist()
    for start in range(0, count, batch_size):
        yield order[start : start + batch_size]


def candidate_tokens(words: Sequence[Word], candidates: Sequence[Span]) -> list[tuple[int, int, int]]:
    """First and last token that each candidate overlaps, and its number; one that overlaps none is left out.

    Entities need not begin and end where tokens do: "Obama" of "Obama-era" is a part of one.
    """
    starts, ends = [w.start for w in words], [w.end for w in words]
    found = []
    for number, (start, end) in enumerate(candidates):
        first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
        if first <= last:
            found.append((first, last, number))
    return found


def _encode_passage(words: Sequence[Word], candidates: Sequence[Span], rows: Vocabulary) -> EncodedPassage:
    counts = Counter(w.lower for w in words)
    return EncodedPassage(
        _ids((rows.form(w) for w in words), rows.word_rows),
        _ids((w.pos for w in words), rows.pos_rows),
        _ids((w.ner for w in words), rows.ner_rows),
        np.array([counts[w.lower] / len(words) for w in words], dtype=np.float32),
        np.array(candidate_tokens(words, candidates), dtype=np.int32).reshape(-1, 3),
    )


def _ids(names: Iterator[str], rows: Mapping[str, int]) -> Ids:
    return np.array([rows.get(name, UNKNOWN) for name in names], dtype=np.int32)


def _padded(rows: Sequence[Ids], device: torch.device) -> Tensor:
    padded = np.full((len(rows), max(map(len, rows))), PAD, dtype=np.int64)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return torch.from_numpy(padded).to(device)  # (batch, longest)
