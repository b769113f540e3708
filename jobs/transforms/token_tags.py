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
    """Rows of ``token_tags`` for the texts of the work list's articles."""
    return (
        texts.join(work.select("article_id", "fingerprint"), on="article_id", how="inner")
        .repartition(tasks, "article_id", "start")
        .select("article_id", "unit", "start", tag_udf("text").alias("tokens"), "fingerprint")
    )
