"""The pictures show the values of their tables, and their texts neither overlap nor leave the picture."""

from collections.abc import Callable, Iterator
from itertools import combinations

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from jobs.transforms.browse import measures, plots
from jobs.transforms.browse.colours import BLUE, PALE_BLUE
from udfs.cloze import SENTENCE_REASONS

COUNTS = {
    ("ingest", "article", "kept"): 36,
    ("generate", "sentence", "kept"): 35_700_000,
    ("generate", "sentence", "short"): 64_300_000,
    ("generate", "query", "ngram_overlap"): 3,
}
BINS = pd.DataFrame({"from": [100, 110, 130], "to": [110, 120, 140], "rows": [10_000, 3, 1]})
FALLEN = pd.DataFrame(
    {"reason": SENTENCE_REASONS, "first": [9_000_000, 500, 400, 3, 2, 0], "also": [0, 200, 8_000_000, 0, 1, 1]}
)
KINDS = pd.DataFrame({"kind": measures.ANSWER_KINDS, "rows": [1_000_000, 20, 3_000_000, 40, 1]})
SHARES = pd.DataFrame(
    [
        (measures.STRINGS, "1", 40, 10),
        (measures.STRINGS, "4 or more", 2_000_000, 2_000_000),
        (measures.ORIGIN, "hermann", 10, 0),
        (measures.RECURRENCE, "once", 50, 25),
        (measures.PLACE, "first part and bullets", 8, 1),
    ],
    columns=["group", "value", "queries", "answered"],
)
EVALUATIONS = pd.DataFrame(
    [
        ("san", "answers", "1", 2_000_000, 0.0, 0.1, 1.0),
        ("san", "split", "dev", 100, 0.25, 0.5, 0.3),
        ("san", "split", "train", 2_000_000, 0.0, 0.1, 0.2),
        ("san", "all", "all", 2_000_100, 0.125, 0.3, 0.5),
    ],
    columns=["reader", "slice", "value", "queries", "exact_match", "f1", "out_of_candidate"],
)
CURVES = pd.DataFrame(
    [(fold, epoch, 8.0 - fold - epoch, 0.1 * epoch, None if fold == 1 else 0.2) for fold in (0, 1) for epoch in (2, 1)],
    columns=["fold", "epoch", "loss", "exact_match", "f1"],
)
PICTURES: dict[str, tuple[Callable[..., Figure], list[object], dict[str, object]]] = {
    "funnel": (plots.funnel, [COUNTS], {}),
    "histogram": (plots.histogram, [BINS], {"title": "T", "x": "x", "y": "y", "mean": 105.0, "paper": 105.2}),
    "fallen": (plots.fallen_sentences, [FALLEN], {}),
    "kinds": (plots.answer_kinds, [KINDS], {"reader": "SAN"}),
    "shares": (plots.answered_shares, [SHARES], {"reader": "SAN"}),
    "evaluation": (plots.evaluation, [EVALUATIONS], {"reader": "SAN"}),
    "curves": (plots.learning_curves, [CURVES], {}),
}


def widths(axes: Axes, container: int = 0) -> list[float]:
    return [bar.get_width() for bar in axes.containers[container]]  # type: ignore[attr-defined]


def labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def notes(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_the_funnel_shows_kept_shares_of_the_stages_that_have_rows() -> None:
    [axes] = plots.funnel(COUNTS).axes
    assert labels(axes) == ["articles read", "sentences of the second parts", "candidate queries"]
    assert widths(axes, 0) == pytest.approx([100, 35.7, 0])
    assert widths(axes, 1) == pytest.approx([0, 64.3, 100])
    assert notes(axes)[1] == "35,700,000 of 100,000,000 (35.7%)"


def test_a_histogram_has_bars_at_their_bins_and_lines_at_the_means() -> None:
    [axes] = plots.histogram(BINS, title="T", x="tokens", y="passages", mean=112.5, paper=169.3).axes
    bars = [(b.get_x(), b.get_width(), b.get_height()) for b in axes.patches]
    assert bars == [(100, 10, 10_000), (110, 10, 3), (130, 10, 1)]
    assert [(line.get_xdata()[0], line.get_label()) for line in axes.lines] == [
        (112.5, "mean 112.5"),
        (169.3, "mean in the paper 169.3"),
    ]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("tokens", "passages")
    [bare] = plots.histogram(BINS, title="T", x="tokens", y="passages").axes
    assert not bare.lines
    assert not bare.figure.legends


def test_fallen_sentences_stack_what_fails_too_on_the_reason() -> None:
    [axes] = plots.fallen_sentences(FALLEN).axes
    assert labels(axes) == [reason.replace("_", " ") for reason in FALLEN["reason"]]
    assert widths(axes, 0) == list(FALLEN["first"])
    assert widths(axes, 1) == list(FALLEN["also"])
    assert [bar.get_x() for bar in axes.containers[1]] == list(FALLEN["first"])  # type: ignore[attr-defined]
    assert notes(axes)[:2] == ["9,000,000", "500 + 200"]


def test_answer_kinds_show_counts_and_shares() -> None:
    [axes] = plots.answer_kinds(KINDS, reader="SAN").axes
    assert labels(axes) == list(measures.ANSWER_KINDS)
    assert widths(axes) == list(KINDS["rows"])
    assert notes(axes)[2] == "3,000,000 (75.0%)"


def test_answered_shares_have_a_panel_for_each_group_on_one_scale() -> None:
    panels = plots.answered_shares(SHARES, reader="SAN").axes
    assert [p.get_title(loc="left") for p in panels] == list(measures.GROUPS)
    assert [widths(p) for p in panels] == [[25, 100], [0], [50], [12.5]]
    assert labels(panels[0]) == ["1", "4 or more"]
    assert notes(panels[3]) == ["12.5%  (1 of 8)"]
    assert len({p.get_xlim() for p in panels}) == 1


def test_evaluation_has_a_dot_for_each_measure_of_each_slice() -> None:
    [axes] = plots.evaluation(EVALUATIONS, reader="SAN").axes
    assert labels(axes) == [
        "all queries  (n = 2,000,100)",
        "split: train  (n = 2,000,000)",
        "split: dev  (n = 100)",
        "different answers: 1  (n = 2,000,000)",
    ]
    dots = {str(line.get_label()): list(line.get_xdata()) for line in axes.lines}
    assert dots == {
        "exact match": [12.5, 0, 25, 0],
        "F1": [30, 10, 50, 10],
        "out of candidates": [50, 20, 30, 100],
    }
    assert {line.get_marker() for line in axes.lines} == {"o", "s", "^"}


def test_learning_curves_are_thin_for_folds_and_thick_for_their_mean() -> None:
    loss, exact_match, f1 = plots.learning_curves(CURVES).axes
    *folds, mean = loss.lines
    assert [(list(c.get_xdata()), list(c.get_ydata())) for c in folds] == [([1, 2], [7, 6]), ([1, 2], [6, 5])]
    assert list(mean.get_ydata()) == [6.5, 5.5]
    assert {c.get_color() for c in folds} == {PALE_BLUE}
    assert mean.get_color() == BLUE
    assert mean.get_linewidth() > 2 * max(c.get_linewidth() for c in folds)
    assert list(exact_match.lines[-1].get_ydata()) == pytest.approx([10, 20])
    assert list(f1.lines[-1].get_ydata()) == [20, 20]  # of the folds that have held-out triples
    assert exact_match.get_ylim() == f1.get_ylim()


@pytest.mark.parametrize("name", PICTURES)
def test_texts_neither_overlap_nor_leave_the_picture(name: str) -> None:
    make, tables, options = PICTURES[name]
    figure = make(*tables, **options)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = {(t.get_text(), n): t.get_window_extent(canvas.get_renderer()) for n, t in enumerate(drawn_texts(figure))}
    assert len(boxes) > 8
    for (text, _), box in boxes.items():
        assert figure.bbox.x0 <= box.x0, f"{text!r} is cut off"
        assert box.x1 <= figure.bbox.x1, f"{text!r} is cut off"
    for one, other in combinations(boxes, 2):
        assert not boxes[one].padded(-1).overlaps(boxes[other].padded(-1)), f"{one} and {other} overlap"


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """All texts but empty ones, and labels of ticks beyond the axes' limits, which matplotlib keeps but leaves out."""
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        found += [*axes.texts, axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]  # type: ignore[attr-defined]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            labels = [(tick.get_loc(), tick.label1) for tick in axis.get_major_ticks()]
            found += [label for at, label in labels if low <= at <= high and label.get_visible()]
    return (text for text in found if text.get_text().strip())


@pytest.mark.parametrize("name", [name for name in PICTURES if name != "funnel"])
def test_pictures_of_no_rows_are_empty(name: str) -> None:
    make, [table], options = PICTURES[name]
    assert isinstance(table, pd.DataFrame)
    FigureCanvasAgg(make(table.iloc[:0], **options)).draw()
