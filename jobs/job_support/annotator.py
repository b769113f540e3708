"""The annotator of the settings, as the driver sees it: named and hashed, never loaded."""

from jobs.job_support.command_line import JobError
from jobs.job_support.settings import Annotate
from udfs.model_holder import annotator_digest


def digest_of_annotator(options: Annotate) -> str:
    """The digest of the annotator that the settings name, for fingerprints.

    Raises:
        JobError: there is none of that name, or its model is not installed.
    """
    try:
        return annotator_digest(options.annotator, options.model)
    except ValueError as error:  # the message says what to do
        raise JobError(f"annotate.annotator, annotate.model: {error}") from error
