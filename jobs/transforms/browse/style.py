"""The house style of the notebook's pictures: sizes, axes, titles, keys."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from jobs.transforms.browse.colours import GREY, TEXT

WIDTH = 8.0  # inches: fits a notebook's column
ROW = 0.32  # inches per horizontal bar
_FRAME = 1.4  # inches for title, axis labels and key
_DPI = 110
_SIZES = {"title": 11.0, "label": 9.5, "tick": 9.0, "note": 9.0}


def new_figure(
    *, height: float, rows: int = 1, columns: int = 1, height_ratios: Sequence[float] | None = None
) -> tuple[Figure, list[Axes]]:
    """An empty figure (height in inches) with rows x columns axes in the house style, in reading order.

    Without pyplot: a figure belongs to who asked for it, and a notebook shows it once.
    """
    figure = Figure(figsize=(WIDTH, height), dpi=_DPI, layout="constrained", facecolor="white")
    grid = figure.subplots(rows, columns, squeeze=False, height_ratios=height_ratios)
    panels = list(grid.flat)
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(GREY)
        axes.tick_params(colors=TEXT, labelsize=_SIZES["tick"], length=3, color=GREY)
        axes.set_axisbelow(True)
    return figure, panels


def height_of(bars: int) -> float:
    """Inches for so many horizontal bars with title, axis and key; of none there is still a picture."""
    return _FRAME + ROW * max(bars, 2)


def titled(figure: Figure, title: str) -> None:
    """The figure's title: what is seen."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=_SIZES["title"], fontweight="bold", color=TEXT)


def subtitled(axes: Axes, title: str) -> None:
    """The title of one of several axes."""
    axes.set_title(title, loc="left", fontsize=_SIZES["label"], color=TEXT)


def labelled(axes: Axes, *, x: str = "", y: str = "") -> None:
    """The axes' labels, units included."""
    axes.set_xlabel(x, fontsize=_SIZES["label"], color=TEXT)
    axes.set_ylabel(y, fontsize=_SIZES["label"], color=TEXT)


def horizontal(axes: Axes, labels: Sequence[str]) -> None:
    """Rows from top to bottom, a label for each, no tick marks."""
    axes.set_yticks(range(len(labels)), labels=labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, pad=7)
    axes.spines["left"].set_visible(False)


def grouped_digits(axes: Axes, axis: str) -> None:
    """Counts on an axis as 10,000."""
    chosen = axes.xaxis if axis == "x" else axes.yaxis
    chosen.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    chosen.set_major_locator(MaxNLocator(nbins=7, integer=True))


def note(axes: Axes, x: float, y: float, text: str, *, color: str = TEXT) -> None:
    """A figure beside a bar: ``x`` in data units, the text a little to the right of it."""
    axes.annotate(
        text, (x, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=_SIZES["note"], color=color
    )


def keyed(figure: Figure) -> None:
    """The key, in one line under the axes, where it hides nothing; left out where there is nothing to tell apart."""
    found = {label: handle for a in figure.axes for handle, label in zip(*a.get_legend_handles_labels(), strict=True)}
    if found:
        figure.legend(
            list(found.values()),
            list(found),
            loc="outside lower center",
            ncols=len(found),
            frameon=False,
            fontsize=_SIZES["note"],
            labelcolor=TEXT,
        )
