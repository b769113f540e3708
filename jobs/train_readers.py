"""Trains the machine filter's readers (section 3.3): for each fold one that never sees the fold's articles.

Reads passages, triples, token_tags, rejects; writes learning_curves, reader_runs (in this order: a row of
reader_runs marks its fold as done), and the readers under paths.models. Folds without a reader of these
settings are trained, side by side: one task, one fold. Each is recorded as it ends; one that broke off goes
on after its last epoch. New articles train nothing: they are scored by the readers that are there. To train
on them too, raise reader.training_round.

    spark-submit jobs/train_readers.py --config conf/cluster.toml
"""

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.extras import require_torch
from jobs.job_support.failures import worker_errors
from jobs.job_support.hadoop_files import qualified
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Reader, Settings, stage_hash
from jobs.job_support.store import LONGEST_TRAINING, Store, table_hash
from jobs.transforms.reader_examples import reader_examples
from jobs.transforms.reader_runs import curve_rows, reader_row, train_fold
from udfs.fold_of import N_FOLDS
from udfs.reader_training import FoldTraining, epochs_done, is_there, make_train_batches
from udfs.readers.word_vectors import VectorFileError, vectors_digest

log = logging.getLogger(__name__)

# Part of the fingerprints: raise when the same triples and settings give other readers.
VERSION = 1


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Trains what is missing; returns the counts of folds.

    Raises:
        JobError: PyTorch or the word vectors are missing; a fold whose reader would have nothing to learn from;
            triples that were not tagged yet; a fold whose training failed (the others are trained first).
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "train")
    fingerprint = _fingerprint(spark, settings.reader)
    kept = _by_fold(store.read("triples").where("keep").groupBy("fold").agg(F.count("*").alias("n")))
    folds = _missing_folds(store, settings, fingerprint, kept)
    if not folds:
        return clock.finish(rows_in=0)
    require_torch()
    _refuse_untagged(store)
    examples = reader_examples(store.read("passages"), store.read("triples"), store.read("token_tags"))
    with _staged_by_fold(store, examples) as (path, staged):
        queries = _by_fold(staged.groupBy("fold").agg(F.sum(F.size("queries")).alias("n")))
        name = f"{settings.reader.network}-{fingerprint}-{_data_hash(staged)}"
        training = FoldTraining(
            examples=qualified(spark, path),
            queries=queries,
            models=f"{qualified(spark, settings.paths.models)}/{name}",
            config=settings.reader.san,
            options=settings.reader.training,
            word_vectors=_qualified_vectors(spark, settings.reader),
        )
        total = settings.reader.training.epochs * len(folds)
        with progress(spark, "train", total, "epochs", done=lambda: epochs_done(training, folds)):
            for trained in _side_by_side(spark, training, folds):
                fold, reader = trained["fold"], settings.reader.network
                of_fold = spark.createDataFrame([(reader, fold)], "reader string, fold int")
                untagged = sum(kept[f] - queries.get(f, 0) for f in kept if f != fold)
                row = reader_row(
                    spark,
                    trained,
                    reader=reader,
                    path=f"{name}/fold-{fold}",
                    fingerprint=fingerprint,
                    left_out={"not_tagged": untagged},
                )
                store.replace_slices("learning_curves", curve_rows(spark, trained, reader=reader), of_fold)
                store.merge("reader_runs", row)
    return clock.finish(rows_in=len(folds), rows_out=len(folds))


def _by_fold(counts: DataFrame) -> dict[int, int]:
    return {r.fold: r.n for r in counts.collect()}


def _fingerprint(spark: SparkSession, reader: Reader) -> str:
    """Of all that decides what a reader is, but for its articles: those are the ones that are there in training."""
    path = _qualified_vectors(spark, reader)
    try:
        return stage_hash(VERSION, reader.training_values(), vectors_digest(path) if path else "")
    except VectorFileError as error:
        raise JobError(f"reader.word_vectors: {error}") from error


def _qualified_vectors(spark: SparkSession, reader: Reader) -> str:
    return qualified(spark, reader.word_vectors) if reader.word_vectors else ""


def _missing_folds(store: Store, settings: Settings, fingerprint: str, kept: Mapping[int, int]) -> list[int]:
    """The folds that have triples but no reader of these settings."""
    if not kept:
        raise JobError("no kept triples to train readers on: run generate_triples and tag_tokens, see the funnel")
    runs = store.read("reader_runs").where(F.col("reader") == settings.reader.network).collect()
    models = qualified(store.spark, settings.paths.models)
    try:
        there = [r for r in runs if r.fingerprint == fingerprint and is_there(f"{models}/{r.path}", r.digest)]
    except OSError as error:
        raise JobError(
            f"paths.models {models} can't be read ({error}): check path and rights; nothing was trained, since the "
            "readers may well be there"
        ) from error
    done = {r.fold: r.trained_on for r in there}
    missing = sorted(kept.keys() - done.keys())
    if missing and len(kept) == 1:
        raise JobError(
            f"all triples are in fold {missing[0]}: a reader that never saw their articles has nothing to learn from. "
            "Add articles, or end the line at triples by --set filter.enabled=false"
        )
    for fold, trained_on in sorted(done.items()):
        now = sum(n for f, n in kept.items() if f != fold)
        if now > 2 * trained_on:
            log.warning(
                "the reader of fold %d was trained on %s triples, there are %s by now: raise reader.training_round to "
                "train anew", fold, f"{trained_on:,}", f"{now:,}",
            )  # fmt: skip
    return missing


def _refuse_untagged(store: Store) -> None:
    """A reader once trained is kept: not on the part of the triples that happens to be tagged by now."""
    tagged = store.read("token_tags").where("unit = 'passage'").select("article_id")
    failed = store.read("rejects").where("stage = 'tag'").select(F.col("input").alias("article_id"))
    triples = store.read("triples").where("keep")
    untagged = triples.join(tagged.unionByName(failed), on="article_id", how="left_anti").count()
    if untagged:
        raise JobError(f"{untagged:,} kept triples are not tagged yet: run tag_tokens first")


@contextmanager
def _staged_by_fold(store: Store, examples: DataFrame) -> Iterator[tuple[str, DataFrame]]:
    """The examples as files in ``fold=<k>``: the folder, and what it holds."""
    with store.staging_folder(keep=LONGEST_TRAINING) as path:
        # One file a fold, in order of article: the order of the examples is part of what makes a reader.
        by_fold = examples.repartition(N_FOLDS, "fold").sortWithinPartitions("fold", "article_id")
        by_fold.write.partitionBy("fold").parquet(path)
        yield path, store.spark.read.schema(examples.schema).parquet(path)


def _data_hash(examples: DataFrame) -> str:
    """What an earlier run left half trained is gone on with only if it saw the same data."""
    return table_hash(examples.select("article_id", "fingerprint", "queries.query_id"))


def _side_by_side(spark: SparkSession, training: FoldTraining, folds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The folds' readers as they get ready: a Spark job each, so that one that fails takes no other along."""
    train_batches = make_train_batches(training)

    def train(fold: int) -> dict[str, Any]:
        with worker_errors(f"the reader of fold {fold} was not trained"):
            return train_fold(spark, fold, train_batches=train_batches)

    failed: list[JobError] = []
    with ThreadPoolExecutor(len(folds), "train") as threads:
        for done in as_completed([threads.submit(inheritable_thread_target(spark)(train), fold) for fold in folds]):
            try:
                yield done.result()
            except JobError as error:
                failed.append(error)
    if failed:
        raise failed[0]


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
