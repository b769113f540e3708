"""From articles to annotations."""

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

STAND_OFF = "stand-off"


def annotation_fingerprints(articles: DataFrame, *, stand_off_hash: str, annotator_hash: str) -> DataFrame:
    """(article_id, fingerprint) wanted: another model redoes only the articles that it annotates."""
    made_by = F.when(F.col("stand_off").isNotNull(), stand_off_hash).otherwise(annotator_hash)
    return articles.select("article_id", _fingerprint("content_hash", made_by).alias("fingerprint"))


def annotate_stand_off(articles: DataFrame, *, stand_off_udf: Any, tasks: int) -> DataFrame:
    """The annotations of the articles that have stand-off; columns as ``annotate_by_model``'s."""
    return (
        articles.where("stand_off is not null")
        .select("article_id", "fingerprint", "text", "paragraphs", "stand_off")
        .repartition(tasks, "article_id")
        .select(
            "article_id",
            F.lit(STAND_OFF).alias("annotator"),
            stand_off_udf("text", "paragraphs", "stand_off").alias("made"),
            "fingerprint",
        )
        .select("article_id", "annotator", "made.*", "fingerprint")
    )


def annotate_by_model(articles: DataFrame, *, annotator: str, annotate_udf: Any, tasks: int) -> DataFrame:
    """The annotations of the articles without stand-off.

    Args:
        articles: articles columns and ``fingerprint``.
        tasks: articles are dealt out to them by a hash of their id, so that long ones don't stand together.

    Returns:
        The annotations' columns and ``error`` (then sentences, tokens and mentions are null).
    """
    return (
        articles.where("stand_off is null")
        .select("article_id", "fingerprint", "text", "paragraphs", "highlights")
        .repartition(tasks, "article_id")
        .select(
            "article_id",
            F.lit(annotator).alias("annotator"),
            annotate_udf("text", "paragraphs", "highlights").alias("made"),
            "fingerprint",
        )
        .select("article_id", "annotator", "made.*", "fingerprint")
    )


def annotation_rejects(annotated: DataFrame) -> DataFrame:
    """Reject rows of the articles that failed."""
    return annotated.where("error is not null").select(
        F.lit("annotate").alias("stage"),
        F.col("article_id").alias("input"),
        F.lit("").alias("item"),
        F.lit("annotator_failed").alias("reason"),
        F.col("error").alias("detail"),
        "article_id",
        "fingerprint",
    )


def _fingerprint(content: str, made_by: Column) -> Column:
    return F.sha1(F.concat_ws("|", F.col(content), made_by))
