"""What the notebooks show as HTML: bars, highlights, passages, queries, hard triples."""

from dataclasses import dataclass

import pandas as pd
import pytest
from pyspark.sql import Row

from jobs.transforms.browse import html
from jobs.transforms.browse.html import Marked
from jobs.transforms.browse.tables import BrowseError

TEXT = "Ann <i> met Bo.\n@highlight\nAnn won"
FRAME, WAVES = "outline:2px solid", "underline wavy"


def span(start: int, end: int) -> Row:
    return Row(start=start, end=end, text=TEXT[start:end])


def entity(start: int, end: int, cluster: int) -> Row:
    return Row(start=start, end=end, cluster=cluster, type=None if cluster else "PERSON")


ENTITIES = [entity(0, 3, 0), entity(12, 14, 1), entity(27, 30, 0)]


@dataclass(frozen=True)
class Example:
    """A row of ``measures.hard_examples``, or of ``triples``."""

    answers: list[Row]
    predicted: Row | None = None
    query: str = "<i> @placeholder left."
    placeholder: int = 4
    answer_surface: str | None = None
    query_id: str = "0a-1-4"
    split: str = "dev"
    text: str = TEXT
    entities: tuple[Row, ...] = tuple(ENTITIES)


def test_highlight_escapes_and_joins_overlaps() -> None:
    text = '<b>A & "B"</b> é'
    marks = [Marked(3, 10, "whole's", "color:red"), Marked(8, 9, '"in" it', "outline:1px")]
    assert html.highlight(text, marks) == (
        "&lt;b&gt;"
        '<mark title="whole&#x27;s" style="color:red">A &amp; "</mark>'
        '<mark title="whole&#x27;s; &quot;in&quot; it" style="color:red;outline:1px">B</mark>'
        '<mark title="whole&#x27;s" style="color:red">"</mark>'
        "&lt;/b&gt; é"
    )
    assert html.highlight("a < b", []) == "a &lt; b"


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 2), (3, 2), (0, 4)])
def test_highlight_outside_of_the_text_is_an_error(start: int, end: int) -> None:
    with pytest.raises(BrowseError, match="lies outside of a text of 3 characters"):
        html.highlight("abc", [Marked(start, end, "", "")])
    with pytest.raises(BrowseError, match="lies outside of a text of 3 characters"):
        html.passage_html(Row(text="abc", entities=[entity(start, end, 0)]))


def test_passage_and_query_show_entities_answers_and_bullets() -> None:
    triple = Example(answers=[span(0, 3), span(27, 30)])
    shown = html.passage_html(Row(text=TEXT, entities=ENTITIES), [triple])
    assert "&lt;i&gt; met" in shown
    assert shown.count('title="PERSON, cluster 0; answer"') == 2
    assert shown.count('title="entity, cluster 1"') == 1
    assert "@highlight" not in shown
    assert shown.count("<li>") == 1
    assert shown.endswith("Ann</mark> won</li></ul></div>")
    query = html.query_html(triple)
    assert "<p>&lt;i&gt; <mark" in query
    assert ">@placeholder</mark> left.</p>" in query
    assert "<b>Ann</b> ×2" in query


def test_a_hard_triple_frames_the_right_answers_and_underlines_the_wrong_one() -> None:
    wrong = Row(start=12, end=14, answer="Bo", f1=0.0, is_candidate=True)
    shown = html.hard_triple_html(Example([span(0, 3), span(27, 30)], wrong), reader="SAN")
    head, passage = shown.split("<ul>")[0].rsplit("<p>", 1)
    assert "0a-1-4, dev" in head
    assert ">@placeholder</mark> left." in head
    assert f"Right: <b style='{FRAME}" in head
    assert ">Ann</b> ×2" in head
    assert ">Bo</span> (an entity of the passage, F1 0.00)" in head
    assert passage.count(FRAME) == 1
    assert passage.count(WAVES) == 1
    assert 'title="entity, cluster 1; SAN\'s answer"' in passage.replace("&#x27;", "'")
    assert shown.split("<ul>")[1].count(FRAME) == 1


def test_a_wrong_answer_that_reaches_over_a_bullet_is_divided_at_it() -> None:
    wrong = Row(start=12, end=30, answer=TEXT[12:30], f1=0.5, is_candidate=False)
    shown = html.hard_triple_html(Example([span(27, 30)], wrong), reader="SAN")
    first_part, bullets = shown.split("</p><ul>")
    assert first_part.endswith(".</mark>")  # closed before the bullet
    assert bullets.startswith("<li><mark")
    assert FRAME in bullets
    assert WAVES in bullets
    assert "(no entity of the passage, F1 0.50)" in first_part
    assert shown.count("<mark") == shown.count("</mark>")


def test_bars_are_shares_of_the_largest_and_labels_are_escaped() -> None:
    table = pd.DataFrame({"reason": ["<short>", None], "rows": [2_000, 500]})
    shown = html.bars_html(table, labels=["reason"])
    assert ">&lt;short&gt;</td><td style='text-align:right'>2,000</td>" in shown
    assert "width:100.0%" in shown
    assert "width:25.0%" in shown
    assert ">–</td>" in shown
    assert "No rows." in html.bars_html(table.iloc[:0], labels=["reason"])
