"""Sentences of English news text, by rules.

The conventions are Stanford CoreNLP's, whose splitter made the original data set's sentences: a
paragraph's end ends a sentence, as do runs of ``.``, ``!`` and ``?`` with the closing quotes and
brackets after them; an abbreviation's full stop does not, unless what follows begins a sentence.
Departures, where gold sentences differ from CoreNLP's: what goes on in lower case goes on
(``"Go!" he said.``, ``"Why?" Ray asked.``), and an ellipsis before a capital ends a sentence.

Each stop is judged by text of its own sentence and of the words right after it, never by what
stands before the sentence: a sentence given as a paragraph comes back whole.
"""

import re
from collections.abc import Sequence

from udfs.spans import Span


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Stand before a name or a case's second party: no sentence ends here.
NEVER_END = _words(
    "Adm Amb Asst Atty Brig Capt Cdr Cmdr Cmsr Col Cpl Cpt Det Dr Drs Ens Fr Ft Gen Gens Gov Govs Hon Insp Lt Lieut Maj"
    " Messrs Mlle Mme Mmes Mr Mrs Ms Msgr Mt Mx Pfc Pres Prof Profs Pte Pvt Rep Reps Rev Sen Sens Sgt Ste Supt"
    " cf e.g eg i.e ie v viz vs"
)
# Go on in a name ("Apple Inc. chairman") or end a sentence; so do acronyms ("U.S.") and initials ("J.T.").
MAY_END = _words(
    "Assn Assoc Ave Bldg Blvd Bros Co Cos Corp Dept Dist Ed Esq Est Hwy Inc Intl Jr Ltd Mfg Natl Pty Rd Sq Sr St Univ"
    " al approx ca dept ed eds est incl misc pop"
)
# Abbreviations where a number follows ("No. 5"), words otherwise ("He said no.").
BEFORE_NUMBER = _words(
    "Art Arts Ch Eq Fig Figs No Nos Nr Op P Par Pp Pt Sec Vol Vols"
    " art arts b c ch chap d eq fig figs no nos p par pp pt r sec vol vols"
)
DATE_ABBREVIATIONS = _words(
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Weds Thu Thur Thurs Fri Sat Sun"
)
DATE_WORDS = DATE_ABBREVIATIONS | _words(
    "January February March April May June July August September October November December"
    " Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
)
# The press's abbreviations of states, many of them words too: read as states after a comma or a party
# ("Boston, Mass.", "D-Mass.").
STATES = _words(
    "Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev Okla Ont Ore Pa"
    " Penn Que Tenn Tex Va Vt Wash Wis Wyo"
)
HALF_DAYS = _words("A.M P.M a.m p.m")
# Go on after "9 a.m.", beside days and months.
TIME_ZONES = _words(
    "AEDT AEST BST CDT CEST CET CST EDT EST ET GMT IST JST MDT MST PDT PST PT UTC"
    " Central Eastern Greenwich Mountain Pacific"
)
# A single capital after one of these is a label, not an initial ("World War I.", "vitamin C.").
LABELLED = _words(
    "act appendix block category chapter class division exhibit figure gate grade group hepatitis league part phase"
    " plan platform schedule section series table title type vitamin volume war"
)
# Names with an exclamation mark of their own ("Yahoo! Inc.").
EXCLAIMED = _words("E Jeopardy OK Yahoo")
# First words of sentences that hardly ever follow an abbreviation inside one.
STARTERS = _words(
    "A About According Additionally After Again All Almost Already Also Although Among An And Another Any Are As Asked"
    " At Because Before Being Besides Between Both But By Can Could Despite Did Do Does During Each Earlier Either Even"
    " Every Everyone Few Finally First Following For Formerly From Further Furthermore Given Had Has Have Having He Her"
    " Here His How However I If In Indeed Instead Is It Its Just Last Later Let Like Many Maybe Meanwhile"
    " Moreover Most Much My Nearly Neither Never Nevertheless Next No None Nor Not Nothing Now Of Often On Once One"
    " Only Or Other Others Otherwise Our Over Perhaps Please Rather Recently Several She Should Similarly Since So"
    " Some Someone Sometimes Soon Still Such Than That The Their Then There Therefore These They This Those Though"
    " Through Throughout Thus To Today Together Too Two Under Unfortunately Unless Unlike Until Upon Was We Were What"
    " When Whenever Where Whereas Whether Which While Who Whoever Whose Why With Within Without Would Yes Yesterday"
    " Yet You Your"
)
TITLED_STARTERS = _words("Mr Mrs Ms")
# Verbs of attributions after a quoted question or exclamation.
SAYING = _words(
    "added admitted announced answered asked began bellowed called claimed commented continued cried declared"
    " demanded exclaimed explained insisted joked laughed muttered observed posted remarked repeated replied said says"
    " screamed shouted sighed told tweeted urged warned whispered wondered wrote yelled"
)

_QUOTES = frozenset("\"'“”‘’»«`")
_OPENING_MARKS = "\"'`“‘«„‚([{<¿¡*_"
_OPENING = re.escape(_OPENING_MARKS)
_CLOSING = re.escape("\"'”’»`)]}*_")
_STOP = re.compile(
    r"((?:\.[^\S\n]){2,}\.+|[.!?…]+)"  # a run of stops; ". . ." is one
    rf"([{_CLOSING}]*(?:[“‘](?=\s|\Z))?)"  # what closes quotations and brackets, “ typed for ” included
    r"(?:\s?\[\d{1,3}\])*(?:\s[:;]-?[()DP](?!\w))*"  # reference marks and emoticons of web pages
    rf"(?=\s|\Z|[{_OPENING}]?(?:{'|'.join(sorted(STARTERS))})\s)"  # or a blank was lost: "in London.The mayor"
)
_NEXT = re.compile(rf"\s*(?:[–—-]+\s+)?([{_OPENING}]*)(\w*)([.\-–]?)")
_ALPHANUMERIC = re.compile(r"[^\W_]")
_ACRONYM = re.compile(r"[^\W\d_]{1,2}(?:\.[^\W\d_]{1,2})+")
_ENUMERATOR = re.compile(r"[(\[]?(?:\d{1,3}|[A-Za-z]|[IVX]+|[ivx]+)")
_ROMAN = re.compile(r"[IVXLC]+")
_ATTRIBUTION = re.compile(
    r"\s+(?:(?:(?:Mrs?|Ms|Dr|Prof)\.?|Sir|Lord|Lady)\s+)?(?P<name>[A-Z][\w'’-]+)(?:\s+[A-Z][\w'’-]+){0,2}"
    rf"\s+(?:{'|'.join(sorted(SAYING))})(?=\s*[.,:;])"
)
# How far back a stop looks: long enough for an abbreviation and the word before it.
_LOOK_BACK = 60


def split_sentences(text: str, paragraphs: Sequence[Span]) -> list[Span]:
    """The sentences of ``paragraphs``, in order, without the white space around them.

    Spans are half-open code point offsets into ``text``. Each lies inside one paragraph, and every
    character of a paragraph but white space is in exactly one sentence; a paragraph of white space
    has none. A single line break is white space.
    """
    sentences: list[Span] = []
    for begin, end in paragraphs:
        block = text[begin:end]
        end = begin + len(block.rstrip())
        start = begin + len(block) - len(block.lstrip())
        for stop in _STOP.finditer(text, start, end):
            if stop.end() < end and _ends_sentence(text, start, stop, end):
                sentences.append(Span(start, stop.end()))
                start = stop.end()
                while text[start].isspace():
                    start += 1
        if start < end:
            sentences.append(Span(start, end))
    return sentences


def _ends_sentence(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether the sentence that begins at ``start`` ends with ``stop``, which is not its paragraph's end."""
    run, closers = stop.groups()
    at = stop.start()
    following = _NEXT.match(text, stop.end(), end)
    assert following is not None  # the pattern matches the empty string
    opening, word, tail = following.groups()
    if not text[stop.end()].isspace() and not text[max(start, at - 2) : at].islower():
        return False  # a blank was lost only after a plain word: not in "Series A.The"
    if not _ALPHANUMERIC.search(text, start, at) or text[at - 1] in "([":
        return False  # no words yet, or a remark by punctuation alone: "(!)"
    if word[:1].islower() and word.islower() and not opening:
        return False
    starts = word in TITLED_STARTERS or (word in STARTERS and not tail)
    if run.count(".") >= 3 or run == "…":
        return word[:1].isupper() or bool(opening and _QUOTES.intersection(opening))
    if run != ".":
        return _ends_exclamation(text, start, stop, end, starts)
    if not word and not opening and text[following.end() : following.end() + 1] in tuple(",;:&/"):
        return False
    return _ends_at_full_stop(text, start, at, bool(_QUOTES.intersection(closers)), word, starts)


def _ends_exclamation(text: str, start: int, stop: re.Match[str], end: int, starts: bool) -> bool:
    if stop[2] and not _QUOTES.isdisjoint(stop[2]):
        attribution = _ATTRIBUTION.match(text, stop.end(), end)
        return attribution is None or attribution["name"] in STARTERS
    return stop[1] != "!" or starts or _words_before(text, start, stop.start())[1] not in EXCLAIMED


def _words_before(text: str, start: int, at: int) -> tuple[str, str]:
    """The last two words before the stop at ``at``, empty where there is none; the last one touches the stop."""
    words = text[max(start, at - _LOOK_BACK) : at].split()
    last = "" if text[at - 1].isspace() else words.pop()
    return words[-1] if words else "", last


def _ends_at_full_stop(text: str, start: int, at: int, quote_closes: bool, following: str, starts: bool) -> bool:
    """The verdict on one full stop at ``at``, by the word before it.

    ``following`` is the word after the stop; ``starts``: that is a common first word.
    """
    if at - start <= 4 and _ENUMERATOR.fullmatch(text, start, at):
        return False
    before, token = _words_before(text, start, at)
    word = token.lstrip(_OPENING_MARKS)
    if quote_closes and word == token:
        return True  # the stop is the quotation's; of a nickname it would be part: "J.R." Smith
    party, _, last = word.rpartition("-")
    if last in NEVER_END:
        return False
    if last in MAY_END or (last in STATES and (party or before.endswith(","))):
        return starts
    numbered = following[:1].isdigit()
    if last in BEFORE_NUMBER and (numbered or _ROMAN.fullmatch(following)):
        return False
    if last in DATE_ABBREVIATIONS:
        return not (numbered or following in DATE_WORDS)
    if last in HALF_DAYS:
        return not (numbered or following in DATE_WORDS or following in TIME_ZONES)
    if len(last) == 1 and last.isalpha():  # an initial, "b." (born), "c." (circa)
        return starts or numbered or before.lower() in LABELLED
    if _ACRONYM.fullmatch(last):
        return starts
    return True
