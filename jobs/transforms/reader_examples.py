"""What readers are trained on and asked: each passage with its queries, as tokens."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.reader_examples import EXAMPLES


def reader_examples(passages: DataFrame, triples: DataFrame, token_tags: DataFrame) -> DataFrame:
    """One row per passage with kept triples whose texts are tagged; columns and types of ``EXAMPLES``.

    The queries are in order of their ids: the same tables give the same examples.
    """
    of_sentences = token_tags.where("unit = 'sentence'").select(
        "article_id", F.col("start").alias("sentence_start"), F.col("tokens").alias("sentence_tokens")
    )
    query = F.struct("query_id", "query", "placeholder", "answer_surface", "answers", "sentence_tokens")
    queries = (
        triples.where("keep")
        .join(of_sentences, on=["article_id", "sentence_start"], how="inner")
        .groupBy("article_id")
        .agg(F.sort_array(F.collect_list(query)).alias("queries"))
    )
    of_passages = token_tags.where("unit = 'passage'").select("article_id", "tokens", "fingerprint")
    return (
        passages.where("keep")
        .select("article_id", "fold", "text", "entities")
        .join(of_passages, on="article_id", how="inner")
        .join(queries, on="article_id", how="inner")
        .select(*EXAMPLES.names)
    )


def prediction_fingerprints(
    token_tags: DataFrame, passages: DataFrame, readers: DataFrame, *, version: int
) -> DataFrame:
    """(article_id, fingerprint) wanted of the predictions: of the tagged texts and of the reader of their fold.

    Args:
        readers: rows of ``reader_runs`` of one reader: one for each fold.
    """
    made_from = F.concat_ws("|", "fingerprint", "digest", F.lit(str(version)))
    return (
        token_tags.where("unit = 'passage'")
        .select("article_id", "fingerprint")
        .join(passages.select("article_id", "fold"), on="article_id", how="inner")
        .join(readers.select("fold", "digest"), on="fold", how="inner")
        .select("article_id", F.sha1(made_from).alias("fingerprint"))
    )


def dealt_out(examples: DataFrame, *, tasks_per_fold: int) -> DataFrame:
    """The examples in tasks that need one fold's reader each, as far as hashing allows, in order of fold."""
    part: Column = F.pmod(F.xxhash64("article_id"), F.lit(tasks_per_fold))
    return (
        examples.withColumn("part", part)
        .repartitionByRange(5 * tasks_per_fold, "fold", "part")
        .sortWithinPartitions("fold", "article_id")
        .drop("part")
    )
