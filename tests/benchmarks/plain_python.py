"""The stages' work in one Python process, as fast as it goes: what Spark's overhead is measured against.

Each function reads what its stage reads, does the same work by the same pure functions, and writes the
same columns as Parquet.
"""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.job_support.contracts import ANNOTATIONS, TOKEN_TAGS
from udfs.annotate_text import _row
from udfs.annotators.base import Annotation
from udfs.cloze import BULLET_MARK, ClozeRules
from udfs.cloze_queries import cloze_row
from udfs.model_holder import annotator_for
from udfs.return_types import CLOZE_ARTICLE
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
    """Passages, sentences and queries of each article."""
    schema = to_arrow_schema(T.StructType([T.StructField("article_id", T.StringType()), *CLOZE_ARTICLE.fields]))

    def batches() -> Iterator[pa.RecordBatch]:
        texts = chain.from_iterable(
            b.to_pylist() for b in _read(articles, ["article_id", "text", "paragraphs", "highlights"])
        )
        made = chain.from_iterable(b.to_pylist() for b in _read(annotations, ["article_id", "sentences", "mentions"]))
        pairs = zip(texts, made, strict=True)
        while part := list(islice(pairs, BATCH)):
            rows = []
            for a, b in part:
                assert a["article_id"] == b["article_id"]
                values = a["text"], a["paragraphs"], a["highlights"], b["sentences"], b["mentions"]
                rows.append({"article_id": a["article_id"], **cloze_row(*values, rules=rules)})
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return _write(out / "cloze.parquet", batches(), schema)


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
