"""Crawled articles that are also among Hermann's."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.job_support.contracts import ARTICLES
from jobs.transforms.overlap import find_overlap, overlap_in_table, reject_overlap
from jobs.transforms.sources import CANDIDATES
from tests.builders import article_id, make_article
from tests.spark.reading import words
from udfs.article_urls import url_key
from udfs.near_duplicates import shingle_signature


def row(n: int, text: str, url: str | None = None) -> dict[str, Any]:
    hashes = shingle_signature(text).tolist()
    return {
        "article_id": article_id(n),
        "url_key": url_key(url),
        "shingle_hashes": hashes,
        "content_hash": f"content {text}",
    }


def frame(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    columns = "article_id string, url_key string, shingle_hashes array<bigint>, content_hash string"
    return spark.createDataFrame(list(rows), columns)


def overlap(spark: SparkSession, ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> dict[str, str]:
    found = find_overlap(frame(spark, *ours), frame(spark, *theirs), near_identical=0.8)
    assert found.columns == ["article_id", "detail", "counterpart"]
    rows = found.collect()
    assert len({r.article_id for r in rows}) == len(rows)
    assert all(r.detail.endswith(f" as {r.counterpart.partition(':')[0]}") for r in rows)
    return {r.article_id: r.detail for r in rows}


def test_overlap_by_id_url_and_text(spark: SparkSession) -> None:
    wayback = "http://web.archive.org/web/2015id_/http://www.cnn.com:80/2015/a/"
    theirs = [row(1, words(300, 1)), row(2, words(300, 2), wayback), row(3, words(300, 3)), row(9, words(300, 9))]
    ours = [
        row(1, words(300, 11)),
        row(12, words(300, 12), "https://cnn.com/2015/a?utm_source=x"),
        row(13, words(300, 3, edits=3)),
        row(14, words(300, 14), "https://cnn.com/2015/b"),
        row(15, words(300, 9, edits=60)),
    ]
    assert overlap(spark, ours, theirs) == {
        article_id(1): f"same id as {article_id(1)}",
        article_id(12): f"same URL as {article_id(2)}",
        article_id(13): overlap_detail(words(300, 3, edits=3), words(300, 3), 3),
    }


def overlap_detail(one: str, other: str, n: int) -> str:
    share = (shingle_signature(one) == shingle_signature(other)).mean()
    assert share >= 0.8
    return f"near-identical text ({share:.2f}) as {article_id(n)}"


def test_strongest_ground_and_smallest_id_are_named(spark: SparkSession) -> None:
    text, url = words(300, 1), "http://cnn.com/a"
    theirs = [row(4, text, url), row(3, text, url), row(5, text)]
    assert overlap(spark, [row(5, text, url)], theirs) == {article_id(5): f"same id as {article_id(5)}"}
    assert overlap(spark, [row(6, text, url)], theirs) == {article_id(6): f"same URL as {article_id(3)}"}
    found = overlap(spark, [row(6, text)], theirs)
    assert found == {article_id(6): f"near-identical text (1.00) as {article_id(3)}"}


def test_missing_urls_are_not_the_same_url(spark: SparkSession) -> None:
    assert overlap(spark, [row(1, words(50, 1))], [row(2, words(50, 2))]) == {}
    assert overlap(spark, [], [row(2, words(50, 2))]) == {}
    assert overlap(spark, [row(1, words(50, 1))], []) == {}


def test_articles_without_a_signature_overlap_by_id_and_url_only(spark: SparkSession) -> None:
    bare: dict[str, Any] = row(1, "") | {"shingle_hashes": []}
    assert overlap(spark, [bare], [bare | {"article_id": article_id(2)}]) == {}


def test_many_copies_of_one_notice_make_no_pairs_of_pairs(spark: SparkSession) -> None:
    notice = words(80, 7)
    ours = [row(n, notice) for n in range(1, 400)]
    theirs = [row(n, notice) for n in range(1_000, 1_400)]
    found = find_overlap(frame(spark, *ours), frame(spark, *theirs), near_identical=0.8)
    assert {r.detail for r in found.collect()} == {f"near-identical text (1.00) as {article_id(1_000)}"}
    assert found.count() == 399
    assert "CartesianProduct" not in found._jdf.queryExecution().executedPlan().toString()
    assert "BroadcastNestedLoop" not in found._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize(("near_identical", "expected"), [(0.5, 1), (0.97, 0)])
def test_threshold_is_the_setting(spark: SparkSession, near_identical: float, expected: int) -> None:
    ours, theirs = frame(spark, row(1, words(300, 3, edits=6))), frame(spark, row(2, words(300, 3)))
    assert find_overlap(ours, theirs, near_identical=near_identical).count() == expected


def test_reject_overlap_leaves_hermanns_and_earlier_rejects_alone(spark: SparkSession) -> None:
    def candidate(n: int, origin: str | None, reason: str | None = None) -> dict[str, Any]:
        made = make_article("Ann won.", n, origin=origin)
        return {**made, "source": 0, "reject_reason": reason, "reject_detail": reason and "was so before"}

    rows = [candidate(1, "crawled"), candidate(2, "hermann"), candidate(3, "crawled", "empty"), candidate(4, "crawled")]
    hits = spark.createDataFrame(
        [(article_id(n), f"same URL as {article_id(9)}", "nine:url") for n in (1, 2, 3)],
        "article_id string, detail string, counterpart string",
    )
    made = reject_overlap(spark.createDataFrame(rows, CANDIDATES), hits)
    assert made.columns == CANDIDATES.names
    assert {r.article_id: (r.reject_reason, r.reject_detail, r.source_signature) for r in made.collect()} == {
        article_id(1): ("also_in_hermann", f"same URL as {article_id(9)}", "s:nine:url"),
        article_id(2): (None, None, "s"),
        article_id(3): ("empty", "was so before", "s"),
        article_id(4): (None, None, "s"),
    }


def test_overlap_in_table_gives_rejects_of_crawled_articles(spark: SparkSession) -> None:
    table = [
        make_article("Ann won.", n, origin=origin) for n, origin in ((1, "crawled"), (2, "hermann"), (3, "crawled"))
    ]
    hits = spark.createDataFrame(
        [(article_id(n), "same id", "other:id") for n in (1, 2)], "article_id string, detail string, counterpart string"
    )
    found = overlap_in_table(spark.createDataFrame(table, ARTICLES.schema), hits).collect()
    assert [(r.stage, r.input, r.reason, r.article_id, r.fingerprint) for r in found] == [
        ("ingest", f"cnn/stories/{article_id(1)}.story", "also_in_hermann", article_id(1), "s:other:id")
    ]
