"""Ingests articles: .story files with or without stand-off, tar archives of them, JSONL and Parquet.

Reads the sources of the settings; writes rejects, articles, inputs (in this order: a row of inputs marks
its file as read). Only files that are new or changed are read. Files are listed and read by executors.

    spark-submit jobs/ingest_articles.py --config conf/cluster.toml --set 'ingest.sources=[{path="hdfs:///news"}]'
"""

import logging
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import run_job
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store, table_hash
from jobs.transforms.candidates import (
    accepted,
    apply_verdicts,
    check_yield,
    duplicate_verdicts,
    rejected,
    yield_by_source,
)
from jobs.transforms.overlap import find_overlap, listed_in_hermann, no_overlap, overlap_in_table, reject_overlap
from jobs.transforms.sources import (
    Roots,
    find_roots,
    known_inputs,
    list_inputs,
    new_inputs,
    read_inputs,
    read_url_lists,
    reading_tasks,
    unmatched_urls,
    with_settings,
)

log = logging.getLogger(__name__)

# Part of the files' signatures: raise when the same files give other articles.
VERSION = 1


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Ingests what is new or changed; returns the counts, in articles and rejects.

    Raises:
        SettingsError: a source that is not there, or that gave no article.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "ingest")
    roots = find_roots(spark, settings.ingest)
    known = known_inputs(store.read("inputs"), articles=store.read("articles"), rejects=store.read("rejects"))
    with store.staged(read_url_lists(spark, roots)) as urls:
        inputs = with_settings(
            list_inputs(spark, roots),
            urls,
            roots,
            settings_hash=stage_hash(VERSION, settings.ingest.near_identical),
            urls_hash=table_hash(urls) if roots.url_lists else "",
        )
        with store.staged(inputs) as listed, store.staged(new_inputs(listed, known=known)) as work:
            by_kind = {
                r["kind"]: (r["files"], r["bytes"])
                for r in work.groupBy("kind").agg(F.count("*").alias("files"), F.sum("size").alias("bytes")).collect()
            }
            files = sum(n for n, _ in by_kind.values())
            made = (0, 0)
            if files:
                log.info("ingest: new or changed files: %s", f"{files:,}")
                made = _read_and_write(store, settings, roots, urls, work, reading_tasks(by_kind))
                if roots.url_lists:
                    unmatched = unmatched_urls(urls, articles=store.read("articles")).count()
                    log.info("ingest: %s listed URLs have no article", f"{unmatched:,}")
            found = yield_by_source(listed, articles=store.read("articles"), rejects=store.read("rejects")).collect()
            check_yield(found, roots=roots)
    return clock.finish(rows_in=files, rows_out=made[0], rejects=made[1])


def _read_and_write(
    store: Store, settings: Settings, roots: Roots, urls: DataFrame, work: DataFrame, tasks: int
) -> tuple[int, int]:
    """Reads the work list into the tables; returns the rows of articles and of rejects that were written."""
    # Articles of files that are read again are no counterparts: what these hold now decides.
    of_work = work.select(F.col("path").alias("source_path"))
    articles = store.read("articles").join(of_work, on="source_path", how="left_anti")
    with (
        progress(store.spark, "ingest", work.count(), unit="files") as count_done,
        store.staged(read_inputs(work, roots=roots, urls=urls, tasks=tasks, count_done=count_done)) as candidates,
        store.staged(duplicate_verdicts(candidates, articles=articles, inputs=work)) as verdicts,
    ):
        resolved = apply_verdicts(candidates, verdicts, articles=articles)
        with store.staged(_overlap(resolved, articles, urls, settings.ingest.near_identical)) as overlap:
            return _write(store, reject_overlap(resolved, overlap), overlap_in_table(articles, overlap), work)


def _overlap(resolved: DataFrame, articles: DataFrame, urls: DataFrame, near_identical: float) -> DataFrame:
    """Crawled articles, new or in the table, with a counterpart; pairs of two that were there before are known."""
    columns = ("article_id", "origin", "url_key", "shingle_hashes")
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


def _write(store: Store, judged: DataFrame, withdrawn: DataFrame, work: DataFrame) -> tuple[int, int]:
    paths = work.select("path")
    of_read_files = store.read("articles").join(
        paths.withColumnRenamed("path", "source_path"), on="source_path", how="left_semi"
    )
    new = accepted(judged)
    # Articles of files that were read again, and withdrawn ones, go unless they are in ``new``.
    touched = (
        new.select("article_id")
        .unionByName(of_read_files.select("article_id"))
        .unionByName(withdrawn.select("article_id"))
        .distinct()
    )
    with store.staged(rejected(judged).unionByName(withdrawn)) as rejects:
        of_work = paths.withColumnRenamed("path", "input")
        slices = of_work.withColumn("stage", F.lit("ingest"))
        read_again = rejects.join(of_work, on="input", how="left_semi")
        n_rejects = store.replace_slices("rejects", read_again, slices).rows
        n_rejects += store.merge("rejects", rejects.join(of_work, on="input", how="left_anti")).rows
    n_articles = store.replace_slices("articles", new, touched).rows
    store.merge("inputs", work.select("path", "kind", "signature", "size"))
    return n_articles, n_rejects


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
