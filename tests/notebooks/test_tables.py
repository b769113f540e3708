"""Tables for the notebooks: limits, counts, histograms."""

from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.transforms.browse import html, tables
from jobs.transforms.browse.tables import BrowseError


def tuples(table: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(table.itertuples(index=False, name=None))


def test_fetch_brings_no_more_than_the_limit_and_says_so(spark: SparkSession) -> None:
    rows = spark.range(10).orderBy("id")
    found = tables.fetch(rows, limit=3)
    assert tuples(found) == [(0,), (1,), (2,)]
    assert "The first 3 rows; there are more." in html.rows_html(found)
    assert "there are more" not in html.rows_html(tables.fetch(rows, limit=10))
    assert "No rows." in html.rows_html(tables.fetch(rows.where("id < 0")))


def test_fetch_leaves_the_limit_to_spark(spark: SparkSession) -> None:
    seen = spark.sparkContext.accumulator(0)

    def count(batches):  # type: ignore[no-untyped-def]
        for batch in batches:
            seen.add(batch.num_rows)
            yield batch

    many = spark.range(0, 100_000, 1, 20).mapInArrow(count, "id long")
    assert len(tables.fetch(many, limit=5)) == 5
    assert seen.value < 50_000


@pytest.mark.parametrize("limit", [0, -1, tables.CAP + 1])
def test_fetch_beyond_the_cap_is_an_error(spark: SparkSession, limit: int) -> None:
    with pytest.raises(BrowseError, match=f"limit={limit:,}: from 1 to 100,000 rows"):
        tables.fetch(spark.range(1), limit=limit)


def test_open_table_that_is_not_there_says_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BrowseError, match=rf"no table at {tmp_path}/articles: run `make demo`, or set RECORD_SPARK"):
        tables.open_table(spark, str(tmp_path), "articles")
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_only_some_runs_fill_may_be_missing_or_empty(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path)
    assert tables.open_if_filled(spark, root, "machine_filter") is None
    assert list(tmp_path.iterdir()) == []
    spark.range(0).write.format("delta").save(f"{root}/machine_filter")
    assert tables.open_if_filled(spark, root, "machine_filter") is None
    spark.range(2).write.format("delta").mode("append").save(f"{root}/machine_filter")
    found = tables.open_if_filled(spark, root, "machine_filter")
    assert found is not None
    assert found.count() == 2


def test_aggregates_are_over_all_rows(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("a", "x", 0), ("a", "y", 9), ("b", "x", 10), ("b", None, 25)], "id string, k string, n int"
    )
    assert tuples(tables.fetch(tables.counts(rows, "k"))) == [("x", 2), (None, 1), ("y", 1)]
    assert tuples(tables.fetch(tables.histogram(rows, F.col("n"), width=10))) == [(0, 10, 2), (10, 20, 1), (20, 30, 1)]
    assert tables.mean(rows, F.col("n")) == 11
    assert tables.mean(rows.limit(0), F.col("n")) is None
    first = tables.examples(rows, of="id", order=["n"], each=1).select("id", "n")
    assert tuples(tables.fetch(first)) == [("a", 0), ("b", 10)]


def test_articles_without_triples_count(spark: SparkSession) -> None:
    articles = spark.createDataFrame([("a",), ("b",)], "article_id string")
    triples = spark.createDataFrame([("a", True), ("a", True), ("b", False)], "article_id string, keep boolean")
    found = tables.per_article(articles, triples.where("keep"), name="triples")
    assert sorted(tuples(tables.fetch(found))) == [("a", 2), ("b", 0)]
    assert tables.article_with_most(triples) == "a"
    with pytest.raises(BrowseError, match="no triple was kept"):
        tables.article_with_most(triples.where("not keep"))
