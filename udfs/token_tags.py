"""Tokens, parts of speech and lemmas of passages and sentences on executors: an Arrow UDF.

A text that fails has ``error`` filled and its tokens null.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type

from udfs.cloze import BULLET_MARK
from udfs.failures import error_text
from udfs.model_holder import TaggingAnnotator
from udfs.return_types import TAGGED


def make_tag_udf(
    annotator: str, model: str, device: str = "cpu", count_done: Callable[[int], None] | None = None
) -> Any:
    """Arrow UDF text -> ``TAGGED``.

    The first part and each bullet of a passage are tagged by themselves; the mark between them gives no token.
    """

    def tag(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        from udfs.model_holder import annotator_for

        kind = to_arrow_type(TAGGED)
        for texts in batches:
            made = _tag(texts.to_pylist(), annotator_for(annotator, model, device))
            yield pa.array(made, type=kind)
            if count_done:
                count_done(len(made))

    return arrow_udf(tag, TAGGED)  # type: ignore[call-overload]


def _tag(texts: Sequence[str], annotator: TaggingAnnotator) -> list[dict[str, Any]]:
    try:
        return [{"tokens": tokens, "error": None} for tokens in _tokens(texts, annotator)]
    except Exception as error:
        if len(texts) == 1:
            return [{"tokens": None, "error": error_text(error)}]
    # One text spoils the batch: each by itself shows which.
    return [made for text in texts for made in _tag([text], annotator)]


def _tokens(texts: Sequence[str], annotator: TaggingAnnotator) -> Iterator[list[dict[str, Any]]]:
    pieces = [text.split(BULLET_MARK) for text in texts]
    tagged = annotator.tag_texts([piece for text in pieces for piece in text])
    for of_text in pieces:
        tokens = []
        shift = 0
        for piece, found in zip(of_text, islice(tagged, len(of_text)), strict=True):
            tokens += [{**t._asdict(), "start": t.start + shift, "end": t.end + shift} for t in found]
            shift += len(piece) + len(BULLET_MARK)
        yield tokens
