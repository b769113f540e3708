"""The funnel: what went in and came out of each stage, by reason."""

from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.cloze import PASSAGE_REASONS, QUERY_REASONS, SENTENCE_REASONS

KEPT = "kept"
UNITS = (
    ("ingest", "article"),
    ("annotate", "article"),
    ("generate", "passage"),
    ("generate", "sentence"),
    ("generate", "query"),
)


def funnel_rows(
    articles: DataFrame,
    rejects: DataFrame,
    annotations: DataFrame,
    passages: DataFrame,
    sentences: DataFrame,
    triples: DataFrame,
) -> DataFrame:
    """Rows of ``funnel``: per stage and unit how many were kept, and how many not for which reason."""
    parts = [
        _count("ingest", "article", articles, F.lit(KEPT)),
        _count("ingest", "article", rejects.where("stage = 'ingest'"), F.col("reason")),
        _count("annotate", "article", annotations, F.lit(KEPT)),
        _count("annotate", "article", rejects.where("stage = 'annotate'"), F.col("reason")),
        *(
            _count("generate", unit, rows, F.coalesce("reason", F.lit(KEPT)))
            for unit, rows in (("passage", passages), ("sentence", sentences), ("query", triples))
        ),
    ]
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
    total = {(s, u): sum(n for (s2, u2, _), n in counts.items() if (s2, u2) == (s, u)) for s, u in UNITS}
    kept = {(s, u): counts.get((s, u, KEPT), 0) for s, u in UNITS}
    checks = (
        ("articles ingested", kept["ingest", "article"], "articles annotated or failed", total["annotate", "article"]),
        ("articles annotated", kept["annotate", "article"], "passages judged", total["generate", "passage"]),
    )
    return [f"{a:,} {what_a} but {b:,} {what_b}" for what_a, a, what_b, b in checks if a != b]


def render_funnel(counts: Mapping[tuple[str, str, str], int]) -> str:
    """The funnel as text, stages from top to bottom, reasons indented in the order in which they are checked."""
    titles = {
        ("ingest", "article"): "articles read",
        ("annotate", "article"): "articles annotated",
        ("generate", "passage"): "candidate passages",
        ("generate", "sentence"): "sentences of the second parts",
        ("generate", "query"): "candidate queries",
    }
    lines = []
    for stage, unit in UNITS:
        found = {outcome: n for (s, u, outcome), n in counts.items() if (s, u) == (stage, unit)}
        total, kept = sum(found.values()), found.get(KEPT, 0)
        share = f"{100 * kept / total:5.1f}%" if total else ""
        lines.append(f"{titles[stage, unit]:<34}{total:>10,}   kept {kept:>10,}  {share}")
        lines += [f"    - {reason:<28}{found[reason]:>10,}" for reason in _in_order(found) if found[reason]]
    lines.append(f"{'passage-query-answers triples':<34}{counts.get(('generate', 'query', KEPT), 0):>10,}")
    return "\n".join(lines)


def _in_order(outcomes: Iterable[str]) -> list[str]:
    order = (*PASSAGE_REASONS, *SENTENCE_REASONS, *QUERY_REASONS)
    return sorted((o for o in outcomes if o != KEPT), key=lambda o: (order.index(o) if o in order else -1, o))
