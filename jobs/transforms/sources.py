"""Ingest: from the sources of the settings to candidates (``candidates`` makes articles and rejects of them).

Files are listed and read by executors; the driver sees the sources' paths and their folders, two levels
deep. Candidates have the columns of ``articles`` and ``source`` (its number in the settings),
``reject_reason`` and ``reject_detail``; a row with a reason is a reject.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.job_support.settings import Ingest, SettingsError, stage_hash
from udfs.sources import arrow_batches as A
from udfs.sources.files import normal_path
from udfs.sources.listing import Place
from udfs.sources.outcomes import SourceRules

STORIES_PER_TASK = 500
# About as much as 500 stories hold.
RECORD_BYTES_PER_TASK = 2_500_000
MAX_LISTING_TASKS = 1_000

INPUT_COLUMNS = (
    "source",
    "kind",
    "path",
    "relative",
    "article_id",
    "tokens_path",
    "entities_path",
    "signature",
    "size",
)


def _schema(schema: pa.Schema) -> T.StructType:
    made: T.StructType = from_arrow_schema(schema)
    return made


CANDIDATES = _schema(A.CANDIDATE_SCHEMA)


@dataclass(frozen=True)
class Roots:
    """What stands at the sources' paths. ``url_lists`` pairs each list's path with whether it is Hermann's."""

    keys: tuple[str, ...]
    places: tuple[tuple[int, Place], ...]
    rules: tuple[SourceRules, ...]
    url_lists: tuple[tuple[str, bool], ...]


def find_roots(spark: SparkSession, ingest: Ingest) -> Roots:
    """Looks at the sources' paths, on executors.

    Raises:
        SettingsError: no source is set, or a source or a list of URLs does not exist.
    """
    if not ingest.sources:
        raise SettingsError("ingest.sources is empty: name at least one source, as [[ingest.sources]] with path = ...")
    lists = [(f"ingest.hermann_url_lists[{i}]", p) for i, p in enumerate(ingest.hermann_url_lists)]
    for n, source in enumerate(ingest.sources):
        lists += [(f"ingest.sources[{n}].url_lists[{i}]", p) for i, p in enumerate(source.url_lists)]
    keys = [f"ingest.sources[{n}].path" for n in range(len(ingest.sources))] + [key for key, _ in lists]
    paths = [normal_path(s.path) for s in ingest.sources] + [normal_path(p) for _, p in lists]
    found: dict[int, list[Any]] = {n: [] for n in range(len(paths))}
    look = partial(A.look_at_roots, paths=paths)
    for row in _by_number(spark, len(paths)).mapInArrow(look, _schema(A.ROOT_SCHEMA)).collect():
        if row.kind == "missing":
            raise SettingsError(f"{keys[row.source]}: no such file or folder: {row.root}")
        if row.source >= len(ingest.sources) and not row.is_file:
            raise SettingsError(f"{keys[row.source]}: a folder, not a list of URLs: {paths[row.source]}")
        found[row.source].append(row)
    return _roots_of(ingest, keys, paths, found)


def _roots_of(ingest: Ingest, keys: list[str], paths: list[str], found: dict[int, list[Any]]) -> Roots:
    places: list[tuple[int, Place]] = []
    rules: list[SourceRules] = []
    url_lists = {path: True for path in paths[len(ingest.sources) :][: len(ingest.hermann_url_lists)]}
    for n, source in enumerate(ingest.sources):
        rows = found[n]
        places += [(n, Place(r.root, r.relative, r.recursive, r.is_file)) for r in rows if r.kind == "place"]
        own = [normal_path(p) for p in source.url_lists]
        hermann = {r.root for r in rows if r.kind == "hermann_url_list"}
        own = own or [r.root for r in rows if r.kind == "url_list"]
        for path in own:
            url_lists[path] = url_lists.get(path, False) or path in hermann
        name = rows[0].root.rpartition("/")[2]
        rules.append(SourceRules(name, source.origin, source.publisher, bool(own)))
    return Roots(tuple(keys[: len(rules)]), tuple(places), tuple(rules), tuple(url_lists.items()))


def list_inputs(spark: SparkSession, roots: Roots) -> DataFrame:
    """One row per input: a story with its stand-off, an archive, or a record file.

    ``signature`` is the time of change of the input's newest file, in nanoseconds, then the SHA-1 over path,
    size and time of all of its files: it changes with every edit, and a later one sorts after an earlier.
    """
    files = _by_number(spark, len(roots.places)).mapInArrow(
        partial(A.list_files, places=roots.places), _schema(A.FILE_SCHEMA)
    )
    # Stories and stand-off lie in different folders, which different tasks list: they meet here.
    file = F.struct("role", "relative", "size", "modified_ns")
    units = files.groupBy("source", "root", "unit").agg(
        F.array_sort(F.collect_list(file)).alias("files"),
        F.max("modified_ns").alias("modified_ns"),
        F.sum("size").alias("size"),
        F.max("article_id").alias("article_id"),
        *(F.max(F.when(F.col("role") == r, F.col("relative"))).alias(r) for r in ("tokens", "entities")),
        F.max(F.when(~F.col("role").isin("tokens", "entities"), F.struct("role", "relative"))).alias("main"),
    )
    seen = F.expr("transform(files, f -> concat_ws('|', f.relative, f.size, f.modified_ns))")
    in_root = partial(F.concat_ws, "/", F.col("root"))
    inputs = units.where("main is not null").select(  # stand-off without a story is no input
        "source",
        F.col("main.role").alias("kind"),
        in_root(F.col("main.relative")).alias("path"),
        F.col("main.relative").alias("relative"),
        "article_id",
        F.when(F.col("tokens").isNotNull(), in_root(F.col("tokens"))).alias("tokens_path"),
        F.when(F.col("entities").isNotNull(), in_root(F.col("entities"))).alias("entities_path"),
        F.concat_ws("-", F.lpad(F.col("modified_ns").cast("string"), 20, "0"), F.sha1(F.concat_ws("\n", seen))).alias(
            "signature"
        ),
        "size",
    )
    # A file that two sources hold belongs to the first.
    first = Window.partitionBy("path").orderBy("source")
    return inputs.withColumn("nth", F.row_number().over(first)).where("nth = 1").select(*INPUT_COLUMNS)


def with_settings(listed: DataFrame, urls: DataFrame, roots: Roots, *, settings_hash: str, urls_hash: str) -> DataFrame:
    """The inputs with signatures that change with what decides how they are read: settings, rules of the source,
    and the lists of URLs. Of a story its own line counts; of an archive or record file, which may hold any, all do.

    The time of change stays in front: a later one sorts after an earlier.
    """
    hashes = [stage_hash(settings_hash, repr(rules)) for rules in roots.rules]
    of_source = F.element_at(F.array(*map(F.lit, hashes)), F.col("source") + 1)
    own_line = F.sha1(F.concat_ws("|", "listed_url", F.col("in_hermann_list").cast("string")))
    lines = urls.select("article_id", own_line.alias("line")) if roots.url_lists else None
    of_lists = F.when(F.col("kind") == "story", F.coalesce("line", F.lit(""))).otherwise(urls_hash)
    known = listed.withColumn("line", F.lit("")) if lines is None else listed.join(lines, on="article_id", how="left")
    signature = F.concat_ws("-", "signature", F.sha1(F.concat_ws("|", of_source, of_lists)))
    return known.withColumn("signature", signature).select(*INPUT_COLUMNS)


def known_inputs(inputs: DataFrame, *, articles: DataFrame, rejects: DataFrame) -> DataFrame:
    """(path, signature) of the inputs that were read before and need not be read again.

    An article that was rejected because another stands for its id is read again once that one is gone.

    Args:
        inputs, articles, rejects: the tables.
    """
    stands_for_it = F.col("reason").isin("duplicate_article", "superseded_article") & (F.col("stage") == "ingest")
    in_hermann = rejects.where("reason = 'also_in_hermann'").select("article_id")  # its doubles stay rejected too
    freed = (
        rejects.where(stands_for_it)
        .join(articles.select("article_id"), on="article_id", how="left_anti")
        .join(in_hermann, on="article_id", how="left_anti")
    )
    return inputs.join(freed.select(F.col("input").alias("path")), on="path", how="left_anti").select(
        "path", "signature"
    )


def new_inputs(inputs: DataFrame, *, known: DataFrame) -> DataFrame:
    """The work list: inputs that are new, or changed since they were read."""
    return inputs.join(known, on=["path", "signature"], how="left_anti").select(*INPUT_COLUMNS)


def reading_tasks(by_kind: Mapping[str, tuple[int, int]], *, stories_per_task: int = STORIES_PER_TASK) -> int:
    """How many tasks to read with: about ``stories_per_task`` articles each, and one for each archive.

    Args:
        by_kind: files and bytes on the work list, by kind.
    """
    stories, _ = by_kind.get("story", (0, 0))
    archives, _ = by_kind.get("archive", (0, 0))
    record_bytes = sum(by_kind.get(kind, (0, 0))[1] for kind in ("jsonl", "parquet"))
    bytes_per_task = RECORD_BYTES_PER_TASK * stories_per_task / STORIES_PER_TASK
    return max(1, archives, ceil(stories / stories_per_task), ceil(record_bytes / bytes_per_task))


def read_url_lists(spark: SparkSession, roots: Roots) -> DataFrame:
    """(article_id, listed_url, url_key, in_hermann_list) of all listed URLs; the id is the SHA-1 of the exact URL."""
    return (
        _by_number(spark, len(roots.url_lists))
        .mapInArrow(partial(A.read_url_lists, lists=roots.url_lists), _schema(A.URL_SCHEMA))
        .groupBy("article_id")
        .agg(
            F.min("listed_url").alias("listed_url"),
            F.min("url_key").alias("url_key"),
            F.max("in_hermann_list").alias("in_hermann_list"),
        )
    )


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
        inputs: ``new_inputs``; used three times: pass it cached.
        urls: ``read_url_lists``.
        tasks: ``reading_tasks`` of the work list.
        count_done: called on executors with the number of inputs read.
    """

    def counted(read: A.Reader) -> A.Reader:
        return A.counted(read, count_done)

    stories = _read_stories(inputs.where("kind = 'story'"), roots, urls, tasks, counted)
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
    opened = files.repartitionByRange(tasks, "path").mapInArrow(counted(A.open_records), _schema(A.RAW_SCHEMA))
    return opened.drop("listed_url", "in_hermann_list").repartition(tasks)


def _with_urls(rows: DataFrame, urls: DataFrame, roots: Roots) -> DataFrame:
    if not roots.url_lists:
        return rows.withColumns({"listed_url": F.lit(None).cast("string"), "in_hermann_list": F.lit(False)})
    joined = rows.join(urls.drop("url_key"), on="article_id", how="left")
    return joined.withColumn("in_hermann_list", F.coalesce("in_hermann_list", F.lit(False)))


def _of_archives(archives: DataFrame, tasks: int, counted: Callable[[A.Reader], A.Reader]) -> DataFrame:
    """Raw articles of the archives: one task streams an archive, then a story's members meet in a group."""
    members = archives.repartitionByRange(tasks, "path").mapInArrow(counted(A.open_archives), _schema(A.MEMBER_SCHEMA))

    def last(column: str, role: str) -> Any:
        # Of members with one name the last counts, as when an archive is unpacked.
        return F.max_by(column, F.when(F.col("role") == role, F.col("number")))

    grouped = members.groupBy("source", "path", "signature", "unit").agg(
        F.coalesce(last("item", "story"), F.lit("")).alias("item"),
        F.coalesce(last("relative", "story"), last("relative", "reject")).alias("relative"),
        *(last("content", role).alias(role) for role in ("story", "tokens", "entities")),
        F.max("article_id").alias("article_id"),
        F.max("reject_reason").alias("reject_reason"),
        F.max("reject_detail").alias("reject_detail"),
    )
    return grouped.where("relative is not null").select(
        "source",
        "path",
        "item",
        "signature",
        F.lit("story").alias("format"),
        "relative",
        "article_id",
        F.lit(None).cast("string").alias("url"),
        "story",
        "tokens",
        "entities",
        "reject_reason",
        "reject_detail",
    )


def unmatched_urls(urls: DataFrame, *, articles: DataFrame) -> DataFrame:
    """Listed URLs of which there is no article."""
    return urls.join(articles.select("article_id"), on="article_id", how="left_anti").select("article_id", "listed_url")


def _by_number(spark: SparkSession, n: int) -> DataFrame:
    """The numbers 0 to n - 1 in column ``id``, one to a task as far as ``MAX_LISTING_TASKS`` go."""
    return spark.range(0, n, 1, max(1, min(n, MAX_LISTING_TASKS)))
