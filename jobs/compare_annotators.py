"""Annotates a sample of the articles by other annotators too, and says how far they agree with the line's.

Reads articles, annotations; writes annotator_comparisons and <report>/annotators.md. The line itself is not
touched: it goes on with the stand-off and with annotate.annotator. Only what is new or changed is annotated;
the rows of annotators that compare.annotators no longer names go.

    spark-submit jobs/compare_annotators.py --config conf/cluster.toml \\
        --set 'compare.annotators=[{name="spacy"}, {name="larger", model="en_core_web_lg"}]'
"""

import logging
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.job_support.annotator import annotator_of, archives_of, digest_of_annotator
from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.progress import progress
from jobs.job_support.release_files import publish_text
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Annotate, Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.annotations import annotate_by_model
from jobs.transforms.annotator_agreement import (
    comparison_fingerprints,
    comparison_rows,
    figures,
    render_figures,
    sample_of,
)
from jobs.transforms.work_list import count_by_status, count_to_make, tasks_for, to_make, work_list
from udfs.annotate_text import make_annotate_udf

log = logging.getLogger(__name__)

REPORT = "annotators.md"
# Part of the fingerprints: raise when the same articles and annotators give other rows.
VERSION = 1


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Annotates what is missing and writes the figures; returns the counts of articles, over all annotators.

    Raises:
        JobError: no annotator to compare; no annotated articles; an annotator that is not there.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "compare")
    others = {c.name: annotator_of(spark, c.annotate(settings.annotate)) for c in settings.compare.annotators}
    if not others:
        raise JobError("compare.annotators is empty: name some, as --set 'compare.annotators=[{name=\"spacy\"}]'")
    if store.is_empty("annotations"):
        raise JobError(f"no annotations in {store.path('annotations')}: run annotate_articles first")
    names = store.read("annotator_comparisons").select("annotator").distinct()
    dropped = names.where(~F.col("annotator").isin(*others))
    written = store.replace_slices(
        "annotator_comparisons", store.read("annotator_comparisons").limit(0), dropped
    ).deleted
    counts = [_compare(store, name, options, settings.compare.articles) for name, options in others.items()]
    rows = figures(store.read("annotator_comparisons")).collect()
    publish_text(spark, settings.paths.report, REPORT, render_figures(row.asDict() for row in rows))
    return clock.finish(rows_in=sum(n for n, _ in counts), rows_out=written + sum(n for _, n in counts))


def _compare(store: Store, name: str, options: Annotate, size: int) -> tuple[int, int]:
    """Articles on the work list of one annotator, and rows written."""
    articles, annotations = store.read("articles"), store.read("annotations")
    wanted = comparison_fingerprints(
        sample_of(articles, size), annotations, annotator_hash=stage_hash(VERSION, digest_of_annotator(options))
    )
    done = store.read("annotator_comparisons").where(F.col("annotator") == name)
    with store.staged(work_list(wanted, done)) as work:
        counts = count_by_status(work)
        if not counts:
            return 0, 0
        n = count_to_make(counts)
        # As if none had stand-off: that is what is compared.
        texts = articles.join(to_make(work), on="article_id", how="inner").withColumn(
            "stand_off", F.lit(None).cast(articles.schema["stand_off"].dataType)
        )
        with progress(store.spark, f"compare {name}", n) as count_done:
            annotated = annotate_by_model(
                texts,
                annotator=options.annotator,
                annotate_udf=make_annotate_udf(
                    options.annotator, options.model, options.device, count_done, archives_of(options)
                ),
                tasks=tasks_for(n, options.articles_per_task),
            )
            with store.staged(annotated) as made, store.staged(comparison_rows(made, annotations, name=name)) as rows:
                slices = work.select(F.lit(name).alias("annotator"), "article_id")
                written = store.replace_slices("annotator_comparisons", rows, slices)
    return sum(counts.values()), written.rows


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
