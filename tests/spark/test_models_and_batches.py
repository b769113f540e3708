"""Failures that users of similar systems reported, on the real UDFs: models, batches, memory, progress."""

import logging
import os
from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.job_support.contracts import ARTICLES
from jobs.job_support.progress import progress
from jobs.job_support.settings import load_settings
from tests.builders import make_article
from tests.conftest import ROOT
from udfs.annotate_text import make_annotate_udf
from udfs.token_tags import make_tag_udf

MODEL = load_settings(ROOT / "conf" / "base.toml").annotate.model


def loads_by_worker(spark: SparkSession) -> dict[int, int]:
    """How often each Python worker that is alive loaded a model."""

    def look(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        from udfs.model_holder import load_counts

        for batch in batches:
            yield pd.DataFrame({"pid": [os.getpid()] * len(batch), "loads": [sum(load_counts.values())] * len(batch)})

    rows = spark.range(0, 64, 1, 16).mapInPandas(look, "pid long, loads long").distinct().collect()
    return {r.pid: r.loads for r in rows}


def test_model_is_loaded_once_per_worker_whatever_the_batches(spark: SparkSession) -> None:
    rows = [make_article(f"Ann Ray number {n} left Oslo.", n) for n in range(64)]
    articles = spark.createDataFrame(rows, ARTICLES.schema).repartition(8)
    annotate = make_annotate_udf("spacy", MODEL)
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "2")  # 8 partitions of 4 batches
    try:
        made = articles.select(annotate("text", "paragraphs", "highlights").alias("made"))
        assert made.where("size(made.mentions) > 0").count() == 64
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before)
    loads = loads_by_worker(spark)
    assert max(loads.values()) == 1
    assert sum(loads.values()) <= spark.sparkContext.defaultParallelism


def test_limit_annotates_a_batch_and_not_the_table(spark: SparkSession) -> None:
    rows = [make_article(f"Ann Ray number {n} left Oslo.", n) for n in range(600)]
    articles = spark.createDataFrame(rows, ARTICLES.schema).coalesce(1)
    done = spark.sparkContext.accumulator(0)
    annotate = make_annotate_udf("spacy", MODEL, count_done=done.add)
    found = articles.select(annotate("text", "paragraphs", "highlights").alias("made")).limit(10).collect()
    assert len(found) == 10
    assert done.value <= int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"))


def test_batches_of_long_articles_are_limited_by_bytes(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch") == "16m"

    def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"bytes": [batch.nbytes], "rows": [batch.num_rows]})

    long = spark.range(0, 60, 1, 1).select(F.expr("repeat(concat(id, ' word '), 125000)").alias("text"))  # 1 MB each
    seen = long.mapInArrow(sizes, "bytes long, rows long").collect()
    assert sum(r.rows for r in seen) == 60
    assert max(r.bytes for r in seen) <= 18 * 2**20
    assert len(seen) >= 4


def test_article_that_fails_costs_only_itself(spark: SparkSession) -> None:
    rows = [
        make_article("Ann Ray left Oslo.", 1),
        make_article("word " * 250_000, 2),
        make_article("Bo Lin left Rome.", 3),
    ]
    annotate = make_annotate_udf("spacy", MODEL)
    made = spark.createDataFrame(rows, ARTICLES.schema).select(
        "article_id", annotate("text", "paragraphs", "highlights").alias("made")
    )
    found = {r.article_id[-1]: r.made for r in made.collect()}
    assert "1250000 characters" in found["2"].error or "characters" in found["2"].error
    assert found["2"].mentions is None
    assert [found[i].error for i in "13"] == [None, None]
    assert all(found[i].mentions for i in "13")


def test_text_on_which_the_tagger_fails_costs_only_itself(spark: SparkSession) -> None:
    texts = ["Ann Ray left Oslo.\n@highlight\nBo Lin left", "word " * 250_000, "Bo Lin left Rome."]
    rows = spark.createDataFrame(list(enumerate(texts)), "n int, text string").coalesce(1)
    tag = make_tag_udf("spacy", MODEL)
    together = [r.made for r in rows.select("n", tag("text").alias("made")).orderBy("n").collect()]
    alone = [r.made for n in (0, 2) for r in rows.where(f"n = {n}").select(tag("text").alias("made")).collect()]
    assert together[1].tokens is None
    assert together[1].error.startswith("ValueError: a text of 1250000 characters")
    assert [together[0], together[2]] == alone
    # The mark of a bullet is no token; offsets are those of the whole passage.
    assert [texts[0][t.start : t.end] for t in together[0].tokens] == "Ann Ray left Oslo . Bo Lin left".split()


def test_progress_is_logged_where_there_is_no_terminal(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.job_support.progress.SECONDS_BETWEEN_LOG_LINES", 0.05)
    caplog.set_level(logging.INFO)
    with progress(spark, "annotate", total=40) as count_done:

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                count_done(batch.num_rows)
                yield batch

        spark.range(0, 40, 1, 8).mapInArrow(work, "id long").count()
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("annotate: ")]
    assert len(lines) > 1
    assert lines[-1].startswith("annotate: 40 / 40 articles, ")
