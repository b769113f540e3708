"""Ids and keys of article URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.article_urls import article_id_of_url, host_of, listed_urls, url_key

WAYBACK = (
    "http://web.archive.org/web/20111016030125id_/http://www.cnn.com:80/2011/10/13/opinion/iranianplotsamerican-hubris/"
)


def test_article_id_is_the_sha1_of_the_url_as_listed() -> None:
    assert article_id_of_url(WAYBACK) == "2ac7ec1e2f9c14f641b63b232600fe25f5a49b2b"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (WAYBACK, "cnn.com/2011/10/13/opinion/iranianplotsamerican-hubris"),
        ("http://www.cnn.com/2011/10/13/x/", "cnn.com/2011/10/13/x"),
        ("http://web.archive.org/web/20150101000000id_/http://www.cnn.com:80/2015/01/01/x/", "cnn.com/2015/01/01/x"),
        ("https://web.archive.org/web/2015/https://cnn.com/x", "cnn.com/x"),
        ("https://web.archive.org/web/20150101if_/www.cnn.com/x", "cnn.com/x"),
        ("http://web.archive.org/web/2015*/http:/www.cnn.com/x", "web.archive.org/web/2015*/http:/www.cnn.com/x"),
        ("http://web.archive.org/web/2015id_/http:/www.cnn.com/x", "cnn.com/x"),
        ("http://web.archive.org/web/2016/http://web.archive.org/web/2015id_/http://cnn.com/x", "cnn.com/x"),
        ("http://web.archive.org/web/2015/", "web.archive.org/web/2015"),
        ("HTTPS://WWW.CNN.com/Path/A", "cnn.com/Path/A"),
        ("cnn.com/x", "cnn.com/x"),
        ("//www.cnn.com/x", "cnn.com/x"),
        ("http://cnn.com", "cnn.com"),
        ("http://cnn.com/", "cnn.com"),
        ("http://cnn.com:443/x", "cnn.com/x"),
        ("http://cnn.com:/x", "cnn.com/x"),
        ("http://cnn.com:8080/x", "cnn.com:8080/x"),
        ("http://cnn.com./x", "cnn.com/x"),
        ("http://user:secret@cnn.com/x", "cnn.com/x"),
        ("http://cnn.com/x//", "cnn.com/x"),
        ("http://cnn.com/x#comments", "cnn.com/x"),
        ("http://cnn.com/x/?utm_source=a&UTM_medium=b", "cnn.com/x"),
        ("http://cnn.com/x?id=7&utm_source=a&p=2", "cnn.com/x?id=7&p=2"),
        ("http://cnn.com/x?", "cnn.com/x"),
        ("  http://cnn.com/x\n", "cnn.com/x"),
        ("http://edition.cnn.com/x", "edition.cnn.com/x"),
        ("http://[::1]:80/x", "[::1]/x"),
        ("http://cnn.com/www.x/http://y", "cnn.com/www.x/http://y"),
        ("http://[bad/x", None),
        ("http://", None),
        ("/", None),
        ("", None),
        (None, None),
        ("no address at all", None),
    ],
)  # fmt: skip
def test_url_key_leaves_out_what_names_no_other_page(url: str | None, key: str | None) -> None:
    assert url_key(url) == key


@given(st.text(max_size=60))
def test_url_key_takes_any_text_and_is_stable(text: str) -> None:
    key = url_key(f"http://cnn.com/{text}")
    assert key is None or url_key(f"https://www.cnn.com:443/{text}") == key


@pytest.mark.parametrize(
    ("url", "host"),
    [(WAYBACK, "cnn.com"), ("http://a.uk:8080?x", "a.uk"), ("https://www.bbc.co.uk/n", "bbc.co.uk"), ("", None)],
)
def test_host_of(url: str, host: str | None) -> None:
    assert host_of(url) == host


def test_listed_urls_keeps_each_string_exactly_and_reads_lines_with_several() -> None:
    lines = ["\ufeffhttp://a.com/1\r\n", "\n", "http://b.com/x,y\n", "http://c.com/1,https://d.com/2"]
    assert list(listed_urls(lines)) == [
        "http://a.com/1",
        "http://b.com/x,y",
        "http://c.com/1,https://d.com/2",
        "http://c.com/1",
        "https://d.com/2",
    ]
