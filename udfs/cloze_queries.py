"""Passages and cloze queries on executors: the wrapper around ``udfs.cloze``.

A ``mapInArrow`` function: rows of nested lists pass as Arrow columns and Python lists; through pandas
each span would become a dict inside an object column, which measured slower than the rules themselves.
An article that fails has ``error`` filled and passage, sentences and queries null.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from udfs.cloze import CandidateQuery, ClozeArticle, ClozeRules, JudgedSentence, Passage, make_cloze
from udfs.failures import error_text
from udfs.return_types import CLOZE_ARTICLE
from udfs.spans import Mention, Span

# Columns of the article that its rows repeat: they pass through, which saves joining them to the output.
_PASSED = (
    T.StructField("article_id", T.StringType()),
    T.StructField("fold", T.IntegerType()),
    T.StructField("origin", T.StringType()),
    T.StructField("publisher", T.StringType()),
    T.StructField("fingerprint", T.StringType()),
)
PASSED = tuple(f.name for f in _PASSED)
CLOZE_INPUT = ("text", "paragraphs", "highlights", "sentences", "mentions")
CLOZE_OUTPUT = T.StructType([*_PASSED, *CLOZE_ARTICLE.fields])


def make_cloze_batches(
    rules: ClozeRules, count_done: Callable[[int], None] | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``: ``PASSED`` and ``CLOZE_INPUT`` in, ``CLOZE_OUTPUT`` out, same rows and order."""

    def cloze_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made_schema = to_arrow_schema(CLOZE_ARTICLE)
        schema = to_arrow_schema(CLOZE_OUTPUT)
        for batch in batches:
            columns = batch.select(CLOZE_INPUT).to_pydict()
            rows = [_row_or_error(values, rules) for values in zip(*columns.values(), strict=True)]
            made = pa.RecordBatch.from_pylist(rows, schema=made_schema)
            passed = (batch.column(name) for name in PASSED)
            yield pa.RecordBatch.from_arrays([*passed, *made.columns], schema=schema)
            if count_done:
                count_done(len(rows))

    return cloze_batches


def _row_or_error(values: tuple[Any, ...], rules: ClozeRules) -> dict[str, Any]:
    try:
        return {**cloze_row(*values, rules=rules), "error": None}
    except Exception as error:  # whatever it is, it is this article's: the others go on
        return {"passage": None, "sentences": None, "queries": None, "error": error_text(error)}


def cloze_row(
    text: str,
    paragraphs: list[dict[str, int]],
    highlights: list[dict[str, int]],
    sentences: list[dict[str, int]],
    mentions: list[dict[str, Any]],
    *,
    rules: ClozeRules,
) -> dict[str, Any]:
    """One article's row in the form of ``CLOZE_ARTICLE``, without ``error``.

    Raises:
        ValueError: spans that don't lie inside the text: they are another text's.
    """
    body, bullets, judged = _spans(paragraphs), _spans(highlights), _spans(sentences)
    named = [Mention(m["start"], m["end"], m["cluster"], m["type"]) for m in mentions]
    for what, spans in (("paragraph", body), ("highlight", bullets), ("sentence", judged), ("mention", named)):
        _check_inside(what, spans, len(text))
    return _as_row(make_cloze(text, body, bullets, judged, named, rules))


def _check_inside(what: str, spans: Sequence[Span | Mention], length: int) -> None:
    for span in spans:
        if not 0 <= span[0] <= span[1] <= length:
            raise ValueError(f"{what} [{span[0]}, {span[1]}) is not inside the article's {length} characters")


def _spans(rows: list[dict[str, int]]) -> list[Span]:
    return [Span(r["start"], r["end"]) for r in rows]


def _as_row(article: ClozeArticle) -> dict[str, Any]:
    return {
        "passage": _passage_row(article.passage),
        "sentences": [_sentence_row(s) for s in article.sentences],
        "queries": [_query_row(q, article.passage.text) for q in article.queries],
    }


def _passage_row(passage: Passage) -> dict[str, Any]:
    return {**vars(passage), "entities": [m._asdict() for m in passage.entities]}


def _sentence_row(sentence: JudgedSentence) -> dict[str, Any]:
    return vars(sentence)


def _query_row(query: CandidateQuery, passage: str) -> dict[str, Any]:
    answers = [{"start": a.start, "end": a.end, "text": passage[a.start : a.end]} for a in query.answers]
    return {**vars(query), "answers": answers}
