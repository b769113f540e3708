"""From annotated articles to passages, judged sentences and candidate queries (section 3.2)."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from udfs.cloze_queries import CLOZE_INPUT, CLOZE_OUTPUT, PASSED


def triple_fingerprints(annotations: DataFrame, articles: DataFrame, *, settings_hash: str) -> DataFrame:
    """(article_id, fingerprint) wanted of the passages: of all that a passage repeats or is made from."""
    origin = articles.select("article_id", "origin", "publisher")
    parts = F.concat_ws("|", "fingerprint", "origin", F.coalesce("publisher", F.lit("")), F.lit(settings_hash))
    return annotations.join(origin, on="article_id", how="inner").select(
        "article_id", F.sha1(parts).alias("fingerprint")
    )


def make_cloze_articles(
    articles: DataFrame, annotations: DataFrame, work: DataFrame, *, cloze_batches: Any, tasks: int
) -> DataFrame:
    """One row per article of the work list: passage, sentences and queries, or error, nested as in ``CLOZE_OUTPUT``."""
    columns = ("article_id", "fold", "origin", "publisher", "text", "paragraphs", "highlights")
    together = (
        articles.select(*columns)
        .join(work.select("article_id", "fingerprint"), on="article_id", how="inner")
        .repartition(tasks, "article_id")
        .join(
            annotations.select("article_id", "sentences", "mentions").repartition(tasks, "article_id"),
            on="article_id",
            how="inner",
        )
    )
    return together.select(*PASSED, *CLOZE_INPUT).mapInArrow(cloze_batches, CLOZE_OUTPUT)


def passage_rows(cloze: DataFrame) -> DataFrame:
    """Rows of ``passages``: kept or not, one per article that did not fail."""
    return cloze.where("error is null").select(
        "article_id",
        "fold",
        "origin",
        "publisher",
        "passage.*",
        F.lit(None).cast(T.StringType()).alias("split"),
        "fingerprint",
    )


def sentence_rows(cloze: DataFrame) -> DataFrame:
    """Rows of ``sentences``: all of the second parts, each with its verdicts."""
    return cloze.select("article_id", F.inline("sentences"))


def triple_rows(cloze: DataFrame) -> DataFrame:
    """Rows of ``triples``: every candidate query; ``query_id`` as in the ReCoRD release."""
    return cloze.select("article_id", "fold", F.inline("queries")).select(
        F.concat_ws("-", "article_id", "sentence_sha1", "placeholder").alias("query_id"),
        "article_id",
        "fold",
        "sentence_start",
        "sentence_sha1",
        "query",
        "placeholder",
        "answer_surface",
        "cluster",
        "answers",
        "overlaps",
        "keep",
        "reason",
        F.lit(None).cast(T.StringType()).alias("split"),
    )
