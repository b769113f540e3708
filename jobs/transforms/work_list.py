"""The work list of a stage: the one rule that decides what is missing (ARCHITECTURE: fingerprints)."""

from collections.abc import Mapping
from math import ceil

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

# Articles for one task of a stage that runs Python rules on them: about a second's work. Said in numbers, since
# Spark would make one task of one file, or of a join of some megabytes, and one worker would do it all.
ARTICLES_PER_TASK = 500

NEW, CHANGED, REMOVED = "new", "changed", "removed"


def work_list(wanted: DataFrame, done: DataFrame, *, key: str = "article_id") -> DataFrame:
    """What a stage has to do.

    Args:
        wanted: (key, fingerprint) of the rows that the stage's inputs and settings would make; key unique.
        done: (key, fingerprint) of the rows that are there. A key with two of them, as a run leaves that broke
            off between two tables, counts as made from something else.

    Returns:
        (key, fingerprint, status): ``new``, ``changed`` (made from another input, setting or model) or
        ``removed`` (its input is gone; fingerprint null). Rows that are as wanted are not in it.
    """
    several = F.count_distinct("fingerprint") > 1
    there = done.groupBy(key).agg(F.when(several, "several").otherwise(F.first("fingerprint")).alias("_done"))
    status = (
        F.when(F.col("_done").isNull(), NEW)
        .when(F.col("fingerprint").isNull(), REMOVED)
        .when(F.col("fingerprint") != F.col("_done"), CHANGED)
    )
    return (
        wanted.select(key, "fingerprint")
        .join(there, on=key, how="full_outer")
        .withColumn("status", status)
        .where("status is not null")
        .select(key, "fingerprint", "status")
    )


def count_by_status(work: DataFrame) -> dict[str, int]:
    """How many are new, changed and removed: the driver's view of a work list; an empty one: nothing to do."""
    return {r["status"]: r["count"] for r in work.groupBy("status").count().collect()}


def count_to_make(counts: Mapping[str, int]) -> int:
    """How many articles a stage has to make rows of."""
    return counts.get(NEW, 0) + counts.get(CHANGED, 0)


def tasks_for(items: int, per_task: int = ARTICLES_PER_TASK) -> int:
    """How many tasks to deal ``items`` out to; two at least, for two cores."""
    return max(2, ceil(items / per_task))


def to_make(work: DataFrame) -> DataFrame:
    """The new and changed ones of a work list."""
    return work.where(F.col("status") != REMOVED)
