"""Evaluates the predictions: exact match, F1 and out-of-candidate rate, by split, origin and number of answers.

Reads predictions, triples, passages, machine_filter; writes evaluations and <report>/evaluation.md.

    spark-submit jobs/evaluate_readers.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import SparkSession

from jobs.job_support.command_line import run_job
from jobs.job_support.release_files import publish_text
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings
from jobs.job_support.store import Store
from jobs.transforms.evaluation import evaluate, render_evaluation

REPORT = "evaluation.md"


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Evaluates anew if a table that it reads has changed since; returns the counts of queries and figures."""
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "evaluate")
    predictions = store.read("predictions")
    splits = store.read("machine_filter").select("article_id", "split").distinct()
    figures = evaluate(predictions, store.read("triples"), store.read("passages"), splits)
    with store.staged(figures) as rows:
        readers = store.read("evaluations").select("reader").unionByName(rows.select("reader")).distinct()
        written = store.replace_slices("evaluations", rows, readers)
        text = render_evaluation(row.asDict() for row in rows.collect())
    published = publish_text(spark, settings.paths.report, REPORT, text)
    changed = written.rows + written.deleted
    if not changed and not published:
        return clock.finish(rows_in=0)
    return clock.finish(rows_in=predictions.count(), rows_out=changed)


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
