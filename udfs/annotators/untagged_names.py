"""Names that a tagger misses though the text around them shows what they are.

Each rule gives candidates; ``add_untagged`` lays them over the mentions, where there is room.
"""

import re
from collections.abc import Iterator, Sequence

from udfs.annotators.given_names import is_given_name
from udfs.annotators.known_places import KNOWN_PLACE
from udfs.annotators.name_forms import KNOWN_AS, TITLES, is_acronym, is_spelt_by, without_possessive
from udfs.annotators.name_types import KIND_OF_TYPE, UNLINKED, Kind, kind_of
from udfs.annotators.overlay import lay_over
from udfs.annotators.person_names import CAPITALISED, INITIALS, may_be_surname
from udfs.spans import Mention, Span

_ARTICLE = re.compile(r"[Tt]he\s+")
# "President Ray" is a person, "General Motors" is not.
_TITLE_AND_NAME = re.compile(
    r"(?<![\w-])(?:Mr|Mrs|Ms|Miss|Dr|Sir|Dame|Prof|Professor|Sgt|Sergeant|Lt|Col|Capt|Sen|Senator|President|Chancellor"
    rf"|Prime Minister|Chief Executive|Congressman|Congresswoman)\.?[^\S\n]"
    rf"((?:{INITIALS}[^\S\n]?)?({CAPITALISED})(?:[^\S\n]{CAPITALISED})?)"
)
_TWO_CAPITALISED = re.compile(rf"(?<![\w'\u2019-])({CAPITALISED})[^\S\n]({CAPITALISED})(?!['\u2019-]?\w)")
_CAPITAL_BEHIND = re.compile(r"[^\S\n][A-Z]")
_CAPITAL_ARTICLE = re.compile(rf"(?<=[a-z,;][^\S\n])The[^\S\n]({CAPITALISED}(?:[^\S\n]{CAPITALISED})*)")
_BYNAME = re.compile(rf"{CAPITALISED}(?:[^\S\n]{CAPITALISED})?(?=[\"'\u2019\u201d,.;:]|[^\S\n][a-z])")
_SMALL_WORD = r"(?:of|the|and|for|in|on|at|to|de|la|du|des|&)"
_CAPITALISED_RUN = re.compile(rf"{CAPITALISED}(?:[^\S\n](?:{_SMALL_WORD}[^\S\n])*{CAPITALISED})+")
_ACRONYM_BEHIND = re.compile(r"(?:[^\S\n]*[(\[][^\S\n]*|,[^\S\n]or[^\S\n])([A-Z][A-Za-z&.-]{1,9})(?=[^\S\n]*[,;)\]])")
_NAME_IN_BRACKETS = re.compile(rf"(?<![\w-])([A-Z][A-Za-z&.-]{{1,9}})[^\S\n]\(({_CAPITALISED_RUN.pattern})\)")
_WORD = re.compile(r"[^\W_][\w'\u2019-]*")


def add_untagged(text: str, units: Sequence[Span], mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions and those that the rules find, in order of start; a longer one takes the place of its parts.

    Args:
        units: paragraphs and highlights: an added mention lies inside one of them.
        mentions: in order of start.
    """
    for rule in (_defined_acronyms, _titled_persons, _given_and_surname, _known_places, _names_with_article, _bynames):
        found = [_bare(text, mention) for mention in rule(text, units, mentions)]
        mentions = lay_over(mentions, [m for m in found if m.start < m.end])
    return list(mentions)


def _bare(text: str, mention: Mention) -> Mention:
    """Without leading "The" and possessive."""
    article = _ARTICLE.match(text, mention.start, mention.end)
    start = article.end() if article else mention.start
    return mention._replace(start=start, end=start + len(without_possessive(text[start : mention.end])))


def _matches(pattern: re.Pattern[str], text: str, units: Sequence[Span]) -> Iterator[tuple[re.Match[str], Span]]:
    for unit in units:
        for match in pattern.finditer(text, *unit):
            yield match, unit


def _defined_acronyms(text: str, units: Sequence[Span], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Full name and acronym of "World Health Board (WHB)" and "World Health Board, or WHB," where letters agree."""
    types = {m.end: m.type for m in mentions if m.type in KIND_OF_TYPE}
    for run, unit in _matches(_CAPITALISED_RUN, text, units):
        acronym = _ACRONYM_BEHIND.match(text, run.end(), unit.end)
        begin = _begin_of_full_name(run[0], acronym[1]) if acronym else None
        if acronym and begin is not None:
            for start, end in ((run.start() + begin, run.end()), acronym.span(1)):
                yield Mention(start, end, UNLINKED, types.get(run.end(), "ORG"))
    for match, _ in _matches(_NAME_IN_BRACKETS, text, units):
        if is_acronym(match[1]) and is_spelt_by(match[1], match[2]):
            for start, end in (match.span(1), match.span(2)):
                yield Mention(start, end, UNLINKED, "ORG")


def _begin_of_full_name(run: str, acronym: str) -> int | None:
    """Where in a run of capitalised words the name begins that the acronym abbreviates; None where none does."""
    if not is_acronym(acronym):
        return None
    starts = (word.start() for word in _WORD.finditer(run))
    return next((start for start in starts if is_spelt_by(acronym, run[start:])), None)


def _titled_persons(text: str, units: Sequence[Span], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """ "Ann Ray" of "President Ann Ray"."""
    taken = {m.start for m in mentions}
    for match, _ in _matches(_TITLE_AND_NAME, text, units):
        if match.start(1) not in taken and match[2].casefold() not in TITLES:
            yield Mention(*match.span(1), UNLINKED, "PERSON")


def _given_and_surname(text: str, units: Sequence[Span], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """A common given name and a capitalised word behind it."""
    for match, _ in _matches(_TWO_CAPITALISED, text, units):
        if is_given_name(match[1].casefold()) and may_be_surname(match[2]):
            yield Mention(*match.span(), UNLINKED, "PERSON")


def _known_places(text: str, units: Sequence[Span], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Countries, capitals and states, where no longer name goes on behind them."""
    taken = {m.start for m in mentions}
    for match, unit in _matches(KNOWN_PLACE, text, units):
        if match.start() not in taken and not _CAPITAL_BEHIND.match(text, match.end(), unit.end):
            yield Mention(*match.span(), UNLINKED, "GPE")


def _names_with_article(text: str, units: Sequence[Span], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """ "Onion" of "a writer for The Onion": a capital "The" inside a sentence belongs to a name."""
    for match, _ in _matches(_CAPITAL_ARTICLE, text, units):
        yield Mention(*match.span(1), UNLINKED, "ORG")


def _bynames(text: str, units: Sequence[Span], mentions: Sequence[Mention]) -> Iterator[Mention]:
    """ "Spud" of "Ann Ray, nicknamed 'Spud'": of persons only."""
    for mention in mentions:
        if kind_of(mention.type) is Kind.PERSON:
            known_as = KNOWN_AS.match(text, mention.end)
            name = known_as and _BYNAME.match(text, known_as.end())
            if name:
                yield Mention(*name.span(), UNLINKED, "PERSON")
