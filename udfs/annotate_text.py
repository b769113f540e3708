"""Annotation on executors: pandas UDFs around the annotators and the stand-off.

Both return ``ANNOTATION``. An article that fails has ``error`` filled and the other fields null.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql.pandas.functions import pandas_udf

from udfs.annotators.base import Annotation
from udfs.return_types import ANNOTATION
from udfs.sentence_split import split_sentences
from udfs.spans import Mention, Span
from udfs.story_text import StoryText

Columns = tuple[pd.Series, ...]


def make_annotate_udf(
    annotator: str, model: str, device: str = "cpu", count_done: Callable[[int], None] | None = None
) -> Any:
    """Pandas UDF (text, paragraphs, highlights) -> ``ANNOTATION`` by the named annotator.

    The model is loaded once per Python worker and device, when the first batch is there.
    """

    def annotate(batches: Iterator[Columns]) -> Iterator[pd.DataFrame]:
        from udfs.model_holder import annotator_for

        for text, paragraphs, highlights in batches:
            stories = [StoryText(t, _spans(p), _spans(h)) for t, p, h in zip(text, paragraphs, highlights, strict=True)]
            held = annotator_for(annotator, model, device)
            yield pd.DataFrame([_row(a) for a in held.annotate(stories)], columns=ANNOTATION.names, index=text.index)
            if count_done:
                count_done(len(stories))

    return pandas_udf(annotate, ANNOTATION)  # type: ignore[call-overload]


def make_stand_off_udf(count_done: Callable[[int], None] | None = None) -> Any:
    """Pandas UDF (text, paragraphs, stand_off) -> ``ANNOTATION``: the stand-off's mentions, and sentences."""

    def annotate(batches: Iterator[Columns]) -> Iterator[pd.DataFrame]:
        for text, paragraphs, stand_off in batches:
            rows = []
            for t, p, mentions in zip(text, paragraphs, stand_off, strict=True):
                named = tuple(Mention(m["start"], m["end"], m["cluster"]) for m in mentions)
                rows.append(_row(Annotation(tuple(split_sentences(t, _spans(p))), (), named)) | {"tokens": None})
            yield pd.DataFrame(rows, columns=ANNOTATION.names, index=text.index)
            if count_done:
                count_done(len(rows))

    return pandas_udf(annotate, ANNOTATION)  # type: ignore[call-overload]


def _spans(rows: Any) -> tuple[Span, ...]:
    return tuple(Span(r["start"], r["end"]) for r in rows)


def _row(result: Annotation | Exception) -> dict[str, Any]:
    if isinstance(result, Exception):
        return {"sentences": None, "tokens": None, "mentions": None, "error": f"{type(result).__name__}: {result}"}
    return {
        "sentences": [s._asdict() for s in result.sentences],
        "tokens": [t._asdict() for t in result.tokens],
        "mentions": [m._asdict() for m in result.mentions],
        "error": None,
    }
