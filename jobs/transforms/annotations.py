"""From articles to annotations."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from udfs.return_types import MENTION, STAND_OFF_MENTION, TOKEN

STAND_OFF = "stand-off"


def annotation_fingerprints(articles: DataFrame, *, stand_off_hash: str, annotator_hash: str) -> DataFrame:
    """(article_id, fingerprint) wanted: another model redoes only the articles that it annotates."""
    made_by = F.when(F.col("stand_off").isNotNull(), stand_off_hash).otherwise(annotator_hash)
    return articles.select("article_id", _fingerprint("content_hash", made_by).alias("fingerprint"))


def annotate_stand_off(articles: DataFrame, *, split_udf: Any, tasks: int) -> DataFrame:
    """The annotations of the articles that have stand-off: its mentions, and sentences.

    Args:
        articles: articles columns and ``fingerprint``.
        split_udf: ``udfs.annotate_text.make_split_udf``.
        tasks: articles are dealt out to them by a hash of their id, so that long ones don't stand together.

    Returns:
        The annotations' columns and ``error`` (then sentences and mentions are null).
    """
    untyped = F.transform(
        "stand_off",
        lambda m: F.struct(*(m[c] for c in STAND_OFF_MENTION.names), F.lit(None).cast("string").alias("type")),
    )
    return _annotate(
        articles.where("stand_off is not null"),
        split_udf("text", "paragraphs"),
        tasks=tasks,
        annotator=STAND_OFF,
        tokens=F.lit(None).cast(T.ArrayType(TOKEN)),
        mentions=F.when(F.isnull("made.error"), untyped),
        unnamed=F.lit(None).cast(T.ArrayType(MENTION)),
    )


def annotate_by_model(articles: DataFrame, *, annotator: str, annotate_udf: Any, tasks: int) -> DataFrame:
    """The annotations of the articles without stand-off; arguments and columns as ``annotate_stand_off``'s."""
    return _annotate(
        articles.where("stand_off is null"),
        annotate_udf("text", "paragraphs", "highlights"),
        tasks=tasks,
        annotator=annotator,
        tokens=F.col("made.tokens"),
        mentions=F.col("made.mentions"),
        unnamed=F.col("made.unnamed"),
    )


def _annotate(
    articles: DataFrame,
    made: Column,
    *,
    tasks: int,
    annotator: str,
    tokens: Column,
    mentions: Column,
    unnamed: Column,
) -> DataFrame:
    return (
        articles.select("article_id", "fingerprint", "text", "paragraphs", "highlights", "stand_off")
        .repartition(tasks, "article_id")
        .select("article_id", "fingerprint", "stand_off", made.alias("made"))
        .select(
            "article_id",
            F.lit(annotator).alias("annotator"),
            "made.sentences",
            tokens.alias("tokens"),
            mentions.alias("mentions"),
            unnamed.alias("unnamed"),
            "made.error",
            "fingerprint",
        )
    )


def annotation_rows(annotated: DataFrame, *, version: int, digests: Mapping[str, str]) -> DataFrame:
    """Rows of ``annotations``: of the articles that did not fail.

    Args:
        version: of the stage.
        digests: of each annotator, by name.
    """
    by_name = F.create_map(*(F.lit(part) for pair in digests.items() for part in pair))
    return (
        annotated.where("error is null")
        .drop("error")
        .withColumns({"version": F.lit(str(version)), "digest": by_name[F.col("annotator")]})
    )


def _fingerprint(content: str, made_by: Column) -> Column:
    return F.sha1(F.concat_ws("|", F.col(content), made_by))
