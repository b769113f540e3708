"""The readers as functions from Arrow batches to Arrow batches: what executors run.

Each takes and gives iterators of record batches, for ``DataFrame.mapInArrow``; plain columns keep
the way from Python to Spark short. Batches are limited by rows and by bytes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from udfs.article_urls import article_id_of_url, listed_urls, url_key
from udfs.sources.archives import BadArchive, members_of
from udfs.sources.articles import make_candidate
from udfs.sources.files import open_stream, read_small_file
from udfs.sources.identity import signature_of, story_id
from udfs.sources.listing import STAND_OFF_FOLDERS, Place, files_of, look_at
from udfs.sources.outcomes import Candidate, RawArticle, SourceRules
from udfs.sources.records import Record, read_jsonl, read_parquet

MAX_ROWS = 256
MAX_BYTES = 8 * 1024 * 1024

_INT = pa.int32()
_SPANS = pa.list_(pa.struct([("start", _INT), ("end", _INT)]))
# Columns that are no strings.
_TYPES = {
    **dict.fromkeys(("source", "fold"), _INT),
    **dict.fromkeys(("size", "modified_ns", "number"), pa.int64()),
    **dict.fromkeys(("recursive", "is_file", "in_hermann_list"), pa.bool_()),
    **dict.fromkeys(("content", "story", "tokens", "entities"), pa.binary()),
    **dict.fromkeys(("paragraphs", "highlights"), _SPANS),
    "stand_off": pa.list_(pa.struct([("start", _INT), ("end", _INT), ("cluster", _INT)])),
    "notes": pa.list_(pa.string()),
    "shingle_hashes": pa.list_(pa.int64()),
}


def _columns(names: str) -> pa.Schema:
    return pa.schema([(name, _TYPES.get(name, pa.string())) for name in names.split()])


ROOT_SCHEMA = _columns("source kind root relative recursive is_file")
FILE_SCHEMA = _columns("source role unit article_id root relative size modified_ns")
URL_SCHEMA = _columns("article_id listed_url url_key in_hermann_list")
MEMBER_SCHEMA = _columns("source path relative unit article_id role number item content reject_reason reject_detail")
RAW_SCHEMA = _columns(
    "source path item format relative article_id url listed_url in_hermann_list story tokens entities "
    "reject_reason reject_detail"
)
CANDIDATE_SCHEMA = _columns(
    "source article_id url url_key origin publisher format source_path source_item source_signature text paragraphs "
    "highlights stand_off notes shingle_hashes content_hash fold reject_reason reject_detail"
)

Batches = Iterator[pa.RecordBatch]
Reader = Callable[[Batches], Batches]
_Item = TypeVar("_Item")


def look_at_roots(batches: Batches, paths: Sequence[str]) -> Batches:
    """For each number ``id`` of a path: its places and lists of URLs; one that isn't there gives ``missing``."""
    rows: list[tuple[Any, ...]] = []
    for number in _ids(batches):
        root = look_at(paths[number])
        if not root.places:
            rows.append((number, "missing", paths[number], "", False, False))
        rows += [(number, "place", p.root, p.relative, p.recursive, p.is_file) for p in root.places]
        for kind, names in (("url_list", root.url_lists), ("hermann_url_list", root.hermann_url_lists)):
            rows += [(number, kind, name, "", False, True) for name in names]
    yield from _in_batches(rows, ROOT_SCHEMA)


def list_files(batches: Batches, places: Sequence[tuple[int, Place]]) -> Batches:
    """The files in the places with the numbers ``id``; ``places`` pairs each with its source."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in _ids(batches):
            source, place = places[number]
            for f in files_of(place):
                article_id = _id_of(place.root, f.role, f.relative, f.unit)
                yield source, f.role, f.unit, article_id, place.root, f.relative, f.size, f.modified_ns

    return _in_batches(rows(), FILE_SCHEMA, max_rows=10_000)


def _id_of(root: str, role: str, relative: str, unit: str) -> str | None:
    """The article's id; of stand-off, the id that its story has; None for files that hold many articles."""
    if role in STAND_OFF_FOLDERS:
        return story_id(root, f"{unit}.story")
    return story_id(root, relative) if role in ("story", "page") else None


def read_url_lists(batches: Batches, lists: Sequence[tuple[str, bool]]) -> Batches:
    """The URLs of the lists with the numbers ``id``, with the article ids that they name; ``lists`` pairs each
    path with whether it is one of the public script's."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in _ids(batches):
            path, is_hermann = lists[number]
            with open_stream(path) as stream:
                lines = stream.read().decode("utf-8", "replace").split("\n")
            for url in listed_urls(lines):
                yield article_id_of_url(url), url, url_key(url), is_hermann

    return _in_batches(rows(), URL_SCHEMA, max_rows=10_000)


def read_stories(batches: Batches, rules: Sequence[SourceRules]) -> Batches:
    """Reads and parses the stories with their stand-off, and the pages, that the rows of the work list name.

    Stand-off without a story (kind ``stand_off``) is a reject.
    """

    def candidates() -> Iterator[Candidate]:
        for batch in batches:
            for row in batch.to_pylist():
                yield _parsed(_open_story(row), rules)

    return _candidate_batches(candidates())


def _open_story(row: dict[str, Any]) -> RawArticle:
    made_of = "html" if row["kind"] == "page" else "story"
    raw = RawArticle(row["source"], row["path"], "", "", made_of, row["relative"], row["article_id"])
    raw.listed_url, raw.in_hermann_list = row["listed_url"], row["in_hermann_list"]
    if row["kind"] == "stand_off":
        names = " and ".join(filter(None, (row["tokens_path"], row["entities_path"])))
        raw.reject_reason, raw.reject_detail = "stand_off_without_story", f"no story for {names}"
        return raw
    try:
        raw.story = read_small_file(row["path"])
        raw.tokens = read_small_file(row["tokens_path"]) if row["tokens_path"] else None
        raw.entities = read_small_file(row["entities_path"]) if row["entities_path"] else None
    except OSError as error:
        raw.reject_reason, raw.reject_detail = "unreadable_file", f"{type(error).__name__}: {error}"
    return raw


def _parsed(raw: RawArticle, rules: Sequence[SourceRules]) -> Candidate:
    raw.signature = signature_of(raw)
    return make_candidate(raw, rules[raw.source])


def open_archives(batches: Batches) -> Batches:
    """The members of the archives, as they come; what breaks an archive is its last row, of role ``reject``."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for batch in batches:
            for row in batch.to_pylist():
                yield from _members(row)

    return _in_batches(rows(), MEMBER_SCHEMA)


def _members(row: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    source, path = row["source"], row["path"]
    root = path[: -len(row["relative"]) - 1]
    number = 0
    try:
        with open_stream(path) as stream:
            for m in members_of(stream):
                number += 1
                relative = f"{row['relative']}/{m.name}"
                article_id = _id_of(root, m.role, relative, f"{row['relative']}/{m.unit}")
                yield source, path, relative, m.unit, article_id, m.role, number, m.name, m.content, None, None
        return
    except BadArchive as error:
        reason, detail = error.reason, error.detail
    except OSError as error:
        reason, detail = "unreadable_file", f"{type(error).__name__}: {error}"
    yield source, path, row["relative"], "", None, "reject", number + 1, "", None, reason, detail


def open_records(batches: Batches) -> Batches:
    """The records of JSONL and Parquet files as raw articles."""

    def raws() -> Iterator[tuple[Any, ...]]:
        for batch in batches:
            for row in batch.to_pylist():
                read = read_parquet if row["kind"] == "parquet" else read_jsonl
                for record in read(row["path"]):
                    yield _values(_raw_of(row, record))

    return _in_batches(raws(), RAW_SCHEMA)


def _raw_of(row: dict[str, Any], record: Record) -> RawArticle:
    return RawArticle(
        source=row["source"],
        path=row["path"],
        item=record.item,
        signature="",
        format=row["kind"],
        relative=row["relative"],
        article_id=record.article_id,
        url=record.url,
        story=record.story,
        reject_reason=record.reject_reason,
        reject_detail=record.reject_detail,
    )


_values = attrgetter(*RAW_SCHEMA.names)


def parse_raw(batches: Batches, rules: Sequence[SourceRules]) -> Batches:
    """Parses raw articles, as archives and record files give them (columns of ``RAW_SCHEMA``)."""

    def candidates() -> Iterator[Candidate]:
        for batch in batches:
            for row in batch.to_pylist():
                yield _parsed(RawArticle(**row, signature=""), rules)

    return _candidate_batches(candidates())


def counted(read: Reader, count_done: Callable[[int], None]) -> Reader:
    """``read``, telling ``count_done`` how many rows of its input are behind it."""

    def counting(batches: Batches) -> Batches:
        for batch in batches:
            yield batch
            count_done(batch.num_rows)

    return lambda batches: read(counting(batches))


def _ids(batches: Batches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _in_batches(rows: Iterable[tuple[Any, ...]], schema: pa.Schema, max_rows: int = MAX_ROWS) -> Batches:
    def to_batch(chunk: list[tuple[Any, ...]]) -> pa.RecordBatch:
        columns = [pa.array(c, type=f.type) for c, f in zip(zip(*chunk, strict=True), schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    yield from map(to_batch, _chunks(rows, lambda row: sum(len(v) for v in row if isinstance(v, bytes)), max_rows))


def _candidate_batches(candidates: Iterable[Candidate]) -> Batches:
    yield from map(_candidate_batch, _chunks(candidates, lambda c: len(c.text or ""), MAX_ROWS))


def _chunks(items: Iterable[_Item], size_of: Callable[[_Item], int], max_rows: int) -> Iterator[list[_Item]]:
    chunk: list[_Item] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += size_of(item)
        if len(chunk) >= max_rows or size >= MAX_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _candidate_batch(rows: list[Candidate]) -> pa.RecordBatch:
    columns = {f.name: [getattr(r, f.name) for r in rows] for f in fields(Candidate)}
    arrays = []
    for field in CANDIDATE_SCHEMA:
        values = columns[field.name]
        if field.name in ("paragraphs", "highlights", "stand_off"):
            arrays.append(_span_lists(values, field.type))
        else:
            arrays.append(pa.array(values, type=field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=CANDIDATE_SCHEMA)


def _span_lists(rows: list[Sequence[tuple[Any, ...]] | None], kind: pa.ListType) -> pa.ListArray:
    """Lists of spans built column by column: as dictionaries they would cost more than parsing the article."""
    names = [f.name for f in kind.value_type]
    spans = list(chain.from_iterable(row or () for row in rows))
    columns = [pa.array([s[i] for s in spans], type=_INT) for i in range(len(names))]
    offsets = np.cumsum([0, *(len(row or ()) for row in rows)], dtype=np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets),
        pa.StructArray.from_arrays(columns, names=names),
        type=kind,
        mask=pa.array([row is None for row in rows]),
    )
