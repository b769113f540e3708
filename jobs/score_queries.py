"""Asks each fold's reader the queries of its held-out articles (section 3.3).

Reads passages, triples, token_tags, reader_runs; writes predictions. Articles are asked again when their
texts or their fold's reader changed; new ones are asked by the readers that are there.

    spark-submit jobs/score_queries.py --config conf/cluster.toml
"""

import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.extras import require_torch
from jobs.job_support.failures import worker_errors
from jobs.job_support.hadoop_files import qualified
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings
from jobs.job_support.store import Store
from jobs.transforms.predictions import predict_queries
from jobs.transforms.reader_examples import dealt_out, prediction_fingerprints, reader_examples
from jobs.transforms.reader_runs import reader_folders
from jobs.transforms.work_list import count_by_status, tasks_for, to_make, work_list
from udfs.fold_of import N_FOLDS
from udfs.reader_predictions import make_prediction_batches
from udfs.reader_training import is_there

# Part of the fingerprints: raise when the same texts and readers give other predictions.
VERSION = 2


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Asks what is missing; returns the counts of articles, and of queries written.

    Raises:
        JobError: there are no readers.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "score")
    reader = settings.reader.network
    runs = store.read("reader_runs").where(F.col("reader") == reader)
    passages, tags = store.read("passages"), store.read("token_tags")
    readers = reader_folders(runs, models=qualified(spark, settings.paths.models))
    if not readers:
        raise JobError(f"no trained readers in {store.path('reader_runs')}: run train_readers first")
    wanted = prediction_fingerprints(tags, passages, runs, version=VERSION)
    done = store.read("predictions").where(F.col("reader") == reader).select("article_id", "fingerprint").distinct()
    with store.staged(work_list(wanted, done)) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        require_torch()
        _check_readers(readers)
        examples = reader_examples(passages, store.read("triples"), tags).drop("fingerprint")
        todo = examples.join(to_make(work).select("article_id", "fingerprint"), on="article_id", how="inner")
        with store.staged(todo) as rows:
            n = rows.select(F.sum(F.size("queries"))).collect()[0][0] or 0
            with progress(spark, "score", n, "queries") as count_done:
                options = settings.reader.training
                batches = make_prediction_batches(
                    readers, device=options.device, threads=options.threads, count_done=count_done
                )
                tasks = tasks_for(n, N_FOLDS * settings.filter.queries_per_task)
                made = predict_queries(dealt_out(rows, tasks_per_fold=tasks), reader=reader, prediction_batches=batches)
                with worker_errors("nothing was scored"), store.staged(made) as predicted:
                    slices = work.select(F.lit(reader).alias("reader"), "article_id")
                    written = store.replace_slices("predictions", predicted, slices)
    return clock.finish(rows_in=sum(counts.values()), rows_out=written.rows)


def _check_readers(readers: Mapping[int, tuple[str, str]]) -> None:
    """Before the work starts rather than on a worker."""
    for fold, (path, digest) in readers.items():
        try:
            found = is_there(path, digest)
        except OSError as error:
            raise JobError(
                f"the reader of fold {fold} in {path} can't be read ({error}): check path and rights"
            ) from error
        if not found:
            raise JobError(f"the reader of fold {fold} is not in {path}: run train_readers, which trains it again")


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
