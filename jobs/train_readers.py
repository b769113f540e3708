"""Trains the machine filter's readers (section 3.3): for each fold one that never sees the fold's articles.

Reads passages, triples, token_tags; writes learning_curves, reader_runs (in this order: a row of
reader_runs marks its fold as done), and the readers under paths.models. Folds without a reader of these
settings are trained, side by side: one task, one fold. New articles train nothing: they are scored by
the readers that are there. To train on them too, raise reader.training_round.

    spark-submit jobs/train_readers.py --config conf/cluster.toml
"""

import logging
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.extras import require_torch
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store, table_hash
from jobs.transforms.reader_examples import reader_examples
from jobs.transforms.reader_runs import curve_rows, reader_rows, train_folds
from udfs.fold_of import N_FOLDS
from udfs.reader_training import FoldTraining, epochs_done, is_there, make_train_batches

log = logging.getLogger(__name__)

# Part of the fingerprints: raise when the same triples and settings give other readers.
VERSION = 1


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Trains what is missing; returns the counts of folds.

    Raises:
        JobError: PyTorch is missing; a fold whose reader would have nothing to learn from.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "train")
    fingerprint = stage_hash(VERSION, settings.reader.training_values())
    examples = reader_examples(store.read("passages"), store.read("triples"), store.read("token_tags"))
    folds = _missing_folds(store, settings, fingerprint)
    if not folds:
        return clock.finish(rows_in=0)
    require_torch()
    with store.staging_folder() as staged:
        # One file a fold, in order of article: the order of the examples is part of what makes a reader.
        by_fold = examples.repartition(N_FOLDS, "fold").sortWithinPartitions("fold", "article_id")
        by_fold.write.partitionBy("fold").parquet(staged)
        training = FoldTraining(
            examples=staged,
            models=_models_folder(settings, fingerprint, spark.read.schema(examples.schema).parquet(staged)),
            config=settings.reader.san,
            options=settings.reader.training,
            word_vectors=settings.reader.word_vectors,
        )
        total = settings.reader.training.epochs * len(folds)
        with (
            progress(spark, "train", total, "epochs", done=lambda: epochs_done(training, folds)),
            store.staged(train_folds(spark, folds, train_batches=make_train_batches(training))) as trained,
        ):
            reader = settings.reader.network
            slices = trained.select(F.lit(reader).alias("reader"), "fold")
            store.replace_slices("learning_curves", curve_rows(trained, reader=reader), slices)
            written = store.merge("reader_runs", reader_rows(trained, reader=reader, fingerprint=fingerprint))
    return clock.finish(rows_in=len(folds), rows_out=written.rows)


def _missing_folds(store: Store, settings: Settings, fingerprint: str) -> list[int]:
    """The folds that have triples but no reader of these settings."""
    triples = store.read("triples").where("keep")
    sizes = {r["fold"]: r["count"] for r in triples.groupBy("fold").count().collect()}
    if not sizes:
        raise JobError("no kept triples to train readers on: run generate_triples and tag_tokens, see the funnel")
    runs = store.read("reader_runs").where(F.col("reader") == settings.reader.network).collect()
    done = {r.fold: r.trained_on for r in runs if r.fingerprint == fingerprint and is_there(r.path, r.digest)}
    missing = sorted(sizes.keys() - done.keys())
    if missing and len(sizes) == 1:
        raise JobError(
            f"all triples are in fold {missing[0]}: a reader that never saw their articles has nothing to learn from. "
            "Add articles, or end the line at triples by --set filter.enabled=false"
        )
    for fold, trained_on in sorted(done.items()):
        now = sum(n for f, n in sizes.items() if f != fold)
        if now > 2 * trained_on:
            log.warning(
                "the reader of fold %d was trained on %s triples, there are %s by now: raise reader.training_round to "
                "train anew", fold, f"{trained_on:,}", f"{now:,}",
            )  # fmt: skip
    return missing


def _models_folder(settings: Settings, fingerprint: str, examples: DataFrame) -> str:
    """Named by settings and data: what an earlier run left half trained is gone on with only if both are the same."""
    data = table_hash(examples.select("article_id", "fingerprint", "queries.query_id"))
    return f"{settings.paths.models.rstrip('/')}/{settings.reader.network}-{fingerprint}-{data}"


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
