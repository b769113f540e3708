"""Contracts of what is known about annotators: those that were trained, and how they compare."""

from pyspark.sql import types as T

from jobs.job_support.table_contract import (
    ARTICLE_ID,
    DOUBLE,
    FINGERPRINT,
    IDS_CHECK,
    INT,
    LONG,
    STRING,
    TableContract,
    column,
    no_null,
)
from udfs.annotator_examples import LEFT_OUT_MENTIONS
from udfs.annotator_training import EVALUATION
from udfs.return_types import MENTION

_COUNTS = {
    "line_mentions": "named mentions in annotations",
    "found_mentions": "named mentions of this annotator",
    "common_mentions": "spans that are in both",
    "line_links": "pairs of mentions of one cluster in annotations",
    "found_links": "such pairs of this annotator",
    "common_links": "pairs that are in both",
}

ANNOTATOR_COMPARISONS = TableContract(
    name="annotator_comparisons",
    purpose="A sample of articles as other annotators see them, and how far that agrees with annotations.",
    schema=T.StructType(
        [
            column("annotator", STRING, "its name in compare.annotators"),
            ARTICLE_ID,
            column("compared_with", STRING, "annotations.annotator of the article"),
            column("mentions", T.ArrayType(MENTION), "its named mentions; null where it failed", null=True),
            column("error", STRING, "why it failed", null=True),
            *(column(name, LONG, f"{what}; null where it failed", null=True) for name, what in _COUNTS.items()),
            FINGERPRINT,
        ]
    ),
    key=("annotator", "article_id"),
    checks={**IDS_CHECK, **no_null("mentions"), "error": "(error is null) = (mentions is not null)"},
    written_by="compare_annotators",
    read_by=("report", "notebooks"),
    statistics=("annotator", "article_id"),
)

ANNOTATOR_RUNS = TableContract(
    name="annotator_runs",
    purpose="Annotators trained on the stand-off articles, each with its learning curve beside the base's scores.",
    schema=T.StructType(
        [
            column("annotator", STRING, "kind, as annotate.annotator names it"),
            column("path", STRING, "folder of the trained pipeline, below paths.models: what annotate.model takes"),
            column("digest", STRING, "hash of the pipeline's files: equal for equal training"),
            column("base_model", STRING, "name and version of the pipeline that training began with"),
            column("held_out_fold", INT, "the fold whose articles were not trained on"),
            column("articles", LONG, "articles trained on"),
            column("mentions", LONG, "their mentions trained on"),
            column("left_out", T.ArrayType(LEFT_OUT_MENTIONS), "mentions that can't be trained on, by reason"),
            column("held_out_articles", LONG, "articles of the held-out fold that the scores are of"),
            column("steps", INT, "steps trained, as of the last evaluation"),
            column("best_step", INT, "the step whose network is kept: of the best F1"),
            column("precision", DOUBLE, "of the kept network's names, exact spans whatever the type, 0 to 1"),
            column("recall", DOUBLE, "of the held-out articles' mentions, 0 to 1"),
            column("f1", DOUBLE, "of precision and recall, 0 to 1"),
            column("base_f1", DOUBLE, "the same of the pipeline that training began with"),
            column("curve", T.ArrayType(EVALUATION), "each evaluation: step, loss of a word since the last, scores"),
            column("seconds", DOUBLE, "wall time of the training task"),
            FINGERPRINT,
        ]
    ),
    key=("annotator", "fingerprint"),
    checks={**no_null("left_out"), **no_null("curve"), "held_out_fold": "held_out_fold between 0 and 4"},
    written_by="train_annotators",
    read_by=("train_annotators",),
    statistics=("annotator",),
)
