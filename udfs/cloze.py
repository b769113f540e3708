"""Passages and cloze queries by the paper's rules (ReCoRD, section 3.2).

One article in, its passage, its judged sentences and its candidate queries out. Thresholds are
settings (``ClozeRules``); definitions that the paper leaves open were fitted to real rows:
tokens are whitespace tokens, 3-gram overlap is judged on the masked query with case kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1

from udfs.spans import Mention, Span, inside, outermost
from udfs.story_text import HIGHLIGHT, one_line

PLACEHOLDER = "@placeholder"
BULLET_MARK = f"\n{HIGHLIGHT}\n"

PASSAGE_REASONS = ("first_part_short", "few_entities", "nothing_follows")
SENTENCE_REASONS = (
    "short",
    "question",
    "no_entity",
    "entity_without_precedent",
    "repeated_sentence",
    "literal_placeholder",
)
QUERY_REASONS = ("ngram_overlap",)


@dataclass(frozen=True)
class ClozeRules:
    """The thresholds of section 3.2; conf/base.toml holds the paper's values."""

    min_first_part_tokens: int
    min_first_part_entities: int
    min_sentence_tokens: int
    overlap_ngram: int


@dataclass(frozen=True)
class Passage:
    """A candidate passage; offsets of ``entities`` refer to ``text``, of the parts to the article."""

    text: str
    first_part_end: int
    first_part_tokens: int
    first_part_entities: int
    entities: tuple[Mention, ...]
    keep: bool
    reason: str | None


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence of the second part with every verdict of section 3.2; offsets into the article."""

    start: int
    end: int
    text: str
    tokens: int
    entities: int
    is_short: bool
    is_question: bool
    has_no_entity: bool
    lacks_precedent: bool
    is_repeated: bool
    holds_placeholder: bool
    keep: bool
    reason: str | None


@dataclass(frozen=True)
class CandidateQuery:
    """A sentence with one entity replaced; ``answers`` are its precedents, offsets into the passage text."""

    sentence_start: int
    sentence_sha1: str
    query: str
    placeholder: int
    answer_surface: str
    cluster: int
    answers: tuple[Span, ...]
    overlaps: bool
    keep: bool
    reason: str | None


@dataclass(frozen=True)
class ClozeArticle:
    """All that one article gives. A passage that is not kept has no sentences and no queries."""

    passage: Passage
    sentences: tuple[JudgedSentence, ...]
    queries: tuple[CandidateQuery, ...]


# Lines that real Daily Mail and CNN articles begin with. They stay in the text and are not counted.
_BYLINE = re.compile(
    r"By(\s*\.)?(\s+(?P<name>([^.!?]|(?<=\b[A-Z])\.|(?<=\b(?:Dr|Mr|Ms|St|Jr))\.|(?<=\b(?:Mrs|Sir|Rev))\.){1,80}?))?(\s+\.)?"
)
_IN_BYLINES = frozenset("and for in of the at de la du van von der den bin al".split())
_TIMESTAMP = r"\d{1,2}:\d{2}(\s*[AP]M)?(\s+[A-Z]{2,4})?(,|\s+on)?\s+\d{1,2}(st|nd|rd|th)?\s+[A-Z][a-z]+\s+\d{4}"
# Each alternative starts with another character: no text makes the search try more than one way.
_PUBLISHED = re.compile(rf"((PUBLISHED|UPDATED|Last updated at|Created)\b:?|{_TIMESTAMP}|[\s.|:])+", re.IGNORECASE)
# "(CNN) -- ", "LONDON, England (CNN) -- ", "Kabul, Afghanistan (CNN)Three": the place is a few capitalised words;
# without a dash it can only be CNN's, since "The Associated Press (AP) reported" is text.
_PLACE = r"(?!The\b)(?:[^\W\d_a-z][\w.'’-]*,?\s+){1,6}"
_AGENCY = r"\((?:CNN|Reuters|AP|CNN Student News|Mail Online)\)"
_DATELINE = re.compile(
    rf"(?:{_PLACE})?\(CNN\)\s*(?:--?|[–—])?\s*|{_AGENCY}\s*(?:--?|[–—])?\s*|[^\W\d_a-z][^()\n]{{0,60}}?{_AGENCY}\s*(?:--?|[–—])\s*"
)
_CLOSING_QUOTES = "\"'”’»› "


def counted_tokens(paragraph: str, *, after_bare_by: bool = False) -> int:
    """Whitespace tokens that count towards the first part: none of a byline, PUBLISHED line or dateline.

    ``after_bare_by``: the paragraph before is just "By", so this one is the author's name.
    """
    if _PUBLISHED.fullmatch(paragraph) or is_byline(paragraph, after_bare_by=after_bare_by):
        return 0
    dateline = _DATELINE.match(paragraph)
    return len(paragraph[dateline.end() :].split() if dateline else paragraph.split())


def is_byline(paragraph: str, *, after_bare_by: bool = False) -> bool:
    """``By Jo Fox``, ``By . Jo Fox .``, a bare ``By`` or the name after it: at most twelve tokens, no sentence."""
    if len(paragraph.split()) > 12:
        return False
    match = _BYLINE.fullmatch(paragraph)
    if match:
        return not match["name"] or _is_name(match["name"])
    return after_bare_by and not paragraph.endswith((".", "!", "?", ":"))


def _is_name(text: str) -> bool:
    """Words of a name begin with a capital or join names: "Jo Fox, Health Reporter", not "Monday the river rose"."""
    words = text.split()
    return words[0][0].isupper() and all(w[0].isupper() or not w[0].isalpha() or w in _IN_BYLINES for w in words)


def is_bare_by(paragraph: str) -> bool:
    return paragraph.rstrip(" .") == "By"


def split_first_part(text: str, paragraphs: Sequence[Span], *, min_tokens: int) -> tuple[int, int]:
    """How many leading paragraphs form the first part, and their counted tokens.

    The shortest run with at least ``min_tokens``; all of them where the article is shorter.
    """
    tokens = 0
    after_bare_by = False
    for n, (start, end) in enumerate(paragraphs, start=1):
        paragraph = one_line(text[start:end])
        tokens += counted_tokens(paragraph, after_bare_by=after_bare_by)
        after_bare_by = is_bare_by(paragraph)
        if tokens >= min_tokens:
            return n, tokens
    return len(paragraphs), tokens


def ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """The whitespace-token n-grams of a text, case kept."""
    tokens = text.split()
    return set(zip(*(tokens[i:] for i in range(n)), strict=False))


def is_question(sentence: str) -> bool:
    """Ends with "?" once closing quotes are stripped."""
    return sentence.rstrip(_CLOSING_QUOTES).endswith("?")


def make_cloze(
    text: str,
    paragraphs: Sequence[Span],
    highlights: Sequence[Span],
    sentences: Sequence[Span],
    mentions: Sequence[Mention],
    rules: ClozeRules,
) -> ClozeArticle:
    """Applies section 3.2 to one article.

    Args:
        text: the whole story string; all spans are half-open code point offsets into it.
        sentences: of the body at least; those before the second part are ignored.
        mentions: named mentions of body and highlights with their coreference clusters.
    """
    named = outermost(mentions)
    starts = [m.start for m in named]
    n_first, tokens = split_first_part(text, paragraphs, min_tokens=rules.min_first_part_tokens)
    first = [Span(*p) for p in paragraphs[:n_first]]
    clusters_of_first = {m.cluster for p in first for m in inside(named, starts, p)}
    passage_text, entities = _lay_out_passage(text, first, highlights, named, starts)
    failed = (
        tokens < rules.min_first_part_tokens,
        len(clusters_of_first) < rules.min_first_part_entities,
        n_first == len(paragraphs),
    )
    reason = _first_failing(PASSAGE_REASONS, failed)
    passage = Passage(
        text=passage_text,
        first_part_end=sum(p.end - p.start + 1 for p in first) - 1,
        first_part_tokens=tokens,
        first_part_entities=len(clusters_of_first),
        entities=tuple(entities),
        keep=reason is None,
        reason=reason,
    )
    if reason is not None:
        return ClozeArticle(passage, (), ())
    precedents: dict[int, list[Span]] = {}
    for entity in entities:
        precedents.setdefault(entity.cluster, []).append(Span(entity.start, entity.end))
    taken = ngrams(passage_text[: passage.first_part_end], rules.overlap_ngram)
    for start, end in highlights:
        taken |= ngrams(text[start:end], rules.overlap_ngram)
    judged: list[JudgedSentence] = []
    queries: list[CandidateQuery] = []
    seen: set[str] = set()
    second_start = paragraphs[n_first].start
    for span in sentences:
        if span.start >= second_start and span.end <= paragraphs[-1].end:
            found = inside(named, starts, span)
            sentence = _judge(text, span, found, precedents, seen, rules)
            judged.append(sentence)
            if sentence.keep:
                queries.extend(_queries(sentence, found, precedents, taken, rules))
    return ClozeArticle(passage, tuple(judged), tuple(queries))


def _first_failing(reasons: Sequence[str], failed: Sequence[bool]) -> str | None:
    return next((reason for reason, fails in zip(reasons, failed, strict=True) if fails), None)


def _lay_out_passage(
    text: str, first: Sequence[Span], highlights: Sequence[Span], named: Sequence[Mention], starts: Sequence[int]
) -> tuple[str, list[Mention]]:
    """ReCoRD's passage text (paragraphs joined by one blank, each bullet after its mark) and the mentions in it."""
    parts: list[str] = []
    entities: list[Mention] = []
    length = 0
    for i, (start, end) in enumerate([*first, *highlights]):
        joint = "" if i == 0 else " " if i < len(first) else BULLET_MARK
        shift = length + len(joint) - start
        found = inside(named, starts, Span(start, end))
        entities += [m._replace(start=m.start + shift, end=m.end + shift) for m in found]
        parts += [joint, one_line(text[start:end])]
        length = shift + end
    return "".join(parts), entities


def _judge(
    text: str,
    span: Span,
    found: Sequence[Mention],
    precedents: dict[int, list[Span]],
    seen: set[str],
    rules: ClozeRules,
) -> JudgedSentence:
    sentence = one_line(text[span.start : span.end])
    tokens = len(sentence.split())
    verdicts = (
        tokens < rules.min_sentence_tokens,
        is_question(sentence),
        not found,
        any(m.cluster not in precedents for m in found),
        sentence in seen,
        PLACEHOLDER in sentence,
    )
    seen.add(sentence)
    reason = _first_failing(SENTENCE_REASONS, verdicts)
    return JudgedSentence(
        span.start, span.end, sentence, tokens, len(found), *verdicts, keep=reason is None, reason=reason,
    )  # fmt: skip


def _queries(
    sentence: JudgedSentence,
    found: Sequence[Mention],
    precedents: dict[int, list[Span]],
    taken: set[tuple[str, ...]],
    rules: ClozeRules,
) -> list[CandidateQuery]:
    queries = []
    sentence_sha1 = sha1(sentence.text.encode()).hexdigest()
    for mention in found:
        start, end = mention.start - sentence.start, mention.end - sentence.start
        query = sentence.text[:start] + PLACEHOLDER + sentence.text[end:]
        overlaps = not taken.isdisjoint(ngrams(query, rules.overlap_ngram))
        queries.append(
            CandidateQuery(
                sentence_start=sentence.start,
                sentence_sha1=sentence_sha1,
                query=query,
                placeholder=start,
                answer_surface=sentence.text[start:end],
                cluster=mention.cluster,
                answers=tuple(precedents[mention.cluster]),
                overlaps=overlaps,
                keep=not overlaps,
                reason=QUERY_REASONS[0] if overlaps else None,
            )
        )
    return queries
