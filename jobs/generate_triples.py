"""Generates passages and passage-query-answers triples by the paper's rules (section 3.2).

Reads articles, annotations; writes sentences, triples, passages, rejects (in this order: a passage or a
reject marks its article as done). Only articles whose annotation or rules changed are done.

    spark-submit jobs/generate_triples.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.failures import with_failed, withdraw_failures, write_failures
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.rejects import failed_articles
from jobs.transforms.triples import (
    make_cloze_articles,
    passage_rows,
    sentence_rows,
    triple_fingerprints,
    triple_rows,
)
from jobs.transforms.work_list import CHANGED, REMOVED, count_by_status, count_to_make, tasks_for, to_make, work_list
from udfs.cloze_queries import make_cloze_batches

# Part of the fingerprints: raise when the same inputs and settings give other rows.
VERSION = 1


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Generates what is missing; returns the counts."""
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "generate")
    annotations = store.read("annotations")
    articles = store.read("articles")
    wanted = triple_fingerprints(annotations, articles, settings_hash=stage_hash(VERSION, settings.generate))
    with store.staged(work_list(wanted, with_failed(store.read("passages"), store, "generate"))) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        if REMOVED in counts:
            _refuse_imported(store)
        n = count_to_make(counts)
        with progress(spark, "generate", n) as count_done:
            made = make_cloze_articles(
                articles,
                annotations,
                to_make(work),
                cloze_batches=make_cloze_batches(settings.generate, count_done),
                tasks=tasks_for(n),
            )
            with store.staged(made) as cloze:
                done = work.select("article_id")
                if CHANGED in counts:
                    _withdraw_marks(store, work.where(F.col("status") == CHANGED).select("article_id"))
                store.replace_slices("sentences", sentence_rows(cloze), done)
                triples = store.replace_slices("triples", triple_rows(cloze), done)
                store.replace_slices("passages", passage_rows(cloze), done)
                rejects = failed_articles(cloze, stage="generate", reason="rules_failed")
                failed = write_failures(
                    store, settings.limits, stage="generate", rejects=rejects, articles=done, tried=n
                )
        return clock.finish(rows_in=sum(counts.values()), rows_out=triples.rows, rejects=failed)


def _withdraw_marks(store: Store, articles: DataFrame) -> None:
    """Deletes what calls changed articles done, before their first row is written.

    Else, if the run breaks off between the tables and the settings go back to what they were, the old marks would
    call rows of this run done.
    """
    store.replace_slices("passages", store.read("passages").limit(0), articles)
    withdraw_failures(store, "generate", articles)


def _refuse_imported(store: Store) -> None:
    """Imported passages have no articles: to the work list they would look removed, and be deleted."""
    imported = store.read("passages").where("origin = 'imported'").count()
    if imported:
        raise JobError(
            f"{store.path('passages')} holds {imported:,} imported passages: keep imported and generated data sets "
            "apart, by another paths.tables"
        )


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
