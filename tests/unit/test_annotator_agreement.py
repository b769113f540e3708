"""Agreement of two annotations, counted by hand and by its laws."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.transforms.annotator_agreement import render_figures
from udfs.annotator_agreement import Agreement, agreement
from udfs.spans import Mention

A, B, C, D = (0, 3), (5, 8), (10, 14), (20, 25)


def mentions(*clusters: list[tuple[int, int]]) -> list[Mention]:
    return [Mention(*span, number) for number, spans in enumerate(clusters) for span in spans]


def test_mentions_and_links_are_counted_by_spans() -> None:
    line, found = mentions([A, B, C], [D]), mentions([A, B], [C, D])
    # Links of the line: AB, AC, BC; found: AB, CD; common: AB.
    assert agreement(line, found) == Agreement(4, 4, 4, 3, 2, 1)
    assert agreement(line, mentions([A], [(5, 9)])) == Agreement(4, 2, 1, 3, 0, 0)
    assert agreement([], found) == Agreement(0, 4, 0, 0, 2, 0)


def test_a_span_that_is_tagged_twice_counts_once() -> None:
    twice = [Mention(*A, 0, "ORG"), Mention(*A, 1, "GPE"), Mention(*B, 0)]
    assert agreement(twice, mentions([A, B])) == Agreement(2, 2, 2, 1, 1, 1)


spans = st.integers(0, 30).map(lambda start: (start, start + 2))
annotations = st.dictionaries(spans, st.integers(0, 4)).map(lambda d: [Mention(*s, c) for s, c in d.items()])


@given(annotations, annotations)
def test_agreement_is_symmetric_and_bounded(line: list[Mention], found: list[Mention]) -> None:
    there, back = agreement(line, found), agreement(found, line)
    assert (there.line_mentions, there.line_links) == (back.found_mentions, back.found_links)
    assert (there.common_mentions, there.common_links) == (back.common_mentions, back.common_links)
    assert there.common_links <= min(there.line_links, there.found_links)
    assert agreement(line, line) == Agreement(len(line), len(line), len(line), *[there.line_links] * 3)
    renumbered = [m._replace(cluster=7 - m.cluster) for m in reversed(found)]
    assert agreement(line, renumbered) == there


def test_figures_are_shown_in_percent_and_nothing_as_a_dash() -> None:
    counts = Agreement(4, 5, 3, 3, 2, 1)._asdict()
    row = {"annotator": "larger", "compared_with": "stand-off", "articles": 1200, "failed": 1, **counts}
    nothing = {**row, "annotator": "aa", **{name: 0 for name in counts}}
    *_, first, second, _ = render_figures([row, nothing]).split("\n")
    assert second == "| larger | stand-off | 1,200 | 1 | 60.0 | 75.0 | 66.7 | 50.0 | 33.3 | 40.0 |"
    assert first.startswith("| aa | ")
    assert first.endswith("| – | – | – | – | – | – |")
