"""Trains an annotator for crawled articles on the articles that have stand-off annotation.

Reads articles; writes annotator_runs, and the annotator under paths.models. What is trained is a whole pipeline:
annotate.model=<paths.models>/<path> takes it as it is. All folds but one are trained on; the held-out one tells
how good the annotator is, beside the pipeline that training began with, and when to stop. One task trains, on
train_annotators.spacy.device of its executor; one that broke off starts anew. Nothing is done where an annotator
of these settings is there: to train on articles that came since, raise train_annotators.training_round.

    spark-submit jobs/train_annotators.py --config conf/cluster.toml
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.annotator import on_executors
from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.failures import worker_errors
from jobs.job_support.hadoop_files import qualified
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, TrainAnnotators, stage_hash
from jobs.job_support.store import LONGEST_TRAINING, Store
from jobs.transforms.annotator_examples import annotator_examples, stand_off_articles
from jobs.transforms.annotator_runs import PartCounts, annotator_row, count_examples, train_in_one_task
from jobs.transforms.work_list import tasks_for
from udfs.annotator_examples import EXAMPLES, make_ner_examples
from udfs.annotator_training import HELD_OUT, TRAIN, AnnotatorTraining, is_there, make_train_batches, steps_done
from udfs.annotators.spacy_pipelines import PipelineError, PipelineIdentity, pipeline_identity

log = logging.getLogger(__name__)

# Part of the fingerprints: raise when the same articles and settings give other annotators.
VERSION = 1

Examples = dict[str, DataFrame]


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Trains the annotator of the settings unless it is there; returns the counts of articles trained on.

    Raises:
        JobError: no articles with stand-off to train on or to hold out; the base pipeline is not installed;
            none of the mentions can be trained on; the training failed.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "train_annotators")
    options = settings.train_annotators
    base_model = on_executors(spark, options.spacy.base_model)
    base = _identity(base_model)
    fingerprint = stage_hash(VERSION, options.training_values(), list(base))
    if _is_trained(store, settings, fingerprint):
        return clock.finish(rows_in=0)
    parts = _parts(store, options)
    with _staged(store, parts, base_model) as (path, examples):
        counts = {part: count_examples(rows) for part, rows in examples.items()}
        _refuse_nothing_aligned(counts, options)
        training = AnnotatorTraining(
            examples=qualified(spark, path),
            articles={part: c.articles for part, c in counts.items()},
            models=qualified(spark, settings.paths.models),
            name=f"annotator-{options.annotator}-{fingerprint}",
            options=replace(options.spacy, base_model=base_model),
        )
        done = partial(steps_done, training)
        with (
            progress(spark, "train_annotators", options.spacy.max_steps, "steps", done=done),
            worker_errors("the annotator was not trained"),
        ):
            trained = train_in_one_task(spark, train_batches=make_train_batches(training))
    row = annotator_row(
        spark,
        trained,
        counts,
        annotator=options.annotator,
        base_model=f"{base.name} {base.version}",
        held_out_fold=options.held_out_fold,
        fingerprint=fingerprint,
    )
    store.merge("annotator_runs", row)
    _say(row.collect()[0], settings)
    return clock.finish(rows_in=counts[TRAIN].articles, rows_out=1)


def _identity(base_model: str) -> PipelineIdentity:
    try:
        return pipeline_identity(base_model)
    except (PipelineError, OSError) as error:
        raise JobError(f"train_annotators.spacy.base_model: {error}") from error


def _is_trained(store: Store, settings: Settings, fingerprint: str) -> bool:
    name = settings.train_annotators.annotator
    runs = store.read("annotator_runs").where((F.col("annotator") == name) & (F.col("fingerprint") == fingerprint))
    models = qualified(store.spark, settings.paths.models)
    for row in runs.collect():
        try:
            if is_there(f"{models}/{row.path}", row.digest):
                _say(row, settings)
                return True
        except OSError as error:
            raise JobError(
                f"paths.models {models} can't be read ({error}): check path and rights; nothing was trained, since the "
                "annotator may well be there"
            ) from error
        log.warning("%s/%s is gone or was changed: the annotator is trained again", models, row.path)
    return False


def _parts(store: Store, options: TrainAnnotators) -> dict[str, DataFrame]:
    """The articles of each part; raises JobError where one has none."""
    fold = options.held_out_fold
    parts = stand_off_articles(store.read("articles"), held_out_fold=fold, held_out_articles=options.held_out_articles)
    empty = [part for part, articles in parts.items() if articles.isEmpty()]
    if len(empty) == len(parts):
        raise JobError(
            f"no articles with stand-off mentions in {store.path('articles')}: there is nothing to train an annotator "
            "on. Ingest stories with tokens/ and entities/ beside them, or check paths.tables"
        )
    if TRAIN in empty:
        raise JobError(f"all articles with stand-off are in fold {fold}, which is held out: add articles")
    if HELD_OUT in empty:
        raise JobError(
            f"no articles with stand-off in fold {fold}, which tells how good the annotator is: choose another "
            "train_annotators.held_out_fold, or add articles"
        )
    return parts


@contextmanager
def _staged(
    store: Store, parts: Mapping[str, DataFrame], base_model: str
) -> Iterator[tuple[str, dict[str, DataFrame]]]:
    """The examples of each part as files in a folder of its name: the folder, and what it holds."""
    total = sum(articles.count() for articles in parts.values())
    with store.staging_folder(keep=LONGEST_TRAINING) as path:
        with (
            progress(store.spark, "read stand-off", total) as count_done,
            worker_errors("the articles were not read"),
        ):
            make = make_ner_examples(base_model, count_done)
            for part, articles in parts.items():
                rows = annotator_examples(articles, make_examples=make, tasks=tasks_for(articles.count()))
                rows.write.parquet(f"{path}/{part}")
        yield path, {part: store.spark.read.schema(EXAMPLES).parquet(f"{path}/{part}") for part in parts}


def _refuse_nothing_aligned(counts: Mapping[str, PartCounts], options: TrainAnnotators) -> None:
    for part, count in counts.items():
        if not count.mentions:
            reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(count.left_out.items()))
            raise JobError(
                f"none of the mentions of {count.articles:,} articles ({part}) can be trained on: {reasons}. Their "
                f"offsets do not fit the tokens of {options.spacy.base_model}: check the stand-off against its texts"
            )


def _say(row: Row, settings: Settings) -> None:
    log.info(
        "annotator of %s articles: F1 of names %.3f on held-out articles, %s %.3f; use it by annotate.model=%s/%s",
        f"{row.articles:,}", row.f1, row.base_model, row.base_f1, settings.paths.models, row.path,
    )  # fmt: skip
    if row.f1 <= row.base_f1:
        log.warning("it is no better than the pipeline that training began with: keep that, or train on more articles")


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
