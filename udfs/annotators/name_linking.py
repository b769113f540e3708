"""Name linking: which named mentions of one article denote the same entity, by their names alone.

No model and no pronouns: mentions go in, the same mentions with clusters come out. On news, a linker of
names over a good tagger finds more true pairs of names than general coreference models do.

``link_names`` groups mentions by name and attaches each short name (surname, acronym, nickname, "Irving" of
"Irving, Texas") to a fuller one. A short name that fits several entities goes to the one named last before it.
``resolve_names`` is all the rules in their order: spans put right, repeats found, names linked, types agreed.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from udfs.annotators.given_names import gender_of, is_given_name
from udfs.annotators.name_forms import (
    KNOWN_AS,
    MEN,
    TITLES,
    WOMEN,
    Words,
    fits_in_order,
    identity,
    initials,
    is_acronym,
    is_last_part_of_organisation_name,
    is_short_organisation_name,
    is_short_person_name,
    is_short_place_name,
    is_surname,
    lookup_words,
    normalised_words,
    without_possessive,
)
from udfs.annotators.name_propagation import propagate_names
from udfs.annotators.name_spans import repair_names
from udfs.annotators.name_types import Kind, agreed_types, kind_of, mention_order
from udfs.spans import Mention, Span

RULES_VERSION = 2
"""Part of the digest of every annotator that links names: raise it with any change of what linking gives."""

_TITLE_BEFORE = re.compile(r"(\w+)\.?[^\S\n]+$")
_PLACE_BEFORE = re.compile(r"\b(?:in|at|near|to|from|into|outside|across|around)\s+$", re.IGNORECASE)
_BRACKET_OPENS = re.compile(r"[^\S\n]*\([^\S\n]*")


def resolve_names(text: str, units: Sequence[Span], found: Iterable[Mention]) -> list[Mention]:
    """All rules for names, from what a tagger found to linked mentions in order of start.

    Args:
        units: paragraphs and highlights; the mentions lie inside them.
        found: mentions with the tagger's types; they may nest.
    """
    mentions = propagate_names(text, units, repair_names(text, units, found))
    return agreed_types(link_names(text, mentions))


def link_names(text: str, mentions: Iterable[Mention]) -> list[Mention]:
    """Fills in the clusters of one article's named mentions; those given are ignored.

    Returns:
        The mentions in order of start, whatever their order was; clusters are numbered 0, 1, ... in order
        of first mention.
    """
    ordered = sorted(mentions, key=mention_order)
    clusters = _Linker(text, ordered).clusters()
    number: dict[int, int] = {}
    return [
        mention._replace(cluster=number.setdefault(cluster, len(number)))
        for mention, cluster in zip(ordered, clusters, strict=True)
    ]


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
            name.kinds[kind_of(mention.type)] += 1
            self._titles.append(_with_gender(words, titles, mention.type))
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
        expansions = self._names_in_apposition()
        for name in self._names:
            self._attach(name, expansions.get(name.rank) or self._fuller_names(name))
        return [self._clusters.root(number) for number in range(len(self._mentions))]

    def _names_in_apposition(self) -> dict[int, list[_Name]]:
        """By rank of acronyms and nicknames: their names by "World Health Organization (WHO)", "Ray, known as Spud"."""
        found: dict[int, list[_Name]] = defaultdict(list)
        for number, (left, right) in enumerate(pairwise(self._mentions)):
            between = max(left.end, right.start)
            if KNOWN_AS.fullmatch(self._text, left.end, between) and self._is_byname(number + 1):
                found[self._name_of[number + 1].rank].append(self._name_of[number])
            if not _BRACKET_OPENS.fullmatch(self._text, left.end, between):
                continue
            for short, full in ((number + 1, number), (number, number + 1)):
                acronym, name = self._surface(short), self._surface(full)
                if is_acronym(acronym) and fits_in_order(acronym, name) and not self._name_of[short].is_alias:
                    found[self._name_of[short].rank].append(self._name_of[full])
        return found

    def _is_byname(self, number: int) -> bool:
        """Whether a mention may be a nickname: not where it reads as the full name of somebody else."""
        name = self._name_of[number]
        return not name.is_alias and all(len(w) == 1 or not (len(w[0]) == 1 or is_given_name(w[0])) for w in name.forms)

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
        return things or [other for other in fuller if _is_last_part(name, other) or _is_founder(name, other)]

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
    if kind_of(mention.type) in (Kind.PLACE, Kind.PEOPLE):
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


def _with_gender(words: Words, titles: frozenset[str], type_: str | None) -> frozenset[str]:
    """The titles, and "man" or "woman" where they or the given name of a full name tell it."""
    gender = _gender(titles)
    if not gender and len(words) > 1 and kind_of(type_) is Kind.PERSON:
        gender = gender_of(words[0])
    return titles | {gender} if gender else titles


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


def _is_founder(short: _Name, full: _Name) -> bool:
    """ "Ford" for "Ford Motors", which a tagger takes for a person that no other name is of."""
    if short.kind is not Kind.PERSON or full.kind is not Kind.ORGANISATION:
        return False
    return any(is_short_organisation_name(s, f) for s in short.forms for f in full.forms if len(s) == 1)
