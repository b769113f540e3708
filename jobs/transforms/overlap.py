"""Crawled articles that are also among the public script's, by id, URL or text.

Training data may come from both, development and test data from crawled articles alone: one that
stands in both sets must not count as crawled.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.transforms.rejects import reject_rows
from udfs.near_duplicates import N_PERMUTATIONS, band_rows

# Grounds in order of strength.
SAME_ID, SAME_URL, NEAR_IDENTICAL = range(3)


def counterpart_of(other_id: str, ground: int | Column, shared: str) -> Column:
    """What such a reject rests on, ``<id of Hermann's article>:<hash of ground and shared value>``.

    It is the end of the reject's fingerprint: as long as Hermann's article of that id has the same shared value
    (the id itself, the URL's key, or the content whose text is near-identical), the reject stands.

    Args:
        other_id, shared: columns.
    """
    of_ground = F.lit(ground) if isinstance(ground, int) else ground
    return F.concat_ws(":", other_id, F.sha1(F.concat_ws(" ", of_ground.cast("string"), shared)))


def standing_rejects(rejects: DataFrame, hermann: DataFrame) -> DataFrame:
    """Those of the rejects ``also_in_hermann`` whose counterpart is as it was: (input, item, article_id).

    Args:
        rejects: rows of the table.
        hermann: article_id, url_key, content_hash of Hermann's articles and of listed URLs.
    """
    rests_on = F.substring_index("fingerprint", ":", -2)
    of_rejects = rejects.select(
        "input",
        "item",
        F.col("article_id").alias("rejected_id"),
        F.substring_index(rests_on, ":", 1).alias("article_id"),
        rests_on.alias("counterpart"),
    )
    shared = ((SAME_ID, "article_id"), (SAME_URL, "url_key"), (NEAR_IDENTICAL, "content_hash"))
    possible = F.array(*(counterpart_of("article_id", ground, column) for ground, column in shared))
    return (
        of_rejects.join(hermann, on="article_id", how="inner")
        .where(F.array_contains(possible, F.col("counterpart")))
        .select("input", "item", F.col("rejected_id").alias("article_id"))
        .distinct()  # a listed URL may have its article too
    )


def find_overlap(crawled: DataFrame, hermann: DataFrame, *, near_identical: float) -> DataFrame:
    """The crawled articles with a counterpart: (article_id, detail, counterpart), one row each.

    The strongest ground is named: the same id, then the same URL, then near-identical text (the most
    similar one); then the smallest id.

    Args:
        crawled: article_id, url_key, shingle_hashes of articles; ids are unique.
        hermann: the same and content_hash; a listed URL may have its article too.
        near_identical: estimated share of common shingles from which two texts are one.
    """
    found = (
        _same(crawled, hermann, "article_id", SAME_ID)
        .unionByName(_same(crawled, hermann, "url_key", SAME_URL))
        .unionByName(_near_identical(crawled, hermann, near_identical))
    )
    strongest = Window.partitionBy("article_id").orderBy("ground", F.desc("similarity"), "other_id")
    what = F.element_at(F.array(F.lit("same id"), F.lit("same URL"), F.lit("near-identical text")), F.col("ground") + 1)
    share = F.when(F.col("ground") == NEAR_IDENTICAL, F.format_string("(%.2f)", "similarity"))
    return (
        found.withColumn("rank", F.row_number().over(strongest))
        .where("rank = 1")
        .select(
            "article_id",
            F.concat_ws(" ", what, share, F.lit("as"), "other_id").alias("detail"),
            counterpart_of("other_id", F.col("ground"), "shared").alias("counterpart"),
        )
    )


def no_overlap(articles: DataFrame) -> DataFrame:
    """What ``find_overlap`` gives where nothing overlaps."""
    nothing = F.lit("")
    return articles.where("false").select("article_id", nothing.alias("detail"), nothing.alias("counterpart"))


def listed_in_hermann(urls: DataFrame) -> DataFrame:
    """The URLs in the public script's lists in the form of ``find_overlap``'s ``hermann``: known without their text."""
    return urls.where("in_hermann_list").select(
        "article_id",
        "url_key",
        F.lit(None).cast("array<bigint>").alias("shingle_hashes"),
        F.lit(None).cast("string").alias("content_hash"),
    )


def reject_overlap(candidates: DataFrame, overlap: DataFrame) -> DataFrame:
    """Makes rejects of the crawled candidates that ``overlap`` (``find_overlap``) names."""
    names = candidates.columns
    joined = candidates.join(overlap, on="article_id", how="left")
    hit = F.col("detail").isNotNull() & F.col("reject_reason").isNull() & (F.col("origin") == "crawled")
    return joined.withColumns(
        {
            "reject_reason": F.when(hit, "also_in_hermann").otherwise(F.col("reject_reason")),
            "reject_detail": F.when(hit, F.col("detail")).otherwise(F.col("reject_detail")),
            "source_signature": F.concat_ws(":", "source_signature", F.when(hit, F.col("counterpart"))),
        }
    ).select(*names)


def overlap_in_table(articles: DataFrame, overlap: DataFrame) -> DataFrame:
    """Rows for ``rejects`` of the crawled articles that stand in the table and now have a counterpart: the job
    deletes them from ``articles``."""
    crawled = articles.where("origin = 'crawled'")
    return reject_rows(
        crawled.join(overlap, on="article_id", how="inner"),
        stage="ingest",
        input="source_path",
        item="source_item",
        reason=F.lit("also_in_hermann"),
        detail="detail",
        fingerprint=F.concat_ws(":", "source_signature", "counterpart"),
    )


def _same(crawled: DataFrame, hermann: DataFrame, column: str, ground: int) -> DataFrame:
    # Several of Hermann's articles may stand under one key (two snapshots of a page): the smallest id stands for them.
    others = (
        hermann.where(F.col(column).isNotNull())
        .groupBy(F.col(column).alias("key"))
        .agg(F.min("article_id").alias("other_id"))
    )
    return (
        crawled.select("article_id", F.col(column).alias("key"))
        .join(others, on="key", how="inner")
        .select(
            "article_id",
            "other_id",
            F.col("key").alias("shared"),
            F.lit(ground).alias("ground"),
            F.lit(1.0).alias("similarity"),
        )
    )


def _near_identical(crawled: DataFrame, hermann: DataFrame, threshold: float) -> DataFrame:
    """Pairs that share a band of their signatures and are similar enough.

    Signatures are compared, not articles: pages with the very same text (a thousand copies of a notice)
    would otherwise fill one band with a million pairs. Bands carry a signature's hash alone; the signatures
    come in for the few pairs that share one.
    """
    rows = band_rows(threshold)
    ours = _signatures(crawled)
    of_smallest = F.min(F.struct(F.col("article_id").alias("other_id"), F.col("content_hash").alias("shared")))
    theirs = _signatures(hermann, of_smallest.alias("smallest")).select("signature", "hashes", "smallest.*")
    shared = (
        _banded(ours, rows)
        .withColumnRenamed("signature", "ours")
        .join(_banded(theirs, rows).withColumnRenamed("signature", "theirs"), on="band", how="inner")
        .select("ours", "theirs")
        .distinct()
    )
    pairs = (
        shared.join(ours.selectExpr("signature AS ours", "hashes AS our_hashes"), on="ours", how="inner")
        .join(
            theirs.selectExpr("signature AS theirs", "hashes AS their_hashes", "other_id", "shared"),
            on="theirs",
            how="inner",
        )
        .withColumn("similarity", _similarity("our_hashes", "their_hashes"))
        .where(F.col("similarity") >= threshold)
        .select("ours", "other_id", "shared", "similarity")
    )
    return (
        crawled.select("article_id", F.xxhash64("shingle_hashes").alias("ours"))
        .join(pairs, on="ours", how="inner")
        .select("article_id", "other_id", "shared", F.lit(NEAR_IDENTICAL).alias("ground"), "similarity")
    )


def _signatures(articles: DataFrame, *more: Column) -> DataFrame:
    """The different signatures (signature: a hash of the hashes), with ``more`` of those that have each."""
    return (
        articles.where(F.size("shingle_hashes") == N_PERMUTATIONS)
        .groupBy(F.xxhash64("shingle_hashes").alias("signature"))
        .agg(F.first("shingle_hashes").alias("hashes"), *more)
    )


def _banded(signatures: DataFrame, rows: int) -> DataFrame:
    bands = [F.xxhash64(F.lit(n), F.slice("hashes", n * rows + 1, rows)) for n in range(N_PERMUTATIONS // rows)]
    return signatures.select("signature", F.explode(F.array(*bands)).alias("band"))


def _similarity(one: str, other: str) -> Column:
    equal = F.zip_with(one, other, lambda a, b: F.when(a == b, 1).otherwise(0))
    return F.aggregate(equal, F.lit(0), lambda total, x: total + x) / F.lit(float(N_PERMUTATIONS))
