"""What the notebooks show as HTML: rows, counts with bars, passages and queries with their highlights."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import pandas as pd

from jobs.transforms.browse.colours import BLUE, RED
from jobs.transforms.browse.tables import BrowseError
from udfs.cloze import BULLET_MARK, PLACEHOLDER

_GOLDEN_ANGLE = 137.5  # degrees between the hues of neighbouring clusters: any few of them look different
# Told apart by their form too, and they leave the background to the cluster: a span may bear all three.
_RIGHT = f"outline:2px solid {BLUE}"
_WRONG = f"text-decoration:underline wavy {RED} 2px;text-underline-offset:3px"
_BLANK = "background:#fd6;color:#111;font-weight:bold"
_BLOCK = "max-width:50em;line-height:1.7"


class Marked(NamedTuple):
    """A span [start, end) of a text with what its highlight says."""

    start: int
    end: int
    title: str
    style: str


# --- tables


def bars_html(table: pd.DataFrame, *, labels: Sequence[str], count: str = "rows") -> str:
    """A table with a bar for each row, as long as its share of the largest count."""
    most = max(table[count], default=0)
    lines = []
    for _, row in table.iterrows():
        cells = "".join(f"<td style='text-align:left'>{escape(_text(row[label]))}</td>" for label in labels)
        length = 100 * row[count] / most if most else 0
        bar = f"<div style='background:{BLUE};height:0.8em;width:{length:.1f}%'></div>"
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


# --- passages, queries, triples


def passage_html(passage: Any, queries: Iterable[Any] = ()) -> str:
    """A row of ``passages``: each entity in the colour of its cluster, the queries' answers framed, bullets as a list.

    Args:
        queries: rows of ``triples`` of this passage.
    """
    marks = [*_entities(passage.entities), *(mark for query in queries for mark in _right(query.answers))]
    return f"<div style='{_BLOCK}'>{_passage(passage.text, marks)}</div>"


def query_html(triple: Any) -> str:
    """A row of ``triples``: the query, and below it each answer's text with how often the passage has it."""
    return f"<div style='{_BLOCK}'><p>{_query(triple)}</p><p>Answers in the passage: {_answers(triple)}</p></div>"


def hard_triple_html(triple: Any, *, reader: str) -> str:
    """A row of ``hard_examples``: query, right answers, the reader's wrong one, and all of them in the passage."""
    predicted = triple.predicted
    is_entity = "an entity" if predicted.is_candidate else "no entity"
    said = f"{is_entity} of the passage, F1 {predicted.f1:.2f}"
    marks = [*_entities(triple.entities), *_right(triple.answers)]
    marks.append(Marked(predicted.start, predicted.end, f"{reader}'s answer", _WRONG))
    answered = f"<span style='{_WRONG}'>{escape(predicted.answer)}</span>"
    lines = [
        f"<p style='color:#777'>{escape(triple.query_id)}, {escape(_text(triple.split))}</p>",
        f"<p>{_query(triple)}</p>",
        f"<p>Right: {_answers(triple, _RIGHT)}<br>{escape(reader)}: {answered} ({said})</p>",
        _passage(triple.text, marks),
    ]
    return f"<div style='{_BLOCK};border-top:1px solid #ccc'>{''.join(lines)}</div>"


def _query(triple: Any) -> str:
    end = triple.placeholder + len(PLACEHOLDER)
    was = f"was: {_text(triple.answer_surface)}"
    return highlight(triple.query, [Marked(triple.placeholder, end, was, _BLANK)])


def _answers(triple: Any, style: str = "") -> str:
    texts = Counter(a.text for a in triple.answers)
    styled = f" style='{style}'" if style else ""
    return ", ".join(f"<b{styled}>{escape(text)}</b>" + (f" ×{n}" if n > 1 else "") for text, n in texts.items())


def _entities(entities: Iterable[Any]) -> list[Marked]:
    return [
        Marked(e.start, e.end, f"{e.type or 'entity'}, cluster {e.cluster}", cluster_style(e.cluster)) for e in entities
    ]


def _right(answers: Iterable[Any]) -> list[Marked]:
    return [Marked(a.start, a.end, "answer", _RIGHT) for a in answers]


def cluster_style(cluster: int) -> str:
    """The style of a cluster's mentions."""
    return f"background:hsl({cluster * _GOLDEN_ANGLE % 360:.0f},75%,85%);color:#111"


def _passage(text: str, marks: Sequence[Marked]) -> str:
    """First part and bullets; a mark that reaches over their border is divided."""
    _check(text, marks)
    first_part, *bullets = (
        highlight(text[start:end], [_cut(m, start, end) for m in marks if m.start < end and start < m.end])
        for start, end in _parts(text)
    )
    return f"<p>{first_part}</p><ul>{''.join(f'<li>{bullet}</li>' for bullet in bullets)}</ul>"


def _parts(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for part in text.split(BULLET_MARK):
        yield start, start + len(part)
        start += len(part) + len(BULLET_MARK)


def _cut(mark: Marked, start: int, end: int) -> Marked:
    return mark._replace(start=max(mark.start, start) - start, end=min(mark.end, end) - start)


def highlight(text: str, marks: Sequence[Marked]) -> str:
    """The text as HTML with the marks; where some overlap, a piece bears all of their styles and titles.

    Raises:
        BrowseError: a mark that does not lie in the text: tables of different runs.
    """
    _check(text, marks)
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


def _check(text: str, marks: Iterable[Marked]) -> None:
    for mark in marks:
        if not 0 <= mark.start < mark.end <= len(text):
            raise BrowseError(f"span [{mark.start}, {mark.end}) lies outside of a text of {len(text)} characters")
