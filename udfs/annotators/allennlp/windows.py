"""Windows of whole sentences over a long document, and the clusters of windows stitched into the document's.

Stitching costs quality, so a document gets windows only where it has more tokens than a window.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from udfs.spans import Span

TokenSpan = tuple[int, int]
Clusters = Sequence[Sequence[TokenSpan]]


class Window(NamedTuple):
    """Half-open: the sentences of a window."""

    start: int
    end: int


class StitchedCluster(NamedTuple):
    """A cluster of the document, and the numbers of the windows that it was seen in."""

    mentions: list[TokenSpan]
    windows: frozenset[int]


def cut_long(lengths: Sequence[int], limit: int) -> list[int]:
    """Sentence lengths, with sentences of more than ``limit`` tokens cut into pieces."""
    return [
        piece for length in lengths for piece in (*[limit] * (length // limit), length % limit) if piece or not length
    ]


def windows_over(lengths: Sequence[int], limit: int, overlap: int) -> list[Window]:
    """Windows of at most ``limit`` tokens; neighbours share sentences of at most ``overlap`` tokens.

    Args:
        lengths: tokens of each sentence, none above ``limit`` (``cut_long``).
    """
    windows: list[Window] = []
    start = end = 0
    while end < len(lengths):
        total = sum(lengths[start:end])
        while end < len(lengths) and total + lengths[end] <= limit:
            total += lengths[end]
            end += 1
        windows.append(Window(start, end))
        if end == len(lengths):
            break
        start = _overlap_start(lengths, windows[-1], min(overlap, limit - lengths[end]))
    return windows


def _overlap_start(lengths: Sequence[int], window: Window, room: int) -> int:
    start, total = window.end, 0
    while start - 1 > window.start and total + lengths[start - 1] <= room:
        start -= 1
        total += lengths[start]
    return start


def stitch(of_windows: Sequence[Clusters], covered: Sequence[Span]) -> list[StitchedCluster]:
    """One clustering from those of the windows, in the order of the document's tokens.

    A window's clusters are matched to the ones so far by the mentions that they share in the overlap, one to one,
    most shared mentions first: a single wrong link can't glue whole entities. A mention keeps its first owner.

    Args:
        of_windows: each window's clusters; indices count the document's tokens.
        covered: the tokens of each window.
    """
    clusters: list[list[TokenSpan]] = []
    seen_in: list[set[int]] = []
    owner: dict[TokenSpan, int] = {}
    for number, found in enumerate(of_windows):
        overlap = covered[number - 1].end if number else 0
        matches = _matches(found, {m: o for m, o in owner.items() if number - 1 in seen_in[o]}, overlap)
        for at, mentions in enumerate(found):
            target = matches.get(at)
            new = [mention for mention in mentions if mention not in owner]
            if target is None:
                if not new:
                    continue
                target = len(clusters)
                clusters.append([])
                seen_in.append(set())
            clusters[target] += new
            seen_in[target].add(number)
            owner.update(dict.fromkeys(new, target))
    return [
        StitchedCluster(sorted(mentions), frozenset(windows))
        for mentions, windows in zip(clusters, seen_in, strict=True)
    ]


def _matches(found: Clusters, owner: dict[TokenSpan, int], overlap: int) -> dict[int, int]:
    """From a window's clusters to those so far."""
    shared = Counter(
        (at, owner[mention]) for at, mentions in enumerate(found) for mention in mentions
        if mention[0] < overlap and mention in owner
    )  # fmt: skip
    matches: dict[int, int] = {}
    for (at, target), _ in sorted(shared.items(), key=lambda pair: (-pair[1], pair[0])):
        if at not in matches and target not in matches.values():
            matches[at] = target
    return matches
