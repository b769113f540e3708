"""Trained readers: from folds to rows of reader_runs and learning_curves."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from udfs.reader_training import TRAINED


def train_folds(spark: SparkSession, folds: Sequence[int], *, train_batches: Any) -> DataFrame:
    """One row of ``TRAINED`` a fold, each made by a task of its own."""
    numbered = spark.range(0, len(folds), 1, len(folds))  # one number a task, which a repartition would not promise
    chosen = F.element_at(F.array(*map(F.lit, folds)), F.col("id").cast("int") + 1)
    return numbered.select(chosen.alias("fold")).mapInArrow(train_batches, TRAINED)


def reader_rows(trained: DataFrame, *, reader: str, fingerprint: str) -> DataFrame:
    """Rows of ``reader_runs``."""
    return trained.select(
        F.lit(reader).alias("reader"),
        "fold",
        "path",
        "digest",
        "epochs",
        "trained_on",
        "left_out",
        F.lit(fingerprint).alias("fingerprint"),
    )


def curve_rows(trained: DataFrame, *, reader: str) -> DataFrame:
    """Rows of ``learning_curves``."""
    return trained.select(F.lit(reader).alias("reader"), "fold", F.inline("history"))
