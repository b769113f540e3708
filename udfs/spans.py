"""Spans: half-open ``[start, end)`` code point offsets into one exact string.

Inclusive ends and byte offsets exist only at the edges: in the modules that read and write ReCoRD's
JSON and Hermann's stand-off.
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
