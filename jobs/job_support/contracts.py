"""The tables' contracts: purpose, columns, key, checks, who writes and who reads. One place for all.

``store`` creates the tables from these, checks every write against them, and the README's list of
tables is generated from them (``make tables-doc`` prints it, with all columns).
"""

from pyspark.sql import types as T

from jobs.job_support.annotator_contracts import ANNOTATOR_COMPARISONS, ANNOTATOR_RUNS
from jobs.job_support.reader_contracts import EVALUATIONS, LEARNING_CURVES, MACHINE_FILTER, PREDICTIONS, READER_RUNS
from jobs.job_support.table_contract import (
    ARTICLE_ID,
    BOOL,
    DOUBLE,
    FINGERPRINT,
    FOLD,
    FOLD_CHECK,
    IDS_CHECK,
    INT,
    KEEP,
    LONG,
    REASON_CHECK,
    STRING,
    TOKENS,
    TableContract,
    column,
    no_null,
    reason,
)
from udfs.cloze import PASSAGE_REASONS, QUERY_REASONS, SENTENCE_REASONS
from udfs.return_types import ANSWER, MENTION, SPAN, STAND_OFF_MENTION

ARTICLES = TableContract(
    name="articles",
    purpose="News articles as ingested: exact text, paragraphs, bullets, Hermann's stand-off where there is one.",
    schema=T.StructType(
        [
            ARTICLE_ID,
            column("url", STRING, "URL as listed; null where the source names none", null=True),
            column("url_key", STRING, "URL without archive prefix, scheme, port, www.", null=True),
            column("origin", STRING, "hermann (from the public script's lists) or crawled (ours)"),
            column("publisher", STRING, "CNN, Daily Mail or another name", null=True),
            column("format", STRING, "story, html, jsonl or parquet"),
            column("source_path", STRING, "file, archive or table that it was read from"),
            column("source_item", STRING, "archive member or record inside source_path; empty for a file of its own"),
            column("source_signature", STRING, "SHA-1 of what was read for the article: id, URL, story, stand-off"),
            column("text", STRING, "the whole story string, bullets with their @highlight marks included"),
            column("paragraphs", T.ArrayType(SPAN), "spans of the body's paragraphs in text"),
            column("highlights", T.ArrayType(SPAN), "spans of the bullets in text"),
            column("stand_off", T.ArrayType(STAND_OFF_MENTION), "aligned named mentions; null: none given", null=True),
            column("notes", T.ArrayType(STRING), "what had to be repaired, as <kind> or <kind>:<detail>"),
            column("shingle_hashes", T.ArrayType(LONG), "MinHash signature of 5-word shingles"),
            column("content_hash", STRING, "SHA-1 of text and stand-off: edits are seen by it"),
            FOLD,
        ]
    ),
    key=("article_id",),
    checks={
        **IDS_CHECK,
        **FOLD_CHECK,
        "origin": "origin in ('hermann', 'crawled')",
        "paragraphs_not_empty": "size(paragraphs) > 0",
        **no_null("paragraphs"),
        **no_null("highlights"),
        **no_null("stand_off"),
    },
    written_by="ingest_articles",
    read_by=("annotate_articles", "generate_triples", "train_annotators"),
)

INPUTS = TableContract(
    name="inputs",
    purpose="The files that were read: a file is read again when its signature changes.",
    schema=T.StructType(
        [
            column("path", STRING, "file or archive; a story's stand-off counts with it"),
            column("kind", STRING, "story, page, stand_off, archive, jsonl or parquet"),
            column("signature", STRING, "newest time of change, then a hash of sizes and times"),
            column("size", LONG, "bytes, stand-off included"),
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
            column("stage", STRING, "the stage that rejected it"),
            column("input", STRING, "file path (ingest) or article_id (later stages)"),
            column("item", STRING, "archive member, line or row inside the file; empty for the whole"),
            column("reason", STRING, "one of the reject reasons"),
            column("detail", STRING, "what was seen, and where"),
            column("article_id", STRING, "the article, where it is known", null=True),
            column("fingerprint", STRING, "source signature or stage fingerprint: tried again when it changes"),
        ]
    ),
    key=("stage", "input", "item"),
    checks={"stage": "stage in ('ingest', 'annotate', 'generate', 'tag')"},
    written_by="every stage",
    read_by=("report",),
    statistics=("stage", "input"),
)

ANNOTATIONS = TableContract(
    name="annotations",
    purpose="Sentences, tokens, named mentions and coreference clusters of each article.",
    schema=T.StructType(
        [
            ARTICLE_ID,
            column("annotator", STRING, "stand-off, or the annotator of the settings"),
            column("version", STRING, "version of the stage that annotated"),
            column("digest", STRING, "of model, rules and settings of the annotator: equal ones annotate alike"),
            column("sentences", T.ArrayType(SPAN), "sentences of the body, spans in articles.text"),
            column("tokens", TOKENS, "tokens with part of speech and lemma; null for stand-off", null=True),
            column("mentions", T.ArrayType(MENTION), "named mentions (may nest) with cluster and type"),
            column(
                "unnamed", T.ArrayType(MENTION), "pronouns, nominals in the same clusters; never candidates", null=True
            ),
            FINGERPRINT,
        ]
    ),
    key=("article_id",),
    checks={**IDS_CHECK, **no_null("sentences"), **no_null("mentions"), **no_null("unnamed")},
    written_by="annotate_articles",
    read_by=("generate_triples", "tag_tokens"),
)

PASSAGES = TableContract(
    name="passages",
    purpose="One candidate passage per article (first part + bullets), kept or with the reason why not.",
    schema=T.StructType(
        [
            ARTICLE_ID,
            FOLD,
            column("origin", STRING, "hermann, crawled, or imported"),
            column("publisher", STRING, "CNN, Daily Mail or another name", null=True),
            column("text", STRING, "first part in one line, each bullet after \\n@highlight\\n"),
            column("first_part_end", INT, "length of the first part in text"),
            column("first_part_tokens", INT, "white space tokens that count towards the minimum"),
            column("first_part_entities", INT, "different clusters named in the first part"),
            column("entities", T.ArrayType(MENTION), "candidates: outermost named mentions, spans in text"),
            KEEP,
            reason(", ".join(PASSAGE_REASONS)),
            column("split", STRING, "train, dev or test of an imported data set", null=True),
            FINGERPRINT,
        ]
    ),
    key=("article_id",),
    checks={**FOLD_CHECK, **REASON_CHECK, **no_null("entities")},
    written_by="generate_triples, import_dataset",
    read_by=("tag_tokens", "export_dataset"),
)

SENTENCES = TableContract(
    name="sentences",
    purpose="Every sentence of the second parts with all verdicts of section 3.2.",
    schema=T.StructType(
        [
            ARTICLE_ID,
            column("start", INT, "start in articles.text"),
            column("end", INT, "end in articles.text"),
            column("text", STRING, "the sentence in one line"),
            column("tokens", INT, "white space tokens"),
            column("entities", INT, "outermost named mentions"),
            column("is_short", BOOL, "fewer than generate.min_sentence_tokens tokens"),
            column("is_question", BOOL, "ends with ? before closing quotes"),
            column("has_no_entity", BOOL, "names no entity"),
            column("lacks_precedent", BOOL, "names an entity that the passage does not"),
            column("is_repeated", BOOL, "stands word for word earlier in the second part"),
            column("holds_placeholder", BOOL, "holds the text @placeholder itself"),
            KEEP,
            reason(", ".join(SENTENCE_REASONS)),
        ]
    ),
    key=("article_id", "start"),
    checks={**REASON_CHECK},
    written_by="generate_triples",
    read_by=("tag_tokens",),
)

TRIPLES = TableContract(
    name="triples",
    purpose="Candidate queries with passage (article_id) and answers; those with keep are the triples of section 3.2.",
    schema=T.StructType(
        [
            column("query_id", STRING, "<article_id>-<SHA-1 of the sentence>-<offset of the placeholder>"),
            ARTICLE_ID,
            FOLD,
            column("sentence_start", INT, "the sentence's start in articles.text; null where imported", null=True),
            column("sentence_sha1", STRING, "SHA-1 of the sentence; null where imported", null=True),
            column("query", STRING, "the sentence with one entity replaced by @placeholder"),
            column("placeholder", INT, "offset of @placeholder in query"),
            column("answer_surface", STRING, "the text that was replaced; null where imported", null=True),
            column("cluster", INT, "coreference cluster of the answer; null where imported", null=True),
            column("answers", T.ArrayType(ANSWER), "all precedents in the passage, spans in passages.text"),
            column("overlaps", BOOL, "the query shares an n-gram with first part or a bullet"),
            KEEP,
            reason(", ".join(QUERY_REASONS)),
            column("split", STRING, "train, dev or test of an imported data set", null=True),
        ]
    ),
    key=("query_id",),
    checks={
        **FOLD_CHECK,
        **REASON_CHECK,
        **no_null("answers"),
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
            ARTICLE_ID,
            column("unit", STRING, "passage, or sentence"),
            column("start", INT, "0 for the passage, the sentence's start in articles.text"),
            column("tokens", TOKENS, "spans in the passage's or the sentence's own text"),
            FINGERPRINT,
        ]
    ),
    key=("article_id", "unit", "start"),
    checks={**IDS_CHECK, "unit": "unit in ('passage', 'sentence')", **no_null("tokens")},
    written_by="tag_tokens",
    read_by=("train_readers", "score_queries"),
)

FUNNEL = TableContract(
    name="funnel",
    purpose="What went in and came out of each stage, by reason: the state of the tables after the last run.",
    schema=T.StructType(
        [
            column("stage", STRING, "ingest, annotate, generate, tag, filter, split"),
            column("unit", STRING, "article, passage, sentence or query"),
            column("outcome", STRING, "kept, or the reason why not; of split: train, dev, test"),
            column("rows", LONG, "how many"),
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
            column("run_id", STRING, "one per command"),
            column("stage", STRING, "the job"),
            column("code_version", STRING, "version of this package"),
            column("started_at", T.TimestampType(), "UTC"),
            column("seconds", DOUBLE, "wall time"),
            column("rows_in", LONG, "inputs on the work list"),
            column("rows_out", LONG, "rows written"),
            column("rejects", LONG, "inputs rejected"),
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
    for c in (
        *(INPUTS, ARTICLES, REJECTS, ANNOTATIONS, PASSAGES, SENTENCES, TRIPLES, TOKEN_TAGS),
        *(READER_RUNS, LEARNING_CURVES, PREDICTIONS, MACHINE_FILTER, EVALUATIONS),
        *(ANNOTATOR_RUNS, ANNOTATOR_COMPARISONS, FUNNEL, RUN_METRICS),
    )
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
