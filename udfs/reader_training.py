"""Training of a fold's reader on an executor: one task, one fold.

The task reads the other folds' examples from files rather than from its input: five folds as input
would send each example four times through Spark.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from udfs.fold_of import N_FOLDS
from udfs.reader_examples import examples_of
from udfs.readers.configuration import SanConfig, TrainingError, TrainingOptions
from udfs.readers.examples import ReaderExample
from udfs.readers.manifest import CheckpointError, checkpoint_digest, checkpoint_epoch
from udfs.return_types import LEFT_OUT
from udfs.staged_rows import staged_rows

if TYPE_CHECKING:
    from udfs.readers.trained_reader import TrainedReader

LOGGER = logging.getLogger(__name__)

_EPOCH = T.StructType(
    [
        T.StructField("epoch", T.IntegerType()),
        T.StructField("loss", T.DoubleType()),
        T.StructField("exact_match", T.DoubleType()),
        T.StructField("f1", T.DoubleType()),
        T.StructField("seconds", T.DoubleType()),
        T.StructField("triples_per_second", T.DoubleType()),
    ]
)
TRAINED = T.StructType(
    [
        T.StructField("fold", T.IntegerType()),
        T.StructField("digest", T.StringType()),
        T.StructField("epochs", T.IntegerType()),
        T.StructField("trained_on", T.LongType()),
        T.StructField("left_out", T.ArrayType(LEFT_OUT)),
        T.StructField("history", T.ArrayType(_EPOCH)),
    ]
)
"""A trained reader: its fold, and its learning curve."""


@dataclass(frozen=True)
class FoldTraining:
    """How the folds' readers are trained.

    ``examples``: folder with the Parquet files of each fold in ``fold=<k>``, in order of name and row.
    ``queries``: how many queries the files of each fold hold.
    ``models``: folder for the readers, each in ``fold-<k>``; the reader of a run that broke off is gone on with.
    """

    examples: str
    queries: Mapping[int, int]
    models: str
    config: SanConfig
    options: TrainingOptions
    word_vectors: str

    def path(self, fold: int) -> str:
        """The folder of a fold's reader."""
        return f"{self.models.rstrip('/')}/fold-{fold}"

    def examples_of(self, *folds: int) -> "FoldExamples":
        """The examples of some folds."""
        return FoldExamples(self.examples, {f: self.queries.get(f, 0) for f in folds})


def make_train_batches(training: FoldTraining) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``: folds to hold out (column 0) in, ``TRAINED`` out."""

    def train_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(TRAINED)
        for batch in batches:
            for fold in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pylist([train_fold(training, fold)], schema=schema)

    return train_batches


def train_fold(training: FoldTraining, fold: int) -> dict[str, Any]:
    """Trains the reader that never sees the articles of ``fold``; a row of ``TRAINED``.

    Raises:
        TrainingError: the other folds hold no triple to train on; examples are missing from the files.
        VectorFileError: the word vectors can't be used.
    """
    from udfs.readers.checkpoint import save_reader
    from udfs.readers.training import train_reader
    from udfs.readers.vocabulary import build_vocabulary
    from udfs.readers.word_vectors import load_vectors

    options, path = training.options, training.path(fold)
    others = training.examples_of(*(f for f in range(N_FOLDS) if f != fold))
    resume = _unfinished(training, fold)
    vocabulary = vectors = None
    if resume is None and training.word_vectors:
        vocabulary = build_vocabulary(
            others, min_count=options.min_count, max_words=options.max_words, lower_case=options.lower_case
        )
        vectors = load_vectors(training.word_vectors, vocabulary, training.config.word_size, seed=options.seed)
    reader = train_reader(
        others,
        training.examples_of(fold),
        training.config,
        options,
        vocabulary=vocabulary,
        vectors=vectors,
        on_checkpoint=partial(_save, path=path),
        resume=resume,
    )
    history = [
        {k: v for k, v in asdict(e).items() if k in _EPOCH.names} | {"triples_per_second": e.examples_per_second}
        for e in reader.history
    ]
    left_out = {**reader.left_out, **({"unusable": others.unusable} if others.unusable else {})}
    return {
        "fold": fold,
        "digest": save_reader(reader, path),
        "epochs": reader.epoch,
        "trained_on": reader.trained_on,
        "left_out": [{"reason": r, "triples": n} for r, n in left_out.items()],
        "history": history,
    }


def _save(reader: "TrainedReader", path: str) -> None:
    from udfs.readers.checkpoint import save_reader

    save_reader(reader, path)


def _unfinished(training: FoldTraining, fold: int) -> "TrainedReader | None":
    """The reader that an earlier run left half trained, if it can be gone on with."""
    from udfs.readers.checkpoint import load_reader
    from udfs.readers.training import trains_alike

    try:
        reader = load_reader(training.path(fold), device=training.options.device, resume=True)
    except CheckpointError as error:
        LOGGER.info("fold %d starts anew: %s", fold, error)
        return None
    if reader.config != training.config or not trains_alike(reader.options, training.options):
        LOGGER.info("fold %d starts anew: begun with other settings", fold)
        return None
    LOGGER.info("fold %d goes on after epoch %d", fold, reader.epoch)
    return reader


class FoldExamples:
    """The examples of some folds, read anew at each iteration, in the same order.

    ``unusable``: how many the last iteration passed over, and logged.

    Args:
        folder: see ``FoldTraining.examples``.
        queries: the folds, and how many queries the files of each hold.
    """

    def __init__(self, folder: str, queries: Mapping[int, int]) -> None:
        self._folder = folder.rstrip("/")
        self._queries = queries
        self.unusable = 0

    def __iter__(self) -> Iterator[ReaderExample]:
        """Raises TrainingError where a fold's files hold another number of queries: some were deleted meanwhile."""
        self.unusable = 0
        for fold, expected in self._queries.items():
            found = 0
            for row in staged_rows(f"{self._folder}/fold={fold}") if expected else ():
                found += len(row["queries"])
                for example in examples_of(row):
                    if isinstance(example, ReaderExample):
                        yield example
                    else:
                        self.unusable += 1
                        LOGGER.warning("not trained on: query %s: %s", *example)
            if found != expected:
                raise TrainingError(
                    f"{self._folder}: {found} of {expected} queries of fold {fold} are there: files were deleted while "
                    "the reader was trained; run train_readers again, it goes on after the last epoch"
                )


def epochs_done(training: FoldTraining, folds: Sequence[int]) -> int:
    """Epochs that the folds' readers have behind them, by what lies in their folders."""
    done = 0
    for fold in folds:
        with suppress(CheckpointError, OSError):  # not begun yet, or just being replaced
            done += checkpoint_epoch(training.path(fold))
    return done


def is_there(path: str, digest: str) -> bool:
    """Whether the reader with this digest lies in a folder: it may have been moved, or deleted.

    Raises:
        OSError: the folder can't be looked at; the reader may well be there.
    """
    try:
        return checkpoint_digest(path) == digest
    except CheckpointError as error:
        LOGGER.warning("%s", error)
        return False
