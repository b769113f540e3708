"""Pages that give no article and why, and pages as articles of a source."""

import re

import pytest

from tests.corpus import pages as laid_out
from tests.corpus.pages import lay_out_page
from tests.unit.small_pages import HIGHLIGHTS, ID, PARAGRAPHS, candidate, cnn, mail, reason_of, texts, whole
from udfs.sources.articles import make_candidate
from udfs.sources.outcomes import RawArticle, SourceRules
from udfs.sources.pages import Page, parse_page


@pytest.mark.parametrize(
    ("page", "reason", "detail"),
    [
        (whole("<p>Ann won.</p>", "<title>A story</title>"), "no_layout", "'A story' has none of .article__content"),
        (whole("<p>No.</p>", "<title>404 - Page not found</title>"), "error_page", "404"),
        (whole("<p>No.</p>", "<title>Error 503</title>"), "error_page", "503"),
        (whole("<p>OK?</p>", "<title>Before you continue to CNN</title>"), "error_page", "Before you continue"),
        (whole("<p>OK?</p>", "<title>Your Privacy Choices</title>"), "no_layout", "Privacy"),
        (whole("<p>x</p>", "<title>Cookie consent</title>"), "error_page", "Cookie"),
        (
            whole("<p>x</p>", '<meta property="og:type" content="video.other"><title>Watch</title>'),
            "not_an_article_page",
            "a video, titled 'Watch'",
        ),
        (
            whole("<p>x</p>", '<link rel="canonical" href="https://www.cnn.com/2018/gallery/x/index.html">'),
            "not_an_article_page",
            "'gallery'",
        ),
        (
            mail("<p>Ann won.</p>", head='<script type="application/ld+json">{"@type": "LiveBlogPosting"}</script>'),
            "not_an_article_page",
            "a live blog",
        ),
        (
            mail("<p>Ann won.</p>", head='<script type="application/ld+json">{"isAccessibleForFree":"False"}</script>'),
            "partial_page",
            "not free",
        ),
        (mail("<div>Ann won.</div><p class='imageCaption'>Ann</p>"), "no_body", "daily_mail_2010 (.article-text"),
        (mail("<p>Ann won.</p>", ""), "no_highlights", "1 paragraphs and no bullet; looked for lists in .article-text"),
        (mail("<p>Ann won.</p>", laid_out.SHARE_LIST), "no_highlights", "daily_mail_2010"),
        (cnn("<p>Ann won.</p><p>Bo lost.</p>", ""), "no_highlights", "2 paragraphs and no bullet; looked for .el__"),
        (b"<html>" + b"<div>" * 30_000, "no_layout", "30001 tags that are never closed"),
    ],
)
def test_page_that_gives_no_article_says_why(page: bytes, reason: str, detail: str) -> None:
    found = reason_of(page)
    assert found[0] == reason
    assert detail in found[1]


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "<p>Bo lo",
        "<p>Bo lost.</p>",
        "<p>Bo <a href='https://www.cnn",
        "<p>Bo <!-- an advert",
        "<p>Bo lost.</p><script>var end = '</html>';",
        "<p>Bo lost.</p><script>var end = '</html>';</script><p>Cy",
    ],
)
def test_page_that_ends_within_the_article_is_a_reject(ending: str) -> None:
    start = '<html><body><ul class="cnnStryHghLght"><li>Ann wins</li></ul><div class="cnn_strycntntlft"><p>Ann won.</p>'
    reason, detail = reason_of((start + ending).encode())
    assert reason == "partial_page"
    assert "cut off within the article" in detail


def test_page_that_ends_behind_the_article_is_whole() -> None:
    start = '<html><body><ul class="cnnStryHghLght"><li>Ann wins</li></ul><div class="cnn_strycntntlft"><p>Ann won.</p>'
    for ending in ("</div>", "</div><div id=footer><p>Terms of", "</body></html>", "</html>\n<!-- archived --> \n"):
        assert texts((start + ending).encode()) == ["Ann won."]


# --- as an article of a source


def test_page_becomes_an_article_like_a_story() -> None:
    content = lay_out_page(PARAGRAPHS, HIGHLIGHTS, "cnn_2010", url="http://www.cnn.com/a/", encoding="windows-1252")
    row = candidate(content)
    page: Page = parse_page(content)
    assert (row.reject_reason, row.text, row.format) == (None, page.story, "html")
    assert [row.text[s:e] for s, e in row.paragraphs or ()] == list(PARAGRAPHS)  # type: ignore[index]
    assert [row.text[s:e] for s, e in row.highlights or ()] == list(HIGHLIGHTS)  # type: ignore[index]
    assert (row.url, row.url_key, row.publisher, row.origin) == ("http://www.cnn.com/a/", "cnn.com/a", "CNN", "crawled")
    assert row.notes == ["decoded_as:windows-1252"]
    story = RawArticle(0, "/d/a.story", "", "s", "story", "a.story", ID, story=page.story.encode())
    assert row.content_hash == make_candidate(story, SourceRules("data", "auto", "auto", False)).content_hash


def test_what_is_known_of_a_page_counts_more_than_what_it_says() -> None:
    content = lay_out_page(PARAGRAPHS, HIGHLIGHTS, "cnn_2016", url="http://www.cnn.com/a/")
    row = candidate(content, "dailymail/downloads/a.html", listed_url="http://web.archive.org/web/1id_/http://x.com/b")
    assert (row.url, row.publisher) == ("http://web.archive.org/web/1id_/http://x.com/b", "Daily Mail")


def test_publisher_of_a_page_without_address_is_its_layouts() -> None:
    assert candidate(mail("<p>Ann won.</p>")).publisher == "Daily Mail"
    assert candidate(cnn("<p>Ann won.</p>")).publisher == "CNN"


def test_page_that_can_not_be_used_is_a_reject() -> None:
    row = candidate(mail("<p>Ann won.</p>", ""))
    assert (row.reject_reason, row.text, row.notes) == ("no_highlights", None, [])
    assert re.match("layout daily_mail_2010: 1 paragraphs", row.reject_detail or "")


def test_literal_marker_in_a_page_makes_no_bullet() -> None:
    row = candidate(mail("<p>Ann won.</p><p> @highlight </p><p>Bo lost.</p>"))
    assert row.text == "Ann won.\n\nBo lost.\n\n@highlight\n\nAnn Ray wins"
