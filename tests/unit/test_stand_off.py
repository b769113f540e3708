"""Hermann's stand-off: alignment, checks, refusals."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.annotators.stand_off import MisalignedStandOff, StandOff, read_stand_off
from udfs.spans import Mention
from udfs.story_text import parse_story

STORY = "Zoë Ray met Al-Din.\n\nRay left Paris.\n\n@highlight\n\nRay met Al-Din in Paris"
TOKENS = "0,3;5,2;9,2;13,1;15,0;16,2;19,0;22,2;26,3;31,4;36,0;39,0;40,8;51,2;55,2;59,1;61,0;62,2;66,1;69,4"
ENTITIES = "0,0,1;1,3,5;0,7,7;2,9,9;0,13,13;1,15,17;2,19,19"


def read(text: str, tokens: str, entities: str, **options: bool) -> StandOff:
    story = parse_story(text)
    return read_stand_off(text, [*story.paragraphs, *story.highlights], tokens, entities, **options)


def surfaces(text: str, found: StandOff) -> list[tuple[str, int]]:
    return [(text[m.start : m.end], m.cluster) for m in found.mentions]


def lay_out(text: str) -> tuple[str, list[tuple[int, int]]]:
    """The tokens line of the text's white space tokens, and their spans: an independent writer of the format."""
    entries, spans = [], []
    at = 0
    for token in text.split():
        at = text.index(token, at)
        before = len(text[:at].encode())
        entries.append(f"{before},{len(token.encode()) - 1}")
        spans.append((at, at + len(token)))
        at += len(token)
    return ";".join(entries), spans


def test_worked_example_gives_the_exact_spans() -> None:
    found = read(STORY, TOKENS, ENTITIES)
    assert found == StandOff(
        (
            Mention(0, 7, 0),
            Mention(12, 18, 1),
            Mention(21, 24, 0),
            Mention(30, 35, 2),
            Mention(50, 53, 0),
            Mention(58, 64, 1),
            Mention(68, 73, 2),
        ),
        dropped=0,
    )
    assert surfaces(STORY, found) == [
        ("Zoë Ray", 0), ("Al-Din", 1), ("Ray", 0), ("Paris", 2), ("Ray", 0), ("Al-Din", 1), ("Paris", 2),
    ]  # fmt: skip


def test_nested_mention_stalls_nothing() -> None:
    found = read(STORY, TOKENS, "9,0,0;" + ENTITIES)
    assert surfaces(STORY, found)[:2] == [("Zoë", 9), ("Zoë Ray", 0)]
    assert len(found.mentions) == 8
    assert found.dropped == 0


def test_mentions_that_straddle_are_both_kept_and_one_over_a_paragraph_end_is_dropped() -> None:
    found = read(STORY, TOKENS, "0,0,3;1,3,5;2,5,7")
    assert surfaces(STORY, found) == [("Zoë Ray met Al", 0), ("Al-Din", 1)]
    assert found.dropped == 1


def test_mention_of_tokens_that_are_not_there_is_dropped_and_counted() -> None:
    found = read(STORY, TOKENS, "0,0,1;1,19,20;2,-1,0;3,2,1")
    assert (surfaces(STORY, found), found.dropped) == ([("Zoë Ray", 0)], 3)


def test_mention_over_the_marker_is_dropped() -> None:
    assert read(STORY, TOKENS, "0,11,12").dropped == 1


def test_double_encoded_text_fits_by_its_own_bytes() -> None:
    text = "vis-Ã\u00a0-vis Ray"  # "vis-à-vis" decoded twice: the NBSP is two bytes, and white space
    tokens = "0,2;3,0;4,1;8,0;9,2;13,2"
    assert surfaces(text, read(text, tokens, "0,5,5")) == [("Ray", 0)]


@pytest.mark.parametrize(
    ("tokens", "entities", "says"),
    [
        ("", ENTITIES, "no tokens"),
        ("0,3;5", ENTITIES, "'5' has 1 numbers, not 2"),
        ("0,3;5,x", ENTITIES, "'5,x' is not numbers"),
        (TOKENS, "0,0", "'0,0' has 2 numbers, not 3"),
        ("1,3;" + TOKENS[4:], ENTITIES, "1 of 20 tokens do not fit the text, the first is token 0"),
        ("0,2;" + TOKENS[4:], ENTITIES, "the first is token 0"),
        (TOKENS + ";900,2", ENTITIES, "the first is token 20"),
    ],
)
def test_stand_off_of_another_text_is_refused(tokens: str, entities: str, says: str) -> None:
    with pytest.raises(MisalignedStandOff, match=says):
        read(STORY, tokens, entities)


@pytest.mark.parametrize("shift", [-2, -1, 1, 2, 5])
def test_shifted_offsets_are_refused(shift: int) -> None:
    shifted = ";".join(f"{int(s) + shift},{n}" for s, n in (t.split(",") for t in TOKENS.split(";")))
    with pytest.raises(MisalignedStandOff):
        read(STORY, shifted, ENTITIES)


def test_offsets_made_on_other_line_ends_are_refused() -> None:
    with pytest.raises(MisalignedStandOff, match="do not fit"):
        read("(CNN) Ann won.\r\n\r\nBo lost.", "0,0;1,2;4,0;6,2;10,2;13,0;16,1;19,3;23,0", "0,6,6")


def test_one_bad_token_in_a_hundred_costs_only_its_mentions() -> None:
    text = " ".join(f"w{i:03}" for i in range(300))
    tokens = [f"{5 * i},3" for i in range(300)]
    tokens[7] = "35,4"  # ends on a blank
    found = read(text, ";".join(tokens), "0,7,7;1,8,9;2,6,7")
    assert (surfaces(text, found), found.dropped) == ([("w008 w009", 1)], 2)


def test_final_separators_and_line_ends_are_harmless() -> None:
    assert read(STORY, TOKENS + ";\r\n", ENTITIES + ";;\n") == read(STORY, TOKENS, ENTITIES)


def test_no_mention_is_an_empty_list() -> None:
    assert read(STORY, TOKENS, "\n") == StandOff((), 0)


def test_offsets_in_characters_are_read_on_demand() -> None:
    text = "Zoë Ray left"
    tokens = "0,2;4,2;8,3"
    with pytest.raises(MisalignedStandOff):
        read(text, tokens, "0,0,1")
    assert surfaces(text, read(text, tokens, "0,0,1", in_characters=True)) == [("Zoë Ray", 0)]


@given(st.text(min_size=1, max_size=80), st.data())
def test_tokens_laid_out_over_any_text_come_back_as_the_same_spans(text: str, data: st.DataObject) -> None:
    text = "".join(c for c in text if not 0xD800 <= ord(c) < 0xE000) + "x"
    tokens, spans = lay_out(text)
    picks = data.draw(st.lists(st.integers(0, len(spans) - 1), max_size=6, unique=True))
    entities = ";".join(f"{n},{p},{p}" for n, p in enumerate(picks))
    whole = [parse_story("x").paragraphs[0]._replace(end=len(text))]
    found = read_stand_off(text, whole, tokens, entities)
    assert found.dropped == 0
    assert [(m.start, m.end, m.cluster) for m in found.mentions] == sorted((*spans[p], n) for n, p in enumerate(picks))


def test_gum_stand_off_gives_the_gold_mentions(shared: Path) -> None:
    stories = sorted((shared / "data" / "gum").glob("*/stories/*.story"))
    assert len(stories) >= 50
    for path in stories:
        text = path.read_bytes().decode()
        folder, name = path.parents[1], path.stem
        lines = [(folder / kind / f"{name}.txt").read_text() for kind in ("tokens", "entities")]
        found = read(text, lines[0], lines[1])
        gold = json.loads((folder / "gold" / f"{name}.json").read_text())
        assert found.dropped == 0
        names = {tuple(m["name"]) for m in gold["mentions"] if m["name"]}
        assert {(m.start, m.end) for m in found.mentions if m.end <= gold["body_end"]} == names
