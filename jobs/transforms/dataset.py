"""The data set as a file: kept triples -> ReCoRD records, and imported records -> rows of the tables.

Both ways are streams: the driver holds a partition, or a chunk of records, and never the data set.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha1
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.contracts import PASSAGES, TRIPLES
from jobs.job_support.settings import stage_hash
from udfs.cloze import PLACEHOLDER
from udfs.fold_of import fold_of
from udfs.record_json import Element, RecordPassage, RecordQuery, passage_record, read_passages, split_passage
from udfs.spans import Mention, Span

CHUNK = 4_000  # records: 10 MB of text, 50 MB as Python objects
# Part of the fingerprints: raise when the same file gives other rows.
IMPORT_VERSION = 1
_SHA1 = re.compile(r"[0-9a-f]{40}")


class DatasetError(ValueError):
    """Tables or a file that make no data set; the message names the record and the remedy."""


# --- tables -> file


def export_records(passages: DataFrame, triples: DataFrame) -> DataFrame:
    """One row for each kept passage that has kept triples, in order of article_id.

    Columns: article_id, publisher, text, entities (start, end), qas (query_id, query, answers), the
    queries in the order of their sentences and placeholders. Spans are half-open.
    """
    # The texts are joined on after grouping: only queries go into a group.
    qas = (
        triples.where("keep")
        .groupBy("article_id")
        .agg(F.collect_list(F.struct("sentence_start", "placeholder", "query_id", "query", "answers")).alias("qas"))
    )
    return (
        passages.where("keep")
        .join(qas, on="article_id", how="inner")
        .orderBy("article_id")
        .select(
            "article_id",
            "publisher",
            "text",
            F.expr("transform(entities, e -> struct(e.start, e.end))").alias("entities"),
            F.expr("transform(array_sort(qas), q -> struct(q.query_id, q.query, q.answers))").alias("qas"),
        )
    )


def iter_records(records: DataFrame) -> Iterator[Element]:
    """The rows of ``export_records`` as elements of ReCoRD's "data", partition by partition.

    Raises:
        DatasetError: an answer whose text is not what stands in the passage: the tables do not fit together.
    """
    for row in records.toLocalIterator(prefetchPartitions=True):
        yield passage_record(_passage_of(row))


def _passage_of(row: Row) -> RecordPassage:
    queries = []
    for q in row.qas:
        for answer in q.answers:
            if row.text[answer.start : answer.end] != answer.text:
                raise DatasetError(
                    f"query {q.query_id}: answer {answer.text!r} is not at [{answer.start}, {answer.end}) of passage "
                    f"{row.article_id}: tables passages and triples are of different runs; run generate_triples again"
                )
        queries.append(RecordQuery(q.query_id, q.query, tuple(Span(a.start, a.end) for a in q.answers)))
    entities = tuple(Span(e.start, e.end) for e in row.entities)
    return RecordPassage(row.article_id, row.publisher, row.text, entities, tuple(queries))


# --- file -> tables


class Survey(NamedTuple):
    """What a file to be imported holds."""

    article_ids: list[str]
    queries: int


def survey_import(path: str | Path, *, name: str, split: str) -> Survey:
    """Reads a whole file before anything of it is written; keeps ids only.

    Raises:
        RecordFormatError: the file is broken, or a record would make a wrong row.
        DatasetError: no records, an id that stands for two articles or two queries, or an answer that is none of
            the record's entities (export refuses it, and so does ReCoRD's form).
    """
    article_ids: dict[str, None] = {}
    query_ids: set[str] = set()
    for passage in read_passages(path):
        article_id = article_id_of(passage, name=name, split=split)
        if article_id in article_ids:
            raise DatasetError(f"{path}: record id {passage.record_id!r} stands for two records")
        article_ids[article_id] = None
        for query in passage.queries:
            query_id = query_id_of(query, article_id)
            if query_id in query_ids:
                raise DatasetError(f"{path}: query id {query.query_id!r} stands for two queries")
            query_ids.add(query_id)
        if stray := next(_answers_that_are_no_entities(passage), None):
            raise DatasetError(f"{path}: {stray}")
    if not article_ids:
        raise DatasetError(f"{path}: no records")
    return Survey(list(article_ids), len(query_ids))


def _answers_that_are_no_entities(passage: RecordPassage) -> Iterator[str]:
    entities = {*passage.entities}
    for query in passage.queries:
        for answer in query.answers:
            if answer not in entities:
                yield (
                    f"record {passage.record_id!r}, query {query.query_id!r}: answer "
                    f"{passage.text[answer.start : answer.end]!r} at {answer.start} is none of the passage's entities; "
                    "add its span to the record's entities, or leave the query out"
                )


def chunks(passages: Iterable[RecordPassage], size: int = CHUNK) -> Iterator[list[RecordPassage]]:
    """The passages, ``size`` at a time."""
    stream = iter(passages)
    while chunk := list(islice(stream, size)):
        yield chunk


def article_id_of(passage: RecordPassage, *, name: str, split: str) -> str:
    """The record's id where it is a SHA-1, as in ReCoRD; else (SuperGLUE's counters) SHA-1 of name/split/id."""
    if _SHA1.fullmatch(passage.record_id):
        return passage.record_id
    return sha1(f"{name}/{split}/{passage.record_id}".encode()).hexdigest()


def query_id_of(query: RecordQuery, article_id: str) -> str:
    """The query's id where it begins with the article's, as in ReCoRD; else ``<article_id>-<id>``."""
    return query.query_id if query.query_id.startswith(f"{article_id}-") else f"{article_id}-{query.query_id}"


def passages_from_records(spark: SparkSession, records: Iterable[RecordPassage], *, name: str, split: str) -> DataFrame:
    """Rows of the table ``passages`` for a chunk of imported records.

    Imported data carry no coreference: mentions with one string share a cluster, so
    ``first_part_entities`` counts different strings. Nor do they carry paragraphs:
    ``first_part_tokens`` counts bylines and datelines too.
    """
    rows = (passage_row(passage, name=name, split=split) for passage in records)
    return spark.createDataFrame([_in_order(row, PASSAGES.schema.names) for row in rows], PASSAGES.schema)


def triples_from_records(spark: SparkSession, records: Iterable[RecordPassage], *, name: str, split: str) -> DataFrame:
    """Rows of the table ``triples`` for a chunk of imported records; a test file's have no answers."""
    rows = (row for passage in records for row in triple_rows(passage, name=name, split=split))
    return spark.createDataFrame([_in_order(row, TRIPLES.schema.names) for row in rows], TRIPLES.schema)


def passage_row(passage: RecordPassage, *, name: str, split: str) -> dict[str, Any]:
    """The row of ``passages`` of an imported record."""
    article_id = article_id_of(passage, name=name, split=split)
    first_part, _ = split_passage(passage.text)
    entities = _clustered(passage)
    return {
        "article_id": article_id,
        "fold": fold_of(article_id),
        "origin": "imported",
        "publisher": passage.publisher,
        "text": passage.text,
        "first_part_end": len(first_part),
        "first_part_tokens": len(first_part.split()),
        "first_part_entities": len({e.cluster for e in entities if e.end <= len(first_part)}),
        "entities": entities,
        "keep": True,
        "reason": None,
        "split": split,
        "fingerprint": _fingerprint(passage, name, split),
    }


def triple_rows(passage: RecordPassage, *, name: str, split: str) -> Iterator[dict[str, Any]]:
    """The rows of ``triples`` of an imported record."""
    article_id = article_id_of(passage, name=name, split=split)
    for query in passage.queries:
        yield {
            "query_id": query_id_of(query, article_id),
            "article_id": article_id,
            "fold": fold_of(article_id),
            "sentence_start": None,
            "sentence_sha1": None,
            "query": query.query,
            "placeholder": query.query.index(PLACEHOLDER),
            "answer_surface": None,
            "cluster": None,
            "answers": [(s.start, s.end, passage.text[s.start : s.end]) for s in sorted({*query.answers})],
            "overlaps": False,
            "keep": True,
            "reason": None,
            "split": split,
        }


def _clustered(passage: RecordPassage) -> list[Mention]:
    """The candidates in order of start, each once; mentions with one string get one cluster, numbered by the first."""
    numbers: dict[str, int] = {}
    spans = sorted({*passage.entities})
    return [Mention(*s, numbers.setdefault(passage.text[s.start : s.end], len(numbers))) for s in spans]


def _fingerprint(passage: RecordPassage, name: str, split: str) -> str:
    return stage_hash(IMPORT_VERSION, name, split, passage_record(passage))


def _in_order(row: dict[str, Any], columns: list[str]) -> tuple[Any, ...]:
    return tuple(row[column] for column in columns)
