"""The annotator of the settings, as the driver sees it: named and hashed, never loaded."""

from pyspark.sql import SparkSession

from jobs.job_support.command_line import JobError
from jobs.job_support.hadoop_files import qualified
from jobs.job_support.settings import Annotate
from udfs.annotators.allennlp.archives import ArchiveError
from udfs.annotators.base import Archives
from udfs.model_files import is_uri
from udfs.model_holder import annotator_digest

TAGGER = "spacy"
"""Tags texts whichever annotator finds the names: all take their tokens from the spaCy pipeline."""


def digest_of_tagger(options: Annotate) -> str:
    """The digest of what tags tokens; raises as ``digest_of_annotator``."""
    return _digest(TAGGER, options)


def on_executors(spark: SparkSession, model: str) -> str:
    """A model's name, folder or URI as executors must have it: a URI with the name node of the cluster's settings."""
    return qualified(spark, model) if is_uri(model) and not model.startswith("file:") else model


def annotator_of(spark: SparkSession, options: Annotate) -> Annotate:
    """The settings with models and archives as executors must have them."""
    names = ("model", "ner_archive", "coreference_archive")
    return options.model_copy(update={name: on_executors(spark, getattr(options, name)) for name in names})


def digest_of_annotator(options: Annotate) -> str:
    """The digest of the annotator that the settings name, for fingerprints.

    Raises:
        JobError: there is none of that name, or its model is not installed, or can't be fetched.
    """
    return _digest(options.annotator, options)


def _digest(name: str, options: Annotate) -> str:
    try:
        return annotator_digest(name, options.model, archives_of(options))
    except ArchiveError as error:
        raise JobError(f"annotate.ner_archive, annotate.coreference_archive: {error}") from error
    except (ValueError, OSError) as error:  # the message says what to do
        raise JobError(f"annotate.annotator, annotate.model: {error}") from error


def archives_of(options: Annotate) -> Archives:
    """AllenNLP's archives as the settings name them."""
    return Archives(
        ner=options.ner_archive,
        ner_sha256=options.ner_sha256,
        coreference=options.coreference_archive,
        coreference_sha256=options.coreference_sha256,
        half_precision=options.half_precision,
        window_tokens=options.window_tokens,
    )
