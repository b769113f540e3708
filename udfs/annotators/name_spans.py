"""Spans of names put right: what a tagger ran together, cut short, took for a name, or gave a wrong type.

Rules on the text around a mention, before names are propagated and linked. A small tagger errs in a few ways
that come back in every article; each function here undoes one of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from udfs.annotators.given_names import is_given_name
from udfs.annotators.known_places import KNOWN_PLACE, is_known_place
from udfs.annotators.name_forms import (
    KNOWN_AS,
    POSTNOMINALS,
    TITLES,
    Words,
    has_organisation_noun,
    is_acronym,
    is_spelt_by,
    normalised_words,
    without_possessive,
)
from udfs.annotators.name_types import KIND_OF_TYPE, UNLINKED
from udfs.annotators.overlay import lay_over
from udfs.spans import Mention, Span

_PERSON = ("PERSON", "PER")
_CAPITALISED = r"[A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f][\w\u2010\u2011'\u2019-]*\w"
_INITIALS = r"(?:[A-Z]\.[^\S\n]?)+"
_NAME_GOES_ON = re.compile(rf"[^\S\n]({_CAPITALISED})")
_GIVEN_BEFORE = re.compile(rf"(?<![\w-])({_CAPITALISED})[^\S\n]$")
_INITIALS_BEFORE = re.compile(rf"(?<![\w.-]){_INITIALS}[^\S\n]?$")
_GENERATION_AFTER = re.compile(r",?[^\S\n](?:Jr|Sr)\b\.?")
_WORD = re.compile(r"\w+")

# The label of a picture or a source in front of its colon is no name: "Image: Ann Ray".
_LABELS = frozenset(
    "image images photo photos photograph photographs picture pictures video videos file caption credit source".split()
)
# Zones behind a time of day, feasts, and what a child calls its parents.
_NO_NAMES = frozenset("gmt bst est edt pst pdt cet utc easter christmas mum dad mom".split())
_MARKS = frozenset("\"'\u2018\u2019\u201c\u201d([,;:|/\u2013\u2014-")
_ARTICLE = re.compile(r"[Tt]he\s+")
_PARTICLES = frozenset("al el de da di du del della der den van von la le ter ten bin ibn abu".split())
_TIME_OF_DAY = re.compile(r"\d[\d.:]*\s?[ap]\.?m\.?", re.IGNORECASE)
_SCORE_AFTER = re.compile(r"\s*[\u2013\u2014-]\s*\d")
_COMPASS_PAIR = re.compile(
    r"((?:North|South|East|West)(?:ern)?) (?:and|or) ((?:North|South|East|West)(?:ern)? .+)", re.S
)
_JOINED = re.compile(r"\s(?:for|from|the|this|that|his|her|their|our|its)\s")

_DEMONYM = re.compile(r"(?:ans?|ese|ish|[ei]s?|ers?)$")
# In front of a name at a sentence's start, where it has a capital: "Brothers Ann and Bob Ray", "Singer Ann Ray".
_ROLES = frozenset(
    """actor actress activist attorney author biologist brother brothers businessman captain coach colleague comedian
    cousin daughter defender director driver fans father former friend goalkeeper grandfather grandmother husband
    illustrator journalist lawyer manager midfielder mother musician neighbour neighbor novelist officer pilot player
    poet producer professor referee reporter researcher rider scientist singer sister sisters skipper son spokesman
    spokeswoman star striker student teenager uncle aunt  wife winger witness writer young""".split()
)
# Those who bear these are persons, whatever type the tagger gave.
_HONORIFICS = frozenset(
    """mr mrs ms miss mister dr sir dame professor prof sister sgt sergeant capt captain lt lieutenant col colonel
    reverend rev senator sen congressman congresswoman judge detective det inspector constable""".split()
)
# In front of a name that nobody tagged: "President Ray" is a person, "General Motors" is not.
_TITLE_AND_NAME = re.compile(
    r"(?<![\w-])(?:Mr|Mrs|Ms|Miss|Dr|Sir|Dame|Prof|Professor|Sgt|Sergeant|Lt|Col|Capt|Sen|Senator|President|Chancellor"
    rf"|Prime Minister|Chief Executive|Congressman|Congresswoman)\.?[^\S\n]({_INITIALS}[^\S\n]?)?({_CAPITALISED}"
    rf"(?:[^\S\n]{_CAPITALISED})?)"
)
_WORD_BEFORE = re.compile(r"(\w+)\.?[^\S\n]+$")
_AGE_AFTER = re.compile(r",[^\S\n](?:aged[^\S\n])?[1-9]\d\b")
_INITIALS_FIRST = re.compile(rf"(?!(?:D\.C|U\.[KNS]|L\.A|E\.U)\.){_INITIALS}[^\S\n]?{_CAPITALISED}")
_POSTNOMINAL_LAST = re.compile(rf",?\s(?:{'|'.join(sorted(POSTNOMINALS))})$", re.IGNORECASE)
_TWO_CAPITALISED = re.compile(rf"(?<![\w-])(?<!['\u2019]\b)({_CAPITALISED})[^\S\n]({_CAPITALISED})(?!['\u2019-]?\w)")
_NOT_IN_PERSONS = frozenset(", and of for the in at on news times".split())
_IN_LONGER_NAME = re.compile(r"[^\S\n][A-Z]")
_CAPITAL_ARTICLE = re.compile(rf"(?<=[a-z,;][^\S\n])The[^\S\n]({_CAPITALISED}(?:[^\S\n]{_CAPITALISED})*)")
_BYNAME = re.compile(rf"{_CAPITALISED}(?:[^\S\n]{_CAPITALISED})?(?=[\"'\u2019\u201d,.;:]|[^\S\n][a-z])")
_SENTENCE_BEGINS = re.compile(r"""(?:^|[.!?:"'\u2018\u201c(\n])\s*$""")
_SMALL_WORD = r"(?:of|the|and|for|in|on|at|to|de|la|du|des|&)"
_CAPITALISED_RUN = re.compile(rf"{_CAPITALISED}(?:[^\S\n](?:{_SMALL_WORD}[^\S\n])*{_CAPITALISED})+")
_ACRONYM_AFTER = re.compile(r"(?:[^\S\n]*[(\[][^\S\n]*|,[^\S\n]or[^\S\n])([A-Z][A-Za-z&.-]{1,9})(?=[^\S\n]*[,;)\]])")
_NAME_IN_BRACKETS = re.compile(rf"(?<![\w-])([A-Z][A-Za-z&.-]{{1,9}})[^\S\n]\(({_CAPITALISED_RUN.pattern})\)")


def repair_names(text: str, units: Sequence[Span], mentions: Iterable[Mention]) -> list[Mention]:
    """Mentions with their spans and types put right, in order of start.

    Args:
        units: paragraphs and highlights: no rule looks over the border of one.
        mentions: what the tagger found.
    """
    found = sorted(mentions, key=lambda m: (m.start, -m.end))
    surnames = _surnames(text, found)
    given = _given_names(text, found)
    parts = [part for mention in found for part in _parts(text, mention, surnames)]
    parts = [trimmed for part in parts if (trimmed := _trimmed(text, part)) and not _is_no_name(text, trimmed)]
    parts = _without_common_words(text, parts)
    parts = [_as_person(text, m, surnames, given) for m in _stretched(text, parts)]
    for rule in (_defined_acronyms, _titled_persons, _given_and_surname, _known_places, _names_with_article, _bynames):
        parts = lay_over(parts, [_bare(text, m) for start, end in units for m in rule(text, start, end, parts)])
    return parts


def _surnames(text: str, mentions: Iterable[Mention]) -> set[str]:
    """The last words, in normal form, of the persons that the tagger found."""
    return {normalised_words(text[m.start : m.end])[-1] for m in mentions if m.type in _PERSON}


def _given_names(text: str, mentions: Iterable[Mention]) -> set[str]:
    """The given names, in normal form, of the full names of persons."""
    names = (normalised_words(text[m.start : m.end]) for m in mentions)
    return {words[0] for words in names if _is_full_person_name(words)}


def _parts(text: str, mention: Mention, surnames: set[str]) -> Iterator[Mention]:
    """The mentions that a tagged span holds: "North and South Korea" is two, and so is "Ann Ray for the Board"."""
    surface = text[mention.start : mention.end]
    pair = _COMPASS_PAIR.fullmatch(surface)
    joint = _JOINED.search(surface)
    if pair:
        for start, end in (pair.span(1), pair.span(2)):
            yield mention._replace(start=mention.start + start, end=mention.start + end)
    elif joint and mention.type in ("ORG", "PERSON", "WORK_OF_ART") and _is_person(surface[: joint.start()], surnames):
        yield mention._replace(end=mention.start + joint.start(), type="PERSON")
        yield mention._replace(start=mention.start + joint.end())
    else:
        yield mention


def _is_person(surface: str, surnames: set[str]) -> bool:
    words = normalised_words(surface)
    return words[-1] in surnames if len(words) == 1 else _is_full_person_name(words)


def _is_full_person_name(words: Words) -> bool:
    """A common given name and one or two more words: "Ann Ray", but not "Ann Ray Museum", "Ann of Kent"."""
    return (
        2 <= len(words) <= 4
        and is_given_name(words[0])
        and not has_organisation_noun(words)
        and _NOT_IN_PERSONS.isdisjoint(words)
    )


def _trimmed(text: str, mention: Mention) -> Mention | None:
    """Without labels, scores, words of the sentence, and what follows a bracket that stays open."""
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
    words = [(m.start(), m.end()) for m in re.finditer(r"\S+", text[start:end])]
    while words and text[end : end + 1] == ":" and text[start + words[-1][0] : start + words[-1][1]].lower() in _LABELS:
        del words[-1]
        if words:
            end = start + words[-1][1]
    if len(words) > 1 and text[start + words[-1][0] : end].isdigit() and _SCORE_AFTER.match(text, end):
        del words[-1]
    if mention.type in _PERSON:
        words = _without_roles([(text[start + a : start + b], (a, b)) for a, b in words])
    if not words:
        return None
    return mention._replace(start=start + words[0][0], end=start + words[-1][1])


def _without_roles(words: list[tuple[str, tuple[int, int]]]) -> list[tuple[int, int]]:
    """The places of the words of a person's name, without words of the sentence, roles and titles behind it."""
    low, high = 0, len(words)
    while low < high - 1 and words[low][0].islower() and words[low][0] not in _PARTICLES:
        low += 1
    while low < high - 1 and words[low][0].casefold() in _ROLES:
        low += 1
    while high - low > 1 and words[high - 1][0].casefold().rstrip(".") in TITLES:
        high -= 1
    kept = [word for word, _ in words[low:high]]
    is_name = any(w[:1].isupper() for w in kept) and not all(w.casefold().rstrip(".") in TITLES for w in kept)
    return [place for _, place in (words[low:high] if is_name else words)]


def _is_no_name(text: str, mention: Mention) -> bool:
    surface = text[mention.start : mention.end]
    folded = surface.casefold()
    if folded in _NO_NAMES or _TIME_OF_DAY.fullmatch(surface):
        return True
    return folded in TITLES and text[mention.end : mention.end + 1] == "."


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
    start, end, type_ = mention.start, mention.end, mention.type
    words = normalised_words(text[start:end])
    single = len(words) == 1
    if single and (type_ in _PERSON or is_given_name(words[0])):
        after = _NAME_GOES_ON.match(text, end, high)
        if after and is_given_name(words[0]) and _may_be_surname(text, after[1], after.end()):
            end, type_ = after.end(), "PERSON"
    if single and end == mention.end and type_ in (*_PERSON, "GPE", "ORG"):
        before = _GIVEN_BEFORE.search(text, low, start)
        if before and is_given_name(before[1].casefold()):
            start, type_ = before.start(1), "PERSON"
    if (type_ in _PERSON or single) and (initials := _INITIALS_BEFORE.search(text, low, start)):
        start, type_ = initials.start(), "PERSON"
    if type_ in _PERSON and (generation := _GENERATION_AFTER.match(text, end, high)):
        end = generation.end()
    return mention._replace(start=start, end=end, type=type_)


def _may_be_surname(text: str, word: str, end: int) -> bool:
    folded = word.casefold()
    return not (folded in TITLES or folded in _LABELS or has_organisation_noun((folded,)))


def _as_person(text: str, mention: Mention, surnames: set[str], given: set[str]) -> Mention:
    """With the type of a person where title, initials, given name or age say so."""
    surface = text[mention.start : mention.end]
    if is_known_place(surface):
        return mention if mention.type in KIND_OF_TYPE and mention.type != "PERSON" else mention._replace(type="GPE")
    if mention.type in (*_PERSON, "EVENT", "LAW", "LANGUAGE"):
        return mention
    words = normalised_words(surface)
    if mention.type == "NORP":
        is_surname = len(words) == 1 and words[0] in surnames and not _DEMONYM.search(words[0])
        return mention._replace(type="PERSON") if is_surname else mention
    if len(words) > 5 or has_organisation_noun(words) or not _NOT_IN_PERSONS.isdisjoint(words):
        return mention
    before = _WORD_BEFORE.search(text, max(0, mention.start - 24), mention.start)
    titled = (words[0] in _HONORIFICS and len(words) > 1) or bool(before and before[1].casefold() in _HONORIFICS)
    is_person = (
        titled
        or _is_full_person_name(words)
        or (len(words) > 1 and bool(_INITIALS_FIRST.match(surface) or _POSTNOMINAL_LAST.search(surface)))
        or (len(words) in (2, 3) and bool(_AGE_AFTER.match(text, mention.end)))
        or (len(words) <= 3 and words[-1] in surnames and mention.type not in KIND_OF_TYPE)
        or (len(words) == 1 and words[0] in given)
    )
    return mention._replace(type="PERSON") if is_person else mention


def _defined_acronyms(text: str, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Full name and acronym of "World Health Board (WHB)" and "World Health Board, or WHB," where letters agree."""
    types = {m.end: m.type for m in mentions}
    for run in _CAPITALISED_RUN.finditer(text, start, end):
        after = _ACRONYM_AFTER.match(text, run.end(), end)
        if not after or not is_acronym(after[1]):
            continue
        begin = _begin_of_full_name(run[0], after[1])
        if begin is None:
            continue
        type_ = types.get(run.end(), "ORG")
        type_ = type_ if type_ in KIND_OF_TYPE else "ORG"
        yield Mention(run.start() + begin, run.end(), UNLINKED, type_)
        yield Mention(*after.span(1), UNLINKED, type_)
    for match in _NAME_IN_BRACKETS.finditer(text, start, end):
        if is_acronym(match[1]) and is_spelt_by(match[1], match[2]):
            for span in (match.span(1), match.span(2)):
                yield Mention(*span, UNLINKED, "ORG")


def _begin_of_full_name(run: str, acronym: str) -> int | None:
    """Where in a run of capitalised words the name begins that the acronym abbreviates; None where none does."""
    return next(
        (m.start() for m in re.finditer(r"[^\W_][\w'\u2019-]*", run) if is_spelt_by(acronym, run[m.start() :])), None
    )


def _titled_persons(text: str, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """ "Ann Ray" of "President Ann Ray", where nobody is tagged."""
    taken = {m.start for m in mentions}
    for match in _TITLE_AND_NAME.finditer(text, start, end):
        name = match.start(1) if match[1] else match.start(2)
        if name not in taken and match[2].split()[0].casefold() not in TITLES:
            yield Mention(name, match.end(), UNLINKED, "PERSON")


def _given_and_surname(text: str, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """A common given name and a capitalised word behind it."""
    for match in _TWO_CAPITALISED.finditer(text, start, end):
        if is_given_name(match[1].casefold()) and _may_be_surname(text, match[2], match.end()):
            yield Mention(*match.span(), UNLINKED, "PERSON")


def _known_places(text: str, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """Countries, capitals and states, where nothing is tagged."""
    taken = {m.start for m in mentions}
    for match in KNOWN_PLACE.finditer(text, start, end):
        if match.start() not in taken and not _IN_LONGER_NAME.match(text, match.end()):
            yield Mention(*match.span(), UNLINKED, "GPE")


def _names_with_article(text: str, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """ "Onion" of "a writer for The Onion": a capital "The" inside a sentence belongs to a name."""
    for match in _CAPITAL_ARTICLE.finditer(text, start, end):
        yield Mention(*match.span(1), UNLINKED, "ORG")


def _bynames(text: str, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[Mention]:
    """ "Spud" of "Ann Ray, nicknamed 'Spud'": of persons only."""
    for mention in mentions:
        if mention.type in _PERSON and start <= mention.start < end:
            known_as = KNOWN_AS.match(text, mention.end, end)
            name = known_as and _BYNAME.match(text, known_as.end(), end)
            if name:
                yield Mention(*name.span(), UNLINKED, "PERSON")


def _bare(text: str, mention: Mention) -> Mention:
    article = _ARTICLE.match(text, mention.start, mention.end)
    start = article.end() if article else mention.start
    return mention._replace(start=start, end=start + len(without_possessive(text[start : mention.end])))
