"""The machine filter (section 3.3): triples that the reader answers are dropped; and splits by article (3.4)."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.job_support.reader_contracts import ANSWERED, NOT_SCORED

TRAIN, DEV, TEST = SPLITS = ("train", "dev", "test")


def filter_fingerprints(
    triples: DataFrame, passages: DataFrame, predictions: DataFrame, *, settings_hash: str
) -> DataFrame:
    """(article_id, fingerprint) wanted of the verdicts: of the passage, its predictions and the splits' settings.

    Args:
        predictions: those of one reader.
    """
    scored = predictions.groupBy("article_id").agg(F.max("fingerprint").alias("scored"))
    made_from = F.concat_ws("|", "fingerprint", "origin", F.coalesce("scored", F.lit("")), F.lit(settings_hash))
    return (
        passages.join(triples.where("keep").select("article_id"), on="article_id", how="left_semi")
        .join(scored, on="article_id", how="left")
        .select("article_id", F.sha1(made_from).alias("fingerprint"))
    )


def filter_verdicts(
    triples: DataFrame,
    passages: DataFrame,
    predictions: DataFrame,
    work: DataFrame,
    *,
    answered: Column,
    hermann_held_out: float,
    dev_share: float,
) -> DataFrame:
    """Rows of ``machine_filter`` for the kept triples of the work list's articles.

    Args:
        predictions: those of one reader.
        answered: of the predictions, which count as right.
        hermann_held_out, dev_share: see ``split_of``.
    """
    reason = F.when(F.col("answered"), ANSWERED).when(F.col("text").isNull(), NOT_SCORED)
    split = split_of(F.col("article_id"), F.col("origin"), hermann_held_out=hermann_held_out, dev_share=dev_share)
    return (
        triples.where("keep")
        .select("query_id", "article_id")
        .join(work.select("article_id", "fingerprint"), on="article_id", how="inner")
        .join(passages.select("article_id", "origin"), on="article_id", how="inner")
        .join(predictions.select("query_id", answered.alias("answered"), "text"), on="query_id", how="left")
        .withColumn("reason", reason)
        .select(
            "query_id",
            "article_id",
            F.isnull("reason").alias("keep"),
            "reason",
            split.alias("split"),
            "fingerprint",
        )
    )


def split_of(article_id: Column, origin: Column, *, hermann_held_out: float, dev_share: float) -> Column:
    """The split of an article, by a stable hash of its id: none moves when others arrive.

    As in the paper, training data are of Hermann's articles alone, dev and test of both.

    Args:
        hermann_held_out: share of Hermann's articles for dev and test; crawled ones are all held out.
        dev_share: share of the held out for dev.
    """
    held_out = (origin != "hermann") | (_uniform("held out", article_id) < hermann_held_out)
    return F.when(~held_out, TRAIN).when(_uniform("dev", article_id) < dev_share, DEV).otherwise(TEST)


def _uniform(purpose: str, article_id: Column) -> Column:
    """A number from [0, 1) by the article's id; another one for each purpose."""
    digits = F.substring(F.sha1(F.concat_ws("|", F.lit(purpose), article_id)), 1, 12)
    return F.conv(digits, 16, 10).cast("bigint") / float(16**12)


def hard_triples(triples: DataFrame, machine_filter: DataFrame) -> DataFrame:
    """The triples that the machine filter kept, with their splits: rows of ``triples``."""
    kept = machine_filter.where("keep").select("query_id", "split")
    return triples.drop("split").join(kept, on="query_id", how="inner").select(*triples.columns)


def hard_passages(passages: DataFrame, hard: DataFrame) -> DataFrame:
    """The passages of hard triples, with their splits: rows of ``passages``."""
    splits = hard.select("article_id", "split").distinct()  # all triples of an article share it
    return passages.drop("split").join(splits, on="article_id", how="inner").select(*passages.columns)
