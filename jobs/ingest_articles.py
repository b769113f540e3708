"""Ingests articles: .story files with or without stand-off, HTML pages, tar archives of them, JSONL and Parquet.

Reads the sources of the settings; writes rejects, articles, inputs (in this order: a row of inputs marks
its file as read). Only files are read that are new or changed, or that hold a reject whose ground changed:
an article that Hermann's no longer have, say. Files are listed and read by executors.

    spark-submit jobs/ingest_articles.py --config conf/cluster.toml --set 'ingest.sources=[{path="hdfs:///news"}]'
"""

import logging
import sys
from contextlib import nullcontext

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import run_job
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store, table_hash
from jobs.transforms.candidates import (
    DOUBLES,
    accepted,
    apply_verdicts,
    check_yield,
    duplicate_verdicts,
    rejected,
    yield_by_source,
)
from jobs.transforms.inputs import (
    GONE,
    Roots,
    find_roots,
    freed_inputs,
    list_inputs,
    read_url_lists,
    with_settings,
    work_list,
)
from jobs.transforms.overlap import find_overlap, listed_in_hermann, no_overlap, overlap_in_table, reject_overlap
from jobs.transforms.sources import read_inputs, reading_tasks, unmatched_urls

log = logging.getLogger(__name__)

# Part of the files' signatures: raise when the same files give other articles.
VERSION = 2
# What is read may free articles that were rejected because of what it was before; these are read in a second
# pass, and may free others in turn. What is left then is the next run's.
MAX_PASSES = 3


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Ingests what is new or changed; returns the counts, in files, articles and rejects.

    Raises:
        SettingsError: a source that is not there, or that gave no article.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "ingest")
    roots = find_roots(spark, settings.ingest)
    with store.staged(read_url_lists(spark, roots)) as urls:
        inputs = with_settings(
            list_inputs(spark, roots),
            urls,
            roots,
            settings_hash=stage_hash(VERSION, settings.ingest.near_identical),
            urls_hash=table_hash(urls) if roots.url_lists else "",
        )
        with store.staged(inputs) as listed:
            made = (0, 0, 0)
            for number in range(MAX_PASSES):
                found = _one_pass(store, settings, roots, urls, listed, is_first=not number)
                if not found:
                    break
                made = made[0] + found[0], made[1] + found[1], made[2] + found[2]
            if made[0] and roots.url_lists:
                unmatched = unmatched_urls(urls, articles=store.read("articles")).count()
                log.info("ingest: listed URLs without an article: %s", f"{unmatched:,}")
            yielded = yield_by_source(listed, articles=store.read("articles"), rejects=store.read("rejects"))
            check_yield(yielded.collect(), roots=roots)
    return clock.finish(rows_in=made[0], rows_out=made[1], rejects=made[2])


def _one_pass(
    store: Store, settings: Settings, roots: Roots, urls: DataFrame, listed: DataFrame, *, is_first: bool
) -> tuple[int, int, int] | None:
    """Reads what is to read now into the tables.

    Returns the files, and the rows of articles and of rejects that were written; None where there is nothing to do.
    """
    freed = _freed(store, urls)
    if is_first:
        rows = work_list(listed, inputs=store.read("inputs"), freed=freed, roots=roots)
    else:
        rows = listed.join(freed, on="path", how="left_semi").select(*listed.columns)
    with store.staged(rows) as work:
        by_kind = {
            r["kind"]: (r["files"], r["bytes"])
            for r in work.groupBy("kind").agg(F.count("*").alias("files"), F.sum("size").alias("bytes")).collect()
        }
        if not by_kind:
            return None
        files = sum(n for n, _ in by_kind.values())
        gone, _ = by_kind.pop(GONE, (0, 0))
        said = "new or changed files" if is_first else "files read again, since what they were rejected for changed"
        for what, n in ((said, files - gone), ("files that are no input of their own any more", gone)):
            if n:
                log.info("ingest: %s: %s", what, f"{n:,}")
        tasks = reading_tasks(by_kind)
        shown = progress(store.spark, "ingest", files - gone, unit="files") if by_kind else nullcontext(_no_count)
        with shown as count_done:
            candidates = read_inputs(work, roots=roots, urls=urls, tasks=tasks, count_done=count_done)
            written = _resolve_and_write(store, settings, urls, work, candidates)
    return files, *written


def _freed(store: Store, urls: DataFrame) -> DataFrame:
    """``freed_inputs`` of the tables; the usual case, no article that another stands for, is found out first."""
    doubles = store.read("rejects").where((F.col("stage") == "ingest") & F.col("reason").isin(*DOUBLES))
    if doubles.isEmpty():
        return store.spark.createDataFrame([], "path string")
    return freed_inputs(articles=store.read("articles"), rejects=doubles, urls=urls)


def _no_count(_: int) -> None:
    """Stands for progress where no file is read."""


def _resolve_and_write(
    store: Store, settings: Settings, urls: DataFrame, work: DataFrame, read: DataFrame
) -> tuple[int, int]:
    """Writes what was read from the work list; returns the rows of articles and of rejects that were written."""
    # Articles of files that are read again are no counterparts: what these hold now decides.
    of_work = work.select(F.col("path").alias("source_path"))
    articles = store.read("articles").join(of_work, on="source_path", how="left_anti")
    with (
        store.staged(read) as candidates,
        store.staged(
            duplicate_verdicts(candidates, articles=articles, work=work, inputs=store.read("inputs"))
        ) as verdicts,
    ):
        resolved = apply_verdicts(candidates, verdicts, articles=articles)
        place = ["source_path", "source_item"]
        lost = articles.join(verdicts.where("in_table").select(*place), on=place, how="left_semi").select("article_id")
        others = articles.join(lost, on="article_id", how="left_anti")
        with store.staged(_overlap(resolved, others, urls, settings.ingest.near_identical)) as overlap:
            judged, withdrawn = reject_overlap(resolved, overlap), overlap_in_table(others, overlap)
            return _write(store, judged, withdrawn, lost, work)


def _overlap(resolved: DataFrame, articles: DataFrame, urls: DataFrame, near_identical: float) -> DataFrame:
    """Crawled articles, new or in the table, with a counterpart; pairs of two that were there before are known."""
    columns = ("article_id", "origin", "url_key", "shingle_hashes", "content_hash")
    new = accepted(resolved).select(*columns)
    old = articles.select(*columns).join(new.select("article_id"), on="article_id", how="left_anti")
    listed = listed_in_hermann(urls)

    def hermann(of: DataFrame) -> DataFrame:
        return of.where("origin = 'hermann'").drop("origin")

    def crawled(of: DataFrame) -> DataFrame:
        return of.where("origin = 'crawled'")

    if crawled(new.unionByName(old)).isEmpty():  # nothing to compare: spares hashing all of Hermann's
        return no_overlap(new)
    known = hermann(new).unionByName(listed)
    of_new = find_overlap(crawled(new), known.unionByName(hermann(old)), near_identical=near_identical)
    return of_new.unionByName(find_overlap(crawled(old), known, near_identical=near_identical))


def _write(store: Store, judged: DataFrame, withdrawn: DataFrame, lost: DataFrame, work: DataFrame) -> tuple[int, int]:
    paths = work.select("path")
    to_mark = work.where(F.col("kind") != GONE).select("path", "kind", "signature", "size")
    # Files that are read again unchanged lose their mark first: a run that breaks off must not leave them as read.
    marked = store.read("inputs").select("path", "signature").join(to_mark, on=["path", "signature"], how="left_semi")
    if not marked.isEmpty():
        store.replace_slices("inputs", to_mark.where("false"), marked.select("path"))
    of_read_files = store.read("articles").join(
        paths.withColumnRenamed("path", "source_path"), on="source_path", how="left_semi"
    )
    new = accepted(judged)
    # Articles of files that were read again, and those withdrawn or lost to another, go unless they are in ``new``.
    touched = (
        new.select("article_id")
        .unionByName(of_read_files.select("article_id"))
        .unionByName(withdrawn.select("article_id"))
        .unionByName(lost)
        .distinct()
    )
    with store.staged(rejected(judged).unionByName(withdrawn)) as rejects:
        of_work = paths.withColumnRenamed("path", "input")
        slices = of_work.withColumn("stage", F.lit("ingest"))
        read_again = rejects.join(of_work, on="input", how="left_semi")
        n_rejects = store.replace_slices("rejects", read_again, slices).rows
        n_rejects += store.merge("rejects", rejects.join(of_work, on="input", how="left_anti")).rows
    n_articles = store.replace_slices("articles", new, touched).rows
    store.replace_slices("inputs", to_mark, paths)
    return n_articles, n_rejects


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
