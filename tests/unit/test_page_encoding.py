"""The encoding of pages: marks, declarations right, wrong, unknown and missing, and mixtures."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.small_pages import reason_of
from udfs.sources.page_encoding import declared_charset, decode_page

SIGNS = "Zoë’s café – “£5”"


def declared(text: str, declaration: str, encoding: str) -> bytes:
    return f"<!DOCTYPE html><html><head>{declaration}<title>{text}</title></head>".encode(encoding)


@pytest.mark.parametrize(
    ("page", "encoding", "contradicts"),
    [
        (declared(SIGNS, '<meta charset="utf-8">', "utf-8"), "utf-8", None),
        (declared(SIGNS, '<meta charset="ISO-8859-1">', "cp1252"), "windows-1252", None),
        (
            declared(SIGNS, "<meta http-equiv=Content-Type content='text/html;charset=windows-1252'>", "cp1252"),
            "windows-1252",
            None,
        ),
        (declared(SIGNS, "<script>" + "x" * 4000 + "</script><meta charset=latin1>", "cp1252"), "windows-1252", None),
        (
            declared(SIGNS, '<!-- <meta charset="utf-16"> --><meta charset="iso-8859-1">', "cp1252"),
            "windows-1252",
            None,
        ),
        (b'<?xml version="1.0" encoding="iso-8859-1"?>' + declared(SIGNS, "", "cp1252"), "windows-1252", None),
        (b"\xef\xbb\xbf" + declared(SIGNS, '<meta charset="iso-8859-1">', "utf-8"), "utf-8", None),
        (b"\xff\xfe" + declared(SIGNS, "", "utf-16-le"), "utf-16-le", None),
        (b"\xfe\xff" + declared(SIGNS, "", "utf-16-be"), "utf-16-be", None),
        (declared(SIGNS, "", "utf-8"), "utf-8", None),
        (declared(SIGNS, "", "cp1252"), "windows-1252", None),
        (declared(SIGNS, '<meta charset="x-unknown">', "utf-8"), "utf-8", "x-unknown"),
        (declared(SIGNS, '<meta charset="x-unknown">', "cp1252"), "windows-1252", "x-unknown"),
        (declared(SIGNS, '<meta charset="utf-8">', "cp1252"), "windows-1252", "utf-8"),
        (declared(SIGNS, '<meta charset="iso-8859-1">', "utf-8"), "utf-8", "iso-8859-1"),
        (declared(SIGNS, '<meta charset="utf-16">', "utf-8"), "utf-8", None),
    ],
)
def test_page_is_decoded_by_its_declaration_and_its_bytes(page: bytes, encoding: str, contradicts: str | None) -> None:
    decoded = decode_page(page)
    assert f"<title>{SIGNS}</title>" in decoded.text
    assert (decoded.encoding, decoded.contradicts) == (encoding, contradicts)


def test_page_in_two_encodings_is_right_in_both() -> None:
    page = declared(SIGNS * 3, '<meta charset="utf-8">', "utf-8") + "<p>Müller’s</p>".encode("cp1252")
    decoded = decode_page(page)
    assert f"<title>{SIGNS * 3}</title>" in decoded.text
    assert decoded.text.endswith("<p>Müller’s</p>")
    assert (decoded.encoding, decoded.contradicts) == ("utf-8+windows-1252", "utf-8")
    assert decode_page(b"<p>" + "ééé".encode() + b"\xe9\xe9").text == "<p>ééééé"
    assert decode_page(b"<p>" + "é".encode() + b"\xe9\xe9").text == "<p>Ã©éé"


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [("windows-1250", "cp1250", "Łódź – Kraków"), ("iso-8859-9", "cp1254", "İzmir’e"), ("koi8-r", "koi8-r", "Москва")],
)
def test_other_single_byte_labels_are_honoured(label: str, encoding: str, text: str) -> None:
    assert text in decode_page(declared(text, f"<meta charset={label}>", encoding)).text


@settings(deadline=None)
@given(st.binary(max_size=300).filter(lambda b: b"\x00" not in b and b.strip()))
def test_any_bytes_are_decoded(content: bytes) -> None:
    assert decode_page(b"<p>" + content).text.startswith("<p>")


def test_declaration_is_looked_for_in_tags_only() -> None:
    assert declared_charset(b"<p>charset=utf-8</p>") is None
    assert declared_charset(b"<script>x=\"<meta charset=a>\"</script><META CHARSET = 'B'>") == "b"
    assert declared_charset(b'<meta name="x"><meta content="text/html; charset=c" http-equiv="content-type">') == "c"


def test_empty_and_binary_pages() -> None:
    assert reason_of(b" \n")[0] == "empty"
    assert reason_of(b"\xef\xbb\xbf  ")[0] == "no_layout"
    assert reason_of(b"%PDF\x00\x01")[0] == "undecodable"
