"""The tables' contracts: purpose, columns, key, checks, who writes and who reads. One place for all.

``store`` creates the tables from these, checks every write against them, and the README's list of
tables is generated from them (``make tables-doc`` prints it, with all columns).
"""

from dataclasses import dataclass

from pyspark.sql import types as T

from udfs.cloze import PASSAGE_REASONS, QUERY_REASONS, SENTENCE_REASONS
from udfs.return_types import ANSWER, MENTION, SPAN, STAND_OFF_MENTION, TOKEN


@dataclass(frozen=True)
class TableContract:
    """One table. ``checks`` maps a constraint's name (starting with its column) to a SQL condition."""

    name: str
    purpose: str
    schema: T.StructType
    key: tuple[str, ...]
    checks: dict[str, str]
    written_by: str
    read_by: tuple[str, ...]
    # Columns whose minimum and maximum Delta may keep for skipping files: never text, since
    # statistics in the log would outlive a takedown.
    statistics: tuple[str, ...] = ("article_id",)


def _column(name: str, kind: T.DataType, comment: str, *, null: bool = False) -> T.StructField:
    return T.StructField(name, kind, nullable=null, metadata={"comment": comment})


_STRING, _INT, _LONG, _BOOL, _DOUBLE = T.StringType(), T.IntegerType(), T.LongType(), T.BooleanType(), T.DoubleType()
_ARTICLE_ID = _column("article_id", _STRING, "SHA-1 of the URL as listed, or the story file's own name")
_FOLD = _column("fold", _INT, "0-4: stable hash of article_id; all queries of a passage share it")
_FINGERPRINT = _column("fingerprint", _STRING, "hash of input content, settings and model that made this row")
_KEEP = _column("keep", _BOOL, "whether it goes on to the next stage")
_TOKENS = T.ArrayType(TOKEN)


def _reason(what: str) -> T.StructField:
    return _column("reason", _STRING, f"first failing condition of {what}; null where kept", null=True)


_IDS = {"article_id": "article_id rlike '^[0-9a-f]{40}$'"}
_FOLDS = {"fold": "fold between 0 and 4"}
_REASONS = {"reason": "keep = (reason is null)"}


def _no_null(column: str) -> dict[str, str]:
    # Delta does not enforce containsNull = false, and it breaks MERGE.
    return {column: f"{column} is null or size(array_compact({column})) = size({column})"}


ARTICLES = TableContract(
    name="articles",
    purpose="News articles as ingested: exact text, paragraphs, bullets, Hermann's stand-off where there is one.",
    schema=T.StructType(
        [
            _ARTICLE_ID,
            _column("url", _STRING, "URL as listed; null where the source names none", null=True),
            _column("url_key", _STRING, "URL without archive prefix, scheme, port, www.", null=True),
            _column("origin", _STRING, "hermann (from the public script's lists) or crawled (ours)"),
            _column("publisher", _STRING, "CNN, Daily Mail or another name", null=True),
            _column("format", _STRING, "story, jsonl or parquet"),
            _column("source_path", _STRING, "file, archive or table that it was read from"),
            _column("source_item", _STRING, "archive member or record inside source_path; empty for a file of its own"),
            _column("source_signature", _STRING, "sizes and times of the files read: changed files are read again"),
            _column("text", _STRING, "the whole story string, bullets with their @highlight marks included"),
            _column("paragraphs", T.ArrayType(SPAN), "spans of the body's paragraphs in text"),
            _column("highlights", T.ArrayType(SPAN), "spans of the bullets in text"),
            _column("stand_off", T.ArrayType(STAND_OFF_MENTION), "aligned named mentions; null: none given", null=True),
            _column("notes", T.ArrayType(_STRING), "what had to be repaired, as <kind> or <kind>:<detail>"),
            _column("shingle_hashes", T.ArrayType(_LONG), "MinHash signature of 5-word shingles"),
            _column("content_hash", _STRING, "SHA-1 of text and stand-off: edits are seen by it"),
            _FOLD,
        ]
    ),
    key=("article_id",),
    checks={
        **_IDS,
        **_FOLDS,
        "origin": "origin in ('hermann', 'crawled')",
        "paragraphs_not_empty": "size(paragraphs) > 0",
        **_no_null("paragraphs"),
        **_no_null("highlights"),
        **_no_null("stand_off"),
    },
    written_by="ingest_articles",
    read_by=("annotate_articles", "generate_triples"),
)

INPUTS = TableContract(
    name="inputs",
    purpose="The files that were read: a file is read again when its signature changes.",
    schema=T.StructType(
        [
            _column("path", _STRING, "file or archive; a story's stand-off counts with it"),
            _column("kind", _STRING, "story, archive, jsonl or parquet"),
            _column("signature", _STRING, "newest time of change, then a hash of sizes and times"),
            _column("size", _LONG, "bytes, stand-off included"),
        ]
    ),
    key=("path",),
    checks={},
    written_by="ingest_articles",
    read_by=("ingest_articles",),
    statistics=("path",),
)

REJECTS = TableContract(
    name="rejects",
    purpose="Inputs that could not be used, with the reason: nothing is lost silently.",
    schema=T.StructType(
        [
            _column("stage", _STRING, "the stage that rejected it"),
            _column("input", _STRING, "file path (ingest) or article_id (later stages)"),
            _column("item", _STRING, "archive member, line or row inside the file; empty for the whole"),
            _column("reason", _STRING, "one of the reject reasons"),
            _column("detail", _STRING, "what was seen, and where"),
            _column("article_id", _STRING, "the article, where it is known", null=True),
            _column("fingerprint", _STRING, "source signature or stage fingerprint: tried again when it changes"),
        ]
    ),
    key=("stage", "input", "item"),
    checks={"stage": "stage in ('ingest', 'annotate')"},
    written_by="every stage",
    read_by=("report",),
    statistics=("stage", "input"),
)

ANNOTATIONS = TableContract(
    name="annotations",
    purpose="Sentences, tokens, named mentions and coreference clusters of each article.",
    schema=T.StructType(
        [
            _ARTICLE_ID,
            _column("annotator", _STRING, "stand-off, or the annotator of the settings"),
            _column("sentences", T.ArrayType(SPAN), "sentences of the body, spans in articles.text"),
            _column("tokens", _TOKENS, "tokens with part of speech and lemma; null for stand-off", null=True),
            _column("mentions", T.ArrayType(MENTION), "named mentions (may nest) with cluster and type"),
            _FINGERPRINT,
        ]
    ),
    key=("article_id",),
    checks={**_IDS, **_no_null("sentences"), **_no_null("mentions")},
    written_by="annotate_articles",
    read_by=("generate_triples", "tag_tokens"),
)

PASSAGES = TableContract(
    name="passages",
    purpose="One candidate passage per article (first part + bullets), kept or with the reason why not.",
    schema=T.StructType(
        [
            _ARTICLE_ID,
            _FOLD,
            _column("origin", _STRING, "hermann, crawled, or imported"),
            _column("publisher", _STRING, "CNN, Daily Mail or another name", null=True),
            _column("text", _STRING, "first part in one line, each bullet after \\n@highlight\\n"),
            _column("first_part_end", _INT, "length of the first part in text"),
            _column("first_part_tokens", _INT, "white space tokens that count towards the minimum"),
            _column("first_part_entities", _INT, "different clusters named in the first part"),
            _column("entities", T.ArrayType(MENTION), "candidates: outermost named mentions, spans in text"),
            _KEEP,
            _reason(", ".join(PASSAGE_REASONS)),
            _column("split", _STRING, "train, dev or test of an imported data set", null=True),
            _FINGERPRINT,
        ]
    ),
    key=("article_id",),
    checks={**_FOLDS, **_REASONS, **_no_null("entities")},
    written_by="generate_triples, import_dataset",
    read_by=("tag_tokens", "export_dataset"),
)

SENTENCES = TableContract(
    name="sentences",
    purpose="Every sentence of the second parts with all verdicts of section 3.2.",
    schema=T.StructType(
        [
            _ARTICLE_ID,
            _column("start", _INT, "start in articles.text"),
            _column("end", _INT, "end in articles.text"),
            _column("text", _STRING, "the sentence in one line"),
            _column("tokens", _INT, "white space tokens"),
            _column("entities", _INT, "outermost named mentions"),
            _column("is_short", _BOOL, "fewer than generate.min_sentence_tokens tokens"),
            _column("is_question", _BOOL, "ends with ? before closing quotes"),
            _column("has_no_entity", _BOOL, "names no entity"),
            _column("lacks_precedent", _BOOL, "names an entity that the passage does not"),
            _column("is_repeated", _BOOL, "stands word for word earlier in the second part"),
            _column("holds_placeholder", _BOOL, "holds the text @placeholder itself"),
            _KEEP,
            _reason(", ".join(SENTENCE_REASONS)),
        ]
    ),
    key=("article_id", "start"),
    checks={**_REASONS},
    written_by="generate_triples",
    read_by=("tag_tokens",),
)

TRIPLES = TableContract(
    name="triples",
    purpose="Candidate queries with passage (article_id) and answers; those with keep are the triples of section 3.2.",
    schema=T.StructType(
        [
            _column("query_id", _STRING, "<article_id>-<SHA-1 of the sentence>-<offset of the placeholder>"),
            _ARTICLE_ID,
            _FOLD,
            _column("sentence_start", _INT, "the sentence's start in articles.text; null where imported", null=True),
            _column("sentence_sha1", _STRING, "SHA-1 of the sentence; null where imported", null=True),
            _column("query", _STRING, "the sentence with one entity replaced by @placeholder"),
            _column("placeholder", _INT, "offset of @placeholder in query"),
            _column("answer_surface", _STRING, "the text that was replaced; null where imported", null=True),
            _column("cluster", _INT, "coreference cluster of the answer; null where imported", null=True),
            _column("answers", T.ArrayType(ANSWER), "all precedents in the passage, spans in passages.text"),
            _column("overlaps", _BOOL, "the query shares an n-gram with first part or a bullet"),
            _KEEP,
            _reason(", ".join(QUERY_REASONS)),
            _column("split", _STRING, "train, dev or test of an imported data set", null=True),
        ]
    ),
    key=("query_id",),
    checks={
        **_FOLDS,
        **_REASONS,
        **_no_null("answers"),
        "placeholder": "instr(query, '@placeholder') = placeholder + 1",
    },
    written_by="generate_triples, import_dataset",
    read_by=("export_dataset",),
    statistics=("article_id", "query_id"),
)

TOKEN_TAGS = TableContract(
    name="token_tags",
    purpose="Tokens, parts of speech and lemmas of each kept passage and selected sentence, for the readers.",
    schema=T.StructType(
        [
            _ARTICLE_ID,
            _column("unit", _STRING, "passage, or sentence"),
            _column("start", _INT, "0 for the passage, the sentence's start in articles.text"),
            _column("tokens", _TOKENS, "spans in the passage's or the sentence's own text"),
            _FINGERPRINT,
        ]
    ),
    key=("article_id", "unit", "start"),
    checks={**_IDS, "unit": "unit in ('passage', 'sentence')", **_no_null("tokens")},
    written_by="tag_tokens",
    read_by=("readers",),
)

FUNNEL = TableContract(
    name="funnel",
    purpose="What went in and came out of each stage, by reason: the state of the tables after the last run.",
    schema=T.StructType(
        [
            _column("stage", _STRING, "ingest, annotate, generate"),
            _column("unit", _STRING, "article, passage, sentence or query"),
            _column("outcome", _STRING, "kept, or the reason why not"),
            _column("rows", _LONG, "how many"),
        ]
    ),
    key=("stage", "unit", "outcome"),
    checks={},
    written_by="run_pipeline",
    read_by=("report",),
    statistics=("stage",),
)

RUN_METRICS = TableContract(
    name="run_metrics",
    purpose="One row per stage that did work: when, how long, rows in and out, code version.",
    schema=T.StructType(
        [
            _column("run_id", _STRING, "one per command"),
            _column("stage", _STRING, "the job"),
            _column("code_version", _STRING, "version of this package"),
            _column("started_at", T.TimestampType(), "UTC"),
            _column("seconds", _DOUBLE, "wall time"),
            _column("rows_in", _LONG, "inputs on the work list"),
            _column("rows_out", _LONG, "rows written"),
            _column("rejects", _LONG, "inputs rejected"),
        ]
    ),
    key=("run_id", "stage"),
    checks={},
    written_by="every stage",
    read_by=("report",),
    statistics=("run_id",),
)

CONTRACTS = {
    c.name: c
    for c in (INPUTS, ARTICLES, REJECTS, ANNOTATIONS, PASSAGES, SENTENCES, TRIPLES, TOKEN_TAGS, FUNNEL, RUN_METRICS)
}


def tables_in_markdown() -> str:
    """The README's list of tables."""
    rows = [
        f"| `{c.name}` | {c.purpose} | {', '.join(f'`{k}`' for k in c.key)} | {c.written_by} |"
        for c in CONTRACTS.values()
    ]
    return "\n".join(["| table | what it holds | key | written by |", "|---|---|---|---|", *rows])


def columns_in_markdown(contract: TableContract) -> str:
    """All columns of a table with their types and comments."""
    rows = [f"| `{f.name}` | {_short_type(f.dataType)} | {f.metadata['comment']} |" for f in contract.schema]
    title = f"### `{contract.name}`\n\n{contract.purpose}\n"
    return "\n".join([title, "| column | type | |", "|---|---|---|", *rows, ""])


def _short_type(kind: T.DataType) -> str:
    if isinstance(kind, T.ArrayType):
        return f"array of {_short_type(kind.elementType)}"
    if isinstance(kind, T.StructType):
        return "(" + ", ".join(kind.names) + ")"
    return kind.simpleString()


if __name__ == "__main__":
    print(tables_in_markdown(), "\n")
    for each in CONTRACTS.values():
        print(columns_in_markdown(each))
