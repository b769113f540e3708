"""Trained readers: from a fold to its rows of reader_runs and learning_curves."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.reader_contracts import LEARNING_CURVES, READER_RUNS
from udfs.reader_training import TRAINED


def train_fold(spark: SparkSession, fold: int, *, train_batches: Any) -> dict[str, Any]:
    """A value of ``TRAINED``, made by a Spark job of one task."""
    one = spark.range(0, 1, 1, 1).select(F.lit(fold).alias("fold"))
    [trained] = one.mapInArrow(train_batches, TRAINED).collect()
    return dict(trained.asDict(recursive=True))


def reader_row(
    spark: SparkSession,
    trained: Mapping[str, Any],
    *,
    reader: str,
    path: str,
    fingerprint: str,
    left_out: Mapping[str, int],
) -> DataFrame:
    """The row of ``reader_runs``.

    Args:
        trained: a value of ``TRAINED``.
        path: the reader's folder below paths.models.
        left_out: triples that were not given to the training, by reason.
    """
    before = [{"reason": r, "triples": n} for r, n in left_out.items() if n]
    added = {"reader": reader, "path": path, "fingerprint": fingerprint, "left_out": [*trained["left_out"], *before]}
    row = {**trained, **added}
    return spark.createDataFrame([{name: row[name] for name in READER_RUNS.schema.names}], READER_RUNS.schema)


def curve_rows(spark: SparkSession, trained: Mapping[str, Any], *, reader: str) -> DataFrame:
    """Rows of ``learning_curves``."""
    rows = [{"reader": reader, "fold": trained["fold"], **epoch} for epoch in trained["history"]]
    return spark.createDataFrame(rows, LEARNING_CURVES.schema)


def reader_folders(reader_runs: DataFrame, *, models: str) -> dict[int, tuple[str, str]]:
    """Folder and digest of the reader of each fold.

    Args:
        reader_runs: rows of one reader.
        models: paths.models, as executors must have it.
    """
    return {r.fold: (f"{models}/{r.path}", r.digest) for r in reader_runs.collect()}
