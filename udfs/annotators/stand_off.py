"""Hermann et al.'s stand-off annotation (deepmind/rc-data): the one reader of its format.

``tokens/``: one line ``start,n;...``; byte offsets into the UTF-8 bytes of the whole story string,
the token is ``bytes[start : start + n + 1]``. ``entities/``: one line ``index,first,last;...``;
inclusive token numbers, ``index`` the coreference cluster, local to the article.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from udfs.spans import ByteOffsets, Mention, Span

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
    tokens = _spans_of_tokens(text, tokens_line, in_characters)
    if not tokens:
        raise MisalignedStandOff("no tokens")
    fits = _which_fit(text, tokens)
    misfits = fits.count(False)
    if misfits > MAX_MISFITS * len(tokens):
        first = fits.index(False)
        raise MisalignedStandOff(f"{misfits} of {len(tokens)} tokens do not fit the text, the first is token {first}")
    mentions: set[Mention] = set()
    dropped = 0
    in_order = sorted(paragraphs)
    starts = [p.start for p in in_order]
    for cluster, first, last in _entries(entities_line, 3, "entities"):
        if not 0 <= first <= last < len(tokens) or not all(fits[first : last + 1]):
            dropped += 1
            continue
        start, end = tokens[first].start, tokens[last].end
        at = bisect_right(starts, start) - 1
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


def _spans_of_tokens(text: str, line: str, in_characters: bool) -> list[Span]:
    code_point = _code_point_of(text, in_characters)
    spans = []
    for start, last in _entries(line, 2, "tokens"):
        first, end = code_point(start), code_point(start + last + 1)
        # -1 marks a token that is cut out of a character or lies outside the text: it fits nowhere.
        spans.append(Span(-1, -1) if first is None or end is None else Span(first, end))
    return spans


def _code_point_of(text: str, in_characters: bool) -> Callable[[int], int | None]:
    if in_characters:
        return lambda offset: offset if 0 <= offset <= len(text) else None
    return ByteOffsets(text).code_point


def _which_fit(text: str, tokens: list[Span]) -> list[bool]:
    fits = []
    reached = 0
    for start, end in tokens:
        fit = (
            start >= reached
            and end > start
            and not text[start].isspace()
            and not text[end - 1].isspace()
            and (start == reached or _is_blank(text[reached:start]))
        )
        fits.append(fit)
        if end > reached:
            reached = end
    return fits


def _is_blank(gap: str) -> bool:
    # A byte order mark that was left in the text is no token and no white space.
    return not gap.strip() or not gap.replace("\ufeff", "").strip()
