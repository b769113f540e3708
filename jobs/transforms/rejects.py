"""Rows of ``rejects``: what a stage could not use, and why."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def reject_rows(
    rows: DataFrame,
    *,
    stage: str,
    input: str | Column,
    item: str | Column,
    reason: str | Column,
    detail: str | Column,
    fingerprint: str | Column = "fingerprint",
) -> DataFrame:
    """A reject of each row.

    Args:
        rows: what was rejected, with ``article_id`` (null where it is not known).
        stage: its name.
        input, item, reason, detail, fingerprint: columns of ``rows``, by name or as expressions.
    """
    return rows.select(
        F.lit(stage).alias("stage"),
        _column(input).alias("input"),
        _column(item).alias("item"),
        _column(reason).alias("reason"),
        _column(detail).alias("detail"),
        "article_id",
        _column(fingerprint).alias("fingerprint"),
    )


def failed_articles(made: DataFrame, *, stage: str, reason: str) -> DataFrame:
    """The rejects of a stage that fills ``error`` where it failed; ``made`` has one row for each article."""
    failed = made.where("error is not null")
    return reject_rows(failed, stage=stage, input="article_id", item=F.lit(""), reason=F.lit(reason), detail="error")


def _column(column: str | Column) -> Column:
    return F.col(column) if isinstance(column, str) else column
