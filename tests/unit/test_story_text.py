"""Decoding and parsing of ``.story`` strings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.spans import Span
from udfs.story_text import UnusableStory, build_story, decode_story, one_line, parse_story


def parts(text: str) -> tuple[list[str], list[str]]:
    story = parse_story(text)
    assert story.text == text
    return [text[s:e] for s, e in story.paragraphs], [text[s:e] for s, e in story.highlights]


@pytest.mark.parametrize(
    ("content", "text", "note"),
    [
        (b"Zo\xc3\xab won", "Zoë won", None),
        (b"\xef\xbb\xbfZo\xc3\xab won", "Zoë won", "decoded_by_mark:utf-8"),
        ("Zoë won".encode("utf-16"), "Zoë won", "decoded_by_mark:utf-16-le"),
        (b"\xfe\xff" + "Zoë won".encode("utf-16-be"), "Zoë won", "decoded_by_mark:utf-16-be"),
        (b"Zo\xeb said \x93hi\x94", "Zoë said “hi”", "decoded_as:windows-1252"),
        (b"a\r\nb\n", "a\r\nb\n", None),
    ],
)
def test_decode_reads_the_encodings_that_occur(content: bytes, text: str, note: str | None) -> None:
    assert decode_story(content) == (text, note)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"Ann\x00won", "undecodable"),
        (b"\xef\xbb\xbfAnn\x00won", "undecodable"),
        ("Ann".encode("utf-32"), "undecodable"),
        (b"\xff\xfeA", "undecodable"),
        (b"Ann \x81\x8d won", "undecodable"),
        (b"\xef\xbb\xbf\xff", "undecodable"),
    ],
)
def test_decode_rejects_what_is_no_text(content: bytes, reason: str) -> None:
    with pytest.raises(UnusableStory) as error:
        decode_story(content)
    assert error.value.reason == reason
    assert error.value.detail


@pytest.mark.parametrize(
    ("text", "paragraphs", "highlights"),
    [
        ("Ann won.\n\nBo lost.\n\n@highlight\n\nAnn wins", ["Ann won.", "Bo lost."], ["Ann wins"]),
        ("Ann won.", ["Ann won."], []),
        ("Ann\nwon.\n \t\nBo lost.\n", ["Ann\nwon.", "Bo lost."], []),
        ("(CNN) Ann.\r\n\r\nBo.\r\n\r\n@highlight\r\n\r\nAnn wins\r\n", ["(CNN) Ann.", "Bo."], ["Ann wins"]),
        ("An @highlight here.\n\n@highlights\n\n@highlight\n\nx", ["An @highlight here.", "@highlights"], ["x"]),
        ("Ann won.\n\n@highlight\n\nAn @highlight in it", ["Ann won."], ["An @highlight in it"]),
        ("Ann won.\n\n@highlight\n\none\n\ntwo\n\n@highlight\n\nthree", ["Ann won."], ["one\n\ntwo", "three"]),
        ("Ann won.\n\n@highlight\n\n@highlight\n\nthree\n\n@highlight\n", ["Ann won."], ["three"]),
        ("Ann won.\n@highlight\nAnn wins\n@highlight\nBo loses", ["Ann won."], ["Ann wins", "Bo loses"]),
        ("Ann won.\r\n\r\n@highlight\r\nAnn wins", ["Ann won."], ["Ann wins"]),
        ("Ann won.\n\n  @highlight \n\n Ann wins ", ["Ann won."], ["Ann wins"]),
        ("\n\n Ann won. \n\n\n\nBo lost.", ["Ann won.", "Bo lost."], []),
        ("\u00a0Ann\u00a0won.\u00a0\n\nBo", ["Ann\u00a0won.", "Bo"], []),
    ],
)  # fmt: skip
def test_parse_finds_paragraphs_and_highlights(text: str, paragraphs: list[str], highlights: list[str]) -> None:
    assert parts(text) == (paragraphs, highlights)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\n\u00a0", "empty"),
        ("@highlight\n\nAnn wins", "no_body"),
        ("\n\n@highlight\n\n", "no_body"),
        ("<!DOCTYPE html>\n<html>", "error_page"),
        (" <HTML lang='en'>", "error_page"),
        ('<?xml version="1.0"?>', "error_page"),
    ],
)
def test_parse_rejects_what_is_no_article(text: str, reason: str) -> None:
    with pytest.raises(UnusableStory) as error:
        parse_story(text)
    assert error.value.reason == reason


def test_parse_takes_a_tag_inside_the_text_for_text() -> None:
    assert parts("The <html> tag.") == (["The <html> tag."], [])


_LINE = st.text("aé\u00a0 @.", min_size=1, max_size=8).map(str.strip).filter(lambda t: t and t != "@highlight")


@given(st.lists(_LINE, min_size=1, max_size=5), st.lists(_LINE, max_size=4))
def test_parse_reads_back_what_build_story_lays_out(paragraphs: list[str], highlights: list[str]) -> None:
    assert parts(build_story(paragraphs, highlights)) == (paragraphs, highlights)


@given(
    st.lists(st.sampled_from(["a", "b c", "\n", "\n\n", " ", "\r\n", "@highlight", "\n\n@highlight\n\n"])).map("".join)
)
def test_parse_gives_trimmed_spans_in_order_and_loses_no_text(text: str) -> None:
    try:
        story = parse_story(text)
    except UnusableStory:
        return
    spans = [*story.paragraphs, *story.highlights]
    assert spans == sorted(spans)
    assert all(text[s:e] == text[s:e].strip() != "" for s, e in spans)
    gaps = [Span(a, b) for a, b in zip([0, *(e for _, e in spans)], [*(s for s, _ in spans), len(text)], strict=True)]
    assert all(set(text[a:b].split()) <= {"@highlight"} for a, b in gaps)


def test_one_line_keeps_every_offset() -> None:
    assert one_line("a\r\nb\tc\u2028d") == "a  b c d"
    assert one_line("a b") == "a b"
