"""Hermann et al.'s stand-off annotation (deepmind/rc-data): the one reader of its format.

``tokens/``: one line ``start,n;...``; byte offsets into the UTF-8 bytes of the whole story string,
the token is ``bytes[start : start + n + 1]``. ``entities/``: one line ``index,first,last;...``;
inclusive token numbers, ``index`` the coreference cluster, local to the article.
"""

from dataclasses import dataclass

from udfs.spans import ByteOffsets, Mention, Span

# Of the tokens of one article, the share that may fail to fit before the file counts as made for another text.
MAX_MISFITS = 0.01


class MisalignedStandOff(ValueError):
    """Stand-off that does not belong to this text, or is not in the format; the message says where."""


@dataclass(frozen=True)
class StandOff:
    """Named mentions as code point spans, in order of start; ``dropped`` counts those that name no token."""

    mentions: tuple[Mention, ...]
    dropped: int


def read_stand_off(text: str, paragraphs: list[Span], tokens_line: str, entities_line: str) -> StandOff:
    """Aligns stand-off to ``text`` and checks it, surface by surface.

    A token fits if it starts and ends on characters that are not white space and only white space
    lies between it and the token before. ``paragraphs`` are those of body and highlights: a mention
    that is not inside one of them is dropped.

    Raises:
        MisalignedStandOff: more than 1% of the tokens do not fit, or a line is malformed.
    """
    tokens = _spans_of_tokens(text, tokens_line)
    if not tokens:
        raise MisalignedStandOff("no tokens")
    fits = _which_fit(text, tokens)
    misfits = fits.count(False)
    if misfits > MAX_MISFITS * len(tokens):
        first = fits.index(False)
        raise MisalignedStandOff(f"{misfits} of {len(tokens)} tokens do not fit the text, the first is token {first}")
    mentions: set[Mention] = set()
    dropped = 0
    starts_of = sorted(paragraphs)
    for cluster, first, last in _entries(entities_line, 3, "entities"):
        if not 0 <= first <= last < len(tokens) or not all(fits[first : last + 1]):
            dropped += 1
            continue
        start, end = tokens[first].start, tokens[last].end
        if any(p.start <= start and end <= p.end for p in starts_of):
            mentions.add(Mention(start, end, cluster))
        else:
            dropped += 1
    return StandOff(tuple(sorted(mentions)), dropped)


def _entries(line: str, width: int, name: str) -> list[tuple[int, ...]]:
    entries = []
    for entry in line.strip().split(";"):
        if not entry.strip():
            continue
        try:
            numbers = tuple(map(int, entry.split(",")))
        except ValueError as error:
            raise MisalignedStandOff(f"{name}: entry {entry[:40]!r} is not numbers") from error
        if len(numbers) != width:
            raise MisalignedStandOff(f"{name}: entry {entry[:40]!r} has {len(numbers)} numbers, not {width}")
        entries.append(numbers)
    return entries


def _spans_of_tokens(text: str, line: str) -> list[Span]:
    code_point = ByteOffsets(text).code_point
    spans = []
    for start, last in _entries(line, 2, "tokens"):
        first, end = code_point(start), code_point(start + last + 1)
        # -1 marks a token that is cut out of a character or lies outside the text: it fits nowhere.
        spans.append(Span(-1, -1) if first is None or end is None else Span(first, end))
    return spans


def _which_fit(text: str, tokens: list[Span]) -> list[bool]:
    fits = []
    reached = 0
    for start, end in tokens:
        fit = (
            start >= reached
            and end > start
            and not text[start].isspace()
            and not text[end - 1].isspace()
            and (start == reached or not text[reached:start].strip())
        )
        fits.append(fit)
        if end > reached:
            reached = end
    return fits
