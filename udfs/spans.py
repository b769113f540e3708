"""Spans: half-open ``[start, end)`` code point offsets into one exact string.

Inclusive ends and byte offsets exist only at the edges (ReCoRD JSON, Hermann stand-off);
the conversions they need live here so that each is written once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Half-open code point offsets."""

    start: int
    end: int


class Mention(NamedTuple):
    """A named entity mention; ``cluster`` is the coreference cluster, local to its article.

    ``type`` is the annotator's label (OntoNotes names), or None where the source gives none,
    as Hermann's stand-off.
    """

    start: int
    end: int
    cluster: int
    type: str | None = None


def outermost(mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions in order of start, without nested and straddling ones.

    ReCoRD's candidates never overlap (FORMATS.md: 0 of 70 passages). Of overlapping mentions the one
    that starts first is kept, of those that start together the longest: "Porto FC" over "Porto".
    """
    kept: list[Mention] = []
    end = -1
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if mention.start >= end:
            kept.append(mention)
            end = mention.end
    return kept


def inside(mentions: Sequence[Mention], starts: Sequence[int], span: Span) -> Sequence[Mention]:
    """Those of non-overlapping, sorted ``mentions`` that lie wholly in ``span``.

    ``starts`` are their start offsets, computed once by the caller, which asks for many spans.
    """
    low = bisect_left(starts, span.start)
    high = bisect_right(starts, span.end - 1)
    if high > low and mentions[high - 1].end > span.end:
        high -= 1
    return mentions[low:high]


class ByteOffsets:
    """Maps UTF-8 byte offsets of a text to code point offsets.

    Example: in ``"Zoë Ray"`` byte 5 (after ``"Zoë "``) is code point 4.
    """

    def __init__(self, text: str) -> None:
        self._ascii = text.isascii()
        self.n_bytes = len(text)
        if not self._ascii:
            # Byte offset at which each code point starts, and the end.
            starts = [0]
            total = 0
            for char in text:
                code = ord(char)
                total += 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
                starts.append(total)
            self.n_bytes = total
            self._code_point = dict(zip(starts, range(len(starts)), strict=True))

    def code_point(self, byte: int) -> int | None:
        """The code point offset, or None where ``byte`` is outside or within a character."""
        if self._ascii:
            return byte if 0 <= byte <= self.n_bytes else None
        return self._code_point.get(byte)
