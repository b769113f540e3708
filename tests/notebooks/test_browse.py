"""What the notebooks show: limits, histograms, highlights."""

from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from jobs.transforms import browse
from jobs.transforms.browse import BrowseError, Marked


def tuples(table: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(table.itertuples(index=False, name=None))


def test_fetch_brings_no_more_than_the_limit_and_says_so(spark: SparkSession) -> None:
    rows = spark.range(10).orderBy("id")
    found = browse.fetch(rows, limit=3)
    assert tuples(found) == [(0,), (1,), (2,)]
    assert "The first 3 rows; there are more." in browse.rows_html(found)
    assert "there are more" not in browse.rows_html(browse.fetch(rows, limit=10))
    assert "No rows." in browse.rows_html(browse.fetch(rows.where("id < 0")))


def test_fetch_leaves_the_limit_to_spark(spark: SparkSession) -> None:
    seen = spark.sparkContext.accumulator(0)

    def count(batches):  # type: ignore[no-untyped-def]
        for batch in batches:
            seen.add(batch.num_rows)
            yield batch

    many = spark.range(0, 100_000, 1, 20).mapInArrow(count, "id long")
    assert len(browse.fetch(many, limit=5)) == 5
    assert seen.value < 50_000


@pytest.mark.parametrize("limit", [0, -1, browse.CAP + 1])
def test_fetch_beyond_the_cap_is_an_error(spark: SparkSession, limit: int) -> None:
    with pytest.raises(BrowseError, match=f"limit={limit:,}: from 1 to 100,000 rows"):
        browse.fetch(spark.range(1), limit=limit)


def test_open_table_that_is_not_there_says_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BrowseError, match=rf"no table at {tmp_path}/articles: run `make demo`, or set RECORD_SPARK"):
        browse.open_table(spark, str(tmp_path), "articles")
    assert list(tmp_path.iterdir()) == []


def test_aggregates_are_over_all_rows(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("a", "x", 0), ("a", "y", 9), ("b", "x", 10), ("b", None, 25)], "id string, k string, n int"
    )
    assert tuples(browse.fetch(browse.counts(rows, "k"))) == [("x", 2), (None, 1), ("y", 1)]
    assert tuples(browse.fetch(browse.histogram(rows, F.col("n"), width=10))) == [(0, 10, 2), (10, 20, 1), (20, 30, 1)]
    first = browse.examples(rows, of="id", order=["n"], each=1).select("id", "n")
    assert tuples(browse.fetch(first)) == [("a", 0), ("b", 10)]


def test_articles_without_triples_count(spark: SparkSession) -> None:
    articles = spark.createDataFrame([("a",), ("b",)], "article_id string")
    triples = spark.createDataFrame([("a", True), ("a", True), ("b", False)], "article_id string, keep boolean")
    found = browse.per_article(articles, triples.where("keep"), name="triples")
    assert sorted(tuples(browse.fetch(found))) == [("a", 2), ("b", 0)]
    assert browse.article_with_most(triples) == "a"
    with pytest.raises(BrowseError, match="no triple was kept"):
        browse.article_with_most(triples.where("not keep"))


def test_highlight_escapes_and_joins_overlaps() -> None:
    text = '<b>A & "B"</b> é'
    marks = [Marked(3, 10, "whole's", "color:red"), Marked(8, 9, '"in" it', "outline:1px")]
    assert browse.highlight(text, marks) == (
        "&lt;b&gt;"
        '<mark title="whole&#x27;s" style="color:red">A &amp; "</mark>'
        '<mark title="whole&#x27;s; &quot;in&quot; it" style="color:red;outline:1px">B</mark>'
        '<mark title="whole&#x27;s" style="color:red">"</mark>'
        "&lt;/b&gt; é"
    )
    assert browse.highlight("a < b", []) == "a &lt; b"


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 2), (3, 2), (0, 4)])
def test_highlight_outside_of_the_text_is_an_error(start: int, end: int) -> None:
    with pytest.raises(BrowseError, match="lies outside of a text of 3 characters"):
        browse.highlight("abc", [Marked(start, end, "", "")])


def test_passage_and_query_show_entities_answers_and_bullets() -> None:
    def entity(start: int, end: int, cluster: int) -> Row:
        return Row(start=start, end=end, cluster=cluster, type=None if cluster else "PERSON")

    text = "Ann <i> met Bo.\n@highlight\nAnn won"
    passage = Row(text=text, entities=[entity(0, 3, 0), entity(12, 14, 1), entity(27, 30, 0)])
    answers = [Row(start=0, end=3, text="Ann"), Row(start=27, end=30, text="Ann")]
    triple = Row(query="<i> @placeholder left.", placeholder=4, answer_surface=None, answers=answers)
    html = browse.passage_html(passage, [triple])
    assert "&lt;i&gt; met" in html
    assert html.count('title="PERSON, cluster 0; answer"') == 2
    assert html.count('title="entity, cluster 1"') == 1
    assert "@highlight" not in html
    assert html.count("<li>") == 1
    assert html.endswith("Ann</mark> won</li></ul></div>")
    shown = browse.query_html(triple)
    assert "<p>&lt;i&gt; <mark" in shown
    assert ">@placeholder</mark> left.</p>" in shown
    assert "<b>Ann</b> ×2" in shown


def test_bars_are_shares_of_the_largest_and_labels_are_escaped() -> None:
    table = pd.DataFrame({"reason": ["<short>", None], "rows": [2_000, 500]})
    html = browse.bars_html(table, labels=["reason"])
    assert ">&lt;short&gt;</td><td style='text-align:right'>2,000</td>" in html
    assert "width:100.0%" in html
    assert "width:25.0%" in html
    assert ">–</td>" in html
    assert "No rows." in browse.bars_html(table.iloc[:0], labels=["reason"])
