"""Tokens, parts of speech and lemmas of passages and sentences on executors: a pandas UDF."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import pandas_udf

from udfs.annotators.base import Token
from udfs.cloze import BULLET_MARK
from udfs.return_types import TOKEN


def make_tag_udf(
    annotator: str, model: str, device: str = "cpu", count_done: Callable[[int], None] | None = None
) -> Any:
    """Pandas UDF text -> array of ``TOKEN``.

    The first part and each bullet of a passage are tagged by themselves; the mark between them gives no token.
    """

    def tag(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        from udfs.model_holder import annotator_for

        for texts in batches:
            held = annotator_for(annotator, model, device)
            pieces = [text.split(BULLET_MARK) for text in texts]
            tagged = held.tag_texts([piece for text in pieces for piece in text])
            yield pd.Series([_join(text, tagged) for text in pieces], index=texts.index)
            if count_done:
                count_done(len(texts))

    return pandas_udf(tag, T.ArrayType(TOKEN))  # type: ignore[call-overload]


def _join(pieces: list[str], tagged: Iterator[tuple[Token, ...]]) -> list[dict[str, Any]]:
    tokens = []
    shift = 0
    for piece in pieces:
        tokens += [{**t._asdict(), "start": t.start + shift, "end": t.end + shift} for t in next(tagged)]
        shift += len(piece) + len(BULLET_MARK)
    return tokens
