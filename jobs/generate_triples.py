"""Generates passages and passage-query-answers triples by the paper's rules (section 3.2).

Reads articles, annotations; writes sentences, triples, passages (in this order: a passage marks its
article as done). Only articles whose annotation or rules changed are done.

    spark-submit jobs/generate_triples.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.triples import (
    make_cloze_articles,
    passage_rows,
    sentence_rows,
    triple_fingerprints,
    triple_rows,
)
from jobs.transforms.work_list import CHANGED, NEW, REMOVED, count_by_status, tasks_for, to_make, work_list
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
    with store.staged(work_list(wanted, store.read("passages").select("article_id", "fingerprint"))) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        if REMOVED in counts:
            _refuse_imported(store)
        n = counts.get(NEW, 0) + counts.get(CHANGED, 0)
        with progress(spark, "generate", n) as count_done:
            made = make_cloze_articles(
                articles,
                annotations,
                to_make(work),
                cloze_batches=make_cloze_batches(settings.generate, count_done),
                tasks=tasks_for(n),
            )
            with store.staged(made) as cloze:
                slices = work.select("article_id")
                if CHANGED in counts:
                    # Their mark is withdrawn first: if this run breaks off between the tables, and the settings go
                    # back to what they were, the old mark would call rows of this run done.
                    changed = work.where(F.col("status") == CHANGED).select("article_id")
                    store.replace_slices("passages", passage_rows(cloze).limit(0), changed)
                store.replace_slices("sentences", sentence_rows(cloze), slices)
                triples = store.replace_slices("triples", triple_rows(cloze), slices)
                store.replace_slices("passages", passage_rows(cloze), slices)
        return clock.finish(rows_in=sum(counts.values()), rows_out=triples.rows)


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
