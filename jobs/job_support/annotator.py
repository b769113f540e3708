"""The annotator of the settings, as the driver sees it: named and hashed, never loaded."""

from jobs.job_support.command_line import JobError
from jobs.job_support.settings import Annotate
from udfs.annotators.allennlp.archives import ArchiveError
from udfs.annotators.base import Archives
from udfs.model_holder import annotator_digest

TAGGER = "spacy"
"""Tags texts whichever annotator finds the names: all take their tokens from the spaCy pipeline."""


def digest_of_tagger(options: Annotate) -> str:
    """The digest of what tags tokens; raises as ``digest_of_annotator``."""
    return _digest(TAGGER, options)


def digest_of_annotator(options: Annotate) -> str:
    """The digest of the annotator that the settings name, for fingerprints.

    Raises:
        JobError: there is none of that name, or its model is not installed.
    """
    return _digest(options.annotator, options)


def _digest(name: str, options: Annotate) -> str:
    try:
        return annotator_digest(name, options.model, archives_of(options))
    except ArchiveError as error:
        raise JobError(f"annotate.ner_archive, annotate.coreference_archive: {error}") from error
    except ValueError as error:  # the message says what to do
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
