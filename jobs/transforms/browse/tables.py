"""Tables for the notebooks: opened as they are, aggregated by Spark, brought to the driver in small numbers.

Every function that brings rows to the driver takes ``limit``, which Spark applies before anything moves. Counts
and histograms are made by Spark over all rows.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

LIMIT = 1_000
CAP = 100_000


class BrowseError(ValueError):
    """A request that can't be met; the message says what to ask for."""


def open_table(spark: SparkSession, root: str, name: str) -> DataFrame:
    """A table under a folder or URI, as it is; nothing is created.

    Raises:
        BrowseError: there is no such table.
    """
    path = _path(root, name)
    if not DeltaTable.isDeltaTable(spark, path):
        raise BrowseError(
            f"no table at {path}: run `make demo`, or set RECORD_SPARK_TABLES to the folder of a run's tables"
        )
    return spark.read.format("delta").load(path)


def open_if_filled(spark: SparkSession, root: str, name: str) -> DataFrame | None:
    """A table that only some runs fill; None where it is not there or has no rows."""
    if not DeltaTable.isDeltaTable(spark, _path(root, name)):
        return None
    rows = open_table(spark, root, name)
    return None if rows.isEmpty() else rows


def _path(root: str, name: str) -> str:
    return f"{root if ':/' in root else Path(root).resolve()}/{name}"


def fetch(rows: DataFrame, *, limit: int = LIMIT) -> pd.DataFrame:
    """The first ``limit`` rows, as Spark has them; sort before, where it matters which.

    ``attrs["more"]`` of the result says whether there are others.

    Raises:
        BrowseError: the limit is not within 1 and ``CAP``.
    """
    if not 1 <= limit <= CAP:
        raise BrowseError(f"limit={limit:,}: from 1 to {CAP:,} rows fit here; let Spark aggregate or write the rest")
    found = rows.limit(limit + 1).toPandas()
    shown = found.iloc[:limit]
    shown.attrs["more"] = len(found) > limit
    return shown


def counts(rows: DataFrame, *by: str | Column) -> DataFrame:
    """(by..., rows): how many rows each combination has, the most frequent first."""
    return rows.groupBy(*by).agg(F.count("*").alias("rows")).orderBy(F.desc("rows"), *by)


def article_with_most(triples: DataFrame) -> str:
    """The id of the article that has most kept triples, the first one of several.

    Raises:
        BrowseError: no triple was kept.
    """
    first = counts(triples.where("keep"), "article_id").first()
    if first is None:
        raise BrowseError("no triple was kept: the funnel says where the articles and sentences went")
    return str(first.article_id)


def histogram(rows: DataFrame, value: Column, *, width: int) -> DataFrame:
    """(from, to, rows): rows by value in bins [from, to) of the same width; bins without rows are absent."""
    low = (F.floor(value / width) * width).cast("long")
    return (
        rows.groupBy(low.alias("from"))
        .agg(F.count("*").alias("rows"))
        .orderBy("from")
        .select("from", (F.col("from") + width).alias("to"), "rows")
    )


def mean(rows: DataFrame, value: Column) -> float | None:
    """The mean of a value over all rows; None without rows."""
    found: float | None = rows.select(F.avg(value)).collect()[0][0]
    return found


def per_article(articles: DataFrame, rows: DataFrame, *, name: str) -> DataFrame:
    """(article_id, <name>): how many ``rows`` each article has, 0 included."""
    found = rows.groupBy("article_id").agg(F.count("*").alias(name))
    joined = articles.select("article_id").join(found, on="article_id", how="left")
    return joined.select("article_id", F.coalesce(name, F.lit(0)).alias(name))


def examples(rows: DataFrame, *, of: str, order: Sequence[str], each: int) -> DataFrame:
    """The first rows of each value of a column, at most ``each``, in an order that the columns ``order`` fix."""
    number = F.row_number().over(Window.partitionBy(of).orderBy(*order))
    return rows.withColumn("_number", number).where(F.col("_number") <= each).orderBy(of, *order).drop("_number")
