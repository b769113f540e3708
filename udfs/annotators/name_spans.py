"""Spans of names put right: what a tagger ran together, cut short, or took for a name.

Rules on the text around a mention, before names are propagated and linked. A small tagger errs in a few ways
that come back in every article; each function here undoes one of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from udfs.annotators.given_names import is_given_name
from udfs.annotators.name_forms import TITLES, has_organisation_noun, normalised_words
from udfs.annotators.name_types import Kind, kind_of, mention_order
from udfs.annotators.person_names import (
    CAPITALISED,
    INITIALS,
    LABELS,
    People,
    is_full_person_name,
    may_be_surname,
    people_of,
    settle_person,
)
from udfs.annotators.untagged_names import add_untagged
from udfs.spans import Mention, Span

_WORD = re.compile(r"\w+")
_ARTICLE = re.compile(r"[Tt]he\s+")
_MARKS = frozenset("\"'\u2018\u2019\u201c\u201d([,;:|/\u2013\u2014-")
_SENTENCE_BEGINS = re.compile(r"""(?:^|[.!?:"'\u2018\u201c(\n])\s*$""")

# "North and South Korea" is two names; so are "Ann Ray for the Board" and, whoever Ray is, "Ray this Court".
_HALF = r"(?:North|South|East|West)(?:ern)?"
_COMPASS_PAIR = re.compile(rf"({_HALF}) (?:and|or) ({_HALF} .+)", re.DOTALL)
_JOINED = re.compile(r"\s(?:for|from|the|(this|that|his|her|their|our|its))\s")

# Zones behind a time of day, feasts, and what a child calls its parents.
_NO_NAMES = frozenset("gmt bst est edt pst pdt cet utc easter christmas mum dad mom".split())
_TIME_OF_DAY = re.compile(r"\d[\d.:]*\s?[ap]\.?m\.?", re.IGNORECASE)
_SCORE_BEHIND = re.compile(r"\s*[\u2013\u2014-]\s*\d")
# Small words that a person's name may begin with.
_PARTICLES = frozenset("al el de da di du del della der den van von la le ter ten bin ibn abu".split())
# In front of a name at a sentence's start, where they have a capital: "Brothers Ann and Bob Ray", "Singer Ann Ray".
_ROLES = frozenset(
    """actor actress activist attorney author biologist brother brothers businessman captain coach colleague comedian
    cousin daughter defender director driver fans father former friend goalkeeper grandfather grandmother husband
    illustrator journalist lawyer manager midfielder mother musician neighbour neighbor novelist officer pilot player
    poet producer professor referee reporter researcher rider scientist singer sister sisters skipper son spokesman
    spokeswoman star striker student teenager uncle aunt wife winger witness writer young""".split()
)

_SURNAME_BEHIND = re.compile(rf"[^\S\n]({CAPITALISED})")
_WORD_BEFORE = re.compile(rf"(?<![\w-])({CAPITALISED})[^\S\n]$")
_INITIALS_BEFORE = re.compile(rf"(?<![\w.-]){INITIALS}$")
_GENERATION_BEHIND = re.compile(r",?[^\S\n](?:Jr|Sr)\b\.?")


def repair_names(text: str, units: Sequence[Span], mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions with their spans and types put right, and those that the tagger missed, in order of start.

    Args:
        units: paragraphs and highlights: no rule looks over the border of one.
        mentions: what the tagger found.
    """
    found = sorted(mentions, key=mention_order)
    people = people_of(text, found)
    parts = [part for mention in found for part in _parts(text, mention, people)]
    parts = [trimmed for part in parts if (trimmed := _trimmed(text, part)) and not _is_no_name(text, trimmed)]
    parts = _without_common_words(text, parts)
    parts = [settle_person(text, m, people) for m in _stretched(text, parts)]
    return add_untagged(text, units, sorted(parts, key=mention_order))


def _parts(text: str, mention: Mention, people: People) -> Iterator[Mention]:
    """The mentions that a tagged span holds: two where two names were run together."""
    surface = text[mention.start : mention.end]
    pair = _COMPASS_PAIR.fullmatch(surface)
    joint = _JOINED.search(surface)
    if pair:
        for start, end in (pair.span(1), pair.span(2)):
            yield mention._replace(start=mention.start + start, end=mention.start + end)
    elif joint and mention.type in ("ORG", "PERSON") and (joint[1] or _is_person(surface[: joint.start()], people)):
        is_person = _is_person(surface[: joint.start()], people)
        yield mention._replace(end=mention.start + joint.start(), type="PERSON" if is_person else mention.type)
        rest = mention.start + joint.end()
        article = _ARTICLE.match(text, rest, mention.end)
        yield mention._replace(start=article.end() if article else rest)
    else:
        yield mention


def _is_person(surface: str, people: People) -> bool:
    words = normalised_words(surface)
    return words[0] in people.last_words if len(words) == 1 else is_full_person_name(words)


def _trimmed(text: str, mention: Mention) -> Mention | None:
    """Without marks, labels, scores, words of the sentence, and what follows a bracket that stays open."""
    start, end = mention.start, mention.end
    opened = max(text.rfind("(", start, end), text.rfind("[", start, end))
    if opened > start and not re.search(r"[)\]]", text[opened:end]):
        end = opened
    while start < end and (text[start] in _MARKS or text[start].isspace()):
        start += 1
    while start < end and (text[end - 1] in _MARKS or text[end - 1].isspace()):
        end -= 1
    if start > mention.start and (article := _ARTICLE.match(text, start, end)):
        start = article.end()
    words = [(word[0], (start + word.start(), start + word.end())) for word in re.finditer(r"\S+", text[start:end])]
    if words and text[end : end + 1] == ":" and words[-1][0].casefold() in LABELS:
        del words[-1]
    if len(words) > 1 and words[-1][0].isdigit() and _SCORE_BEHIND.match(text, end):
        del words[-1]
    if kind_of(mention.type) is Kind.PERSON:
        words = _without_roles(words)
    return mention._replace(start=words[0][1][0], end=words[-1][1][1]) if words else None


def _without_roles(words: list[tuple[str, tuple[int, int]]]) -> list[tuple[str, tuple[int, int]]]:
    """A person's name without small words and roles in front, and titles behind: "Virginia Governor"."""
    low, high = 0, len(words)
    while low < high - 1 and words[low][0].islower() and words[low][0] not in _PARTICLES:
        low += 1
    while low < high - 1 and words[low][0].casefold() in _ROLES:
        low += 1
    while high - low > 1 and words[high - 1][0].casefold().rstrip(".") in TITLES:
        high -= 1
    kept = [word for word, _ in words[low:high]]
    is_name = any(w[:1].isupper() for w in kept) and not all(w.casefold().rstrip(".") in TITLES for w in kept)
    return words[low:high] if is_name else words


def _is_no_name(text: str, mention: Mention) -> bool:
    surface = text[mention.start : mention.end]
    folded = surface.casefold()
    if folded in _NO_NAMES or _TIME_OF_DAY.fullmatch(surface):
        return True
    return folded in TITLES and text[mention.end : mention.end + 1] == "."  # "Sgt." alone


def _without_common_words(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Without single words that have a capital only where a sentence begins and are written small elsewhere."""
    small = {word for word in _WORD.findall(text) if word.islower()}
    inside = {text[m.start : m.end] for m in mentions if not _begins_sentence(text, m.start)}
    return [
        m
        for m in mentions
        if (surface := text[m.start : m.end]) in inside or surface.casefold() not in small or surface.isupper()
    ]


def _begins_sentence(text: str, start: int) -> bool:
    return bool(_SENTENCE_BEGINS.search(text[max(0, start - 4) : start]))


def _stretched(text: str, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Persons' names with the given name, initials, surname or "Jr." that the tagger left outside."""
    ends = [0, *(m.end for m in mentions)]
    starts = [*(m.start for m in mentions[1:]), len(text)]
    for mention, low, high in zip(mentions, ends, starts, strict=False):
        yield _stretch(text, mention, low, high)


def _stretch(text: str, mention: Mention, low: int, high: int) -> Mention:
    """One name, at most from ``low`` to ``high``: the neighbours' borders."""
    start, end = mention.start, mention.end
    words = normalised_words(text[start:end])
    is_person = kind_of(mention.type) is Kind.PERSON
    may_be_person = is_person or (len(words) == 1 and not has_organisation_noun(words))
    if len(words) == 1:
        behind = _SURNAME_BEHIND.match(text, end, high) if is_given_name(words[0]) else None
        before = _WORD_BEFORE.search(text, low, start) if mention.type in ("PERSON", "PER", "GPE", "ORG") else None
        if behind and may_be_surname(behind[1]):
            end, is_person = behind.end(), True
        elif before and is_given_name(before[1].casefold()):
            start, is_person = before.start(1), True
    if may_be_person and (initials := _INITIALS_BEFORE.search(text, low, start)):
        start, is_person = initials.start(), True
    if is_person and (generation := _GENERATION_BEHIND.match(text, end, high)):
        end = generation.end()
    return mention._replace(start=start, end=end, type="PERSON" if is_person else mention.type)
