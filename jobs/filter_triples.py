"""Keeps the triples that no reader answered (section 3.3), and deals their articles out to splits (3.4).

Reads triples, passages, predictions; writes machine_filter: each triple with its verdict and split.

    spark-submit jobs/filter_triples.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.machine_filter import filter_fingerprints, filter_verdicts
from jobs.transforms.work_list import count_by_status, to_make, work_list

# Part of the fingerprints: raise when the same predictions and settings give other verdicts.
VERSION = 1


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Judges what is missing; returns the counts of articles, and of verdicts written.

    Raises:
        JobError: the tables hold an imported data set, which has its splits.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "filter")
    reader = settings.reader.network
    triples, passages = store.read("triples"), store.read("passages")
    predictions = store.read("predictions").where(F.col("reader") == reader)
    _refuse_imported(store, passages)
    settings_hash = stage_hash(VERSION, reader, settings.filter.answers, settings.splits)
    wanted = filter_fingerprints(triples, passages, predictions, settings_hash=settings_hash)
    done = store.read("machine_filter").select("article_id", "fingerprint").distinct()
    with store.staged(work_list(wanted, done)) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        verdicts = filter_verdicts(
            triples, passages, predictions, to_make(work), answered=_answered(settings), **settings.splits.model_dump()
        )
        with store.staged(verdicts) as rows:
            written = store.replace_slices("machine_filter", rows, work.select("article_id"))
    return clock.finish(rows_in=sum(counts.values()), rows_out=written.rows)


def _answered(settings: Settings) -> Column:
    return F.col({"spans": "exact_match", "candidates": "candidate_exact_match"}[settings.filter.answers])


def _refuse_imported(store: Store, passages: DataFrame) -> None:
    imported = passages.where("origin = 'imported'").count()
    if imported:
        raise JobError(
            f"{store.path('passages')} holds {imported:,} imported passages, which have been filtered and split: "
            "evaluate readers on them, and filter generated ones, in another paths.tables"
        )


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
