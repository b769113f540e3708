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


def duplicate_verdicts(candidates: DataFrame, *, articles: DataFrame, inputs: DataFrame) -> DataFrame:
    """Lets one article stand for each id; the others' (source_path, source_item, in_table, reason, detail).

    Hermann's goes before a crawled one, then what changed last, then path and item in order. So the outcome
    does not depend on what came in one run and what in several: an article in the table may lose too
    (``in_table``), and the candidate that takes its place overwrites it.

    Ids, hashes and paths are compared: texts don't move.

    Args:
        candidates: ``read_inputs``.
        articles: the table as it is.
        inputs: the work list: articles that came from it are no rivals, they are read again.
    """
    columns = ("article_id", "origin", "content_hash", "source_path", "source_item", "source_signature")
    sound = candidates.where("reject_reason is null").select(*columns, F.lit(False).alias("in_table"))
    rivals = (
        articles.select(*columns, F.lit(True).alias("in_table"))
        .join(sound.select("article_id"), on="article_id", how="left_semi")
        .join(inputs.select(F.col("path").alias("source_path")), on="source_path", how="left_anti")
    )
    group = Window.partitionBy("article_id")
    ranked = group.orderBy(F.col("origin") != "hermann", F.desc("source_signature"), "source_path", "source_item")
    first = F.struct("origin", "content_hash", "source_path", "source_item")
    judged = sound.unionByName(rivals).withColumns(
        {"rank": F.row_number().over(ranked), "winner": F.first(first).over(ranked)}
    )
    reason = (
        F.when((F.col("winner.origin") == "hermann") & (F.col("origin") != "hermann"), "also_in_hermann")
        .when(F.col("winner.content_hash") == F.col("content_hash"), "duplicate_article")
        .otherwise("superseded_article")
    )
    other = F.concat_ws(" ", "winner.source_path", F.nullif("winner.source_item", F.lit("")))
    return judged.where("rank > 1").select(
        "source_path",
        "source_item",
        "in_table",
        reason.alias("reason"),
        F.concat(F.lit("same id as "), F.col("article_id"), F.lit(" in "), other).alias("detail"),
    )


def apply_verdicts(candidates: DataFrame, verdicts: DataFrame, *, articles: DataFrame) -> DataFrame:
    """The candidates with the verdicts' reasons, and the articles of the table that lost their place.

    Args:
        verdicts: ``duplicate_verdicts``; staged, so that Spark sees that they are few and sends them to the texts.
    """
    names = candidates.columns
    on = ["source_path", "source_item"]
    reasons = {
        "reject_reason": F.coalesce("reason", "reject_reason"),
        "reject_detail": F.coalesce("detail", "reject_detail"),
    }
    of_candidates = verdicts.where("not in_table").drop("in_table")
    judged = candidates.join(of_candidates, on=on, how="left").withColumns(reasons).select(*names)
    replaced = articles.join(verdicts.where("in_table").drop("in_table"), on=on, how="inner").withColumns(
        {"reject_reason": F.col("reason"), "reject_detail": F.col("detail")}
    )
    return judged.unionByName(replaced.drop("reason", "detail"), allowMissingColumns=True)


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
        where = f"{key} ({_path_of(roots, number)})"
        if count is None:
            elsewhere = ", or an earlier source holds them all" if number else ""
            raise SettingsError(f"{where}: no .story, archive, .jsonl or .parquet file there{elsewhere}")
        if not count.useful:
            raise SettingsError(f"{where}: none of {count.inputs} inputs gave an article; table rejects says why")


def _path_of(roots: Roots, source: int) -> str:
    place = next(place for number, place in roots.places if number == source)
    return f"{place.root}/{place.relative}" if place.is_file else place.root
