"""The annotator of the settings, as the driver sees it: named and hashed, never loaded."""

from pyspark.sql import SparkSession

from jobs.job_support.command_line import JobError
from jobs.job_support.hadoop_files import qualified
from jobs.job_support.settings import Annotate
from udfs.model_files import is_uri
from udfs.model_holder import annotator_digest


def on_executors(spark: SparkSession, model: str) -> str:
    """A model's name, folder or URI as executors must have it: a URI with the name node of the cluster's settings."""
    return qualified(spark, model) if is_uri(model) and not model.startswith("file:") else model


def annotator_of(spark: SparkSession, options: Annotate) -> Annotate:
    """The settings with the model as executors must have it."""
    return options.model_copy(update={"model": on_executors(spark, options.model)})


def digest_of_annotator(options: Annotate) -> str:
    """The digest of the annotator that the settings name, for fingerprints.

    Raises:
        JobError: there is none of that name, or its model is not installed, or can't be fetched.
    """
    try:
        return annotator_digest(options.annotator, options.model)
    except (ValueError, OSError) as error:  # the message says what to do
        raise JobError(f"annotate.annotator, annotate.model: {error}") from error
