"""From passages and selected sentences to their tokens, parts of speech and lemmas."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def texts_to_tag(passages: DataFrame, sentences: DataFrame, triples: DataFrame) -> DataFrame:
    """(article_id, unit, start, text) of the passages that have triples, and of the sentences these come from."""
    kept = triples.where("keep")
    selected = kept.select("article_id", F.col("sentence_start").alias("start")).distinct()
    passage_texts = (
        passages.join(kept.select("article_id"), on="article_id", how="left_semi")
        .select("article_id", F.lit("passage").alias("unit"), F.lit(0).alias("start"), "text")
    )  # fmt: skip
    sentence_texts = (
        sentences.join(selected, on=["article_id", "start"], how="left_semi")
        .select("article_id", F.lit("sentence").alias("unit"), "start", "text")
    )  # fmt: skip
    return passage_texts.unionByName(sentence_texts)


def tag_fingerprints(passages: DataFrame, triples: DataFrame, *, tagger_hash: str) -> DataFrame:
    """(article_id, fingerprint) wanted: one for all texts of an article that has triples."""
    fingerprint = F.sha1(F.concat_ws("|", "fingerprint", F.lit(tagger_hash)))
    return (
        passages.join(triples.where("keep").select("article_id"), on="article_id", how="left_semi")
        .select("article_id", fingerprint.alias("fingerprint"))
    )  # fmt: skip


def tag_texts(texts: DataFrame, work: DataFrame, *, tag_udf: Any, tasks: int) -> DataFrame:
    """The texts of the work list's articles with their tokens: token_tags columns and ``error`` (then tokens null)."""
    return (
        texts.join(work.select("article_id", "fingerprint"), on="article_id", how="inner")
        .repartition(tasks, "article_id", "start")
        .select("article_id", "unit", "start", tag_udf("text").alias("made"), "fingerprint")
        .select("article_id", "unit", "start", "made.tokens", "made.error", "fingerprint")
    )


def tag_rows(tagged: DataFrame) -> DataFrame:
    """Rows of ``token_tags``: an article of which a text failed has none, not half of them."""
    failed = tagged.where("error is not null").select("article_id")
    return tagged.join(failed, on="article_id", how="left_anti").drop("error")


def failed_tagging(tagged: DataFrame) -> DataFrame:
    """(article_id, error, fingerprint) of the articles of which a text failed; ``error`` names the first such text."""
    where = F.format_string("%s at %d: %s", "unit", "start", "error")
    return (
        tagged.where("error is not null")
        .groupBy("article_id", "fingerprint")
        .agg(F.min_by(where, F.struct("unit", "start")).alias("error"))
        .select("article_id", "error", "fingerprint")
    )
