"""Annotation on executors: UDFs around the annotators, and around the sentence splitter.

An article that fails has ``error`` filled and the other fields null.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf, pandas_udf
from pyspark.sql.pandas.types import to_arrow_type

from udfs.annotators.base import NO_ARCHIVES, Annotation, Archives
from udfs.failures import error_text
from udfs.return_types import ANNOTATION, SENTENCES
from udfs.sentence_split import split_sentences
from udfs.spans import Span
from udfs.story_text import StoryText

Columns = tuple[pd.Series, ...]


def make_annotate_udf(
    annotator: str,
    model: str,
    device: str = "cpu",
    count_done: Callable[[int], None] | None = None,
    archives: Archives = NO_ARCHIVES,
) -> Any:
    """Pandas UDF (text, paragraphs, highlights) -> ``ANNOTATION`` by the named annotator.

    The model is loaded once per Python worker and device, when the first batch is there. "cuda" is the card that
    Spark gave to the task, where it gives cards to tasks.
    """

    def annotate(batches: Iterator[Columns]) -> Iterator[pd.DataFrame]:
        from udfs.model_holder import annotator_for, device_of_task

        for text, paragraphs, highlights in batches:
            stories = [StoryText(t, _spans(p), _spans(h)) for t, p, h in zip(text, paragraphs, highlights, strict=True)]
            held = annotator_for(annotator, model, device_of_task(device), archives)
            yield pd.DataFrame([_row(a) for a in held.annotate(stories)], columns=ANNOTATION.names, index=text.index)
            if count_done:
                count_done(len(stories))

    return pandas_udf(annotate, ANNOTATION)  # type: ignore[call-overload]


def make_split_udf(count_done: Callable[[int], None] | None = None) -> Any:
    """Arrow UDF (text, paragraphs) -> ``SENTENCES``: all that an article with stand-off lacks.

    Its mentions stay in Spark: moving them to Python and back cost more than splitting the sentences.
    """

    def split(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        kind = to_arrow_type(SENTENCES)
        for text, paragraphs in batches:
            made = [_split(t, p) for t, p in zip(text.to_pylist(), paragraphs.to_pylist(), strict=True)]
            yield pa.array(made, type=kind)
            if count_done:
                count_done(len(made))

    return arrow_udf(split, SENTENCES)  # type: ignore[call-overload]


def _split(text: str, paragraphs: list[dict[str, int]]) -> dict[str, Any]:
    try:
        return {"sentences": [s._asdict() for s in split_sentences(text, _spans(paragraphs))], "error": None}
    except Exception as error:  # whatever it is, it is this article's: the others go on
        return {"sentences": None, "error": error_text(error)}


def _spans(rows: Any) -> tuple[Span, ...]:
    return tuple(Span(r["start"], r["end"]) for r in rows)


def _row(result: Annotation | Exception) -> dict[str, Any]:
    if isinstance(result, Exception):
        return {"sentences": None, "tokens": None, "mentions": None, "unnamed": None, "error": error_text(result)}
    return {
        "sentences": [s._asdict() for s in result.sentences],
        "tokens": [t._asdict() for t in result.tokens],
        "mentions": [m._asdict() for m in result.mentions],
        "unnamed": [m._asdict() for m in result.unnamed],
        "error": None,
    }
