"""Annotators beside the line's: a sample, counts, reruns, and a line that is not touched."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import annotate_articles, compare_annotators
from jobs.job_support.command_line import JobError
from jobs.job_support.contracts import ARTICLES
from jobs.job_support.settings import Settings, SettingsError
from jobs.job_support.store import Store, table_hash
from tests.builders import make_article
from tests.spark.conftest import settings_for

TEXT = (
    "[Barack Obama|o] met [Angela Merkel|m] in [Berlin|b].\n\n[Obama|o] left [Germany|g] on Monday."
    "\n\n@highlight\n\n{} wins"
)
BOTH = 'compare.annotators=[{name="spacy"}, {name="again", annotator="spacy"}]'


@pytest.fixture
def articles(spark: SparkSession, store: Store, settings: Settings) -> Store:
    rows = [make_article(TEXT.format(f"Bo {n}"), n, stand_off=n < 3) for n in range(5)]
    store.merge("articles", spark.createDataFrame(rows, ARTICLES.schema))
    annotate_articles.run(spark, settings)
    return store


def of(tmp_path: Path, *overrides: str) -> Settings:
    return settings_for(tmp_path, *overrides)


def test_other_annotators_stand_beside_the_line_and_leave_it_alone(
    spark: SparkSession, articles: Store, tmp_path: Path
) -> None:
    before = table_hash(articles.read("annotations"))
    counts = compare_annotators.run(spark, of(tmp_path, BOTH))
    assert (counts.rows_in, counts.rows_out) == (10, 10)
    assert table_hash(articles.read("annotations")) == before

    rows = {(r.annotator, r.article_id): r for r in articles.read("annotator_comparisons").collect()}
    line = {r.article_id: r for r in articles.read("annotations").collect()}
    assert {a for _, a in rows} == set(line)
    for (name, article_id), row in rows.items():
        own = line[article_id]
        assert row.compared_with == own.annotator
        spans = {(m.start, m.end) for m in own.mentions}
        found = {(m.start, m.end) for m in row.mentions}
        assert (row.line_mentions, row.found_mentions) == (len(spans), len(found))
        assert row.common_mentions == len(spans & found)
        assert row.line_links >= 1
        if own.annotator == "spacy":
            assert row.common_links == row.line_links == row.found_links, name
        else:
            assert row.common_mentions >= 3, "some of the gold names are found"
    report = (tmp_path / "report" / "annotators.md").read_text()
    assert "| again | spacy | 2 | 0 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 |" in report
    assert "| spacy | stand-off | 3 | 0 |" in report

    assert not compare_annotators.run(spark, of(tmp_path, BOTH)).did_work
    version = articles.version("annotator_comparisons")
    counts = compare_annotators.run(spark, of(tmp_path, 'compare.annotators=[{name="spacy"}]', "compare.articles=2"))
    assert counts.rows_in == 3, "the sample is smaller: three go, two stay"
    assert articles.version("annotator_comparisons") > version
    left = articles.read("annotator_comparisons").collect()
    assert len(left) == 2
    assert {r.annotator for r in left} == {"spacy"}


def test_a_changed_annotation_of_the_line_is_compared_anew(
    spark: SparkSession, articles: Store, tmp_path: Path
) -> None:
    one = of(tmp_path, 'compare.annotators=[{name="spacy"}]')
    compare_annotators.run(spark, one)
    [first, *_] = articles.read("annotations").orderBy("article_id").collect()
    fewer = articles.read("annotations").where(F.col("article_id") == first.article_id)
    cut = {"mentions": F.slice("mentions", 1, 1), "fingerprint": F.lit("other")}
    articles.merge("annotations", fewer.withColumns(cut))
    assert compare_annotators.run(spark, one).rows_in == 1
    of_article = F.col("article_id") == first.article_id
    [row] = articles.read("annotator_comparisons").where(of_article).collect()
    assert (row.line_mentions, row.line_links) == (1, 0)


def test_what_cannot_be_compared_is_said_in_words(
    spark: SparkSession, settings: Settings, articles: Store, tmp_path: Path
) -> None:
    with pytest.raises(JobError, match=r"compare\.annotators is empty"):
        compare_annotators.run(spark, settings)
    with pytest.raises(JobError, match=r"no spaCy pipeline 'en_core_web_none'"):
        compare_annotators.run(spark, of(tmp_path, 'compare.annotators=[{name="x", model="en_core_web_none"}]'))
    with pytest.raises(JobError, match="run annotate_articles first"):
        compare_annotators.run(spark, of(tmp_path, BOTH, f"paths.tables={tmp_path / 'empty'}"))
    with pytest.raises(SettingsError, match=r"compare\.annotators has two of one name"):
        of(tmp_path, 'compare.annotators=[{name="x"}, {name="x"}]')
    with pytest.raises(SettingsError, match=r"compare\.annotators\.0\.name"):
        of(tmp_path, 'compare.annotators=[{name="a|b"}]')
