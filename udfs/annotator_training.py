"""Training of an annotator on an executor: one task, which reads its examples from files and saves the result."""

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from udfs.annotator_examples import texts_of
from udfs.annotators.ner_examples import NerText
from udfs.annotators.spacy_pipelines import PipelineError, pipeline_identity
from udfs.annotators.training_options import NerTrainingOptions
from udfs.model_files import save_model
from udfs.readers.configuration import TrainingError
from udfs.sources.files import file_system_of, normal_path
from udfs.staged_rows import staged_rows

LOGGER = logging.getLogger(__name__)

TRAIN, HELD_OUT = PARTS = ("train", "held_out")
# Beside the examples: how many steps the task has behind it, for the driver to show.
_STEPS = "_steps"
# The file without which a folder is no pipeline to spaCy: written last.
_LAST = "meta.json"

EVALUATION = T.StructType(
    [
        T.StructField("step", T.IntegerType()),
        T.StructField("loss", T.DoubleType()),
        *(T.StructField(name, T.DoubleType()) for name in ("precision", "recall", "f1")),
    ]
)
TRAINED = T.StructType(
    [
        T.StructField("path", T.StringType()),
        T.StructField("digest", T.StringType()),
        T.StructField("base", EVALUATION),
        T.StructField("best", EVALUATION),
        T.StructField("curve", T.ArrayType(EVALUATION)),
        T.StructField("seconds", T.DoubleType()),
    ]
)
"""A trained annotator: its folder below ``AnnotatorTraining.models``, and its learning curve."""


@dataclass(frozen=True)
class AnnotatorTraining:
    """How an annotator is trained.

    ``examples``: folder with the Parquet files of each of ``PARTS`` in a folder of its name, in order of name and
    row; ``articles``: how many articles each holds. ``models``: folder for what is trained; the result's own
    folder in it is ``name`` and a part of its digest, so that nothing else is ever written under that name.
    """

    examples: str
    articles: dict[str, int]
    models: str
    name: str
    options: NerTrainingOptions


def make_train_batches(training: AnnotatorTraining) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow``: a ``TRAINED`` row for each row that comes in: give it one."""

    def train_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(TRAINED)
        for batch in batches:
            yield pa.RecordBatch.from_pylist([train_annotator(training) for _ in range(batch.num_rows)], schema=schema)

    return train_batches


def train_annotator(training: AnnotatorTraining) -> dict[str, Any]:
    """Trains and saves; a value of ``TRAINED``.

    Raises:
        PipelineError: the base pipeline is not installed on this machine, or can't be trained.
        TrainingError: examples are missing from the files.
        OSError: the models' folder can't be written.
    """
    from udfs.annotators.ner_training import Evaluation, Scores, train_ner

    def evaluation(step: int, loss: float | None, scores: Scores) -> dict[str, Any]:
        return {"step": step, "loss": loss, **asdict(scores)}

    def show(done: Evaluation) -> None:
        _note_steps(training, done.step)

    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="annotator-") as scratch:
        folder = Path(scratch) / "pipeline"
        train, held_out = (PartTexts(training, part) for part in PARTS)
        trained = train_ner(train, held_out, training.options, folder, on_evaluation=show)
        path = f"{training.name}-{trained.digest[:12]}"
        target = f"{training.models.rstrip('/')}/{path}"
        if not is_there(target, trained.digest):  # a run that broke off after saving it; it may be in use
            save_model(folder, target, last=_LAST)
    return {
        "path": path,
        "digest": trained.digest,
        "base": evaluation(0, None, trained.base),
        "best": evaluation(**vars(trained.best)),
        "curve": [evaluation(**vars(e)) for e in trained.curve],
        "seconds": time.perf_counter() - began,
    }


class PartTexts:
    """The texts of one of ``PARTS``, read anew at each iteration, in the same order."""

    def __init__(self, training: AnnotatorTraining, part: str) -> None:
        self._folder = f"{training.examples.rstrip('/')}/{part}"
        self._articles = training.articles[part]

    def __iter__(self) -> Iterator[NerText]:
        """Raises TrainingError where the files hold another number of articles: some were deleted meanwhile."""
        found = 0
        for row in staged_rows(self._folder):
            found += 1
            yield from texts_of(row)
        if found != self._articles:
            raise TrainingError(
                f"{self._folder}: {found} of {self._articles} articles are there: files were deleted while the "
                "annotator was trained; run train_annotators again"
            )


def steps_done(training: AnnotatorTraining) -> int:
    """Steps that the task has behind it, as of its last evaluation."""
    with suppress(OSError, ValueError):  # not begun yet, or just being written
        file_system, path = file_system_of(normal_path(training.examples))
        with file_system.open_input_stream(f"{path}/{_STEPS}") as stream:
            return int(stream.read())
    return 0


def _note_steps(training: AnnotatorTraining, steps: int) -> None:
    try:
        file_system, path = file_system_of(normal_path(training.examples))
        with file_system.open_output_stream(f"{path}/{_STEPS}") as stream:
            stream.write(str(steps).encode())
    except OSError as error:  # the display stands still; training goes on
        LOGGER.warning("progress is not shown: %s", error)


def is_there(path: str, digest: str) -> bool:
    """Whether the trained annotator with this digest lies whole in a folder (path or URI).

    Raises:
        OSError: the folder can't be looked at; the annotator may well be there.
    """
    try:
        return pipeline_identity(path).files == digest
    except PipelineError:
        return False
