"""The funnel: what went in and came out of each stage, by reason."""

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.job_support.reader_contracts import FILTER_REASONS
from jobs.transforms.machine_filter import SPLITS
from udfs.cloze import PASSAGE_REASONS, QUERY_REASONS, SENTENCE_REASONS

KEPT = "kept"
UNITS = (
    ("ingest", "article"),
    ("annotate", "article"),
    ("generate", "passage"),
    ("generate", "sentence"),
    ("generate", "query"),
    ("filter", "query"),
)
# What an article is counted as where a stage rejects it: generate makes one passage of each.
REJECTED_UNITS = {"ingest": "article", "annotate": "article", "generate": "passage", "tag": "article"}


def funnel_rows(
    articles: DataFrame,
    rejects: DataFrame,
    annotations: DataFrame,
    passages: DataFrame,
    sentences: DataFrame,
    triples: DataFrame,
    machine_filter: DataFrame | None = None,
) -> DataFrame:
    """Rows of ``funnel``: per stage and unit how many were kept, and how many not for which reason.

    Of tag the articles that failed are counted alone: their triples stay, and lack only the readers' tokens.
    Of split the outcomes are the splits of the triples that the machine filter kept.
    """
    parts = [
        _count("ingest", "article", articles, F.lit(KEPT)),
        _count("annotate", "article", annotations, F.lit(KEPT)),
        *(
            _count("generate", unit, rows, F.coalesce("reason", F.lit(KEPT)))
            for unit, rows in (("passage", passages), ("sentence", sentences), ("query", triples))
        ),
        *(
            _count(stage, unit, rejects.where(F.col("stage") == stage), F.col("reason"))
            for stage, unit in REJECTED_UNITS.items()
        ),
    ]
    if machine_filter is not None:
        parts.append(_count("filter", "query", machine_filter, F.coalesce("reason", F.lit(KEPT))))
        parts.append(_count("split", "query", machine_filter.where("keep"), F.col("split")))
    return reduce(DataFrame.unionByName, parts)


def _count(stage: str, unit: str, rows: DataFrame, outcome: Column) -> DataFrame:
    return (
        rows.groupBy(outcome.alias("outcome"))
        .agg(F.count("*").alias("rows"))
        .select(F.lit(stage).alias("stage"), F.lit(unit).alias("unit"), "outcome", "rows")
    )


def unaccounted(counts: Mapping[tuple[str, str, str], int]) -> list[str]:
    """What contradicts "counts out = counts in - rejects": nothing may be lost between stages.

    Args:
        counts: rows by (stage, unit, outcome).
    """
    total = {(s, u): sum(_outcomes(counts, s, u).values()) for s, u in UNITS}
    kept = {(s, u): counts.get((s, u, KEPT), 0) for s, u in UNITS}
    checks = [
        ("articles ingested", kept["ingest", "article"], "articles annotated or failed", total["annotate", "article"]),
        ("articles annotated", kept["annotate", "article"], "passages judged or failed", total["generate", "passage"]),
    ]
    if total["filter", "query"]:
        checks.append(("triples", kept["generate", "query"], "triples filtered", total["filter", "query"]))
    return [f"{a:,} {what_a} but {b:,} {what_b}" for what_a, a, what_b, b in checks if a != b]


def render_funnel(counts: Mapping[tuple[str, str, str], int]) -> str:
    """The funnel as text, stages from top to bottom, reasons indented in the order in which they are checked."""
    titles = {
        ("ingest", "article"): "articles read",
        ("annotate", "article"): "articles annotated",
        ("generate", "passage"): "candidate passages",
        ("generate", "sentence"): "sentences of the second parts",
        ("generate", "query"): "candidate queries",
        ("filter", "query"): "passage-query-answers triples",
    }
    lines = []
    for stage, unit in UNITS:
        found = _outcomes(counts, stage, unit)
        if stage == "filter" and not found:
            continue
        total, kept = sum(found.values()), found.get(KEPT, 0)
        share = f"{100 * kept / total:5.1f}%" if total else ""
        lines.append(f"{titles[stage, unit]:<34}{total:>10,}   kept {kept:>10,}  {share}")
        lines += _reason_lines(found)
    if splits := _outcomes(counts, "split", "query"):
        lines.append(f"{'hard triples':<34}{sum(splits.values()):>10,}")
        lines += [f"    {split:<30}{splits.get(split, 0):>10,}" for split in SPLITS]
    else:
        lines.append(f"{'passage-query-answers triples':<34}{counts.get(('generate', 'query', KEPT), 0):>10,}")
    if untagged := _outcomes(counts, "tag", "article"):
        lines += [f"{'articles without token tags':<34}{sum(untagged.values()):>10,}", *_reason_lines(untagged)]
    return "\n".join(lines)


def _outcomes(counts: Mapping[tuple[str, str, str], int], stage: str, unit: str) -> dict[str, int]:
    return {outcome: n for (s, u, outcome), n in counts.items() if (s, u) == (stage, unit)}


def _reason_lines(outcomes: Mapping[str, int]) -> list[str]:
    return [f"    - {reason:<28}{outcomes[reason]:>10,}" for reason in _in_order(outcomes) if outcomes[reason]]


def _in_order(outcomes: Iterable[str]) -> list[str]:
    order = (*PASSAGE_REASONS, *SENTENCE_REASONS, *QUERY_REASONS, *FILTER_REASONS)
    return sorted((o for o in outcomes if o != KEPT), key=lambda o: (order.index(o) if o in order else -1, o))
