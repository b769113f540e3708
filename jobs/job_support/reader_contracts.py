"""Contracts of what the readers make: models, predictions, the machine filter, evaluations."""

from pyspark.sql import types as T

from jobs.job_support.table_contract import (
    ARTICLE_ID,
    BOOL,
    DOUBLE,
    FINGERPRINT,
    FOLD,
    INT,
    KEEP,
    LONG,
    REASON_CHECK,
    STRING,
    TableContract,
    column,
    reason,
)
from udfs.return_types import LEFT_OUT

ANSWERED, NOT_SCORED = FILTER_REASONS = ("answered_by_reader", "not_scored")

READER_RUNS = TableContract(
    name="reader_runs",
    purpose="The trained readers: for each fold one that never saw its articles.",
    schema=T.StructType(
        [
            column("reader", STRING, "name of the network"),
            column("fold", INT, "the fold that was held out"),
            column("path", STRING, "folder of the trained reader, below paths.models"),
            column("digest", STRING, "hash of network, vocabulary and weights: equal for equal training"),
            column("epochs", INT, "epochs trained"),
            column("trained_on", LONG, "triples trained on"),
            column("left_out", T.ArrayType(LEFT_OUT), "triples that can't be trained on, by reason"),
            FINGERPRINT,
        ]
    ),
    key=("reader", "fold"),
    checks={"fold": "fold between 0 and 4"},
    written_by="train_readers",
    read_by=("score_queries",),
    statistics=("reader", "fold"),
)

LEARNING_CURVES = TableContract(
    name="learning_curves",
    purpose="Each epoch of each trained reader: loss, and scores on the held-out fold.",
    schema=T.StructType(
        [
            column("reader", STRING, "name of the network"),
            column("fold", INT, "the fold that was held out"),
            column("epoch", INT, "1 for the first"),
            column("loss", DOUBLE, "mean over the training triples, dropout on"),
            column("exact_match", DOUBLE, "share of the held-out triples; null where there are none", null=True),
            column("f1", DOUBLE, "mean over the held-out triples; null where there are none", null=True),
            column("seconds", DOUBLE, "wall time of the epoch"),
            column("triples_per_second", DOUBLE, "in training"),
        ]
    ),
    key=("reader", "fold", "epoch"),
    checks={},
    written_by="train_readers",
    read_by=("notebooks",),
    statistics=("reader", "fold"),
)

PREDICTIONS = TableContract(
    name="predictions",
    purpose="What the reader of its held-out fold answers to each triple, and whether that is right.",
    schema=T.StructType(
        [
            column("reader", STRING, "name of the network"),
            column("query_id", STRING, "the triple"),
            ARTICLE_ID,
            FOLD,
            column("start", INT, "start of the answer in passages.text; null where there is none", null=True),
            column("end", INT, "its end", null=True),
            column("text", STRING, "the answer", null=True),
            column("score", DOUBLE, "ranks spans of one query; no probability", null=True),
            column("exact_match", BOOL, "equals an answer, after the metric's normalisation"),
            column("f1", DOUBLE, "of the most similar answer"),
            column("is_candidate", BOOL, "equals one of the passage's entities; else out-of-candidate"),
            column("candidate_start", INT, "start of the best entity mention; null where there is none", null=True),
            column("candidate_end", INT, "its end", null=True),
            column("candidate_text", STRING, "the answer where only entities may be", null=True),
            column("candidate_score", DOUBLE, "as score", null=True),
            column("candidate_exact_match", BOOL, "as exact_match, of candidate_text"),
            column("candidate_f1", DOUBLE, "as f1, of candidate_text"),
            column("error", STRING, "why there is no answer", null=True),
            FINGERPRINT,
        ]
    ),
    key=("reader", "query_id"),
    checks={"error": "(error is null) = (text is not null)"},
    written_by="score_queries",
    read_by=("filter_triples", "evaluate_readers", "notebooks"),
    statistics=("reader", "article_id", "query_id"),
)

MACHINE_FILTER = TableContract(
    name="machine_filter",
    purpose="Every triple's verdict: the hard ones are kept; and its split, by article.",
    schema=T.StructType(
        [
            column("query_id", STRING, "the triple"),
            ARTICLE_ID,
            KEEP,
            reason(", ".join(FILTER_REASONS)),
            column("split", STRING, "train, dev or test: all triples of an article share it"),
            FINGERPRINT,
        ]
    ),
    key=("query_id",),
    checks={**REASON_CHECK, "split": "split in ('train', 'dev', 'test')"},
    written_by="filter_triples",
    read_by=("export_dataset", "evaluate_readers", "notebooks"),
    statistics=("article_id", "query_id"),
)

EVALUATIONS = TableContract(
    name="evaluations",
    purpose="Exact match, F1 and out-of-candidate rate of the predictions, over all and by slice.",
    schema=T.StructType(
        [
            column("reader", STRING, "name of the network"),
            column("slice", STRING, "all, split, origin, or answers (different strings)"),
            column("value", STRING, "train, crawled, 2, ...; all for all"),
            column("queries", LONG, "how many"),
            column("exact_match", DOUBLE, "share of them, 0 to 1"),
            column("f1", DOUBLE, "mean, 0 to 1"),
            column("out_of_candidate", DOUBLE, "share whose answer is no candidate entity, 0 to 1"),
            column("candidate_exact_match", DOUBLE, "exact_match where only entities may be answers"),
            column("candidate_f1", DOUBLE, "f1 where only entities may be answers"),
        ]
    ),
    key=("reader", "slice", "value"),
    checks={},
    written_by="evaluate_readers",
    read_by=("report", "notebooks"),
    statistics=("reader",),
)
