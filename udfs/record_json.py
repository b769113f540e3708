"""ReCoRD v1.0 JSON and SuperGLUE's JSONL: the one module that reads and writes both (FORMATS.md, section 2).

In the files span ends are **inclusive**; everywhere else spans are half-open, so ``passage_record``,
``parse_record`` and ``parse_superglue`` convert, and nobody else does (``record_validation`` judges a
file as it stands). Files are read and written as streams, element by element; ``.gz`` in the name
means gzip. Offsets are code points.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast

import ijson

from udfs.cloze import BULLET_MARK, PLACEHOLDER
from udfs.spans import Span

VERSION = "1.0"
Element = dict[str, Any]
FileFormat = Literal["record", "superglue"]

_SPAN_SHAPE = {"start": int, "end": int}
_PASSAGE_SHAPE = {"text": str, "entities": [_SPAN_SHAPE]}
_ANSWERS_SHAPE = [{**_SPAN_SHAPE, "text": str}]
RECORD_SHAPE = {
    "id": str,
    "source": str,
    "passage": _PASSAGE_SHAPE,
    "qas": [{"id": str, "query": str, "answers": _ANSWERS_SHAPE}],
}
SUPERGLUE_SHAPE = {
    "source": str,
    "passage": _PASSAGE_SHAPE,
    "qas": [{"query": str, "answers": _ANSWERS_SHAPE, "idx": int}],
    "idx": int,
}
# The published spelling of a publisher; others go as they are.
_SOURCE_OF = {"Daily Mail": "Daily mail"}
_PUBLISHER_OF = {source: publisher for publisher, source in _SOURCE_OF.items()}


class RecordFormatError(ValueError):
    """A file or an element that is not in the format; the message says where and what."""


@dataclass(frozen=True)
class RecordQuery:
    """A query with half-open spans of its answers in the passage's text; none in a test file."""

    query_id: str
    query: str
    answers: tuple[Span, ...]


@dataclass(frozen=True)
class RecordPassage:
    """One element of either format; spans are half-open. ``publisher`` None: not known."""

    record_id: str
    publisher: str | None
    text: str
    entities: tuple[Span, ...]
    queries: tuple[RecordQuery, ...]


class Written(NamedTuple):
    """What went into a file."""

    records: int
    queries: int


def passage_record(passage: RecordPassage) -> Element:
    """One element of ReCoRD's "data": ends inclusive, spans in order of start, each once.

    Raises:
        RecordFormatError: a span that is empty or not inside the text.
    """
    text = passage.text
    return {
        "id": passage.record_id,
        "source": _SOURCE_OF.get(passage.publisher or "", passage.publisher or ""),
        "passage": {"text": text, "entities": [_inclusive(s, text, passage) for s in sorted({*passage.entities})]},
        "qas": [
            {
                "id": q.query_id,
                "query": q.query,
                "answers": [
                    {**_inclusive(s, text, passage), "text": text[s.start : s.end]} for s in sorted({*q.answers})
                ],
            }
            for q in passage.queries
        ],
    }


def _inclusive(span: Span, text: str, passage: RecordPassage) -> dict[str, int]:
    if not 0 <= span.start < span.end <= len(text):
        raise RecordFormatError(f"record {passage.record_id}: span {tuple(span)} not inside {len(text)} characters")
    return {"start": span.start, "end": span.end - 1}


def parse_record(element: Element) -> RecordPassage:
    """The passage of one element of ReCoRD's "data". Spans stay in the file's order.

    Only what would make a wrong row is an error: ``validate_record_json`` is stricter.

    Raises:
        RecordFormatError: fields missing or of a wrong type, a span outside the text, an answer whose
            text is not what stands there, a query without @placeholder.
    """
    return _parse(element, RECORD_SHAPE, "id")


def parse_superglue(element: Element) -> RecordPassage:
    """The passage of one line of SuperGLUE's ReCoRD; ids are its ``idx`` counters, as strings.

    Raises:
        RecordFormatError: as ``parse_record``.
    """
    return _parse(element, SUPERGLUE_SHAPE, "idx")


def _parse(element: Element, shape: Mapping[str, Any], id_key: str) -> RecordPassage:
    name = f"record {element.get(id_key)!r}" if isinstance(element, dict) else "a record"
    if misshapen := next(shape_faults(element, shape, "", strict=False), None):
        raise RecordFormatError(f"{name}: {misshapen}")
    text = element["passage"]["text"]
    queries = []
    for qa in element["qas"]:
        of_query = f"{name}, query {qa[id_key]!r}"
        if PLACEHOLDER not in qa["query"]:
            raise RecordFormatError(f"{of_query}: no {PLACEHOLDER} in {qa['query'][:80]!r}")
        answers = qa.get("answers", [])
        spans = tuple(_half_open(a, text, of_query) for a in answers)
        if faults := [fault for a in answers if (fault := answer_fault(a, text))]:
            raise RecordFormatError(f"{of_query}: {faults[0]}")
        queries.append(RecordQuery(str(qa[id_key]), qa["query"], spans))
    entities = tuple(_half_open(e, text, name) for e in element["passage"]["entities"])
    source = element.get("source", "")
    publisher = _PUBLISHER_OF.get(source, source) or None
    return RecordPassage(str(element[id_key]), publisher, text, entities, tuple(queries))


def _half_open(span: Mapping[str, int], text: str, where: str) -> Span:
    if fault := span_fault(span, text):
        raise RecordFormatError(f"{where}: {fault}")
    return Span(span["start"], span["end"] + 1)


def span_fault(span: Mapping[str, int], text: str) -> str | None:
    """Says that a span with inclusive end is empty or not inside the text; None where it is."""
    start, end = span["start"], span["end"]
    fits = 0 <= start <= end < len(text)
    return None if fits else f"span [{start}, {end}] (inclusive) not inside {len(text)} characters"


def answer_fault(answer: Mapping[str, Any], text: str) -> str | None:
    """Says that an answer's text is not what stands at its span; None where it is."""
    start, end = answer["start"], answer["end"]
    there = text[start : end + 1]
    if there == answer["text"]:
        return None
    return f"answer [{start}, {end}] says {answer['text'][:80]!r}, the text there is {there[:80]!r}"


def shape_faults(value: Any, shape: Any, at: str, *, strict: bool) -> Iterator[str]:
    """What differs from a shape: a type, a list of a shape, or an object of named shapes.

    ``strict``: other keys are faults too, and none may be left out; else "answers" and "source" may.
    """
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            yield f"{at or 'the element'} is {described(value)}, not an object"
            return
        for key, inner in shape.items():
            path = f"{at}.{key}" if at else key
            if key in value:
                yield from shape_faults(value[key], inner, path, strict=strict)
            elif strict or key not in ("answers", "source"):
                yield f"{path} is missing"
        if strict and (others := sorted(value.keys() - shape.keys())):
            yield f"{at or 'the element'} has unknown keys {others}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{at} is {described(value)}, not a list"
            return
        for i, item in enumerate(value):
            yield from shape_faults(item, shape[0], f"{at}[{i}]", strict=strict)
    elif not isinstance(value, shape) or isinstance(value, bool):
        yield f"{at} is {described(value)}, not {'an integer' if shape is int else 'a string'}"


def described(value: Any) -> str:
    """A value in a message: its type and how it begins."""
    return "null" if value is None else f"a {type(value).__name__} ({str(value)[:40]})"


def split_passage(text: str) -> tuple[str, list[str]]:
    """First part and bullets of a passage's text, apart: what a reader or a model should see."""
    first_part, *bullets = text.split(BULLET_MARK)
    return first_part, bullets


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file, gzip by extension; what is broken in it becomes a RecordFormatError that names it."""
    try:
        with gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb") as stream:
            yield cast(BinaryIO, stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RecordFormatError(f"{path}: broken gzip ({error}); fetch the file again") from error
    except ijson.JSONError as error:
        raise RecordFormatError(f"{path}: not JSON, or cut off: {' '.join(str(error).split())[:200]}") from error


def detect_format(path: str | Path) -> FileFormat:
    """ReCoRD's file or SuperGLUE's, by the keys of the first object, whatever the name says.

    Raises:
        RecordFormatError: neither.
    """
    keys = []
    with opened(path) as stream:
        for prefix, event, value in ijson.parse(stream):
            if prefix == "" and event == "map_key":
                if value in ("version", "data"):
                    return "record"
                if value in ("passage", "qas", "idx"):
                    return "superglue"
                keys.append(value)
            elif prefix == "" and event == "end_map":
                break
    raise RecordFormatError(f"{path}: neither ReCoRD v{VERSION} nor SuperGLUE: the first keys are {keys[:5]}")


def read_record_json(path: str | Path) -> Iterator[Element]:
    """The elements of "data" of a ReCoRD file, one at a time.

    Raises:
        RecordFormatError: not JSON, broken, or without "data".
    """
    found = False
    with opened(path) as stream:
        for element in ijson.items(stream, "data.item", use_float=True):
            found = True
            yield element
    if not found:
        with opened(path) as stream:
            if not any(prefix == "data" and event == "start_array" for prefix, event, _ in ijson.parse(stream)):
                raise RecordFormatError(f'{path}: no "data"; is it a ReCoRD v{VERSION} file?')


def read_superglue_jsonl(path: str | Path) -> Iterator[Element]:
    """The lines of a SuperGLUE ReCoRD file, parsed, one at a time. The test file has no "answers".

    Raises:
        RecordFormatError: a line that is not a JSON object.
    """
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                element = json.loads(line)
            except ValueError as error:  # not JSON, or not UTF-8
                raise RecordFormatError(f"{path}: line {number} is not JSON: {error}") from error
            if not isinstance(element, dict):
                raise RecordFormatError(f"{path}: line {number} is {described(element)}, not an object")
            yield element


def read_passages(path: str | Path) -> Iterator[RecordPassage]:
    """The passages of a file of either format, one at a time.

    Raises:
        RecordFormatError: as the readers and parsers, with the file's name.
    """
    superglue = detect_format(path) == "superglue"
    elements = read_superglue_jsonl(path) if superglue else read_record_json(path)
    parse = parse_superglue if superglue else parse_record
    for element in elements:
        try:
            passage = parse(element)
        except RecordFormatError as error:
            raise RecordFormatError(f"{path}: {error}") from error
        yield passage


def write_record_json(target: str | Path | BinaryIO, records: Iterable[Element]) -> Written:
    """Writes a ReCoRD file as a stream: UTF-8, one record a line, the same bytes for the same records.

    A path gets the file whole or not at all: it is written beside it and renamed.

    Raises:
        RecordFormatError: a record that UTF-8 can't hold (half of a surrogate pair).
    """
    if not isinstance(target, str | Path):
        return _write(target, records)
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as stream:
            if path.name.endswith(".gz"):
                # Neither name nor time in the header: they would change the bytes from run to run.
                with gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=6, mtime=0) as packed:
                    written = _write(cast(BinaryIO, packed), records)
            else:
                written = _write(stream, records)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return written


def _write(stream: BinaryIO, records: Iterable[Element]) -> Written:
    n_records = n_queries = 0
    stream.write(f'{{"version": "{VERSION}", "data": ['.encode())
    for record in records:
        try:
            line = json.dumps(record, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise RecordFormatError(f"record {record.get('id')!r}: {error}") from error
        stream.write((b",\n" if n_records else b"\n") + line)
        n_records += 1
        n_queries += len(record["qas"])
    stream.write(b"\n]}\n")
    return Written(n_records, n_queries)
