"""Ingest: from the work list (``inputs``) to candidates (``candidates`` makes articles and rejects of them).

Files are read by executors. Candidates have the columns of ``articles`` and ``source`` (its number in the
settings), ``reject_reason`` and ``reject_detail``; a row with a reason is a reject.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import ceil

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.transforms.inputs import Roots, schema_of
from udfs.sources import arrow_batches as A

STORIES_PER_TASK = 500
# About as much as 500 stories hold.
RECORD_BYTES_PER_TASK = 2_500_000

CANDIDATES = schema_of(A.CANDIDATE_SCHEMA)


def reading_tasks(by_kind: Mapping[str, tuple[int, int]], *, stories_per_task: int = STORIES_PER_TASK) -> int:
    """How many tasks to read with: about ``stories_per_task`` articles each, and one for each archive.

    Args:
        by_kind: files and bytes on the work list, by kind.
    """
    stories = sum(by_kind.get(kind, (0, 0))[0] for kind in ("story", "page", "stand_off"))
    archives, _ = by_kind.get("archive", (0, 0))
    record_bytes = sum(by_kind.get(kind, (0, 0))[1] for kind in ("jsonl", "parquet"))
    bytes_per_task = RECORD_BYTES_PER_TASK * stories_per_task / STORIES_PER_TASK
    return max(1, archives, ceil(stories / stories_per_task), ceil(record_bytes / bytes_per_task))


def read_inputs(
    inputs: DataFrame,
    *,
    roots: Roots,
    urls: DataFrame,
    tasks: int,
    count_done: Callable[[int], None] = lambda _: None,
) -> DataFrame:
    """Reads the work list: its candidates, one row for each article and each thing that is none.

    Args:
        inputs: ``inputs.work_list``; used three times: pass it cached.
        urls: ``inputs.read_url_lists``.
        tasks: ``reading_tasks`` of the work list.
        count_done: called on executors with the number of inputs read.
    """

    def counted(read: A.Reader) -> A.Reader:
        return A.counted(read, count_done)

    stories = _read_stories(inputs.where("kind in ('story', 'page', 'stand_off')"), roots, urls, tasks, counted)
    raw = _of_archives(inputs.where("kind = 'archive'"), tasks, counted).unionByName(
        _of_records(inputs.where("kind in ('jsonl', 'parquet')"), tasks, counted)
    )
    parsed = _with_urls(raw, urls, roots).select(*A.RAW_SCHEMA.names)
    return stories.unionByName(parsed.mapInArrow(partial(A.parse_raw, rules=roots.rules), CANDIDATES))


def _read_stories(
    inputs: DataFrame, roots: Roots, urls: DataFrame, tasks: int, counted: Callable[[A.Reader], A.Reader]
) -> DataFrame:
    # The URLs are joined to the paths, before there is any text to move. Dealt out one by one: even tasks.
    return (
        _with_urls(inputs, urls, roots)
        .repartition(tasks)
        .mapInArrow(counted(partial(A.read_stories, rules=roots.rules)), CANDIDATES)
    )


def _of_records(files: DataFrame, tasks: int, counted: Callable[[A.Reader], A.Reader]) -> DataFrame:
    """Raw articles of JSONL and Parquet: one task opens a file, then its records are dealt out to be parsed."""
    opened = files.repartitionByRange(tasks, "path").mapInArrow(counted(A.open_records), schema_of(A.RAW_SCHEMA))
    return opened.drop("listed_url", "in_hermann_list").repartition(tasks)


def _with_urls(rows: DataFrame, urls: DataFrame, roots: Roots) -> DataFrame:
    if not roots.url_lists:
        return rows.withColumns({"listed_url": F.lit(None).cast("string"), "in_hermann_list": F.lit(False)})
    joined = rows.join(urls.drop("url_key"), on="article_id", how="left")
    return joined.withColumn("in_hermann_list", F.coalesce("in_hermann_list", F.lit(False)))


def _of_archives(archives: DataFrame, tasks: int, counted: Callable[[A.Reader], A.Reader]) -> DataFrame:
    """Raw articles of the archives: one task streams an archive, then what belongs to a story meets in a group.

    As in folders the story goes before its page, and stand-off with neither is a reject.
    """
    opened = archives.repartitionByRange(tasks, "path").mapInArrow(counted(A.open_archives), schema_of(A.MEMBER_SCHEMA))
    member = F.struct("item", "relative", "article_id", "content")

    def last(role: str) -> Column:
        # Of members with one name the last counts, as when an archive is unpacked.
        return F.max_by(member, F.when(F.col("role") == role, F.col("number"))).alias(role)

    units = (
        opened.groupBy("source", "path", "unit")
        .agg(
            *map(last, ("story", "page", "reject", "tokens", "entities")),
            F.max("reject_reason").alias("reason"),
            F.max("reject_detail").alias("detail"),
        )
        .withColumn("read", F.coalesce("story", "page", "reject"))
        .withColumn("main", F.coalesce("read", "tokens", "entities"))
    )
    no_story = F.col("read").isNull()
    for_what = F.concat(F.lit("no story for "), F.concat_ws(" and ", "tokens.item", "entities.item"))
    return units.select(
        "source",
        "path",
        "main.item",
        F.when(F.col("story").isNull() & F.col("page").isNotNull(), "html").otherwise("story").alias("format"),
        "main.relative",
        "main.article_id",
        F.lit(None).cast("string").alias("url"),
        F.col("read.content").alias("story"),
        F.col("tokens.content").alias("tokens"),
        F.col("entities.content").alias("entities"),
        F.when(no_story, "stand_off_without_story").otherwise(F.col("reason")).alias("reject_reason"),
        F.when(no_story, for_what).otherwise(F.col("detail")).alias("reject_detail"),
    )


def unmatched_urls(urls: DataFrame, *, articles: DataFrame) -> DataFrame:
    """Listed URLs of which there is no article."""
    return urls.join(articles.select("article_id"), on="article_id", how="left_anti").select("article_id", "listed_url")
