"""The annotations of the line beside those of other annotators: a sample of articles, counts, figures."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.job_support.annotator_contracts import ANNOTATOR_COMPARISONS
from udfs.annotator_agreement import COMPARED, COUNTS, agreement_batches


def sample_of(articles: DataFrame, size: int) -> DataFrame:
    """``size`` articles, drawn by a hash of the id: the same of the same articles, and most of them as some arrive."""
    return articles.orderBy(F.sha1(F.concat_ws("|", F.lit("compare"), "article_id")), "article_id").limit(size)


def comparison_fingerprints(sample: DataFrame, annotations: DataFrame, *, annotator_hash: str) -> DataFrame:
    """(article_id, fingerprint) wanted: of the article's text, the other annotator, and the line's annotation."""
    made_from = F.concat_ws("|", "content_hash", F.lit(annotator_hash), "of_line")
    line = annotations.select("article_id", F.col("fingerprint").alias("of_line"))
    return (
        sample.select("article_id", "content_hash")
        .join(line, on="article_id", how="inner")
        .select("article_id", F.sha1(made_from).alias("fingerprint"))
    )


def comparison_rows(annotated: DataFrame, annotations: DataFrame, *, name: str) -> DataFrame:
    """Rows of ``annotator_comparisons``.

    Args:
        annotated: what ``annotate_by_model`` gives, by the other annotator.
        name: its name in the settings.
    """
    line = annotations.select("article_id", F.col("annotator").alias("compared_with"), F.col("mentions").alias("line"))
    both = annotated.drop("annotator").join(line, on="article_id", how="inner")
    counted = (
        both.where("error is null")
        .select("article_id", "line", F.col("mentions").alias("found"))
        .mapInArrow(agreement_batches, COMPARED)
    )
    return (
        both.join(counted, on="article_id", how="left")
        .withColumn("annotator", F.lit(name))
        .select(*ANNOTATOR_COMPARISONS.schema.names)
    )


def figures(comparisons: DataFrame) -> DataFrame:
    """One row per annotator and what it is compared with: articles, failures and sums of the counts."""
    sums = (F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in COUNTS.names)
    failed = F.count_if(F.col("error").isNotNull()).alias("failed")
    return comparisons.groupBy("annotator", "compared_with").agg(F.count("*").alias("articles"), failed, *sums)


def render_figures(rows: Iterable[Mapping[str, Any]]) -> str:
    """The figures as a table in Markdown, in percent, with the line's annotation in the place of gold."""
    lines = [
        "# Annotators beside the line's annotations",
        "",
        "Percent, over all mentions of a sample of articles; the annotation that the line uses stands for gold. A",
        "mention is found where both ends are the same; a link is a pair of mentions of one entity.",
        "",
        "| annotator | compared with | articles | failed | mentions P | R | F1 | links P | R | F1 |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in sorted(rows, key=lambda r: (r["annotator"], r["compared_with"])):
        cells = [f"{row['articles']:,}", f"{row['failed']:,}"]
        for what in ("mentions", "links"):
            cells += _percent(row[f"common_{what}"], row[f"found_{what}"], row[f"line_{what}"])
        lines.append(f"| {row['annotator']} | {row['compared_with']} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _percent(common: int, found: int, gold: int) -> list[str]:
    shares = (common / found if found else None, common / gold if gold else None, _f1(common, found, gold))
    return ["–" if share is None else f"{100 * share:.1f}" for share in shares]


def _f1(common: int, found: int, gold: int) -> float | None:
    return 2 * common / (found + gold) if found + gold else None
