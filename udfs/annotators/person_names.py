"""What shows that a name is a person's: title, given name, initials, age, letters behind it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from udfs.annotators.given_names import is_given_name
from udfs.annotators.known_places import is_known_place
from udfs.annotators.name_forms import POSTNOMINALS, TITLES, Words, has_organisation_noun, normalised_words
from udfs.annotators.name_types import KIND_OF_TYPE, Kind, kind_of
from udfs.spans import Mention

CAPITALISED = r"[A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f][\w\u2010\u2011'\u2019-]*\w"
"""A word of two or more letters that begins with a capital; of the accented letters from Ā on small ones fit too."""
# Initials of persons, not of a country or a city: "U.S. Senate" is nobody.
INITIALS = r"(?!(?:D\.C|U\.[KNS]|L\.A|E\.U)\.)(?:[A-Z]\.[^\S\n]?)+"
LABELS = frozenset(
    "image images photo photos photograph photographs picture pictures video videos file caption credit source".split()
)
"""Labels of a picture or a source: no part of a name in front of a colon, as in "Image: Ann Ray"."""

# Those who bear these are persons, whatever type the tagger gave.
_HONORIFICS = frozenset(
    """mr mrs ms miss mister dr sir dame professor prof sister sgt sergeant capt captain lt lieutenant col colonel
    reverend rev senator sen congressman congresswoman judge detective det inspector constable""".split()
)
_NOT_IN_PERSONS = frozenset(", and of for the in at on news times".split())
_DEMONYM = re.compile(r"(?:ans?|ese|ish|[ei]s?|ers?)$")
_WORD_BEFORE = re.compile(r"(\w+)\.?[^\S\n]+$")
_AGE_AFTER = re.compile(r",[^\S\n](?:aged[^\S\n])?[1-9]\d\b")
_INITIALS_FIRST = re.compile(rf"{INITIALS}[^\S\n]?{CAPITALISED}")
_POSTNOMINAL_LAST = re.compile(rf",?\s(?:{'|'.join(sorted(POSTNOMINALS))})$", re.IGNORECASE)


class People(NamedTuple):
    """Words in normal form that the tagger's mentions of an article show to be of persons."""

    last_words: frozenset[str]
    """The last words of those tagged as persons."""
    surnames: frozenset[str]
    """Those of names of several words."""
    given_names: frozenset[str]
    """Common given names in front of a surname, whatever the type."""


def people_of(text: str, mentions: Iterable[Mention]) -> People:
    """The people of an article."""
    last_words, surnames, given_names = set(), set(), set()
    for mention in mentions:
        words = normalised_words(text[mention.start : mention.end])
        if kind_of(mention.type) is Kind.PERSON:
            last_words.add(words[-1])
            if len(words) > 1:
                surnames.add(words[-1])
        if is_full_person_name(words):
            given_names.add(words[0])
    return People(frozenset(last_words), frozenset(surnames), frozenset(given_names))


def is_full_person_name(words: Words) -> bool:
    """A common given name and one to three more words: "Ann Ray", but not "Ann Ray Museum" or "Ann of Kent"."""
    return (
        2 <= len(words) <= 4
        and is_given_name(words[0])
        and not has_organisation_noun(words)
        and _NOT_IN_PERSONS.isdisjoint(words)
    )


def may_be_surname(word: str) -> bool:
    """Whether a capitalised word behind a given name may belong to it: not a title, a label, "Museum"."""
    folded = word.casefold()
    return not (folded in TITLES or folded in LABELS or has_organisation_noun((folded,)))


def settle_person(text: str, mention: Mention, people: People) -> Mention:
    """The mention, as a person's where something says so, and as a place's where it is a known one."""
    surface = text[mention.start : mention.end]
    kind = kind_of(mention.type)
    if is_known_place(surface):
        is_place = kind not in (Kind.PERSON, Kind.OTHER) or surface.casefold() in people.surnames
        return mention if is_place else mention._replace(type="GPE")
    if kind is Kind.PERSON or mention.type in ("EVENT", "LAW", "LANGUAGE"):
        return mention
    words = normalised_words(surface)
    if kind is Kind.PEOPLE:
        is_person = len(words) == 1 and words[0] in people.last_words and not _DEMONYM.search(words[0])
    else:
        is_person = _is_person(text, mention, words, people)
    return mention._replace(type="PERSON") if is_person else mention


def _is_person(text: str, mention: Mention, words: Words, people: People) -> bool:
    if len(words) > 5 or has_organisation_noun(words) or not _NOT_IN_PERSONS.isdisjoint(words):
        return False
    before = _WORD_BEFORE.search(text, max(0, mention.start - 24), mention.start)
    if before and before[1].casefold() in _HONORIFICS:
        return True
    if len(words) == 1:
        return words[0] in people.given_names or (mention.type not in KIND_OF_TYPE and words[0] in people.last_words)
    surface = text[mention.start : mention.end]
    return (
        words[0] in _HONORIFICS
        or is_full_person_name(words)
        or bool(_INITIALS_FIRST.match(surface) or _POSTNOMINAL_LAST.search(surface))
        or (len(words) <= 3 and bool(_AGE_AFTER.match(text, mention.end)))
        or (len(words) <= 3 and mention.type not in KIND_OF_TYPE and words[-1] in people.last_words)
    )
