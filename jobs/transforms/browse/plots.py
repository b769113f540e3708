"""The notebook's pictures: small fetched tables in, a matplotlib Figure out. Nothing is counted here."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from jobs.transforms.browse import style
from jobs.transforms.browse.colours import BLUE, GREEN, GREY, PALE_BLUE, RED
from jobs.transforms.browse.measures import GROUPS
from jobs.transforms.evaluation import SLICES
from jobs.transforms.funnel import KEPT, UNITS
from jobs.transforms.machine_filter import SPLITS

_STAGES = {
    ("ingest", "article"): "articles read",
    ("annotate", "article"): "articles annotated",
    ("generate", "passage"): "candidate passages",
    ("generate", "sentence"): "sentences of the second parts",
    ("generate", "query"): "candidate queries",
    ("filter", "query"): "triples in the machine filter",
}
_SLICES = {"all": "all queries", "split": "split: {}", "origin": "origin: {}", "answers": "different answers: {}"}


def funnel(counts: Mapping[tuple[str, str, str], int]) -> Figure:
    """Each stage's kept share of what went in, with counts; stages without rows are left out.

    Args:
        counts: rows by (stage, unit, outcome), as in the table ``funnel``.
    """
    rows = []
    for stage, unit in UNITS:
        total = sum(n for (s, u, _), n in counts.items() if (s, u) == (stage, unit))
        if total:
            rows.append((_STAGES[stage, unit], counts.get((stage, unit, KEPT), 0), total))
    figure, [axes] = style.new_figure(height=style.height_of(len(rows)))
    style.titled(figure, "What each stage kept")
    shares = [100 * kept / total for _, kept, total in rows]
    dropped = [100 - share for share in shares]
    axes.barh(range(len(rows)), shares, color=BLUE, height=0.7, label=KEPT)
    axes.barh(range(len(rows)), dropped, left=shares, color=GREY, height=0.7, label="dropped")
    for y, (_, kept, total) in enumerate(rows):
        style.note(axes, 100, y, f"{kept:,} of {total:,} ({100 * kept / total:.1f}%)")
    style.horizontal(axes, [label for label, _, _ in rows])
    right = 165  # room for the counts
    axes.set_xlim(0, right)
    axes.set_xticks(range(0, 101, 20))
    axes.spines["bottom"].set_bounds(0, 100)
    style.labelled(axes, x="share of what came in (%)")
    axes.xaxis.label.set_x(50 / right)
    style.keyed(figure)
    return figure


def histogram(
    bins: pd.DataFrame, *, title: str, x: str, y: str, mean: float | None = None, paper: float | None = None
) -> Figure:
    """Bars over the bins of ``tables.histogram``, the mean and the paper's as lines."""
    figure, [axes] = style.new_figure(height=3.2)
    style.titled(figure, title)
    width = bins["to"] - bins["from"]
    axes.bar(bins["from"], bins["rows"], width=width, align="edge", color=PALE_BLUE, edgecolor="white")
    if mean is not None:
        axes.axvline(mean, color=BLUE, linewidth=2, label=f"mean {mean:,.1f}")
    if paper is not None:
        axes.axvline(paper, color=RED, linewidth=2, linestyle="--", label=f"mean in the paper {paper:,.1f}")
    style.grouped_digits(axes, "y")
    style.labelled(axes, x=x, y=y)
    style.keyed(figure)
    return figure


def fallen_sentences(table: pd.DataFrame) -> Figure:
    """Sorted bars of ``measures.fallen_sentences``: what stopped a sentence, and would have."""
    figure, [axes] = style.new_figure(height=style.height_of(len(table)))
    style.titled(figure, "Why sentences fell")
    y = range(len(table))
    axes.barh(y, table["first"], color=BLUE, height=0.7, label="first condition that fails: the reason")
    axes.barh(y, table["also"], left=table["first"], color=PALE_BLUE, height=0.7, label="fails too, after another one")
    for at, (first, also) in enumerate(zip(table["first"], table["also"], strict=True)):
        style.note(axes, first + also, at, f"{first:,}" + (f" + {also:,}" if also else ""))
    style.horizontal(axes, [str(reason).replace("_", " ") for reason in table["reason"]])
    style.grouped_digits(axes, "x")
    style.labelled(axes, x="sentences")
    axes.margins(x=0.15)
    style.keyed(figure)
    return figure


def answer_kinds(table: pd.DataFrame, *, reader: str) -> Figure:
    """Bars of ``measures.answer_kinds``: counts, and shares of all queries."""
    figure, [axes] = style.new_figure(height=style.height_of(len(table)))
    style.titled(figure, f"What {reader} answers")
    total = table["rows"].sum()
    axes.barh(range(len(table)), table["rows"], color=BLUE, height=0.7)
    for at, n in enumerate(table["rows"]):
        style.note(axes, n, at, f"{n:,} ({100 * n / total:.1f}%)")
    style.horizontal(axes, list(table["kind"]))
    style.grouped_digits(axes, "x")
    style.labelled(axes, x="queries")
    axes.margins(x=0.15)
    return figure


def answered_shares(table: pd.DataFrame, *, reader: str) -> Figure:
    """Bars of ``measures.answered_shares``, a panel for each group, all on one scale."""
    sizes = [int((table["group"] == group).sum()) for group in GROUPS]
    height = style.height_of(len(table)) + 0.4 * len(GROUPS)
    figure, panels = style.new_figure(height=height, rows=len(GROUPS), height_ratios=[n + 0.4 for n in sizes])
    style.titled(figure, f"What {reader} solves: the machine filter drops it")
    shares = 100 * table["answered"] / table["queries"]
    top = max([10.0, *shares])
    for axes, group in zip(panels, GROUPS, strict=True):
        chosen = table["group"] == group
        axes.barh(range(chosen.sum()), shares[chosen], color=BLUE, height=0.7)
        for at, (n, of) in enumerate(zip(table["answered"][chosen], table["queries"][chosen], strict=True)):
            style.note(axes, 100 * n / of, at, f"{100 * n / of:.1f}%  ({n:,} of {of:,})")
        style.horizontal(axes, list(table["value"][chosen]))
        style.subtitled(axes, group)
        axes.set_xlim(0, 1.3 * top)
        axes.tick_params(axis="x", labelbottom=axes is panels[-1])
    style.labelled(panels[-1], x="share answered (% of queries)")
    return figure


def evaluation(table: pd.DataFrame, *, reader: str) -> Figure:
    """The figures of ``evaluations`` as dots, a row for each slice; rows of one reader."""
    keys = [
        (SLICES.index(name), SPLITS.index(value) if value in SPLITS else 0, value)
        for name, value in zip(table["slice"], table["value"], strict=True)
    ]
    rows = table.iloc[sorted(range(len(keys)), key=keys.__getitem__)]
    figure, [axes] = style.new_figure(height=style.height_of(len(rows)))
    style.titled(figure, f"How {reader} scores")
    measures = (
        ("exact_match", "exact match", BLUE, "o"),
        ("f1", "F1", GREEN, "s"),
        ("out_of_candidate", "out of candidates", RED, "^"),
    )
    at = range(len(rows))
    for column, label, color, marker in measures:
        fill = "none" if column == "f1" else color  # F1 often lies on exact match
        axes.plot(100 * rows[column], at, marker, color=color, markerfacecolor=fill, clip_on=False, label=label)
    named = zip(rows["slice"], rows["value"], rows["queries"], strict=True)
    style.horizontal(axes, [f"{_SLICES[name].format(value)}  (n = {n:,})" for name, value, n in named])
    axes.grid(axis="y", color=GREY, linewidth=0.6)
    axes.set_xlim(0, 100)
    style.labelled(axes, x="% of n queries (F1: mean, in %)")
    style.keyed(figure)
    return figure


def learning_curves(table: pd.DataFrame) -> Figure:
    """Loss, exact match and F1 by epoch: each fold's reader thin, their mean thick; rows of one reader."""
    figure, panels = style.new_figure(height=3.4, columns=3)
    style.titled(figure, "Learning curves: one reader for each fold, scored on the fold it never saw")
    measures = (
        ("loss", 1, "mean over training triples"),
        ("exact_match", 100, "% of held-out triples"),
        ("f1", 100, "mean over held-out triples (%)"),
    )
    for axes, (column, scale, unit) in zip(panels, measures, strict=True):
        for number, (_, curve) in enumerate(table.sort_values("epoch").groupby("fold")):
            label = "one fold" if number == 0 else None
            axes.plot(curve["epoch"], scale * curve[column], color=PALE_BLUE, linewidth=1, label=label)
        means = scale * table.groupby("epoch")[column].mean()
        axes.plot(means.index, means, color=BLUE, linewidth=2.5, marker=".", label="mean of folds")
        style.subtitled(axes, column.replace("_", " ").replace("f1", "F1"))
        style.labelled(axes, x="epoch", y=unit)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    top = 100 * table[["exact_match", "f1"]].max().max()
    for axes in panels[1:]:
        axes.set_ylim(0, 1.1 * top if top > 0 else 1)
    style.keyed(figure)
    return figure
