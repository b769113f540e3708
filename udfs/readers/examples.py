"""What a reader is given: a passage and a query as tokens, and the answers where they are known.

Pure: it turns the rows of tables ``passages``, ``triples`` and ``token_tags`` into ``ReaderExample``s.
A query's tokens are its sentence's with the answer's replaced by one ``@placeholder``.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from udfs.annotators.base import Token
from udfs.cloze import PLACEHOLDER
from udfs.spans import Mention, Span, outermost

OUTSIDE = "O"
UNTYPED_ENTITY = "ENT"
"""Of a candidate whose source gives no type, as Hermann's stand-off."""
PLACEHOLDER_TAG = "NNP"
"""It stands where a name stood."""


class Word(NamedTuple):
    """A token as readers see it: half-open offsets into passage or query, Penn tag, label of the entity around it."""

    start: int
    end: int
    text: str
    lower: str
    lemma: str
    pos: str
    ner: str


@dataclass(frozen=True)
class ReaderExample:
    """One query on its passage.

    ``answers`` are spans in ``passage_text``, in the order given; () where they are not known. ``candidates`` are
    the spans of the passage's entities: what a choice that is restricted to them may answer.
    Examples of one passage should share one ``passage`` tuple: it is then encoded once.
    """

    query_id: str
    article_id: str
    passage_text: str
    passage: tuple[Word, ...]
    query: tuple[Word, ...]
    answers: tuple[Span, ...] = ()
    candidates: tuple[Span, ...] = ()

    @property
    def answer_texts(self) -> tuple[str, ...]:
        """The answers' strings, for exact match and F1."""
        return tuple(self.passage_text[a.start : a.end] for a in self.answers)


class UnusableExample(ValueError):
    """Rows that don't belong together: tokens outside their text, a placeholder that is not there."""


def make_example(
    *,
    query_id: str,
    article_id: str,
    passage_text: str,
    passage_tokens: Iterable[Token],
    passage_entities: Iterable[Mention],
    query: str,
    placeholder: int,
    answer_surface: str | None,
    sentence_tokens: Iterable[Token],
    answers: Iterable[Span] = (),
) -> ReaderExample:
    """One example from a row of ``triples`` and what belongs to it. See ``passage_words`` and ``query_words``.

    For many queries on a passage call these two, and the passage's once.

    Raises:
        UnusableExample: the tokens are not those of these texts; the message names the query.
    """
    try:
        entities = list(passage_entities)
        return ReaderExample(
            query_id,
            article_id,
            passage_text,
            passage_words(passage_text, passage_tokens, entities),
            query_words(query, placeholder, answer_surface, sentence_tokens),
            tuple(Span(*a) for a in answers),
            tuple(Span(e.start, e.end) for e in entities),
        )
    except UnusableExample as error:
        raise UnusableExample(f"query {query_id}: {error}") from error


def tokens_from_rows(rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> tuple[Token, ...]:
    """The tokens of ``token_tags.tokens``, which come as mappings or as rows in the order of its fields."""
    return tuple(Token(**r) if isinstance(r, Mapping) else Token(*r) for r in rows)


def mentions_from_rows(rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> tuple[Mention, ...]:
    """The candidates of ``passages.entities``."""
    return tuple(Mention(**r) if isinstance(r, Mapping) else Mention(*r) for r in rows)


def passage_words(text: str, tokens: Iterable[Token], entities: Iterable[Mention]) -> tuple[Word, ...]:
    """A passage's tokens; the label of each is the type of the candidate it overlaps, "O" outside.

    Raises:
        UnusableExample: a token does not lie in ``text``.
    """
    mentions = outermost(entities)
    starts = [m.start for m in mentions]
    words = []
    for token in tokens:
        _check(token, text, "the passage")
        # The last mention that starts before the token's end: if it does not reach into the token, none does.
        at = bisect_right(starts, token.end - 1) - 1
        inside = at >= 0 and mentions[at].end > token.start
        label = (mentions[at].type or UNTYPED_ENTITY) if inside else OUTSIDE
        words.append(_word(token, text, label))
    return tuple(words)


def query_words(
    query: str, placeholder: int, answer_surface: str | None, sentence_tokens: Iterable[Token]
) -> tuple[Word, ...]:
    """A query's tokens, made from those of its sentence; offsets refer to ``query``.

    Tokens inside the replaced span become one ``@placeholder``; of a token that straddles an edge
    ("Obama's" in one piece) the part outside stays a token, with its own text as lemma.

    Args:
        placeholder: offset of ``@placeholder`` in the query, and of the answer in the sentence.
        answer_surface: the text that was replaced. None: the tokens are those of the query itself,
            as for imported data sets, whose sentences are not known.

    Raises:
        UnusableExample: no ``@placeholder`` at its offset; a token does not lie in the sentence.
    """
    end = placeholder + len(PLACEHOLDER)
    if placeholder < 0 or query[placeholder:end] != PLACEHOLDER:
        raise UnusableExample(f"no {PLACEHOLDER} at {placeholder} of {query!r}")
    surface = PLACEHOLDER if answer_surface is None else answer_surface
    sentence = query[:placeholder] + surface + query[end:]
    replaced_end = placeholder + len(surface)
    before: list[Word] = []
    after: list[Word] = []
    for token in sentence_tokens:
        _check(token, sentence, "the sentence")
        if token.start < placeholder:
            before.append(_word(_cut(token, sentence, token.start, min(token.end, placeholder)), sentence, OUTSIDE))
        if token.end > replaced_end:
            kept = _cut(token, sentence, max(token.start, replaced_end), token.end)
            shift = len(PLACEHOLDER) - len(surface)
            word = _word(kept, sentence, OUTSIDE)
            after.append(word._replace(start=word.start + shift, end=word.end + shift))
    hidden = Word(placeholder, end, PLACEHOLDER, PLACEHOLDER, PLACEHOLDER, PLACEHOLDER_TAG, OUTSIDE)
    return (*before, hidden, *after)


def _cut(token: Token, text: str, start: int, end: int) -> Token:
    if (start, end) == (token.start, token.end):
        return token
    return token._replace(start=start, end=end, lemma=text[start:end].lower())


def _word(token: Token, text: str, label: str) -> Word:
    form = text[token.start : token.end]
    return Word(token.start, token.end, form, form.lower(), token.lemma or form, token.tag, label)


def _check(token: Token, text: str, where: str) -> None:
    if not 0 <= token.start < token.end <= len(text):
        raise UnusableExample(f"token {token.start}-{token.end} lies outside {where} of {len(text)} characters")
