"""Rows of examples -> what the readers take: between Spark's rows and ``udfs.readers``."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import types as T

from udfs.readers.examples import (
    ReaderExample,
    UnusableExample,
    mentions_from_rows,
    passage_words,
    query_words,
    tokens_from_rows,
)
from udfs.return_types import ANSWER, MENTION, TOKEN
from udfs.spans import Span

_QUERY = T.StructType(
    [
        T.StructField("query_id", T.StringType()),
        T.StructField("query", T.StringType()),
        T.StructField("placeholder", T.IntegerType()),
        T.StructField("answer_surface", T.StringType()),
        T.StructField("answers", T.ArrayType(ANSWER)),
        T.StructField("sentence_tokens", T.ArrayType(TOKEN)),
    ]
)
EXAMPLES = T.StructType(
    [
        T.StructField("article_id", T.StringType()),
        T.StructField("fold", T.IntegerType()),
        T.StructField("text", T.StringType()),
        T.StructField("entities", T.ArrayType(MENTION)),
        T.StructField("tokens", T.ArrayType(TOKEN)),
        T.StructField("queries", T.ArrayType(_QUERY)),
        T.StructField("fingerprint", T.StringType()),
    ]
)
"""A passage with its queries."""


def examples_of(row: Mapping[str, Any]) -> Iterator[ReaderExample | tuple[str, str]]:
    """The examples of a row of ``EXAMPLES``; (query_id, error) where rows don't belong together."""
    try:
        entities = mentions_from_rows(row["entities"])
        words = passage_words(row["text"], tokens_from_rows(row["tokens"]), entities)
    except UnusableExample as error:
        yield from ((q["query_id"], str(error)) for q in row["queries"])
        return
    candidates = tuple(Span(e.start, e.end) for e in entities)
    for q in row["queries"]:
        try:
            tokens = tokens_from_rows(q["sentence_tokens"])
            query = query_words(q["query"], q["placeholder"], q["answer_surface"], tokens)
        except UnusableExample as error:
            yield q["query_id"], str(error)
            continue
        answers = tuple(Span(a["start"], a["end"]) for a in q["answers"])
        yield ReaderExample(q["query_id"], row["article_id"], row["text"], words, query, answers, candidates)
