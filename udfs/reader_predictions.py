"""Predictions of trained readers on executors, with the metric's verdicts."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from udfs.answer_match import best_over_answers, exact_match, f1, normalise_answer
from udfs.reader_examples import examples_of
from udfs.readers.configuration import SCORING_WINDOW
from udfs.readers.examples import ReaderExample
from udfs.readers.manifest import CheckpointError, checkpoint_digest

if TYPE_CHECKING:
    from udfs.readers.prediction import Prediction
    from udfs.readers.trained_reader import TrainedReader

PREDICTED = T.StructType(
    [
        T.StructField("query_id", T.StringType()),
        T.StructField("article_id", T.StringType()),
        T.StructField("fold", T.IntegerType()),
        T.StructField("start", T.IntegerType()),
        T.StructField("end", T.IntegerType()),
        T.StructField("text", T.StringType()),
        T.StructField("score", T.DoubleType()),
        T.StructField("exact_match", T.BooleanType()),
        T.StructField("f1", T.DoubleType()),
        T.StructField("is_candidate", T.BooleanType()),
        T.StructField("candidate_start", T.IntegerType()),
        T.StructField("candidate_end", T.IntegerType()),
        T.StructField("candidate_text", T.StringType()),
        T.StructField("candidate_score", T.DoubleType()),
        T.StructField("candidate_exact_match", T.BooleanType()),
        T.StructField("candidate_f1", T.DoubleType()),
        T.StructField("error", T.StringType()),
        T.StructField("fingerprint", T.StringType()),
    ]
)
"""A prediction and its verdicts; with ``error`` there is none, and the verdicts are those of a wrong one."""


def make_prediction_batches(
    readers: Mapping[int, tuple[str, str]],
    *,
    device: str,
    threads: int,
    count_done: Callable[[int], None] | None = None,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``: rows of ``EXAMPLES`` in, a row of ``PREDICTED`` for each of their queries out.

    Args:
        readers: folder and digest of the reader of each fold. Give rows in order of fold: a process holds one.
        count_done: called with numbers of queries.
    """

    def prediction_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(PREDICTED)
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        for fold, of_fold in groupby(rows, key=lambda row: row["fold"]):
            for window in _windows(of_fold):
                reader = reader_for(*readers[fold], device)
                made = _predicted(reader, window, threads)
                yield pa.RecordBatch.from_pylist(made, schema=schema)
                if count_done:
                    count_done(len(made))

    return prediction_batches


@lru_cache(maxsize=1)
def reader_for(path: str, digest: str, device: str) -> "TrainedReader":
    """The reader of a folder, held by the process until another is asked for.

    Raises:
        CheckpointError: it can't be loaded, or is not the one with this digest.
    """
    from udfs.readers.checkpoint import load_reader

    reader_for.cache_clear()  # frees the one held so far before the next takes memory
    if checkpoint_digest(path) != digest:
        raise CheckpointError(f"{path}: not the reader that table reader_runs knows; run train_readers again")
    return load_reader(path, device=device)


def _windows(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    window: list[dict[str, Any]] = []
    queries = 0
    for row in rows:
        window.append(row)
        queries += len(row["queries"])
        if queries >= SCORING_WINDOW:
            yield window
            window, queries = [], 0
    if window:
        yield window


def _predicted(reader: "TrainedReader", rows: list[dict[str, Any]], threads: int) -> list[dict[str, Any]]:
    from udfs.readers.prediction import Prediction, predict

    passed: list[dict[str, Any]] = []
    examples: list[ReaderExample] = []
    made: list[dict[str, Any]] = []
    for row in rows:
        of_row = {k: row[k] for k in ("article_id", "fold", "fingerprint")}
        for example in examples_of(row):
            if isinstance(example, ReaderExample):
                examples.append(example)
                passed.append(of_row)
            else:
                query_id, error = example
                nothing = ReaderExample(query_id, row["article_id"], "", (), ())
                made.append(_judged(Prediction(query_id, None, None, None, None, error), nothing) | of_row)
    predictions = predict(reader, examples, threads=threads)
    for prediction, example, of_row in zip(predictions, examples, passed, strict=True):
        made.append(_judged(prediction, example) | of_row)
    return made


def _judged(prediction: "Prediction", example: ReaderExample) -> dict[str, Any]:
    exact, overlap = _verdict(prediction.text, example.answer_texts)
    chosen = prediction.candidate
    candidate_text = example.passage_text[chosen.start : chosen.end] if chosen else None
    candidate_exact, candidate_overlap = _verdict(candidate_text, example.answer_texts)
    candidates = {normalise_answer(example.passage_text[c.start : c.end]) for c in example.candidates}
    return {
        **{k: getattr(prediction, k) for k in ("query_id", "start", "end", "text", "score", "error")},
        "exact_match": exact,
        "f1": overlap,
        "is_candidate": prediction.text is not None and normalise_answer(prediction.text) in candidates,
        "candidate_start": chosen.start if chosen else None,
        "candidate_end": chosen.end if chosen else None,
        "candidate_text": candidate_text,
        "candidate_score": prediction.candidate_score,
        "candidate_exact_match": candidate_exact,
        "candidate_f1": candidate_overlap,
    }


def _verdict(text: str | None, answers: tuple[str, ...]) -> tuple[bool, float]:
    """Exact match and F1; no answer is a wrong one."""
    if text is None:
        return False, 0.0
    return best_over_answers(exact_match, text, answers) == 1.0, best_over_answers(f1, text, answers)
