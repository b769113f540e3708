"""Annotates articles: sentences, tokens, named mentions, coreference.

Reads articles; writes annotations, rejects. Articles with stand-off keep it, the others are annotated
by the annotator of the settings. Only articles that are new, edited, or annotated with other settings
are done.

    spark-submit jobs/annotate_articles.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import SparkSession

from jobs.job_support.annotator import annotator_of, archives_of, digest_of_annotator
from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.failures import with_failed, write_failures
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.annotations import (
    STAND_OFF,
    annotate_by_model,
    annotate_stand_off,
    annotation_fingerprints,
    annotation_rows,
)
from jobs.transforms.rejects import failed_articles
from jobs.transforms.work_list import count_by_status, count_to_make, tasks_for, to_make, work_list
from udfs.annotate_text import make_annotate_udf, make_split_udf

# Part of the fingerprints: raise when the same inputs and settings give other rows.
VERSION = 1


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Annotates what is missing; returns the counts."""
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "annotate")
    articles = store.read("articles")
    if articles.isEmpty() and store.is_empty("annotations"):
        raise JobError(f"no articles in {store.path('articles')}: run ingest_articles first, or check paths.tables")
    options = annotator_of(spark, settings.annotate)
    digests = {STAND_OFF: stage_hash(STAND_OFF), options.annotator: digest_of_annotator(options)}
    wanted = annotation_fingerprints(
        articles,
        stand_off_hash=stage_hash(VERSION, STAND_OFF),
        annotator_hash=stage_hash(VERSION, digests[options.annotator]),
    )
    with store.staged(work_list(wanted, with_failed(store.read("annotations"), store, "annotate"))) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        n = count_to_make(counts)
        todo = articles.join(to_make(work), on="article_id", how="inner")
        by_model = todo.where("stand_off is null").count()
        with progress(spark, "annotate", n) as count_done:
            annotated = annotate_stand_off(
                todo, split_udf=make_split_udf(count_done), tasks=tasks_for(n - by_model)
            ).unionByName(
                annotate_by_model(
                    todo,
                    annotator=options.annotator,
                    annotate_udf=make_annotate_udf(
                        options.annotator, options.model, options.device, count_done, archives_of(options)
                    ),
                    tasks=tasks_for(by_model, options.articles_per_task),
                )
            )
            with store.staged(annotated) as rows:
                done = work.select("article_id")
                made = annotation_rows(rows, version=VERSION, digests=digests)
                written = store.replace_slices("annotations", made, done)
                rejects = failed_articles(rows, stage="annotate", reason="annotator_failed")
                failed = write_failures(
                    store, settings.limits, stage="annotate", rejects=rejects, articles=done, tried=n
                )
        return clock.finish(rows_in=sum(counts.values()), rows_out=written.rows, rejects=failed)


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
