"""Is a file a sound ReCoRD v1.0 data set? Reads it back as a stream and judges it as it stands.

What the published files keep to without exception (FORMATS.md, section 2) is required; so a model or
a harness that was written for them can read ours.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import ijson

from udfs.cloze import PLACEHOLDER
from udfs.record_json import (
    RECORD_SHAPE,
    VERSION,
    Element,
    RecordFormatError,
    answer_fault,
    opened,
    read_record_json,
    shape_faults,
    span_fault,
    split_passage,
)


@dataclass(frozen=True)
class ValidationReport:
    """What a file holds and what is wrong with it; ``errors`` name record and query, the first ones only."""

    path: str
    records: int
    queries: int
    answers: int
    entities: int
    error_count: int
    errors: tuple[str, ...]

    @property
    def valid(self) -> bool:
        return self.error_count == 0

    def __str__(self) -> str:
        held = f"{self.records} records, {self.queries} queries, {self.answers} answers, {self.entities} entities"
        lines = [f"{self.path}: {'valid' if self.valid else f'{self.error_count} errors'} ({held})", *self.errors]
        if self.error_count > len(self.errors):
            lines.append(f"and {self.error_count - len(self.errors)} more")
        return "\n  ".join(lines)


def validate_record_json(
    path: str | Path, *, answers_required: bool = True, max_messages: int = 50
) -> ValidationReport:
    """Checks a file: version, fields and types, ids, spans, answers, placeholders, line breaks.

    Memory does not grow with the file but for 16 bytes an id. ``answers_required=False`` is for test
    files, whose answers are not published.
    """
    check = _Check(answers_required, max_messages)
    try:
        with opened(path) as stream:
            version = next(ijson.items(stream, "version"), None)
        if version != VERSION:
            check.add(f"version is {version!r}, not {VERSION!r}")
        for element in read_record_json(path):
            check.element(element)
        if not check.records and not check.error_count:
            check.add("no records")
    except RecordFormatError as error:
        check.add(f"after {check.records} records: {error}")
    counts = (check.records, check.queries, check.answers, check.entities, check.error_count)
    return ValidationReport(str(path), *counts, errors=tuple(check.errors))


@dataclass
class _Check:
    answers_required: bool
    max_messages: int
    records: int = 0
    queries: int = 0
    answers: int = 0
    entities: int = 0
    error_count: int = 0
    errors: list[str] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)

    def add(self, message: str) -> None:
        self.error_count += 1
        if len(self.errors) < self.max_messages:
            self.errors.append(message)

    def element(self, element: Element) -> None:
        self.records += 1
        record_id = element.get("id") if isinstance(element, dict) else None
        at = f"record {record_id!r} (number {self.records})"
        faults = list(shape_faults(element, RECORD_SHAPE, "", strict=True))
        for fault in faults:
            self.add(f"{at}: {fault}")
        if faults:
            return
        if self._is_repeated("record", element["id"]):
            self.add(f"{at}: the id is not unique")
        text = element["passage"]["text"]
        entities = element["passage"]["entities"]
        self.entities += len(entities)
        for fault in (*_text_faults(text), *_entity_faults(entities, text)):
            self.add(f"{at}: {fault}")
        if not element["qas"]:
            self.add(f"{at}: no queries")
        spans = {(e["start"], e["end"]) for e in entities}
        for qa in element["qas"]:
            self._query(qa, text, spans, f"{at}, query {qa['id']!r}")

    def _query(self, qa: dict[str, Any], text: str, entities: set[tuple[int, int]], at: str) -> None:
        self.queries += 1
        self.answers += len(qa["answers"])
        if self._is_repeated("query", qa["id"]):
            self.add(f"{at}: the id is not unique")
        if (n := qa["query"].count(PLACEHOLDER)) != 1:
            self.add(f"{at}: {PLACEHOLDER} stands {n} times in {qa['query'][:80]!r}")
        if "\n" in qa["query"] or "\r" in qa["query"]:
            self.add(f"{at}: a line break in the query")
        if self.answers_required and not qa["answers"]:
            self.add(f"{at}: no answers")
        spans = [(a["start"], a["end"]) for a in qa["answers"]]
        if any(a >= b for a, b in pairwise(spans)):
            self.add(f"{at}: answers not in order of start, or repeated")
        for span, answer in zip(spans, qa["answers"], strict=True):
            if fault := span_fault(answer, text) or answer_fault(answer, text):
                self.add(f"{at}: {fault}")
            if span not in entities:
                self.add(f"{at}: answer {list(span)} is none of the passage's entities")

    def _is_repeated(self, kind: str, item: str) -> bool:
        digest = blake2b(f"{kind} {item}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        repeated = digest in self._seen
        self._seen.add(digest)
        return repeated


def _text_faults(text: str) -> Iterator[str]:
    first_part, bullets = split_passage(text)
    if not first_part.strip():
        yield "no text before the first bullet"
    for number, part in enumerate((first_part, *bullets)):
        name = f"bullet {number}" if number else "the first part"
        if "\n" in part or "\r" in part:
            yield f"{name} holds a line break: only those around @highlight may be there"
        if number and not part.strip():
            yield f"{name} is empty"


def _entity_faults(entities: list[dict[str, int]], text: str) -> Iterator[str]:
    for entity in entities:
        span = [entity["start"], entity["end"]]
        if fault := span_fault(entity, text):
            yield f"entity: {fault}"
        elif "\n" in text[span[0] : span[1] + 1]:
            yield f"entity {span} runs over a line break"
    for before, after in pairwise(entities):
        spans = f"entities [{before['start']}, {before['end']}] and [{after['start']}, {after['end']}]"
        if (before["start"], before["end"]) == (after["start"], after["end"]):
            yield f"{spans}: a duplicate"
        elif before["start"] > after["start"]:
            yield f"{spans}: not in order of start"
        elif before["end"] >= after["start"]:
            yield f"{spans} overlap"
