"""Words, tags and labels as row numbers of a network's tables."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from udfs.cloze import PLACEHOLDER
from udfs.readers.configuration import TrainingError
from udfs.readers.examples import ReaderExample, Word

PAD = 0
UNKNOWN = 1
_FIRST_ROWS = ("<pad>", "<unknown>")


@dataclass(frozen=True)
class Vocabulary:
    """Each tuple holds names in row order, ``<pad>`` and ``<unknown>`` first; among the words ``@placeholder`` follows.

    Words are in order of frequency, so that the first rows are the ones worth training.
    """

    words: tuple[str, ...]
    pos: tuple[str, ...]
    ner: tuple[str, ...]
    lower_case: bool = False

    def form(self, word: Word) -> str:
        """How the word table knows a word."""
        return word.lower if self.lower_case else word.text

    @cached_property
    def word_rows(self) -> Mapping[str, int]:
        """Rows by name, without ``PAD`` and ``UNKNOWN``."""
        return _rows(self.words)

    @cached_property
    def pos_rows(self) -> Mapping[str, int]:
        return _rows(self.pos)

    @cached_property
    def ner_rows(self) -> Mapping[str, int]:
        return _rows(self.ner)


def build_vocabulary(
    examples: Iterable[ReaderExample], *, min_count: int = 1, max_words: int = 100_000, lower_case: bool = False
) -> Vocabulary:
    """The vocabulary of training examples; equal for the same examples in any order.

    A passage counts once, however many queries it has.

    Args:
        min_count: words seen less often are left to ``<unknown>``.
        max_words: rows of the word table at most, the first three included.

    Raises:
        TrainingError: no examples.
        ValueError: ``min_count`` below 1; ``max_words`` below 3.
    """
    if min_count < 1 or max_words < 3:
        raise ValueError(f"min_count {min_count} must be at least 1, max_words {max_words} at least 3")
    words: Counter[str] = Counter()
    pos: Counter[str] = Counter()
    ner: Counter[str] = Counter()
    seen: set[str] = set()
    found = False
    for example in examples:
        found = True
        sides = [example.query]
        if example.article_id not in seen:
            seen.add(example.article_id)
            sides.append(example.passage)
        for side in sides:
            words.update(w.lower if lower_case else w.text for w in side)
            pos.update(w.pos for w in side)
            ner.update(w.ner for w in side)
    if not found:
        raise TrainingError("no example to train on")
    for reserved in (PLACEHOLDER, *_FIRST_ROWS):  # a text may hold these strings
        words.pop(reserved, None)
    often = [w for w, n in _by_frequency(words) if n >= min_count]
    return Vocabulary(
        (*_FIRST_ROWS, PLACEHOLDER, *often[: max_words - 3]),
        (*_FIRST_ROWS, *(p for p, _ in _by_frequency(pos))),
        (*_FIRST_ROWS, *(n for n, _ in _by_frequency(ner))),
        lower_case,
    )


def _by_frequency(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _rows(names: tuple[str, ...]) -> dict[str, int]:
    # "<pad>" in a text is a word that is not known, not padding.
    return {name: row for row, name in enumerate(names) if row not in (PAD, UNKNOWN)}
