"""Articles on which a stage failed: rejects, unless so many fail that the fault is hardly theirs; and errors of
workers in words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError
from jobs.job_support.settings import Limits
from jobs.job_support.store import Store

# Errors that are raised on workers and say in words what to do; they reach the driver inside a traceback.
_SAID = (
    "CheckpointError|TrainingError|VectorFileError|PipelineError|ModelFileError|"
    "OSError|PermissionError|NotADirectoryError|FileNotFoundError"
)
_IN_WORDS = re.compile(rf"^(?:\w+\.)*(?:{_SAID}): (.+)$", re.MULTILINE)

# So many articles may fail whatever their share: in a run of three, one is no sign of a broken stage.
FEW_FAILURES = 5


def with_failed(done: DataFrame, store: Store, stage: str) -> DataFrame:
    """(article_id, fingerprint) of the articles that a stage is done with: ``done``, and those that failed."""
    failed = store.read("rejects").where(F.col("stage") == stage)
    return done.select("article_id", "fingerprint").unionByName(failed.select("article_id", "fingerprint"))


def write_failures(
    store: Store, limits: Limits, *, stage: str, rejects: DataFrame, articles: DataFrame, tried: int
) -> int:
    """Makes ``rejects`` the only ones that the stage has of ``articles``; returns how many they are.

    Call it last: a reject marks its article as done, as the stage's rows do.

    Args:
        rejects: rows of the table; evaluated more than once: pass them staged.
        articles: article_id of all that the stage did, removed ones too.
        tried: how many articles the stage tried to make rows of.

    Raises:
        JobError: too many failed. They are no rejects, so the next run tries them again.
    """
    failed = rejects.count()
    if failed > max(FEW_FAILURES, limits.max_failed_share * tried):
        first = rejects.orderBy("input").collect()[0]
        raise JobError(
            f"{stage}: {failed:,} of {tried:,} articles failed, more than limits.max_failed_share = "
            f"{limits.max_failed_share}; the next run tries them again. The first: article {first.input}: "
            f"{first.detail}"
        )
    slices = articles.select(F.lit(stage).alias("stage"), F.col("article_id").alias("input"))
    store.replace_slices("rejects", rejects, slices)
    return failed


def withdraw_failures(store: Store, stage: str, articles: DataFrame) -> None:
    """Deletes the stage's rejects of ``articles``, before their rows are made anew."""
    slices = articles.select(F.lit(stage).alias("stage"), F.col("article_id").alias("input"))
    store.replace_slices("rejects", store.read("rejects").limit(0), slices)


@contextmanager
def worker_errors(what: str) -> Iterator[None]:
    """Turns errors of workers that say in words what to do into a JobError; others stay as they are.

    Args:
        what: what did not happen, for the message.
    """
    try:
        yield
    except PySparkException as error:
        found = _IN_WORDS.findall(str(error))
        if not found:
            raise
        raise JobError(f"{what}: {found[-1]}") from error
