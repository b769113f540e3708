"""What the notebooks show of the tables: rows as pandas tables, passages and queries as HTML.

The driver fetches few rows: every function that brings rows to it takes ``limit``, which Spark applies before
anything moves. Counts and histograms are made by Spark over all rows.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from udfs.cloze import PLACEHOLDER
from udfs.story_text import HIGHLIGHT

LIMIT = 1_000
CAP = 100_000
_GOLDEN_ANGLE = 137.5  # degrees between the hues of neighbouring clusters: any few of them look different


class BrowseError(ValueError):
    """A request that can't be met; the message says what to ask for."""


class Marked(NamedTuple):
    """A span [start, end) of a text with what its highlight says."""

    start: int
    end: int
    title: str
    style: str


# --- tables -> pandas


def open_table(spark: SparkSession, root: str, name: str) -> DataFrame:
    """A table under a folder or URI, as it is; nothing is created.

    Raises:
        BrowseError: there is no such table.
    """
    path = f"{root if ':/' in root else Path(root).resolve()}/{name}"
    try:
        return spark.read.format("delta").load(path)
    except AnalysisException as error:
        raise BrowseError(
            f"no table at {path}: run `make demo`, or set RECORD_SPARK_TABLES to the folder of a run's tables"
        ) from error


def fetch(rows: DataFrame, *, limit: int = LIMIT) -> pd.DataFrame:
    """The first ``limit`` rows, as Spark has them; sort before, where it matters which.

    ``attrs["more"]`` of the result says whether there are others.

    Raises:
        BrowseError: the limit is not within 1 and ``CAP``.
    """
    if not 1 <= limit <= CAP:
        raise BrowseError(f"limit={limit:,}: from 1 to {CAP:,} rows fit here; let Spark aggregate or write the rest")
    found = rows.limit(limit + 1).toPandas()
    shown = found.iloc[:limit]
    shown.attrs["more"] = len(found) > limit
    return shown


def counts(rows: DataFrame, *by: str | Column) -> DataFrame:
    """(by..., rows): how many rows each combination has, the most frequent first."""
    return rows.groupBy(*by).agg(F.count("*").alias("rows")).orderBy(F.desc("rows"), *by)


def article_with_most(triples: DataFrame) -> str:
    """The id of the article that has most kept triples, the first one of several.

    Raises:
        BrowseError: no triple was kept.
    """
    first = counts(triples.where("keep"), "article_id").first()
    if first is None:
        raise BrowseError("no triple was kept: the funnel says where the articles and sentences went")
    return str(first.article_id)


def histogram(rows: DataFrame, value: Column, *, width: int) -> DataFrame:
    """(from, to, rows): rows by value in bins [from, to) of the same width; bins without rows are absent."""
    low = (F.floor(value / width) * width).cast("long")
    return (
        rows.groupBy(low.alias("from"))
        .agg(F.count("*").alias("rows"))
        .orderBy("from")
        .select("from", (F.col("from") + width).alias("to"), "rows")
    )


def per_article(articles: DataFrame, rows: DataFrame, *, name: str) -> DataFrame:
    """(article_id, <name>): how many ``rows`` each article has, 0 included."""
    found = rows.groupBy("article_id").agg(F.count("*").alias(name))
    joined = articles.select("article_id").join(found, on="article_id", how="left")
    return joined.select("article_id", F.coalesce(name, F.lit(0)).alias(name))


def examples(rows: DataFrame, *, of: str, order: Sequence[str], each: int) -> DataFrame:
    """The first rows of each value of a column, at most ``each``, in an order that the columns ``order`` fix."""
    number = F.row_number().over(Window.partitionBy(of).orderBy(*order))
    return rows.withColumn("_number", number).where(F.col("_number") <= each).orderBy(of, *order).drop("_number")


# --- HTML


def bars_html(table: pd.DataFrame, *, labels: Sequence[str], count: str = "rows") -> str:
    """A table with a bar for each row, as long as its share of the largest count."""
    most = max(table[count], default=0)
    lines = []
    for _, row in table.iterrows():
        cells = "".join(f"<td style='text-align:left'>{escape(_text(row[label]))}</td>" for label in labels)
        length = 100 * row[count] / most if most else 0
        bar = f"<div style='background:#4878a8;height:0.8em;width:{length:.1f}%'></div>"
        lines.append(
            f"<tr>{cells}<td style='text-align:right'>{row[count]:,}</td><td style='width:20em'>{bar}</td></tr>"
        )
    head = "".join(f"<th style='text-align:left'>{escape(label)}</th>" for label in labels)
    return f"<table><tr>{head}<th>{escape(count)}</th><th></th></tr>{''.join(lines)}</table>" + _more(table)


def rows_html(table: pd.DataFrame) -> str:
    """A fetched table, whole texts wrapped, nothing cut off."""
    head = "".join(f"<th style='text-align:left'>{escape(str(c))}</th>" for c in table.columns)
    lines = (
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(_text(v))}</td>" for v in row) + "</tr>"
        for row in table.itertuples(index=False)
    )
    return f"<table><tr>{head}</tr>{''.join(lines)}</table>" + _more(table)


def _more(table: pd.DataFrame) -> str:
    if table.empty:
        return "<p>No rows.</p>"
    return f"<p>The first {len(table):,} rows; there are more.</p>" if table.attrs.get("more") else ""


def _text(value: Any) -> str:
    """A cell as text: null is a dash, numbers have separators."""
    if value is None or value != value:  # NaN
        return "–"
    if isinstance(value, Integral) and not isinstance(value, bool):
        return f"{int(value):,}"
    return f"{float(value):,.1f}" if isinstance(value, Real) and not isinstance(value, bool) else str(value)


def passage_html(passage: Any, queries: Iterable[Any] = ()) -> str:
    """A row of ``passages``: each entity in the colour of its cluster, the queries' answers framed, bullets as a list.

    Args:
        queries: rows of ``triples`` of this passage.
    """
    marks = [Marked(e.start, e.end, _entity_title(e), _colour(e.cluster)) for e in passage.entities]
    marks += [Marked(a.start, a.end, "answer", "outline:2px solid #c00") for q in queries for a in q.answers]
    divided = highlight(passage.text, marks).split(f"\n{HIGHLIGHT}\n")
    first_part, bullets = divided[0], divided[1:]
    items = "".join(f"<li>{bullet}</li>" for bullet in bullets)
    return f"<div style='max-width:50em;line-height:1.7'><p>{first_part}</p><ul>{items}</ul></div>"


def query_html(triple: Any) -> str:
    """A row of ``triples``: the query, and below it each answer's text with how often the passage has it."""
    end = triple.placeholder + len(PLACEHOLDER)
    style = "background:#fd6;color:#111;font-weight:bold"
    query = highlight(triple.query, [Marked(triple.placeholder, end, f"was: {_text(triple.answer_surface)}", style)])
    texts = Counter(a.text for a in triple.answers)
    answers = ", ".join(f"<b>{escape(text)}</b>" + (f" ×{n}" if n > 1 else "") for text, n in texts.items())
    return f"<div style='max-width:50em;line-height:1.7'><p>{query}</p><p>Answers in the passage: {answers}</p></div>"


def highlight(text: str, marks: Sequence[Marked]) -> str:
    """The text as HTML with the marks; where some overlap, a piece bears all of their styles and titles.

    Raises:
        BrowseError: a mark that does not lie in the text: tables of different runs.
    """
    for mark in marks:
        if not 0 <= mark.start < mark.end <= len(text):
            raise BrowseError(f"span [{mark.start}, {mark.end}) lies outside of a text of {len(text)} characters")
    borders = sorted({0, len(text), *(m.start for m in marks), *(m.end for m in marks)})
    pieces = []
    for start, end in pairwise(borders):
        covering = [m for m in marks if m.start <= start and end <= m.end]
        piece = escape(text[start:end], quote=False)
        if covering:
            title = escape("; ".join(m.title for m in covering))
            style = escape(";".join(m.style for m in covering))
            piece = f'<mark title="{title}" style="{style}">{piece}</mark>'
        pieces.append(piece)
    return "".join(pieces)


def _entity_title(entity: Any) -> str:
    return f"{entity.type or 'entity'}, cluster {entity.cluster}"


def _colour(cluster: int) -> str:
    return f"background:hsl({cluster * _GOLDEN_ANGLE % 360:.0f},75%,85%);color:#111"
