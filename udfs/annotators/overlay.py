"""Mentions laid over others: an added one needs room, or takes the place of what it holds whole."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from udfs.annotators.name_types import mention_order
from udfs.spans import Mention, outermost


class Taken:
    """The spans that mentions cover, for the question whether another one has room."""

    def __init__(self, mentions: Sequence[Mention]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for mention in mentions:  # in order of start; nested and straddling ones become one stretch
            if self._ends and mention.start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], mention.end)
            else:
                self._starts.append(mention.start)
                self._ends.append(mention.end)

    def leaves_room(self, start: int, end: int) -> bool:
        """Whether a span touches no mention, or is longer than those that it touches and holds them whole."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end) - 1
        if first > last:
            return True
        low, high = self._starts[first], self._ends[last]
        return start <= low and high <= end and (first < last or (start, end) != (low, high))


def lay_over(mentions: Sequence[Mention], added: Iterable[Mention]) -> list[Mention]:
    """``mentions`` and those of ``added`` that have room, in order of start; what these hold whole goes.

    Of added ones that overlap one another the one that starts first stays.

    Args:
        mentions: in order of start.
    """
    taken = Taken(mentions)
    new = outermost(m for m in added if taken.leaves_room(m.start, m.end))
    over = Taken(new)
    return sorted([*(m for m in mentions if over.leaves_room(m.start, m.end)), *new], key=mention_order)
