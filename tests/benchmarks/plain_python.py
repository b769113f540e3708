"""The stages' work in one Python process, as fast as it goes: what Spark's overhead is measured against.

Each function reads what its stage reads, does the same work by the same pure functions, and writes the
same columns, as Parquet in the folder ``out``; export writes the same JSON. Each returns how many items it did.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate, chain, islice
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.job_support.contracts import ANNOTATIONS, PASSAGES, SENTENCES, TOKEN_TAGS, TRIPLES
from jobs.transforms.dataset import chunks, passage_row, survey_import, triple_rows
from udfs.annotate_text import _row
from udfs.cloze import BULLET_MARK, ClozeRules
from udfs.cloze_queries import cloze_row
from udfs.model_holder import annotator_for
from udfs.record_json import RecordPassage, RecordQuery, passage_record, read_passages, write_record_json
from udfs.record_validation import validate_record_json
from udfs.sentence_split import split_sentences
from udfs.sources import arrow_batches as A
from udfs.sources.listing import files_of, look_at
from udfs.sources.outcomes import SourceRules
from udfs.spans import Span
from udfs.story_text import HIGHLIGHT, StoryText

BATCH = 256
# What Spark's jobs know and this process does not need.
UNKNOWN = {"version": "", "digest": "", "fingerprint": ""}
Rows = Iterator[dict[str, Any]]


def warm_up(model: str) -> None:
    """Loads the model."""
    list(annotator_for("spacy", model).tag_texts(["Ann Ray left Oslo."]))


def ingest(corpora: Sequence[Path], out: Path) -> int:
    """Lists, reads, checks and writes all stories of some folders."""
    rows = chain.from_iterable(_stories(number, corpus) for number, corpus in enumerate(corpora))
    batches = (pa.RecordBatch.from_pylist(list(part)) for part in _parts(rows))
    rules = [SourceRules(corpus.name, "auto", "auto", False) for corpus in corpora]
    return _write(out / "articles.parquet", A.read_stories(batches, rules=rules), A.CANDIDATE_SCHEMA)


def _stories(number: int, corpus: Path) -> Rows:
    units: dict[str, dict[str, Any]] = {}
    for place in look_at(str(corpus)).places:
        for file in files_of(place):
            units.setdefault(file.unit, {})[file.role] = file
    for unit, files in sorted(units.items()):
        yield {
            "source": number,
            "kind": "story",
            "path": f"{corpus}/{files['story'].relative}",
            "relative": files["story"].relative,
            "article_id": Path(unit).name,
            "tokens_path": f"{corpus}/{files['tokens'].relative}" if "tokens" in files else None,
            "entities_path": f"{corpus}/{files['entities'].relative}" if "entities" in files else None,
            "signature": "-".join(f"{f.modified_ns}:{f.size}" for f in files.values()),
            "listed_url": None,
            "in_hermann_list": False,
        }


def annotate_stand_off(out: Path) -> int:
    """Sentences and the stand-off's mentions of the articles that have stand-off; the mentions stay in Arrow."""
    schema = to_arrow_schema(ANNOTATIONS.schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _read(out / "articles.parquet", ["article_id", "text", "paragraphs", "stand_off"]):
            chosen = batch.filter(pc.is_valid(batch.column("stand_off")))
            n = chosen.num_rows
            paragraphs = _span_lists(chosen.column("paragraphs"))
            sentences = map(split_sentences, chosen.column("text").to_pylist(), paragraphs)
            columns = {
                "article_id": chosen.column("article_id"),
                "annotator": pa.array(["stand-off"] * n),
                "sentences": _list_array(list(sentences), schema.field("sentences").type),
                "tokens": pa.nulls(n, schema.field("tokens").type),
                "mentions": _untyped_mentions(chosen.column("stand_off"), schema.field("mentions").type),
                "unnamed": pa.nulls(n, schema.field("unnamed").type),
                **{name: pa.array([value] * n) for name, value in UNKNOWN.items()},
            }
            yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    return _write(out / "annotations_stand_off.parquet", batches(), schema)


def _span_lists(column: pa.ListArray) -> Iterator[list[Span]]:
    flat = column.flatten()
    spans = map(Span, flat.field("start").to_pylist(), flat.field("end").to_pylist())
    for length in pc.list_value_length(column).to_pylist():
        yield list(islice(spans, length))


def _list_array(lists: Sequence[Sequence[Span]], kind: pa.ListType) -> pa.ListArray:
    starts, ends = (pa.array([s[i] for spans in lists for s in spans], type=pa.int32()) for i in (0, 1))
    flat = pa.StructArray.from_arrays([starts, ends], fields=list(kind.value_type))
    return pa.ListArray.from_arrays(_offsets(map(len, lists)), flat, type=kind)


def _untyped_mentions(stand_off: pa.ListArray, kind: pa.ListType) -> pa.ListArray:
    flat = stand_off.flatten()
    parts = [*(flat.field(name) for name in ("start", "end", "cluster")), pa.nulls(len(flat), pa.string())]
    mentions = pa.StructArray.from_arrays(parts, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(_offsets(pc.list_value_length(stand_off).to_pylist()), mentions, type=kind)


def _offsets(lengths: Iterable[int]) -> pa.Array:
    return pa.array(accumulate(lengths, initial=0), type=pa.int32())


def annotate_by_model(out: Path, model: str) -> int:
    """spaCy, name linking and propagation on the articles without stand-off."""
    schema = to_arrow_schema(ANNOTATIONS.schema)
    annotator = annotator_for("spacy", model)

    def batches() -> Iterator[pa.RecordBatch]:
        columns = ["article_id", "text", "paragraphs", "highlights", "stand_off"]
        for batch in _read(out / "articles.parquet", columns):
            rows = batch.filter(pc.is_null(batch.column("stand_off"))).to_pylist()
            stories = [StoryText(r["text"], _spans(r["paragraphs"]), _spans(r["highlights"])) for r in rows]
            made = [
                _row(a) | {"article_id": r["article_id"], "annotator": "spacy"} | UNKNOWN
                for r, a in zip(rows, annotator.annotate(stories), strict=True)
            ]
            yield pa.RecordBatch.from_pylist(
                [{k: v for k, v in m.items() if k != "error"} for m in made], schema=schema
            )

    return _write(out / "annotations_by_model.parquet", batches(), schema)


def generate(out: Path, rules: ClozeRules) -> int:
    """Passages, sentences and triples of each article, in a file each, with unique keys."""
    schemas = {c.name: to_arrow_schema(c.schema) for c in (PASSAGES, SENTENCES, TRIPLES)}
    pairs = _annotated_articles(out)
    n = 0
    keys: set[int] = set()
    n_keys = 0
    with ExitStack() as stack:
        files = {name: stack.enter_context(pq.ParquetWriter(out / f"{name}.parquet", s)) for name, s in schemas.items()}
        while part := list(islice(pairs, BATCH)):
            rows: dict[str, list[dict[str, Any]]] = {name: [] for name in schemas}
            for article, annotation in part:
                _add_cloze(rows, article, annotation, rules)
            for name, contract in (("passages", PASSAGES), ("sentences", SENTENCES), ("triples", TRIPLES)):
                keys.update(hash((name, *(row[k] for k in contract.key))) for row in rows[name])
                n_keys += len(rows[name])
                files[name].write_batch(pa.RecordBatch.from_pylist(rows[name], schema=schemas[name]))
            n += len(part)
    assert len(keys) == n_keys
    return n


def _annotated_articles(out: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The articles with their annotations, whose two files hold them in the articles' order."""
    columns = ["article_id", "fold", "origin", "publisher", "text", "paragraphs", "highlights"]
    streams = [_rows(path, ["article_id", "sentences", "mentions"]) for path in out.glob("annotations_*.parquet")]
    heads = {row["article_id"]: (row, stream) for stream in streams if (row := next(stream, None))}
    for article in _rows(out / "articles.parquet", columns):
        annotation, stream = heads.pop(article["article_id"])
        yield article, annotation
        if following := next(stream, None):
            heads[following["article_id"]] = (following, stream)


def _add_cloze(
    rows: dict[str, list[dict[str, Any]]], article: dict[str, Any], annotation: dict[str, Any], rules: ClozeRules
) -> None:
    article_id = article["article_id"]
    values = article["text"], article["paragraphs"], article["highlights"]
    cloze = cloze_row(*values, annotation["sentences"], annotation["mentions"], rules=rules)
    passed = {k: article[k] for k in ("article_id", "fold", "origin", "publisher")}
    rows["passages"].append({**cloze["passage"], **passed, "split": None, "fingerprint": ""})
    rows["sentences"] += [{**s, "article_id": article_id} for s in cloze["sentences"]]
    rows["triples"] += [
        {
            **q,
            "query_id": f"{article_id}-{q['sentence_sha1']}-{q['placeholder']}",
            "article_id": article_id,
            "fold": article["fold"],
            "split": None,
        }
        for q in cloze["queries"]
    ]


def tag(out: Path, model: str) -> int:
    """Tokens, parts of speech and lemmas of the passages that have triples, and of their sentences."""
    schema = to_arrow_schema(TOKEN_TAGS.schema)
    annotator = annotator_for("spacy", model)
    selected = {
        (r["article_id"], r["sentence_start"])
        for r in _rows(out / "triples.parquet", ["article_id", "sentence_start", "keep"])
        if r["keep"]
    }
    with_triples = {article_id for article_id, _ in selected}
    passages = (
        {"article_id": r["article_id"], "unit": "passage", "start": 0, "text": r["text"]}
        for r in _rows(out / "passages.parquet", ["article_id", "text"])
        if r["article_id"] in with_triples
    )
    sentences = (
        {**r, "unit": "sentence"}
        for r in _rows(out / "sentences.parquet", ["article_id", "start", "text"])
        if (r["article_id"], r["start"]) in selected
    )

    def batches() -> Iterator[pa.RecordBatch]:
        for rows in _parts(chain(passages, sentences)):
            pieces = [r.pop("text").split(BULLET_MARK) for r in rows]
            tagged = annotator.tag_texts([piece for text in pieces for piece in text])
            for row, text in zip(rows, pieces, strict=True):
                row["tokens"] = [t._asdict() for _ in text for t in next(tagged)]
                row["fingerprint"] = ""
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    _write(out / "token_tags.parquet", batches(), schema)
    return len(with_triples)


def export(out: Path) -> int:
    """The kept triples as a ReCoRD file, read back and checked, and the figures of Table 1; returns the queries."""
    queries: dict[str, list[dict[str, Any]]] = defaultdict(list)
    columns = ["article_id", "query_id", "query", "sentence_start", "placeholder", "answers", "keep"]
    for row in _rows(out / "triples.parquet", columns):
        if row["keep"]:
            queries[row["article_id"]].append(row)
    columns = ["article_id", "publisher", "text", "entities"]
    passages = {r["article_id"]: r for r in _rows(out / "passages.parquet", columns) if r["article_id"] in queries}
    path = out / "record.json"
    written = write_record_json(path, (_record(passages[i], queries[i]) for i in sorted(queries)))
    assert validate_record_json(path).queries == written.queries
    _table_1(list(passages.values()), [q["query"] for of_passage in queries.values() for q in of_passage])
    return written.queries


def _record(passage: dict[str, Any], queries: list[dict[str, Any]]) -> dict[str, Any]:
    in_order = sorted(queries, key=lambda q: (q["sentence_start"], q["placeholder"]))
    asked = tuple(RecordQuery(q["query_id"], q["query"], _spans(q["answers"])) for q in in_order)
    entities = _spans(passage["entities"])
    return passage_record(RecordPassage(passage["article_id"], passage["publisher"], passage["text"], entities, asked))


def _table_1(passages: list[dict[str, Any]], queries: list[str]) -> tuple[float, ...]:
    of_passages = [[t for t in p["text"].split() if t != HIGHLIGHT] for p in passages]
    of_queries = [query.split() for query in queries]
    vocabularies = (len(set(chain.from_iterable(tokens))) for tokens in (of_passages, of_queries))
    means = (fmean(map(len, lists)) for lists in (of_passages, of_queries, [p["entities"] for p in passages]))
    return (*vocabularies, *means)


def import_record(path: Path, out: Path) -> int:
    """A ReCoRD file, checked, then read into passages and triples; returns the passages."""
    survey_import(path, name="bench", split="dev")
    n = 0
    with ExitStack() as stack:
        passages, triples = (
            stack.enter_context(pq.ParquetWriter(out / f"imported_{c.name}.parquet", to_arrow_schema(c.schema)))
            for c in (PASSAGES, TRIPLES)
        )
        for chunk in chunks(read_passages(path), BATCH):
            rows = [passage_row(p, name="bench", split="dev") for p in chunk]
            passages.write_batch(pa.RecordBatch.from_pylist(rows, schema=passages.schema))
            rows = [row for p in chunk for row in triple_rows(p, name="bench", split="dev")]
            triples.write_batch(pa.RecordBatch.from_pylist(rows, schema=triples.schema))
            n += len(chunk)
    return n


def _read(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    yield from pq.ParquetFile(path).iter_batches(batch_size=BATCH, columns=columns)


def _rows(path: Path, columns: list[str]) -> Rows:
    return chain.from_iterable(batch.to_pylist() for batch in _read(path, columns))


def _write(path: Path, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    n = 0
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            n += batch.num_rows
    return n


def _parts(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while part := list(islice(rows, BATCH)):
        yield part


def _spans(rows: list[dict[str, int]]) -> tuple[Span, ...]:
    return tuple(Span(r["start"], r["end"]) for r in rows)
