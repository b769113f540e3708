"""Ingest: from candidates (``sources``) to rows of articles and rejects; whether every source gave some."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.job_support.contracts import ARTICLES
from jobs.job_support.settings import SettingsError
from jobs.transforms.inputs import Roots
from jobs.transforms.overlap import SAME_ID, counterpart_of
from jobs.transforms.rejects import reject_rows

# Rejects of articles that are sound, and would be articles if another did not stand for them.
DOUBLES = ("duplicate_article", "superseded_article", "also_in_hermann")


def duplicate_verdicts(candidates: DataFrame, *, articles: DataFrame, work: DataFrame, inputs: DataFrame) -> DataFrame:
    """Lets one article stand for each id; the others' (source_path, source_item, in_table, reason, detail,
    counterpart), the last of those that stand back for one of Hermann's.

    Hermann's goes before a crawled one, a story before a page, then what stands in the file that changed last,
    then path and item in order (records by their number). So the outcome does not depend on what came in one
    run and what in several: an article in the table may lose too (``in_table``), and the candidate that takes
    its place overwrites it.

    When a file changed is known of the file alone: it stands at the front of the signatures of the inputs, and
    not in the articles' rows, which stay as they are when their file grows. Ids, hashes and paths are compared:
    texts don't move.

    Args:
        candidates: ``read_inputs``.
        articles: the table as it is.
        work: the work list: articles that came from it are no rivals, they are read again.
        inputs: the table: when the files of the other articles changed.
    """
    columns = ("article_id", "origin", "format", "content_hash", "source_path", "source_item")
    sound = candidates.where("reject_reason is null").select(*columns, F.lit(False).alias("in_table"))
    rivals = (
        articles.select(*columns, F.lit(True).alias("in_table"))
        .join(sound.select("article_id"), on="article_id", how="left_semi")
        .join(work.select(F.col("path").alias("source_path")), on="source_path", how="left_anti")
    )
    changed = work.select("path", "signature").unionByName(
        inputs.select("path", "signature").join(work.select("path"), on="path", how="left_anti")
    )
    changed = changed.select(F.col("path").alias("source_path"), F.substring("signature", 1, 20).alias("changed"))
    order = (
        F.col("origin") != "hermann",
        F.col("format") == "html",
        F.desc("changed"),
        "source_path",
        F.length("source_item"),
        "source_item",
    )
    ranked = Window.partitionBy("article_id").orderBy(*order)
    first = F.struct("origin", "content_hash", "source_path", "source_item")
    judged = (
        sound.unionByName(rivals)
        .join(changed, on="source_path", how="left")
        .withColumns({"rank": F.row_number().over(ranked), "winner": F.first(first).over(ranked)})
    )
    in_hermann = (F.col("winner.origin") == "hermann") & (F.col("origin") != "hermann")
    reason = (
        F.when(in_hermann, "also_in_hermann")
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
        F.when(in_hermann, counterpart_of("article_id", SAME_ID, "article_id")).alias("counterpart"),
    )


def apply_verdicts(candidates: DataFrame, verdicts: DataFrame, *, articles: DataFrame) -> DataFrame:
    """The candidates with the verdicts' reasons, and the articles of the table that lost their place.

    Args:
        verdicts: ``duplicate_verdicts``; staged, so that Spark sees that they are few and sends them to the texts.
    """
    names = candidates.columns
    on = ["source_path", "source_item"]
    rests_on = F.concat_ws(":", "source_signature", "counterpart")  # a null is left out
    reasons = {
        "reject_reason": F.coalesce("reason", "reject_reason"),
        "reject_detail": F.coalesce("detail", "reject_detail"),
        "source_signature": rests_on,
    }
    of_candidates = verdicts.where("not in_table").drop("in_table")
    judged = candidates.join(of_candidates, on=on, how="left").withColumns(reasons).select(*names)
    replaced = articles.join(verdicts.where("in_table").drop("in_table"), on=on, how="inner").withColumns(
        {"reject_reason": F.col("reason"), "reject_detail": F.col("detail"), "source_signature": rests_on}
    )
    return judged.unionByName(replaced.drop("reason", "detail", "counterpart"), allowMissingColumns=True)


def accepted(candidates: DataFrame) -> DataFrame:
    """Rows for ``articles``."""
    return candidates.where("reject_reason is null").select(*ARTICLES.schema.names)


def rejected(candidates: DataFrame) -> DataFrame:
    """Rows for ``rejects``."""
    return reject_rows(
        candidates.where("reject_reason is not null"),
        stage="ingest",
        input="source_path",
        item="source_item",
        reason="reject_reason",
        detail=F.coalesce("reject_detail", F.lit("")),
        fingerprint="source_signature",
    )


def yield_by_source(inputs: DataFrame, *, articles: DataFrame, rejects: DataFrame) -> DataFrame:
    """(source, inputs, useful) where an input is useful that gave an article, or one that another stands for.

    Args:
        inputs: ``list_inputs``, all of them; stand-off without a story gives no article.
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
            raise SettingsError(f"{where}: no .story, .html, archive, .jsonl or .parquet file there{elsewhere}")
        if not count.useful:
            raise SettingsError(f"{where}: none of {count.inputs} inputs gave an article; table rejects says why")


def _path_of(roots: Roots, source: int) -> str:
    place = next(place for number, place in roots.places if number == source)
    return f"{place.root}/{place.relative}" if place.is_file else place.root
