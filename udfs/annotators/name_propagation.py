"""Name propagation: the repeats of an article's names that the tagger missed become mentions too."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from udfs.annotators.given_names import is_given_name
from udfs.annotators.name_forms import (
    Words,
    fits_in_order,
    is_acronym,
    is_generation,
    normalised_words,
    without_possessive,
)
from udfs.annotators.name_types import KIND_OF_TYPE, UNLINKED, Kind, mention_order
from udfs.annotators.overlay import Taken, lay_over
from udfs.spans import Mention, Span

_SENTENCE_BEGINS = re.compile(r"""(?:^|[.!?:"'\u2018\u201c(])\s*$""")
_BRACKETED_WORD = re.compile(r"[^\S\n]*[(\[][^\S\n]*([A-Z][A-Za-z&.-]{1,9})[^\S\n]*[,;)\]]")
_WORD = re.compile(r"\w+")


class _KnownName(NamedTuple):
    """A name whose repeats are mentions: ``pattern`` matches it at a word's start."""

    pattern: re.Pattern[str]
    type: str
    is_common_word: bool
    """Also written small in the article: a capital at a sentence's start does not make it a name."""


def propagate_names(text: str, units: Sequence[Span], mentions: Iterable[Mention]) -> list[Mention]:
    """Adds the untagged repeats of names: of the whole name, of a person's surname, of an acronym in brackets.

    A mention of another type (a work, a product) whose very name is tagged as a person, place,
    organisation or people elsewhere takes that type.

    Args:
        units: paragraphs and highlights; an added mention lies inside one of them.
        mentions: what the tagger found; their spans stay, and added ones overlap none.

    Returns:
        All mentions in order of start; added ones have the type that the tagger gave the name most often.
    """
    found = _settle_types(text, sorted(mentions, key=mention_order))
    known = _known_names(text, _votes(text, found))
    taken = Taken(found)
    return lay_over(found, [m for unit in units for m in _repeats(text, unit, known, taken)])


def _repeats(text: str, unit: Span, known: dict[str, list[_KnownName]], taken: Taken) -> Iterator[Mention]:
    start, end = unit
    position = start
    while word := _WORD.search(text, position, end):
        position = word.end()
        if word.start() > start and text[word.start() - 1] in "-\u2010\u2011":
            continue
        for name in known.get(word.group(), ()):
            repeat = name.pattern.match(text, word.start(), end)
            if not repeat or not taken.leaves_room(*repeat.span()):
                continue
            if name.is_common_word and _SENTENCE_BEGINS.search(text[max(start, word.start() - 4) : word.start()]):
                continue
            yield Mention(*repeat.span(), cluster=UNLINKED, type=name.type)
            position = repeat.end()
            break


def _votes(text: str, mentions: Sequence[Mention]) -> dict[str, Counter[str]]:
    """How often each surface (single blanks inside) was tagged with each type of names of entities."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for mention in mentions:
        if mention.type not in KIND_OF_TYPE:
            continue
        surface = _plain_surface(text, mention)
        words = surface.split()
        votes[surface][mention.type] += 1
        if KIND_OF_TYPE[mention.type] is Kind.PERSON and len(words) > 1 and not is_generation(words[-1]):
            votes[words[-1]][mention.type] += 1
            if is_given_name(words[0].casefold()):
                votes[words[0]][mention.type] += 1
        acronym = _BRACKETED_WORD.match(text, mention.end)
        if acronym and is_acronym(acronym[1]) and fits_in_order(acronym[1], surface):
            votes[acronym[1]][mention.type] += 1
    return votes


def _plain_surface(text: str, mention: Mention) -> str:
    words = without_possessive(text[mention.start : mention.end]).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "The") else words)


def _settle_types(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Gives mentions of other types the type that their name has elsewhere, where that is one of an entity's."""
    types: dict[Words, Counter[str]] = defaultdict(Counter)
    for mention in mentions:
        if mention.type in KIND_OF_TYPE:
            types[normalised_words(text[mention.start : mention.end])][mention.type] += 1
    settled = []
    for mention in mentions:
        known = types.get(normalised_words(text[mention.start : mention.end]))
        if known and mention.type not in KIND_OF_TYPE:
            mention = mention._replace(type=known.most_common(1)[0][0])
        settled.append(mention)
    return settled


def _known_names(text: str, votes: dict[str, Counter[str]]) -> dict[str, list[_KnownName]]:
    """By first word the names to look for, longest first."""
    small_words = {word for word in _WORD.findall(text) if word.islower()}
    known: dict[str, list[_KnownName]] = defaultdict(list)
    for surface in sorted(votes, key=lambda s: (-len(s), s)):
        first_word = _WORD.match(surface)
        if first_word and surface[0].isupper() and (len(surface) > 2 or (len(surface) == 2 and surface.isupper())):
            pattern = re.compile(r"\s+".join(map(re.escape, surface.split(" "))) + r"(?![\w-])")
            name = _KnownName(pattern, votes[surface].most_common(1)[0][0], surface.casefold() in small_words)
            known[first_word.group()].append(name)
    return known
