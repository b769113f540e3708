"""Name linking: which named mentions of one article denote the same entity, by their names alone.

No model and no pronouns: mentions go in, the same mentions with clusters come out. On news, a linker of
names over a good tagger finds more true pairs of names than general coreference models do.

``propagate_names`` first adds the repeats of names that the tagger missed; ``link_names`` then groups
mentions by name and attaches each short name (surname, acronym, "Irving" of "Irving, Texas") to a fuller
one. A short name that fits several entities goes to the one named last before it.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, pairwise
from typing import NamedTuple

from udfs.annotators.name_forms import (
    MEN,
    TITLES,
    WOMEN,
    Words,
    fits_in_order,
    identity,
    initials,
    is_acronym,
    is_generation,
    is_last_part_of_organisation_name,
    is_short_organisation_name,
    is_short_person_name,
    is_short_place_name,
    is_surname,
    lookup_words,
    normalised_words,
    without_possessive,
)
from udfs.spans import Mention, Span

RULES_VERSION = 1
"""Part of the digest of every annotator that links names: raise it with any change of what linking gives."""

UNLINKED = -1
"""Cluster of a mention that has not been through ``link_names``."""


class Kind(Enum):
    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    PEOPLE = "people"
    OTHER = "other"


_KIND_OF_TYPE = {
    "PERSON": Kind.PERSON, "PER": Kind.PERSON,
    "GPE": Kind.PLACE, "LOC": Kind.PLACE, "FAC": Kind.PLACE, "LOCATION": Kind.PLACE,
    "ORG": Kind.ORGANISATION, "ORGANIZATION": Kind.ORGANISATION,
    "NORP": Kind.PEOPLE,
}  # fmt: skip


_TITLE_BEFORE = re.compile(r"(\w+)\.?[^\S\n]+$")
_PLACE_BEFORE = re.compile(r"\b(?:in|at|near|to|from|into|outside|across|around)\s+$", re.IGNORECASE)
_SENTENCE_BEGINS = re.compile(r"""(?:^|[.!?:"'\u2018\u201c(])\s*$""")
_BRACKET_OPENS = re.compile(r"[^\S\n]*\([^\S\n]*")
_BRACKETED_WORD = re.compile(r"[^\S\n]*\([^\S\n]*([A-Z][A-Za-z&.-]{1,9})[^\S\n]*[,;)]")
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
    found = _settle_types(text, sorted(mentions, key=_mention_order))
    known = _known_names(text, _votes(text, found))
    taken = _Taken(found)
    added = [m for unit in units for m in _repeats(text, unit, known, taken)]
    return sorted([*found, *added], key=_mention_order)


def _repeats(text: str, unit: Span, known: dict[str, list[_KnownName]], taken: "_Taken") -> Iterator[Mention]:
    start, end = unit
    position = start
    while word := _WORD.search(text, position, end):
        position = word.end()
        if word.start() > start and text[word.start() - 1] in "-\u2010\u2011":
            continue
        for name in known.get(word.group(), ()):
            repeat = name.pattern.match(text, word.start(), end)
            if not repeat or taken.overlaps(*repeat.span()):
                continue
            if name.is_common_word and _SENTENCE_BEGINS.search(text[max(start, word.start() - 4) : word.start()]):
                continue
            yield Mention(*repeat.span(), cluster=UNLINKED, type=name.type)
            position = repeat.end()
            break


class _Taken:
    """The spans that mentions cover, for the question whether a span touches one."""

    def __init__(self, mentions: Sequence[Mention]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for mention in mentions:  # in order of start; nested and straddling ones become one stretch
            if self._ends and mention.start < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], mention.end)
            else:
                self._starts.append(mention.start)
                self._ends.append(mention.end)

    def overlaps(self, start: int, end: int) -> bool:
        before = bisect_left(self._starts, end) - 1
        return before >= 0 and self._ends[before] > start


def _votes(text: str, mentions: Sequence[Mention]) -> dict[str, Counter[str]]:
    """How often each surface (single blanks inside) was tagged with each type of names of entities."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for mention in mentions:
        if mention.type not in _KIND_OF_TYPE:
            continue
        surface = _plain_surface(text, mention)
        words = surface.split()
        votes[surface][mention.type] += 1
        if _KIND_OF_TYPE[mention.type] is Kind.PERSON and len(words) > 1 and not is_generation(words[-1]):
            votes[words[-1]][mention.type] += 1
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
        if mention.type in _KIND_OF_TYPE:
            types[normalised_words(text[mention.start : mention.end])][mention.type] += 1
    settled = []
    for mention in mentions:
        known = types.get(normalised_words(text[mention.start : mention.end]))
        if known and mention.type not in _KIND_OF_TYPE:
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


def link_names(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """Fills in the clusters of one article's named mentions; those given are ignored.

    Returns:
        The mentions in order of start, whatever their order was; clusters are numbered 0, 1, ... in order
        of first mention.
    """
    ordered = sorted(mentions, key=_mention_order)
    clusters = _Linker(text, ordered).clusters()
    number: dict[int, int] = {}
    return [
        mention._replace(cluster=number.setdefault(cluster, len(number)))
        for mention, cluster in zip(ordered, clusters, strict=True)
    ]


def _mention_order(mention: Mention) -> tuple[int, int, str]:
    return mention.start, -mention.end, mention.type or ""


@dataclass(eq=False)
class _Name:
    """One name of the article: its spellings that differ in blanks, hyphens and dots only, and where it stands."""

    gender: str
    is_alias: bool
    follows_preposition: bool = False
    """A mention follows a preposition of place: "in Washington" is no man."""
    mentions: list[int] = field(default_factory=list)
    forms: dict[Words, None] = field(default_factory=dict)  # a set in order of first mention, as is the next
    surfaces: dict[str, None] = field(default_factory=dict)
    kinds: Counter[Kind] = field(default_factory=Counter)
    rank: int = 0
    """Names of lower rank are fuller: a short name is attached to those only."""

    @property
    def kind(self) -> Kind:
        return self.kinds.most_common(1)[0][0]

    @property
    def fullness(self) -> tuple[int, int, bool]:
        return *max((len(words), sum(map(len, words))) for words in self.forms), bool(self.gender)


class _Clusters:
    """Union-find over mention numbers; a cluster knows the titles that its members bear."""

    def __init__(self, titles: Sequence[frozenset[str]]) -> None:
        self._parent = list(range(len(titles)))
        self._titles = list(titles)

    def root(self, mention: int) -> int:
        while self._parent[mention] != mention:
            self._parent[mention] = self._parent[self._parent[mention]]
            mention = self._parent[mention]
        return mention

    def titles(self, mention: int) -> frozenset[str]:
        return self._titles[self.root(mention)]

    def unite(self, a: int, b: int) -> None:
        kept, gone = sorted((self.root(a), self.root(b)))
        if kept != gone:
            self._parent[gone] = kept
            self._titles[kept] |= self._titles[gone]


class _Linker:
    """The rules over one article. ``mentions`` are in order of start and called by their numbers in it."""

    def __init__(self, text: str, mentions: Sequence[Mention]) -> None:
        self._text = text
        self._mentions = mentions
        self._titles: list[frozenset[str]] = []
        self._name_of: list[_Name] = []
        names: dict[tuple[str, str], _Name] = {}
        for number, mention in enumerate(mentions):
            words, titles = _read_name(text, mention)
            key, is_alias = identity(words)
            name = names.setdefault((key, _gender(titles)), _Name(_gender(titles), is_alias))
            name.mentions.append(number)
            name.follows_preposition |= bool(_PLACE_BEFORE.search(text, max(0, mention.start - 12), mention.start))
            name.forms[words] = None
            name.surfaces[without_possessive(text[mention.start : mention.end])] = None
            name.kinds[_KIND_OF_TYPE.get(mention.type or "", Kind.OTHER)] += 1
            self._titles.append(titles)
            self._name_of.append(name)
        self._clusters = _Clusters(self._titles)
        # sorted() is stable: of equally full names the one mentioned first comes first.
        self._names = sorted(names.values(), key=lambda name: name.fullness, reverse=True)
        self._by_word: dict[str, list[_Name]] = defaultdict(list)
        self._by_initials: dict[str, list[_Name]] = defaultdict(list)
        for rank, name in enumerate(self._names):
            name.rank = rank
            for word in dict.fromkeys(w for words in name.forms for w in lookup_words(words)):
                self._by_word[word].append(name)
            for letters in sorted({i for surface in name.surfaces for i in initials(surface)}):
                self._by_initials[letters].append(name)

    def clusters(self) -> list[int]:
        """The cluster of each mention, as the number of its first mention."""
        expansions = self._expansions_in_brackets()
        for name in self._names:
            self._attach(name, expansions.get(name.rank) or self._fuller_names(name))
        return [self._clusters.root(number) for number in range(len(self._mentions))]

    def _expansions_in_brackets(self) -> dict[int, list[_Name]]:
        """By rank of acronyms: their full names by "World Health Organization (WHO)" or "WHO (World ...)"."""
        found: dict[int, list[_Name]] = defaultdict(list)
        for number, (left, right) in enumerate(pairwise(self._mentions)):
            if not _BRACKET_OPENS.fullmatch(self._text, left.end, max(left.end, right.start)):
                continue
            for short, full in ((number + 1, number), (number, number + 1)):
                acronym, name = self._surface(short), self._surface(full)
                if is_acronym(acronym) and fits_in_order(acronym, name) and not self._name_of[short].is_alias:
                    found[self._name_of[short].rank].append(self._name_of[full])
        return found

    def _fuller_names(self, name: _Name) -> list[_Name]:
        """The names that ``name`` may be short for, by the first rule that gives any."""
        if name.is_alias:
            return []
        acronyms = ["".join(filter(str.isalpha, s)).casefold() for s in name.surfaces if is_acronym(s)]
        expansions = [full for letters in acronyms for full in self._by_initials.get(letters, ())]
        if expansions:
            return expansions
        sharing = dict.fromkeys(o for words in name.forms for w in lookup_words(words) for o in self._by_word[w])
        fuller = [other for other in sharing if other.rank < name.rank]
        same = [other for other in fuller if not other.forms.keys().isdisjoint(name.forms) and not name.gender]
        persons = [other for other in fuller if _is_short_person(name, other)]
        things = same + persons or [other for other in fuller if _is_short_thing(name, other)]
        return things or [other for other in fuller if _is_last_part(name, other)]

    def _attach(self, name: _Name, fuller: Sequence[_Name]) -> None:
        """Unites the mentions of a name with the fuller name that they are short for.

        Of several entities, titles decide; the mentions that they leave open go together, since an article
        seldom changes what a name stands for, to the one named last before the first of them.
        """
        candidates = sorted(number for other in fuller for number in other.mentions)
        roots = {self._clusters.root(candidate) for candidate in candidates}
        fitting = {titles: self._fitting(roots, titles) for titles in {self._titles[n] for n in name.mentions}}
        pairs: list[tuple[int, int]] = []
        open_mentions: list[int] = []
        for number in name.mentions:
            entities = fitting[self._titles[number]]
            if len(entities) == 1:
                pairs.append((number, next(iter(entities))))
            else:
                open_mentions.append(number)
        pairs += pairwise(open_mentions)
        for number in open_mentions[:1]:
            position = bisect_left(candidates, number)
            nearest = chain(reversed(candidates[:position]), candidates[position:])
            entities = fitting[self._titles[number]]
            pairs += [(number, c) for c in nearest if self._clusters.root(c) in entities][:1]
        for a, b in pairs:
            self._clusters.unite(a, b)

    def _fitting(self, roots: Iterable[int], titles: frozenset[str]) -> set[int]:
        """The clusters that a mention with these titles may belong to: those with one of them, if there are any."""
        agreeing = {root for root in roots if not _contradict(titles, self._clusters.titles(root))}
        return {root for root in agreeing if titles & self._clusters.titles(root)} or agreeing

    def _surface(self, number: int) -> str:
        return self._text[self._mentions[number].start : self._mentions[number].end]


def _read_name(text: str, mention: Mention) -> tuple[Words, frozenset[str]]:
    """A mention's words and the titles that it bears, inside or in front of it; only persons bear titles."""
    words = normalised_words(text[mention.start : mention.end])
    if _KIND_OF_TYPE.get(mention.type or "", Kind.OTHER) in (Kind.PLACE, Kind.PEOPLE):
        return words, frozenset()
    titles = set()
    if mention.type in ("PERSON", "PER", None):
        while len(words) > 1 and words[0] in TITLES:
            titles.add(TITLES[words[0]])
            words = words[1:]
    end = mention.start
    while (before := _TITLE_BEFORE.search(text, max(0, end - 24), end)) and before[1].casefold() in TITLES:
        titles.add(TITLES[before[1].casefold()])
        end = before.start()
    return words, frozenset(titles)


def _gender(titles: frozenset[str]) -> str:
    return "man" if titles & MEN else "woman" if titles & WOMEN else ""


def _contradict(titles: frozenset[str], others: frozenset[str]) -> bool:
    return {_gender(titles), _gender(others)} == {"man", "woman"}


def _is_short_person(short: _Name, full: _Name) -> bool:
    if full.kind is not Kind.PERSON or short.kind is Kind.PEOPLE:
        return False
    pairs = [(s, f) for s in short.forms for f in full.forms]
    # Small models often take a surname alone for an organisation or a place.
    if short.kind is Kind.ORGANISATION or (short.kind is Kind.PLACE and not short.follows_preposition):
        return any(is_surname(s, f) for s, f in pairs)
    return short.kind is not Kind.PLACE and any(is_short_person_name(s, f) for s, f in pairs)


def _is_short_thing(short: _Name, full: _Name) -> bool:
    fits = {Kind.ORGANISATION: is_short_organisation_name, Kind.PLACE: is_short_place_name}.get(short.kind)
    return fits is not None and full.kind is short.kind and any(fits(s, f) for s in short.forms for f in full.forms)


def _is_last_part(short: _Name, full: _Name) -> bool:
    if short.kind is not Kind.ORGANISATION or full.kind is not Kind.ORGANISATION:
        return False
    return any(is_last_part_of_organisation_name(s, f) for s in short.forms for f in full.forms)
