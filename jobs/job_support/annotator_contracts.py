"""Contracts of what is known about annotators: how they compare."""

from pyspark.sql import types as T

from jobs.job_support.table_contract import (
    ARTICLE_ID,
    FINGERPRINT,
    IDS_CHECK,
    LONG,
    STRING,
    TableContract,
    column,
    no_null,
)
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
