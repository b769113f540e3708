"""One article for each id: which of several stands, in one run or in several."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.contracts import ARTICLES, INPUTS, REJECTS
from jobs.job_support.settings import Ingest, Source
from jobs.transforms.candidates import accepted, rejected
from jobs.transforms.inputs import freed_inputs, work_list
from tests.spark.reading import (
    STORY,
    Reader,
    hexes,
    ingest_of,
    no_articles,
    resolve_duplicates,
    write,
)


@pytest.fixture
def read(spark: SparkSession) -> Iterator[Reader]:
    reader = Reader(spark)
    yield reader
    for rows in reader.cached:
        rows.unpersist()


def resolved(
    read: Reader,
    spark: SparkSession,
    ingest: Ingest,
    articles: DataFrame | None = None,
    inputs: DataFrame | None = None,
) -> tuple[list[Row], dict[str, tuple[str, str]]]:
    found = read(ingest)
    articles = no_articles(spark) if articles is None else articles
    rows = read.cache(resolve_duplicates(found.candidates, articles=articles, work=found.work, inputs=inputs))
    rejects = {str(Path(r.input).parent.name): (r.reason, r.detail) for r in rejected(rows).collect()}
    return accepted(rows).collect(), rejects


def set_time(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def test_newest_of_several_contents_stands_and_equal_ones_are_doubles(
    read: Reader, spark: SparkSession, tmp_path: Path
) -> None:
    name = f"{hexes(1)}.story"
    write(
        tmp_path, {f"old/{name}": "Old.", f"new/{name}": "New.", f"copy/{name}": "New.", f"other/{hexes(2)}.story": "x"}
    )
    for seconds, folder in enumerate(("old", "copy", "new"), start=1_000):
        set_time(tmp_path / folder / name, seconds)
    articles, rejects = resolved(read, spark, ingest_of(tmp_path))
    assert sorted(r.text for r in articles) == ["New.", "x"]
    where = f"same id as {hexes(1)} in {tmp_path}/new/{name}"
    assert rejects == {"old": ("superseded_article", where), "copy": ("duplicate_article", where)}


def test_ties_are_settled_by_path(read: Reader, spark: SparkSession, tmp_path: Path) -> None:
    name = f"{hexes(1)}.story"
    write(tmp_path, {f"b/{name}": STORY, f"a/{name}": STORY})
    for folder in "ab":
        set_time(tmp_path / folder / name, 1_000)
    articles, rejects = resolved(read, spark, ingest_of(tmp_path))
    assert [r.source_path for r in articles] == [f"{tmp_path}/a/{name}"]
    assert {folder: reason for folder, (reason, _) in rejects.items()} == {"b": "duplicate_article"}


def test_hermanns_goes_before_a_newer_crawled_one(read: Reader, spark: SparkSession, tmp_path: Path) -> None:
    name = f"{hexes(1)}.story"
    write(tmp_path, {f"hermann/{name}": "Old.", f"crawl/{name}": "New."})
    set_time(tmp_path / "hermann" / name, 1_000)
    ingest = ingest_of(
        Source(path=str(tmp_path / "crawl"), origin="crawled"), Source(path=str(tmp_path / "hermann"), origin="hermann")
    )
    articles, rejects = resolved(read, spark, ingest)
    assert [(r.text, r.origin) for r in articles] == [("Old.", "hermann")]
    assert rejects == {"crawl": ("also_in_hermann", f"same id as {hexes(1)} in {tmp_path}/hermann/{name}")}


@pytest.mark.parametrize("first", ["old", "new"])
def test_outcome_is_the_same_in_one_run_and_in_two(
    read: Reader, spark: SparkSession, tmp_path: Path, first: str
) -> None:
    name = f"{hexes(1)}.story"
    second = "new" if first == "old" else "old"
    write(tmp_path, {f"old/{name}": "Old.", f"new/{name}": "New."})
    set_time(tmp_path / "old" / name, 1_000)
    table, _ = resolved(read, spark, ingest_of(tmp_path / first))
    in_table = spark.createDataFrame(table, ARTICLES.schema)
    inputs = read(ingest_of(tmp_path / first)).work
    articles, rejects = resolved(read, spark, ingest_of(tmp_path / second), in_table, inputs)
    assert [r.text for r in articles] == (["New."] if first == "old" else [])
    assert rejects == {"old": ("superseded_article", f"same id as {hexes(1)} in {tmp_path}/new/{name}")}


def test_edited_file_is_no_rival_of_itself(read: Reader, spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {f"{hexes(1)}.story": "New."})
    table, _ = resolved(read, spark, ingest_of(tmp_path))
    in_table = spark.createDataFrame(table, ARTICLES.schema)
    write(tmp_path, {f"{hexes(1)}.story": "Older than before."})
    set_time(tmp_path / f"{hexes(1)}.story", 1_000)
    articles, rejects = resolved(read, spark, ingest_of(tmp_path), in_table)
    assert ([r.text for r in articles], rejects) == (["Older than before."], {})


def test_double_is_read_again_once_the_other_is_gone(read: Reader, spark: SparkSession, tmp_path: Path) -> None:
    name = f"{hexes(1)}.story"
    write(tmp_path, {f"a/{name}": STORY, f"b/{name}": STORY})
    found = read(ingest_of(tmp_path))
    rows = resolve_duplicates(found.candidates, articles=no_articles(spark), work=found.work)
    in_table = spark.createDataFrame(accepted(rows).collect(), ARTICLES.schema)
    rejects = spark.createDataFrame(rejected(rows).collect(), REJECTS.schema)
    inputs = spark.createDataFrame(found.work.select(*INPUTS.schema.names).collect(), INPUTS.schema)
    listed = spark.createDataFrame(found.listed.collect(), found.listed.schema)
    urls = spark.createDataFrame([], found.urls.schema)

    def to_read(articles: DataFrame) -> list[str]:
        freed = freed_inputs(articles=articles, rejects=rejects, urls=urls)
        work = work_list(listed, inputs=inputs, freed=freed, roots=found.roots)
        return [r.path for r in work.collect()]

    assert to_read(in_table) == []
    assert to_read(no_articles(spark)) == [r.input for r in rejects.collect()]


def test_story_goes_before_a_newer_page(read: Reader, spark: SparkSession, tmp_path: Path) -> None:
    for folder, made_of, time in (("a", "story", 1_000), ("b", "html", 2_000)):
        write(tmp_path, {f"{folder}/{hexes(1)}.story": f"Made of a {made_of}."})
        set_time(tmp_path / folder / f"{hexes(1)}.story", time)
    found = read(ingest_of(tmp_path))
    made_of = F.when(F.col("source_path").contains("/b/"), "html").otherwise("story")
    candidates = found.candidates.withColumn("format", made_of)
    rows = resolve_duplicates(candidates, articles=no_articles(spark), work=found.work)
    assert [r.text for r in accepted(rows).collect()] == ["Made of a story."]


def test_first_of_the_records_with_one_id_stands(read: Reader, spark: SparkSession, tmp_path: Path) -> None:
    """Line 10 that repeats line 2 does not take its place, as it would in order of strings."""
    lines = [json.dumps({"id": hexes(n % 8), "article": f"Ann won {n}."}) for n in range(1, 11)]
    write(tmp_path, {"x.jsonl": "\n".join(lines)})
    articles, _ = resolved(read, spark, ingest_of(tmp_path))
    assert sorted(int(r.source_item) for r in articles) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_rejects_of_one_batch_are_no_rivals_of_each_other(read: Reader, spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"x.jsonl.gz": gzip.compress(b'{"article": "a"}\n{"article": "b"}\n{"article": "c"}')})
    articles, rejects = resolved(read, spark, ingest_of(tmp_path))
    assert articles == []
    assert [reason for reason, _ in rejects.values()] == ["no_identity"]
    found = read(ingest_of(tmp_path))
    assert sorted(r.item for r in rejected(found.candidates).collect()) == ["1", "2", "3"]
