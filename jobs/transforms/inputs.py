"""Ingest: which files there are, and which of them a run has to read.

Files are listed by executors; the driver sees the sources' paths and their folders, two levels deep.
An input is what is read as one: a story with its stand-off, a page, an archive or a record file.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from jobs.job_support.settings import Ingest, SettingsError, stage_hash
from jobs.transforms.overlap import listed_in_hermann, standing_rejects
from udfs.sources import arrow_batches as A
from udfs.sources.files import normal_path
from udfs.sources.listing import STORY_FOLDERS, Place
from udfs.sources.outcomes import SourceRules

MAX_LISTING_TASKS = 1_000

INPUT_COLUMNS = (
    "source",
    "kind",
    "path",
    "relative",
    "article_id",
    "tokens_path",
    "entities_path",
    "page_path",
    "signature",
    "size",
)
# Kind of the rows of the work list that are no inputs any more: what was made of them goes.
GONE = "gone"


def schema_of(schema: pa.Schema) -> T.StructType:
    made: T.StructType = from_arrow_schema(schema)
    return made


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
    for row in by_number(spark, len(paths)).mapInArrow(look, schema_of(A.ROOT_SCHEMA)).collect():
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
    """One row per input: a story with its stand-off, a page, an archive, or a record file.

    A page whose story is there is no input: the story was made from it. Stand-off with neither is one, of
    kind ``stand_off``, under the path of its first file: it becomes a reject.

    ``signature`` is the time of change of the input's newest file, in nanoseconds, then the SHA-1 over path,
    size and time of all of its files: it changes with every edit, and a later one sorts after an earlier.
    """
    files = by_number(spark, len(roots.places)).mapInArrow(
        partial(A.list_files, places=roots.places), schema_of(A.FILE_SCHEMA)
    )

    def newest(roles: Column) -> Column:
        return F.max(F.when(roles, F.struct("role", "relative", "article_id")))

    # Stories, stand-off and pages lie in different folders, which different tasks list: they meet here.
    # "story" sorts after "page": where both are there, the story is read.
    role = F.col("role")
    units = (
        files.groupBy("source", "root", "unit")
        .agg(
            F.array_sort(F.collect_list(F.struct("role", "relative", "size", "modified_ns"))).alias("files"),
            newest(~role.isin("tokens", "entities")).alias("main"),
            *(newest(role == r).alias(r) for r in ("tokens", "entities", "page")),
        )
        .withColumn("kind", F.coalesce("main.role", F.lit("stand_off")))
        .withColumn("main", F.coalesce("main", "tokens", "entities"))
        .withColumn("files", F.expr("filter(files, f -> f.role != 'page' or kind = 'page')"))
    )

    def in_root(name: Column) -> Column:
        return F.when(name.isNotNull(), F.concat_ws("/", "root", name))

    seen = F.expr("transform(files, f -> concat_ws('|', f.relative, f.size, f.modified_ns))")
    modified = F.expr("array_max(transform(files, f -> f.modified_ns))").cast("string")
    inputs = units.select(
        "source",
        "kind",
        in_root(F.col("main.relative")).alias("path"),
        F.col("main.relative").alias("relative"),
        F.col("main.article_id").alias("article_id"),
        *(in_root(F.col(f"{r}.relative")).alias(f"{r}_path") for r in ("tokens", "entities", "page")),
        F.concat_ws("-", F.lpad(modified, 20, "0"), F.sha1(F.concat_ws("\n", seen))).alias("signature"),
        F.expr("aggregate(files, 0L, (total, f) -> total + f.size)").alias("size"),
    )
    # A file that two sources hold belongs to the first.
    first = Window.partitionBy("path").orderBy("source")
    return inputs.withColumn("nth", F.row_number().over(first)).where("nth = 1").select(*INPUT_COLUMNS)


def read_url_lists(spark: SparkSession, roots: Roots) -> DataFrame:
    """(article_id, listed_url, url_key, in_hermann_list) of all listed URLs; the id is the SHA-1 of the exact URL."""
    return (
        by_number(spark, len(roots.url_lists))
        .mapInArrow(partial(A.read_url_lists, lists=roots.url_lists), schema_of(A.URL_SCHEMA))
        .groupBy("article_id")
        .agg(
            F.min("listed_url").alias("listed_url"),
            F.min("url_key").alias("url_key"),
            F.max("in_hermann_list").alias("in_hermann_list"),
        )
    )


def with_settings(listed: DataFrame, urls: DataFrame, roots: Roots, *, settings_hash: str, urls_hash: str) -> DataFrame:
    """The inputs with signatures that change with what decides how they are read: settings, rules of the source,
    and the lists of URLs. Of a story or page its own line counts; of an archive or record file, which may hold
    any, all do.

    The time of change stays in front: a later one sorts after an earlier.
    """
    hashes = [stage_hash(settings_hash, repr(rules)) for rules in roots.rules]
    of_source = F.element_at(F.array(*map(F.lit, hashes)), F.col("source") + 1)
    own_line = F.sha1(F.concat_ws("|", "listed_url", F.col("in_hermann_list").cast("string")))
    lines = urls.select("article_id", own_line.alias("line")) if roots.url_lists else None
    kind = F.col("kind")
    of_lists = (
        F.when(kind.isin("story", "page"), F.coalesce("line", F.lit("")))
        .when(kind == "stand_off", F.lit(""))
        .otherwise(F.lit(urls_hash))
    )
    known = listed.withColumn("line", F.lit("")) if lines is None else listed.join(lines, on="article_id", how="left")
    signature = F.concat_ws("-", "signature", F.sha1(F.concat_ws("|", of_source, of_lists)))
    return known.withColumn("signature", signature).select(*INPUT_COLUMNS)


def work_list(listed: DataFrame, *, inputs: DataFrame, freed: DataFrame, roots: Roots) -> DataFrame:
    """The inputs to read: new ones, those that changed since they were read, and those that ``freed`` names; and,
    as kind ``gone``, what was an input of its own and now belongs to another, whose story came; that one is read too.

    Args:
        listed: ``with_settings``.
        inputs: the table.
        freed: ``freed_inputs``.
    """
    gone = _gone(listed, inputs, roots)
    again = freed.select("path").unionByName(gone.where("heir is not null").select(F.col("heir").alias("path")))
    known = inputs.select("path", "signature").join(again, on="path", how="left_anti")
    to_read = listed.join(known, on=["path", "signature"], how="left_anti").select(*INPUT_COLUMNS)
    rows = inputs.join(gone.select("path"), on="path", how="left_semi").withColumn("kind", F.lit(GONE))
    return to_read.unionByName(rows, allowMissingColumns=True).select(*INPUT_COLUMNS)


def _gone(listed: DataFrame, inputs: DataFrame, roots: Roots) -> DataFrame:
    """(path, heir) of pages and stand-off that stood alone: the input that they belong to now, or null where
    stand-off was deleted. Articles stay when their file is deleted; a reject for want of a story has no use then."""
    parts = (
        listed.select(
            F.col("path").alias("heir"),
            F.explode(F.array_compact(F.array("tokens_path", "entities_path", "page_path"))).alias("path"),
        )
        .groupBy("path")
        .agg(F.max("heir").alias("heir"))
    )
    stood_alone = inputs.where("kind in ('stand_off', 'page')").select("path", "kind")
    return (
        stood_alone.join(listed.select("path"), on="path", how="left_anti")
        .join(parts, on="path", how="left")
        .where(F.col("heir").isNotNull() | ((F.col("kind") == "stand_off") & _was_listed(roots)))
        .select("path", "heir")
    )


def _was_listed(roots: Roots) -> Column:
    """Whether ``path`` lies where this run looked: a run over other sources says nothing about it."""
    of_source: dict[tuple[int, str], set[str]] = {}
    for source, place in roots.places:
        if not place.is_file:
            of_source.setdefault((source, place.root), set()).add(place.relative)
    found: Column = F.lit(False)
    for (_, root), relatives in of_source.items():
        # Without the root itself among its places only the folders of stories were looked at.
        for folder in ("",) if "" in relatives else STORY_FOLDERS:
            found = found | F.startswith(F.col("path"), F.lit("/".join(filter(None, (root, folder))) + "/"))
    return found


def freed_inputs(*, articles: DataFrame, rejects: DataFrame, urls: DataFrame) -> DataFrame:
    """(path) of the inputs to read again although they did not change: they hold articles that were rejected
    because of another one, which has changed or is gone.

    * ``also_in_hermann`` rests on what the counterpart shares with the article (``overlap.counterpart_of``);
    * a double rests on its id: it stands for itself once neither an article nor a crawled one that Hermann's
      have too has that id.

    Args:
        articles: the table.
        rejects: ingest's rows of the table.
        urls: ``read_url_lists``.
    """
    in_hermann = rejects.where("reason = 'also_in_hermann'")
    columns = ("article_id", "url_key", "content_hash")
    hermann = articles.where("origin = 'hermann'").select(*columns)
    standing = standing_rejects(in_hermann, hermann.unionByName(listed_in_hermann(urls).select(*columns)))
    no_twins = in_hermann.join(standing, on=["input", "item"], how="left_anti")
    doubles = (
        rejects.where("reason in ('duplicate_article', 'superseded_article')")
        .join(articles.select("article_id"), on="article_id", how="left_anti")
        .join(standing.select("article_id"), on="article_id", how="left_anti")
    )
    return no_twins.select(F.col("input").alias("path")).unionByName(doubles.select(F.col("input").alias("path")))


def by_number(spark: SparkSession, n: int) -> DataFrame:
    """The numbers 0 to n - 1 in column ``id``, one to a task as far as ``MAX_LISTING_TASKS`` go."""
    return spark.range(0, n, 1, max(1, min(n, MAX_LISTING_TASKS)))
