"""The stages' work in one Python process, as fast as it goes: what Spark's overhead is measured against.

Each function reads what its stage reads, does the same work by the same pure functions, and writes the
same columns as Parquet.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.job_support.contracts import ANNOTATIONS, PASSAGES, SENTENCES, TOKEN_TAGS, TRIPLES
from udfs.annotate_text import _row
from udfs.annotators.base import Annotation
from udfs.cloze import BULLET_MARK, ClozeRules
from udfs.cloze_queries import cloze_row
from udfs.model_holder import annotator_for
from udfs.sentence_split import split_sentences
from udfs.sources import arrow_batches as A
from udfs.sources.listing import files_of, look_at
from udfs.sources.outcomes import SourceRules
from udfs.spans import Mention, Span
from udfs.story_text import StoryText

BATCH = 256


def ingest(corpus: Path, out: Path) -> int:
    """Lists, reads, checks and writes all stories of a folder; returns how many."""
    units: dict[str, dict[str, Any]] = {}
    for place in look_at(str(corpus)).places:
        for file in files_of(place):
            units.setdefault(file.unit, {})[file.role] = file
    rows = [
        {
            "source": 0,
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
        for unit, files in sorted(units.items())
    ]
    batches = (pa.RecordBatch.from_pylist(list(part)) for part in _parts(iter(rows)))
    rules = [SourceRules("corpus", "auto", "auto", False)]
    return _write(out / "articles.parquet", A.read_stories(batches, rules=rules), A.CANDIDATE_SCHEMA)


def annotate_stand_off(articles: Path, out: Path) -> int:
    """Sentences and the stand-off's mentions of each article."""
    schema = to_arrow_schema(ANNOTATIONS.schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _read(articles, ["article_id", "text", "paragraphs", "stand_off"]):
            rows = []
            for r in batch.to_pylist():
                named = tuple(Mention(m["start"], m["end"], m["cluster"]) for m in r["stand_off"])
                sentences = split_sentences(r["text"], _spans(r["paragraphs"]))
                made = _row(Annotation(tuple(sentences), (), named)) | {"tokens": None}
                rows.append(made | {"article_id": r["article_id"], "annotator": "stand-off", "fingerprint": ""})
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return _write(out / "annotations.parquet", batches(), schema)


def generate(articles: Path, annotations: Path, rules: ClozeRules, out: Path) -> int:
    """Passages, sentences and triples of each article, in a file each, with unique keys."""
    columns = ["article_id", "fold", "origin", "publisher", "text", "paragraphs", "highlights"]
    texts = chain.from_iterable(b.to_pylist() for b in _read(articles, columns))
    made = chain.from_iterable(b.to_pylist() for b in _read(annotations, ["article_id", "sentences", "mentions"]))
    pairs = zip(texts, made, strict=True)
    schemas = {c.name: to_arrow_schema(c.schema) for c in (PASSAGES, SENTENCES, TRIPLES)}
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


def _add_cloze(
    rows: dict[str, list[dict[str, Any]]], article: dict[str, Any], annotation: dict[str, Any], rules: ClozeRules
) -> None:
    article_id = article["article_id"]
    assert annotation["article_id"] == article_id
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


def annotate_by_model(articles: Path, model: str, out: Path) -> int:
    """spaCy, name linking and propagation on each article."""
    schema = to_arrow_schema(ANNOTATIONS.schema)
    annotator = annotator_for("spacy", model)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _read(articles, ["article_id", "text", "paragraphs", "highlights"]):
            rows = batch.to_pylist()
            stories = [StoryText(r["text"], _spans(r["paragraphs"]), _spans(r["highlights"])) for r in rows]
            made = [
                _row(a) | {"article_id": r["article_id"], "annotator": "spacy", "fingerprint": ""}
                for r, a in zip(rows, annotator.annotate(stories), strict=True)
            ]
            yield pa.RecordBatch.from_pylist(
                [{k: v for k, v in m.items() if k != "error"} for m in made], schema=schema
            )

    return _write(out / "annotations_by_model.parquet", batches(), schema)


def tag(texts: Path, model: str, out: Path) -> int:
    """Tokens, parts of speech and lemmas of passages and sentences."""
    schema = to_arrow_schema(TOKEN_TAGS.schema)
    annotator = annotator_for("spacy", model)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in _read(texts, ["article_id", "unit", "start", "text"]):
            rows = batch.to_pylist()
            pieces = [r.pop("text").split(BULLET_MARK) for r in rows]
            tagged = annotator.tag_texts([piece for text in pieces for piece in text])
            for row, text in zip(rows, pieces, strict=True):
                row["tokens"] = [t._asdict() for _ in text for t in next(tagged)]
                row["fingerprint"] = ""
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return _write(out / "token_tags.parquet", batches(), schema)


def _read(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    return pq.ParquetFile(path).iter_batches(batch_size=BATCH, columns=columns)


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
