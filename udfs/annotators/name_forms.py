"""The forms of names: how a name is normalised, and when one name is short for another.

Rules on two names alone; which mentions stand for which name is ``name_linking``'s part.
"""

import re
from dataclasses import dataclass
from unicodedata import combining, normalize

Words = tuple[str, ...]


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Title as written (no dot) -> one form of it: the same title on two mentions speaks for the same person.
TITLES = {
    title: title
    for title in _listed(
        """mr mrs ms dr sir dame lord lady president vice prime minister chancellor senator representative congressman
        congresswoman governor mayor king queen prince princess duke duchess pope captain general colonel major
        sergeant lieutenant judge justice chairman chairwoman chief secretary director professor bishop archbishop
        cardinal ambassador sheriff reverend spokesman spokeswoman"""
    )
} | {
    "mister": "mr", "miss": "ms", "sen": "senator", "rep": "representative", "gov": "governor", "capt": "captain",
    "gen": "general", "col": "colonel", "sgt": "sergeant", "lt": "lieutenant", "prof": "professor", "rev": "reverend",
    "det": "detective", "detective": "detective", "inspector": "inspector",
}  # fmt: skip
MEN = _listed("man mr sir lord king prince duke pope congressman chairman spokesman")
WOMEN = _listed("woman mrs ms dame lady queen princess duchess congresswoman chairwoman spokeswoman")

_GENERATIONS = _listed("jr sr ii iii iv")
_CORPORATE = _listed("inc incorporated corp corporation co company ltd limited llc plc group gmbh")
_SMALL_WORDS = _listed("of the and for in on at a an de la du des van von to")
_ARABIC_ARTICLES = _listed("al el ul")

# An organisation named by one of these nouns is another one once words other than "of ..." follow:
# "Ministry of Defence" and "Ministry of Defence Police", but "University" and "University of Leeds".
_INSTITUTIONS = _listed(
    """academy administration agency army assembly association authority bank board bureau centre center church
    college commission committee congress council court department federation force foundation government hospital
    house institute institution league ministry museum navy office parliament party police school senate service
    society union university"""
)
ORGANISATION_NOUNS = _INSTITUTIONS | _listed(
    """airlines airport airways arena avenue bridge cathedral center centers club corps cup fc festival fund games
    garden gardens hall holdings hotel island journal laboratory lake library memorial motors mount mountain news
    park partners press prison project railway river road square stadium station store street studios team theatre
    theater times tower trust united village"""
)
POSTNOMINALS = _listed("qc kc mp phd md obe mbe cbe esq")
_JOINING_WORDS = _listed("of for at in on , and")

# Names of one entity that rules can't relate; the forms are as ``normalised_words`` gives them.
_ALIASES = """\
us | u s | usa | u s a | united states | united states of america | america
uk | u k | britain | great britain | united kingdom
un | u n | united nations
eu | e u | european union
uae | u a e | united arab emirates
prc | china | peoples republic of china
south korea | republic of korea | korea republic | rok
north korea | dprk | democratic peoples republic of korea
drc | dr congo | democratic republic of congo | democratic republic of the congo
congo brazzaville | republic of congo | republic of the congo
taiwan | republic of china
russia | russian federation
myanmar | burma
ivory coast | cote divoire
czech republic | czechia
netherlands | holland
swaziland | eswatini
cape verde | cabo verde
east timor | timor leste
turkey | turkiye
vatican | vatican city | holy see
bosnia | bosnia and herzegovina | bosnia herzegovina
washington dc | washington d c | washington , dc | washington , d c | dc | d c | district of columbia
new york | new york city | ny | nyc
los angeles | la | l a
philadelphia | philly
mumbai | bombay
kolkata | calcutta
kyiv | kiev
beijing | peking
isis | isil | islamic state | daesh"""
_ALIAS_OF = {
    form.replace(" ", ""): line.split("|")[0].strip() for line in _ALIASES.splitlines() for form in line.split("|")
}
# "Islamic Republic of Iran" -> "iran"; the exceptions ("Republic of Korea") are aliases.
_STATE_PREFIX = re.compile(
    r"(?:(?:islamic|federal|peoples|socialist|democratic|arab|united|hashemite) )*"
    r"(?:republic|kingdom|state) of (?:the )?"
)
KNOWN_AS = re.compile(
    r"(?:,[^\S\n][1-9]\d)?,?[^\S\n](?:who[^\S\n]is[^\S\n]|also[^\S\n]|better[^\S\n]|whom?(?:[^\S\n][a-z]+){1,2}[^\S\n])?"
    r"(?:known(?:[^\S\n](?!as\b)[a-z]+){0,2}[^\S\n]as|nicknamed|dubbed|call)(?:[^\S\n]the)?[^\S\n][\"'\u2018\u201c]?"
)
"""Between a name and another one of the same: "Ann Ray, known online as Kestrel", "Ann Ray, nicknamed 'Spud'"."""
# Countries that are or were two: of either one newspapers write "the North", but "Sudan" is not South Sudan.
_HALVES = _listed("north south east west")
_DIVIDED = _listed("korea vietnam yemen sudan germany")
_HYPHEN = re.compile(r"\s*[-\u2010\u2011]\s*")
_POSSESSIVE = re.compile(r"['\u2019]s?\s*$")
_NOT_IN_NAMES = re.compile(r"[^\w\s,]")
_WORD = re.compile(r"\w+")


def without_possessive(surface: str) -> str:
    """``surface`` without a final "'s" or apostrophe, straight or curly."""
    return _POSSESSIVE.sub("", surface)


def normalised_words(surface: str) -> Words:
    """The words of a name: case and accents folded; leading article, possessive, corporate suffix, dots dropped.

    Hyphens join ("Jean-Claude" is one word) except after an Arabic article; a comma inside stays as a word:
    "The Al-Hayat Group's" -> ("al", "hayat"), "Irving, Texas" -> ("irving", ",", "texas").
    """
    folded = without_possessive(surface)
    if not folded.isascii():
        folded = "".join(c for c in normalize("NFKD", folded) if not combining(c))
    folded = re.sub("['\u2018\u2019]", "", folded.casefold())
    joined: list[str] = []
    for part in _HYPHEN.split(folded):
        before = joined[-1].split()[-1:] if joined else []
        if joined and not _ARABIC_ARTICLES.intersection(before):
            joined[-1] += part
        else:
            joined.append(part)
    folded = " ".join(joined).replace("&", " and ")
    words = _NOT_IN_NAMES.sub(" ", folded).replace(",", " , ").split()
    while len(words) > 1 and words[0] in ("the", "a", "an", ","):
        del words[0]
    while len(words) > 1 and (words[-1] in _CORPORATE or words[-1] in POSTNOMINALS or words[-1] in ("and", ",")):
        del words[-1]
    return tuple(words) or (surface.strip(),)


def identity(words: Words) -> tuple[str, bool]:
    """The key that equal names share (blanks do not matter), and whether it stands in the table of aliases."""
    name = " ".join(words)
    for key in (name.replace(" ", ""), _STATE_PREFIX.sub("", name).replace(" ", "")):
        if key in _ALIAS_OF:
            return _ALIAS_OF[key], True
    return key, False


def is_acronym(surface: str) -> bool:
    """One word of 2 to 8 letters, at least two of them capitals and at least half: "WHO", "U.N.", "MoD"."""
    letters = [c for c in surface if c.isalpha()]
    capitals = sum(c.isupper() for c in letters)
    return 2 <= len(letters) <= 8 and capitals >= 2 and 2 * capitals >= len(letters) and len(surface.split()) == 1


def fits_in_order(acronym: str, name: str) -> bool:
    """Whether the acronym's letters occur in order in the name, from its first: enough beside a bracket."""
    wanted = [c for c in acronym.casefold() if c.isalpha()]
    letters = iter(c for c in name.casefold() if c.isalpha())
    return len(name.split()) > 1 and name[:1].casefold() == wanted[0] and all(c in letters for c in wanted)


def is_spelt_by(acronym: str, name: str) -> bool:
    """Whether the acronym's letters are the first letters of the name's words; small words may be passed over."""
    letters = "".join(c for c in acronym.casefold() if c.isalpha())
    words = [w.casefold() for w in re.sub(r"['\u2019]s?\b", "", name).replace("-", " ").split()]
    reached = {0}
    for word in words:
        reached = {n + 1 for n in reached if letters[n : n + 1] == word[0]} | (
            reached if word in _SMALL_WORDS else set()
        )
    return len(words) > 1 and len(letters) in reached


def has_organisation_noun(words: Words) -> bool:
    """Whether a word says that the name is an organisation's or a building's: "ann ray museum"."""
    return not ORGANISATION_NOUNS.isdisjoint(words) or not _CORPORATE.isdisjoint(words)


def initials(name: str) -> set[str]:
    """The acronyms that a name of several words gives: with and without its small words ("of")."""
    words = _WORD.findall(re.sub(r"['\u2019]s?\b", "", name).casefold())
    if words[:1] == ["the"]:
        words = words[1:]
    if len(words) < 2:
        return set()
    return {"".join(w[0] for w in words), "".join(w[0] for w in words if w not in _SMALL_WORDS)}


def is_short_person_name(short: Words, full: Words) -> bool:
    """Surname or first name alone, or the same surname with given names that agree: never by surname alone.

    "Reis", "Ana", "A. Reis", "Maria Reis" are short for "Ana Maria Reis"; "Carlos Reis" is not. Two persons:
    a full name with "Jr" and one without; "George W. Bush" and "George H. W. Bush".
    """
    if len(full) < 2:
        return False
    short_parts, full_parts = _person_parts(short), _person_parts(full)
    if short_parts.surname != full_parts.surname:
        return len(short) == 1 and short[0] == full[0] and len(short[0]) > 1
    if not short_parts.given:
        return short_parts.generation in ("", full_parts.generation) and bool(full_parts.given)
    if short_parts.generation != full_parts.generation:
        return False
    if full[-len(short) :] == short:
        return True
    fewer, more = sorted((short_parts.given, full_parts.given), key=len)
    if len(fewer) == 1:
        return any(_given_names_agree(fewer[0], name) for name in more)
    return len(fewer) == len(more) and all(map(_given_names_agree, fewer, more))


@dataclass(frozen=True)
class _PersonParts:
    given: Words
    surname: str
    generation: str


def _person_parts(words: Words) -> _PersonParts:
    generation = words[-1] if len(words) > 1 and words[-1] in _GENERATIONS else ""
    if generation:
        words = words[:-1]
    return _PersonParts(words[:-1], words[-1], generation)


def _given_names_agree(a: str, b: str) -> bool:
    return a == b or (min(len(a), len(b)) == 1 and a[0] == b[0])


def is_short_organisation_name(short: Words, full: Words) -> bool:
    """The first words of the full name, or what follows "of": "Chelsea" of "Chelsea FC"."""
    extra = full[len(short) :]
    if not extra:
        return False
    if full[: len(short)] == short:
        return extra[0] in _JOINING_WORDS or _INSTITUTIONS.isdisjoint(short)
    return full[-len(short) - 1 :] == ("of", *short)


def is_last_part_of_organisation_name(short: Words, full: Words) -> bool:
    """ "Forest Service" of "U.S. Forest Service", "League" of "Farmers' League"."""
    return len(short) < len(full) and full[-len(short) :] == short


def is_short_place_name(short: Words, full: Words) -> bool:
    """The name in front of a comma, and the half of a divided country: "the North", or "Korea" alone."""
    if full[: len(short) + 1] == (*short, ","):
        return True
    divided = len(full) == 2 and full[0] in _HALVES and full[1] in _DIVIDED
    return divided and (short == full[:1] or (short == full[1:] and full[1] == "korea"))


def lookup_words(words: Words) -> Words:
    """The words under which a name is looked up: names that may be short for one another share one of them."""
    after_of = words[words.index("of") + 1 :][:1] if "of" in words else ()
    return words[0], _person_parts(words).surname, *after_of


def is_surname(word: Words, full: Words) -> bool:
    return len(word) == 1 and word[0] == _person_parts(full).surname


def is_generation(word: str) -> bool:
    """ "Jr", "Jr.", "III": the last word of a name, and no surname."""
    return word.casefold().rstrip(".") in _GENERATIONS
