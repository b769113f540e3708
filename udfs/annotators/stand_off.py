"""Hermann et al.'s stand-off annotation (deepmind/rc-data): the one reader of its format.

``tokens/``: one line ``start,n;...``; byte offsets into the UTF-8 bytes of the whole story string,
the token is ``bytes[start : start + n + 1]``. ``entities/``: one line ``index,first,last;...``;
inclusive token numbers, ``index`` the coreference cluster, local to the article.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from udfs.spans import Mention, Span

# Of the tokens of one article, the share that may fail to fit before the file counts as made for another text.
MAX_MISFITS = 0.01
# Whole lines of entries of two and of three numbers.
_WELL_FORMED = {n: re.compile(f"{e}(?:;{e})*;?") for n in (2, 3) if (e := ",".join(["[0-9]{1,9}"] * n))}


class MisalignedStandOff(ValueError):
    """Stand-off that does not belong to this text, or is not in the format; the message says where."""


@dataclass(frozen=True)
class StandOff:
    """Named mentions as code point spans, in order of start; ``dropped`` counts those that name no token."""

    mentions: tuple[Mention, ...]
    dropped: int


def read_stand_off(
    text: str, paragraphs: Sequence[Span], tokens_line: str, entities_line: str, *, in_characters: bool = False
) -> StandOff:
    """Aligns stand-off to ``text`` and checks it, surface by surface.

    A token fits if it starts and ends on characters that are not white space and only white space
    lies between it and the token before. ``paragraphs`` are those of body and highlights: a mention
    that is not inside one of them is dropped. ``in_characters`` reads the token offsets as code points and
    not as bytes: what a later rewrite of the script, or one over single-byte text, gives.

    Raises:
        MisalignedStandOff: more than 1% of the tokens do not fit, or a line is malformed.
    """
    starts, ends, fits = _align(text, _entries(tokens_line, 2, "tokens"), in_characters)
    if not fits:
        raise MisalignedStandOff("no tokens")
    misfits = fits.count(False)
    if misfits > MAX_MISFITS * len(fits):
        first = fits.index(False)
        raise MisalignedStandOff(f"{misfits} of {len(fits)} tokens do not fit the text, the first is token {first}")
    mentions: set[Mention] = set()
    dropped = 0
    in_order = sorted(paragraphs)
    paragraph_starts = [p.start for p in in_order]
    for cluster, first, last in _entries(entities_line, 3, "entities"):
        if not 0 <= first <= last < len(fits) or not all(fits[first : last + 1]):
            dropped += 1
            continue
        start, end = starts[first], ends[last]
        at = bisect_right(paragraph_starts, start) - 1
        if at >= 0 and end <= in_order[at].end:
            mentions.add(Mention(start, end, cluster))
        else:
            dropped += 1
    return StandOff(tuple(sorted(mentions)), dropped)


def _entries(line: str, width: int, name: str) -> Iterable[tuple[int, ...]]:
    line = line.strip()
    if _WELL_FORMED[width].fullmatch(line):  # all at once: this is the costliest part of reading an article
        numbers = iter(map(int, line.rstrip(";").replace(";", ",").split(",")))
        return zip(*[numbers] * width, strict=True)
    entries = []
    for entry in line.split(";"):
        if not entry.strip():
            continue
        try:
            values = tuple(map(int, entry.split(",")))
        except ValueError as error:
            raise MisalignedStandOff(f"{name}: entry {entry[:40]!r} is not numbers") from error
        if len(values) != width:
            raise MisalignedStandOff(f"{name}: entry {entry[:40]!r} has {len(values)} numbers, not {width}")
        entries.append(values)
    return entries


def _align(
    text: str, entries: Iterable[tuple[int, ...]], in_characters: bool
) -> tuple[list[int], list[int], list[bool]]:
    """Code point starts and ends of the tokens, and which of them fit.

    One walk over the text from token to token, which turns bytes into code points on its way: a table
    of all offsets would cost more than everything else about reading an article.
    """
    data: str | bytes = text if in_characters or text.isascii() else text.encode()
    starts: list[int] = []
    ends: list[int] = []
    fits: list[bool] = []
    reached = position = 0  # the end of the tokens so far: in data, and in code points
    for start, last in entries:
        end = start + last + 1
        if reached <= start < end <= len(data):
            gap, token = _characters(data[reached:start]), _characters(data[start:end])
        else:  # out of order, empty, or outside the text
            gap = token = None
        if gap is not None and token is not None:
            position += len(gap)
            fit = (gap in ("", " ") or _is_blank(gap)) and not (token[0].isspace() or token[-1].isspace())
        else:
            fit = False
            token = _characters(data[reached:end]) if start >= 0 and reached < end <= len(data) else None
        starts.append(position)
        if token is not None:  # one that doesn't fit still covers its text: the next may fit again
            position += len(token)
            reached = end
        ends.append(position)
        fits.append(fit)
    return starts, ends, fits


def _characters(part: str | bytes) -> str | None:
    """The text of a slice; None where it is cut out of a character."""
    if isinstance(part, str):
        return part
    try:
        return part.decode()
    except UnicodeDecodeError:
        return None


def _is_blank(gap: str) -> bool:
    # A byte order mark that was left in the text is no token and no white space.
    return not gap.strip() or not gap.replace("\ufeff", "").strip()
