"""Articles in record files: JSON lines and Parquet with the columns id, url, article, highlights.

The columns are those of the published CNN / Daily Mail tables. ``article`` is one string, paragraphs
apart by blank lines or, where it has none, by line breaks; ``highlights`` one string with a line each,
or a list. Of ``id`` and ``url`` one is needed.
"""

import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from udfs.sentence_split import split_sentences
from udfs.sources.files import Gunzipped, open_random, open_stream
from udfs.sources.identity import record_id
from udfs.spans import Span
from udfs.story_text import build_story

COLUMNS = ("id", "url", "article", "highlights")
MAX_LINE_BYTES = 64 * 1024 * 1024
# Records looked at before a file counts as not holding articles.
_LOOK_AHEAD = 100
_ROWS_AT_ONCE = 256
# White space tokens from which an article in one line counts as having lost its paragraphs.
LONG_PARAGRAPH = 100
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True)
class Record:
    """A record: an article's id, URL and story, or the reason why it is none. ``item`` is its line or row, from 1."""

    item: str
    article_id: str | None = None
    url: str | None = None
    story: bytes | None = None
    reject_reason: str | None = None
    reject_detail: str | None = None


def read_jsonl(path: str) -> Iterator[Record]:
    """The records of a file of JSON lines, gzipped where its name ends in ``.gz``; blank lines are skipped."""
    seen: list[Record] = []  # rejects held back until one record shows that the file holds articles
    is_articles = False
    lines = 0
    try:
        with open_stream(path) as raw:
            stream: Any = Gunzipped(raw) if path.lower().endswith(".gz") else raw
            for number, line in _lines(io.BufferedReader(stream, 1024 * 1024)):
                lines += 1
                record, has_columns = _of_line(str(number), line, path)
                if not is_articles:
                    seen.append(record)
                    is_articles = bool(has_columns)
                    if is_articles:
                        yield from seen
                    elif has_columns is False or len(seen) == _LOOK_AHEAD:
                        yield _not_articles(record, len(seen))
                        return
                else:
                    yield record
    except (OSError, EOFError, zlib.error) as error:
        yield Record("", reject_reason="unreadable_file", reject_detail=f"{error}, after {lines} lines")
        return
    if not lines:
        yield Record("", reject_reason="empty", reject_detail="no record")
    elif not is_articles:
        yield _not_articles(seen[-1], len(seen))


def _not_articles(last: Record, seen: int) -> Record:
    return Record("", reject_reason="not_articles", reject_detail=f"{last.reject_detail} (record {seen} of the file)")


def _lines(stream: io.BufferedReader) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := stream.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES:
            raise OSError(f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, line


def _of_line(item: str, line: bytes, path: str) -> tuple[Record, bool | None]:
    """The record, and whether it has an article's columns; None where the line is no JSON object at all."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _malformed(item, f"no JSON: {error}"), None
    if not isinstance(values, dict):
        return _malformed(item, f"a {type(values).__name__}, not an object"), None
    if "article" not in values and "highlights" not in values:
        return _malformed(item, f"neither article nor highlights among its keys {sorted(values)[:8]}"), False
    return to_record(item, values, path), True


def read_parquet(path: str) -> Iterator[Record]:
    """The records of a Parquet file, row group by row group."""
    row = 0
    try:
        with open_random(path) as stream:
            table = pq.ParquetFile(stream)
            names = [n for n in COLUMNS if n in table.schema_arrow.names]
            if "article" not in names:
                detail = f"no column article among {table.schema_arrow.names[:8]}"
                yield Record("", reject_reason="not_articles", reject_detail=detail)
                return
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=names):
                for values in batch.to_pylist():
                    row += 1
                    yield to_record(str(row), values, path)
    except (OSError, pa.ArrowException) as error:
        yield Record("", reject_reason="unreadable_file", reject_detail=f"{error}, after {row} rows")
        return
    if not row:
        yield Record("", reject_reason="empty", reject_detail="no record")


def to_record(item: str, values: dict[str, Any], path: str) -> Record:
    """A record of a file's values; one with a wrong type or without id and URL carries its reason."""
    url = values.get("url")
    if url is not None and not isinstance(url, str):
        return _malformed(item, f"url is a {type(url).__name__}, not a string")
    identifier = values.get("id")
    if isinstance(identifier, (dict, list, float, bool)):
        return _malformed(item, f"id is a {type(identifier).__name__}, not a string")
    article_id = record_id(None if identifier is None else str(identifier), url, path)
    if article_id is None:
        return Record(item, reject_reason="no_identity", reject_detail="id and url are null or blank")
    try:
        paragraphs = _paragraphs(values.get("article"))
        highlights = _lines_of("highlights", values.get("highlights"))
        story = build_story(paragraphs, highlights).encode()
    except (TypeError, UnicodeEncodeError) as error:
        return _malformed(item, str(error), article_id)
    return Record(item, article_id, (url or "").strip() or None, story)


def _malformed(item: str, detail: str, article_id: str | None = None) -> Record:
    return Record(item, article_id, reject_reason="malformed_record", reject_detail=detail)


def _paragraphs(article: Any) -> list[str]:
    """Paragraphs at blank lines, else at line breaks. CNN/DailyMail is often shared with each article in one
    line: then every sentence is a paragraph, so that there are a first and a second part."""
    if isinstance(article, str):
        text = article.replace("\r\n", "\n")
        if _BLANK_LINE.search(text):
            return [p.strip() for p in _BLANK_LINE.split(text) if p.strip()]
        article = text
    lines = _lines_of("article", article)
    if len(lines) == 1 and len(lines[0].split()) > LONG_PARAGRAPH:
        return [lines[0][start:end] for start, end in split_sentences(lines[0], [Span(0, len(lines[0]))])]
    return lines


def _lines_of(column: str, value: Any) -> list[str]:
    """The lines of a string, or the strings of a list, each in one line."""
    if value is None:
        return []
    if isinstance(value, str):
        return [line.strip() for line in value.split("\n") if line.strip()]
    if isinstance(value, list) and all(v is None or isinstance(v, str) for v in value):
        return [line for v in value if v and (line := " ".join(v.splitlines()).strip())]
    kind = (
        f"a list with a {type(next(v for v in value if not isinstance(v, str))).__name__}"
        if isinstance(value, list)
        else f"a {type(value).__name__}"
    )
    raise TypeError(f"{column} is {kind}, not a string or a list of strings")
