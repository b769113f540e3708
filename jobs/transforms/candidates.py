"""Ingest: from candidates (``sources``) to rows of articles and rejects; whether every source gave some."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.job_support.contracts import ARTICLES
from jobs.job_support.settings import SettingsError
from jobs.transforms.sources import Roots

# Rejects of articles that are sound, and would be articles if another did not stand for them.
DOUBLES = ("duplicate_article", "superseded_article", "also_in_hermann")


def resolve_duplicates(candidates: DataFrame, *, articles: DataFrame, inputs: DataFrame) -> DataFrame:
    """Lets one article stand for each id; the others become rejects that name it.

    Hermann's goes before a crawled one, then what changed last, then path and item in order. So the outcome
    does not depend on what came in one run and what in several: an article in the table may lose too, and
    is then among the rejects, while the candidate that takes its place overwrites it.

    Args:
        candidates: ``read_inputs``; used twice: pass them cached.
        articles: the table as it is.
        inputs: the work list: articles that came from it are no rivals, they are read again.
    """
    names = candidates.columns
    rivals = (
        articles.join(candidates.where("reject_reason is null").select("article_id"), on="article_id", how="left_semi")
        .join(inputs.select(F.col("path").alias("source_path")), on="source_path", how="left_anti")
        .withColumn("in_table", F.lit(True))
    )
    rows = candidates.withColumn("in_table", F.lit(False)).unionByName(rivals, allowMissingColumns=True)
    # Rejects have no rivals; each in a group of its own, so that they don't all go to one task.
    key = F.when(F.col("reject_reason").isNull(), F.col("article_id")).otherwise(
        F.concat_ws("|", F.lit("reject"), "source_path", "source_item")
    )
    group = Window.partitionBy(key)
    ranked = group.orderBy(F.col("origin") != "hermann", F.desc("source_signature"), "source_path", "source_item")
    first = F.struct("origin", "content_hash", "source_path", "source_item")
    judged = rows.withColumns({"rank": F.row_number().over(ranked), "winner": F.first(first).over(ranked)})
    lost = F.col("reject_reason").isNull() & (F.col("rank") > 1)
    reason = (
        F.when((F.col("winner.origin") == "hermann") & (F.col("origin") != "hermann"), "also_in_hermann")
        .when(F.col("winner.content_hash") == F.col("content_hash"), "duplicate_article")
        .otherwise("superseded_article")
    )
    other = F.concat_ws(" ", "winner.source_path", F.nullif("winner.source_item", F.lit("")))
    detail = F.concat(F.lit("same id as "), F.col("article_id"), F.lit(" in "), other)
    return (
        judged.where(~F.col("in_table") | lost)
        .withColumns(
            {
                "reject_reason": F.when(lost, reason).otherwise(F.col("reject_reason")),
                "reject_detail": F.when(lost, detail).otherwise(F.col("reject_detail")),
            }
        )
        .select(*names)
    )


def accepted(candidates: DataFrame) -> DataFrame:
    """Rows for ``articles``."""
    return candidates.where("reject_reason is null").select(*ARTICLES.schema.names)


def rejected(candidates: DataFrame) -> DataFrame:
    """Rows for ``rejects``."""
    return candidates.where("reject_reason is not null").select(
        F.lit("ingest").alias("stage"),
        F.col("source_path").alias("input"),
        F.col("source_item").alias("item"),
        F.col("reject_reason").alias("reason"),
        F.coalesce("reject_detail", F.lit("")).alias("detail"),
        "article_id",
        F.col("source_signature").alias("fingerprint"),
    )


def yield_by_source(inputs: DataFrame, *, articles: DataFrame, rejects: DataFrame) -> DataFrame:
    """(source, inputs, useful) where an input is useful that gave an article, or one that another stands for.

    Args:
        inputs: ``list_inputs``, all of them.
        articles, rejects: the tables after the run.
    """
    useful = (
        articles.select(F.col("source_path").alias("path"))
        .unionByName(
            rejects.where(F.col("reason").isin(*DOUBLES) & (F.col("stage") == "ingest")).select(
                F.col("input").alias("path")
            )
        )
        .groupBy("path")
        .agg(F.lit(1).alias("useful"))
    )
    return (
        inputs.select("source", "path")
        .join(useful, on="path", how="left")
        .groupBy("source")
        .agg(F.count("path").alias("inputs"), F.count("useful").alias("useful"))
    )


def check_yield(rows: Sequence[Any], *, roots: Roots) -> None:
    """Raises SettingsError where a source gave no article: a run that ends well has read all of its sources.

    Args:
        rows: collected rows of ``yield_by_source``.
    """
    counts = {r.source: r for r in rows}
    for number, key in enumerate(roots.keys):
        count = counts.get(number)
        where = f"{key} ({roots.rules[number].name})"
        if count is None:
            raise SettingsError(
                f"{where} holds no .story, archive, .jsonl or .parquet file that no earlier source holds"
            )
        if not count.useful:
            raise SettingsError(f"{where}: none of {count.inputs} inputs gave an article; table rejects says why")
