"""Annotates articles: sentences, tokens, named mentions, coreference.

Reads articles; writes annotations, rejects. Articles with stand-off keep it, the others are annotated
by the annotator of the settings. Only articles that are new, edited, or annotated with other settings
are done.

    spark-submit jobs/annotate_articles.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.annotations import (
    annotate_by_model,
    annotate_stand_off,
    annotation_fingerprints,
    annotation_rejects,
)
from jobs.transforms.work_list import CHANGED, NEW, count_by_status, tasks_for, to_make, work_list
from udfs.annotate_text import make_annotate_udf, make_stand_off_udf
from udfs.model_holder import annotator_digest

# Part of the fingerprints: raise when the same inputs and settings give other rows.
VERSION = 1
# So many articles may fail whatever their share: in a run of three, one is no sign of a broken annotator.
FEW_FAILURES = 5


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Annotates what is missing; returns the counts."""
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "annotate")
    articles = store.read("articles")
    if articles.isEmpty() and store.is_empty("annotations"):
        raise JobError(f"no articles in {store.path('articles')}: run ingest_articles first, or check paths.tables")
    with store.staged(_work(store, settings)) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        n = counts.get(NEW, 0) + counts.get(CHANGED, 0)
        todo = articles.join(to_make(work), on="article_id", how="inner")
        by_model = todo.where("stand_off is null").count()
        options = settings.annotate
        with progress(spark, "annotate", n) as count_done:
            annotated = annotate_stand_off(
                todo, stand_off_udf=make_stand_off_udf(count_done), tasks=tasks_for(n - by_model)
            ).unionByName(
                annotate_by_model(
                    todo,
                    annotator=options.annotator,
                    annotate_udf=make_annotate_udf(options.annotator, options.model, count_done=count_done),
                    tasks=tasks_for(by_model, options.articles_per_task),
                )
            )
            with store.staged(annotated) as rows:
                made, failed = _write(store, settings, work, rows)
        return clock.finish(rows_in=sum(counts.values()), rows_out=made, rejects=failed)


def _work(store: Store, settings: Settings) -> DataFrame:
    try:
        digest = annotator_digest(settings.annotate.annotator, settings.annotate.model)
    except ValueError as error:  # unknown, or not installed: the message says what to do
        raise JobError(f"annotate.annotator, annotate.model: {error}") from error
    wanted = annotation_fingerprints(
        store.read("articles"),
        stand_off_hash=stage_hash(VERSION, "stand-off"),
        annotator_hash=stage_hash(VERSION, digest),
    )
    failed = store.read("rejects").where("stage = 'annotate'").select("article_id", "fingerprint")
    done = store.read("annotations").select("article_id", "fingerprint").unionByName(failed)
    return work_list(wanted, done)


def _write(store: Store, settings: Settings, work: DataFrame, rows: DataFrame) -> tuple[int, int]:
    """Writes annotations, then rejects; returns how many rows were written and how many articles failed.

    Raises:
        JobError: too many failed: the fault is hardly the articles'. What was annotated is kept; those that
            failed are no rejects but stay on the work list.
    """
    made = {r["failed"]: r["count"] for r in rows.groupBy(F.isnotnull("error").alias("failed")).count().collect()}
    failed, total = made.get(True, 0), sum(made.values())
    slices = work.select("article_id")
    written = store.replace_slices("annotations", rows.where("error is null").drop("error"), slices)
    if failed > max(FEW_FAILURES, settings.annotate.max_failed_share * total):
        first = rows.where("error is not null").select("article_id", "error").first()
        raise JobError(
            f"annotate: {failed} of {total} articles failed, more than annotate.max_failed_share = "
            f"{settings.annotate.max_failed_share}; they are tried again at the next run. The first: {first}"
        )
    store.replace_slices(
        "rejects",
        rows.transform(annotation_rejects),
        slices.select(F.lit("annotate").alias("stage"), F.col("article_id").alias("input")),
    )
    return written.rows, failed


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
