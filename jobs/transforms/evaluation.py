"""Exact match, F1 and out-of-candidate rate of predictions, over all and by slice."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ALL = "all"
SLICES = (ALL, "split", "origin", "answers")
FIGURES = ("exact_match", "f1", "out_of_candidate", "candidate_exact_match", "candidate_f1")
# Queries with so many different answer strings or more share a line.
MANY_ANSWERS = 4


def evaluate(predictions: DataFrame, triples: DataFrame, passages: DataFrame, splits: DataFrame) -> DataFrame:
    """Rows of ``evaluations``.

    Args:
        predictions: those of any readers.
        splits: article_id and split, unique by article; articles without one count overall alone.
    """
    n_answers = F.size(F.array_distinct(F.transform("answers", lambda a: F.lower(a["text"]))))
    answers = F.when(n_answers >= MANY_ANSWERS, f"{MANY_ANSWERS} or more").otherwise(n_answers.cast("string"))
    judged = (
        predictions.join(triples.select("query_id", answers.alias("answers")), on="query_id", how="inner")
        .join(passages.select("article_id", "origin"), on="article_id", how="inner")
        .join(splits, on="article_id", how="left")
        .withColumn(ALL, F.lit(ALL))
    )
    return reduce(DataFrame.unionByName, (_by(judged, name) for name in SLICES))


def _by(judged: DataFrame, name: str) -> DataFrame:
    return (
        judged.where(F.col(name).isNotNull())
        .groupBy("reader", F.lit(name).alias("slice"), F.col(name).alias("value"))
        .agg(
            F.count("*").alias("queries"),
            _share("exact_match").alias("exact_match"),
            # Sums of doubles depend on the order of rows: rounded, the same predictions give the same figures.
            F.round(F.avg("f1"), 6).alias("f1"),
            (1 - _share("is_candidate")).alias("out_of_candidate"),
            _share("candidate_exact_match").alias("candidate_exact_match"),
            F.round(F.avg("candidate_f1"), 6).alias("candidate_f1"),
        )
    )


def _share(column: str) -> Column:
    return F.avg(F.col(column).cast("double"))


def render_evaluation(rows: Iterable[Mapping[str, Any]]) -> str:
    """The figures as a table in Markdown, in percent; ``rows`` are those of ``evaluations``."""
    lines = [
        "# Evaluation",
        "",
        "Percent of queries. Each was answered by a reader that did not see its article in training. To the left it",
        "may answer any span of the passage, to the right only one of the passage's entities.",
        "",
        "| reader | queries of | number | EM | F1 | out of candidates | EM of entities | F1 of entities |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(rows, key=lambda r: (r["reader"], SLICES.index(r["slice"]), r["value"])):
        of = "all" if row["slice"] == ALL else f"{row['slice']}: {row['value']}"
        shares = (f"{100 * row[name]:.2f}" for name in FIGURES)
        lines.append(f"| {row['reader']} | {of} | {row['queries']:,} | {' | '.join(shares)} |")
    return "\n".join([*lines, ""])
