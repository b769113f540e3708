"""Trained annotators: from the training task to the row of annotator_runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.annotator_contracts import ANNOTATOR_RUNS
from udfs.annotator_training import HELD_OUT, TRAIN, TRAINED


@dataclass(frozen=True)
class PartCounts:
    """Of the staged examples of one part; ``left_out``: mentions by reason."""

    articles: int
    mentions: int
    left_out: Mapping[str, int]


def count_examples(examples: DataFrame) -> PartCounts:
    """Counts rows of ``EXAMPLES``."""
    sums = examples.agg(F.count("*").alias("articles"), F.sum("names").alias("mentions")).collect()[0]
    left_out = examples.select(F.inline("left_out")).groupBy("reason").agg(F.sum("mentions").alias("n")).collect()
    return PartCounts(sums.articles, sums.mentions or 0, {r.reason: r.n for r in left_out})


def train_in_one_task(spark: SparkSession, *, train_batches: Any) -> dict[str, Any]:
    """A value of ``TRAINED``, made by a Spark job of one task."""
    [trained] = spark.range(0, 1, 1, 1).mapInArrow(train_batches, TRAINED).collect()
    return dict(trained.asDict(recursive=True))


def annotator_row(
    spark: SparkSession,
    trained: Mapping[str, Any],
    counts: Mapping[str, PartCounts],
    *,
    annotator: str,
    base_model: str,
    held_out_fold: int,
    fingerprint: str,
) -> DataFrame:
    """The row of ``annotator_runs``.

    Args:
        trained: a value of ``TRAINED``.
        counts: of each part's examples.
    """
    train, held_out = counts[TRAIN], counts[HELD_OUT]
    row = {
        **{name: trained[name] for name in ("path", "digest", "curve", "seconds")},
        "annotator": annotator,
        "base_model": base_model,
        "held_out_fold": held_out_fold,
        "articles": train.articles,
        "mentions": train.mentions,
        "left_out": [{"reason": r, "mentions": n} for r, n in sorted(train.left_out.items())],
        "held_out_articles": held_out.articles,
        "steps": trained["curve"][-1]["step"],
        "best_step": trained["best"]["step"],
        **{name: trained["best"][name] for name in ("precision", "recall", "f1")},
        "base_f1": trained["base"]["f1"],
        "fingerprint": fingerprint,
    }
    return spark.createDataFrame([{name: row[name] for name in ANNOTATOR_RUNS.schema.names}], ANNOTATOR_RUNS.schema)
