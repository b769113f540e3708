"""Articles with stand-off -> what annotators are trained on, on executors: rows of ``EXAMPLES``."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from udfs.annotators.ner_examples import Label, NerArticle, NerText
from udfs.return_types import SPAN, STAND_OFF_MENTION
from udfs.spans import Mention, Span
from udfs.story_text import StoryText

STAND_OFF_ARTICLES = T.StructType(
    [
        T.StructField("article_id", T.StringType()),
        T.StructField("text", T.StringType()),
        T.StructField("paragraphs", T.ArrayType(SPAN)),
        T.StructField("highlights", T.ArrayType(SPAN)),
        T.StructField("stand_off", T.ArrayType(STAND_OFF_MENTION)),
    ]
)
LEFT_OUT_MENTIONS = T.StructType([T.StructField("reason", T.StringType()), T.StructField("mentions", T.LongType())])
_LABEL = T.StructType([*SPAN.fields, T.StructField("label", T.StringType())])
_TEXT = T.StructType(
    [
        T.StructField("text", T.StringType()),
        T.StructField("labels", T.ArrayType(_LABEL)),
        T.StructField("unaligned", T.ArrayType(SPAN)),
    ]
)
EXAMPLES = T.StructType(
    [
        T.StructField("article_id", T.StringType()),
        T.StructField("texts", T.ArrayType(_TEXT)),
        T.StructField("names", T.LongType()),
        T.StructField("left_out", T.ArrayType(LEFT_OUT_MENTIONS)),
    ]
)
"""An article's paragraphs and bullets with their labels; ``names``: how many of these are aligned mentions."""


def make_ner_examples(
    base_model: str, count_done: Callable[[int], None] | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``: ``STAND_OFF_ARTICLES`` in, ``EXAMPLES`` out, row by row."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from udfs.annotators.ner_examples import silver_tagger

        schema = to_arrow_schema(EXAMPLES)
        for batch in batches:
            tagger = silver_tagger(base_model)
            rows = [_row(r["article_id"], tagger.examples(*_article(r))) for r in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)
            if count_done:
                count_done(len(rows))

    return make


def texts_of(row: Mapping[str, Any]) -> Iterator[NerText]:
    """The texts of a row of ``EXAMPLES``."""
    for text in row["texts"]:
        labels = tuple(Label(m["start"], m["end"], m["label"]) for m in text["labels"])
        yield NerText(text["text"], labels, tuple(Span(u["start"], u["end"]) for u in text["unaligned"]))


def _article(row: Mapping[str, Any]) -> tuple[StoryText, list[Mention]]:
    paragraphs, highlights = (tuple(Span(s["start"], s["end"]) for s in row[c]) for c in ("paragraphs", "highlights"))
    mentions = [Mention(m["start"], m["end"], m["cluster"]) for m in row["stand_off"]]
    return StoryText(row["text"], paragraphs, highlights), mentions


def _row(article_id: str, article: NerArticle) -> dict[str, Any]:
    return {
        "article_id": article_id,
        "texts": [
            {
                "text": text.text,
                "labels": [label._asdict() for label in text.labels],
                "unaligned": [span._asdict() for span in text.unaligned],
            }
            for text in article.texts
        ],
        "names": sum(len(text.names()) - len(text.unaligned) for text in article.texts),
        "left_out": [{"reason": reason, "mentions": n} for reason, n in sorted(article.left_out.items())],
    }
