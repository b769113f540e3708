"""Crawled pages: every layout, text and clutter, bullets, addresses."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus import pages as laid_out
from tests.corpus.pages import LABELS, PAGE_LAYOUTS, lay_out_page
from tests.unit.small_pages import HIGHLIGHTS, PARAGRAPHS, candidate, cnn, mail, reason_of, texts, whole
from udfs.sources.outcomes import REJECT_REASONS
from udfs.sources.page_layouts import LAYOUTS
from udfs.sources.pages import parse_page
from udfs.story_text import UnusableStory, parse_story

# --- round trips


def test_gum_pages_give_their_stories(shared: Path) -> None:
    folder = shared / "data" / "gum_html"
    rows = [json.loads(line) for line in (folder / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 32
    for row in rows:
        page = parse_page((folder / row["corpus"] / "downloads" / f"{row['sha1']}.html").read_bytes())
        assert page.story.encode() == (folder / row["story"]).read_bytes(), row
        assert page.encoding == row["encoding"]
        assert page.publisher == {"cnn": "CNN", "dailymail": "Daily Mail"}[row["corpus"]]


@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("layout", PAGE_LAYOUTS)
def test_page_of_every_layout_comes_back(layout: str, encoding: str) -> None:
    content = lay_out_page(PARAGRAPHS, HIGHLIGHTS, layout, url="https://edition.cnn.com/a?b=1&c=2", encoding=encoding)
    page = parse_page(content)
    assert page.paragraphs == PARAGRAPHS
    assert page.highlights == HIGHLIGHTS
    assert (page.layout, page.encoding) == (layout, encoding)
    assert page.url == "https://edition.cnn.com/a?b=1&c=2"
    assert page.notes == (() if encoding == "utf-8" else ("decoded_as:windows-1252",))


def test_every_layout_of_the_table_is_tested() -> None:
    assert {layout.name for layout in LAYOUTS} == set(PAGE_LAYOUTS)


# White space is one blank, what is unseen is gone: the texts have none of it to lose. Beginnings such as "READ:" and
# bylines would be taken for what they look like.
_WORD = st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")), min_size=1, max_size=9
)
_TEXT = st.lists(_WORD, min_size=1, max_size=12).map(lambda words: f"N{' '.join(words)}.")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(_TEXT, min_size=1, max_size=12),
    st.lists(_TEXT, min_size=1, max_size=5, unique=True),
    st.sampled_from(PAGE_LAYOUTS),
    st.sampled_from(sorted(LABELS)),
    st.booleans(),
)
def test_any_article_comes_back(
    paragraphs: list[str], highlights: list[str], layout: str, encoding: str, clutter: bool
) -> None:
    page = parse_page(lay_out_page(paragraphs, highlights, layout, encoding=encoding, clutter=clutter))
    assert page.paragraphs == tuple(paragraphs)
    assert page.highlights == tuple(highlights)
    assert page.layout == layout
    story = parse_story(page.story)
    assert [page.story[s:e] for s, e in story.paragraphs] == paragraphs
    assert [page.story[s:e] for s, e in story.highlights] == highlights


_TAGS = "p div b a ul li br blockquote script h1 font table td".split()
_PIECE = st.one_of(
    _WORD,
    st.sampled_from(
        ["<", ">", "&", "'", '"', "<!--", "-->", "</p", "</div></div>", "&#x0;", "<p class=", "@highlight"]
    ),
    st.builds(
        lambda tag, name: f'<{tag} class="{name}">', st.sampled_from(_TAGS), st.sampled_from(["", "ad", "metadata"])
    ),
    st.builds(lambda tag: f"</{tag}>", st.sampled_from(_TAGS)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECE, max_size=30).map(" ".join))
def test_any_markup_gives_paragraphs_of_one_line_or_a_reject(markup: str) -> None:
    for page in (mail(markup), cnn(markup), whole(markup)):
        row = candidate(page)
        assert row.reject_reason is None or row.reject_reason in REJECT_REASONS
        found = [row.text[s:e] for s, e in row.paragraphs or ()] if row.text else []
        assert found == [" ".join(p.split()) for p in found]
        assert "@highlight" not in found
        assert bool(found) == (row.reject_reason is None)


@pytest.mark.parametrize("layout", PAGE_LAYOUTS)
def test_page_cut_off_anywhere_is_whole_or_a_reject(layout: str) -> None:
    content = lay_out_page(PARAGRAPHS, HIGHLIGHTS, layout)
    reasons = set()
    for end in range(0, len(content), 7):
        try:
            page = parse_page(content[:end])
        except UnusableStory as error:
            reasons.add(error.reason)
            continue
        assert (page.paragraphs, page.highlights) == (PARAGRAPHS, HIGHLIGHTS), content[:end][-60:]
    assert {"empty", "no_layout", "partial_page"} <= reasons


# --- text


def test_line_breaks_and_small_tags() -> None:
    """Public report 13: <br> glued sentences, small inline tags lost words."""
    page = mail("<p>Ann Ray won.<br>Also, Bo Lin lost.</p><p>K<small>EVIN OZ</small> left.</p>")
    assert texts(page) == ["Ann Ray won. Also, Bo Lin lost.", "KEVIN OZ left."]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p>Ann won.<BR/>Bo lost.", ["Ann won. Bo lost."]),
        ("<p>Ann won.</br>Bo lost.</p>", ["Ann won. Bo lost."]),
        ("<p>Ann won.<br><br>Bo lost.</p>", ["Ann won.", "Bo lost."]),
        ("<p>Ann won.<br />&nbsp;<br />\n<br>Bo lost.</p>", ["Ann won.", "Bo lost."]),
        ("<p>Ann won.<p>Bo lost.<p>Cy drew.", ["Ann won.", "Bo lost.", "Cy drew."]),
        ("<p><b>Ann <i>won</b> it</i>.</p><p>Bo lost.</p>", ["Ann won it.", "Bo lost."]),
        ("<p>Ann &amp; Bo &lt;3 &pound;5 &#163;6 &#x2019;s AT&T</p>", ["Ann & Bo <3 £5 £6 ’s AT&T"]),
        ("<p>Ann&#146;s &#150; or &#x93;Bo&#x94;</p>", ["Ann’s – or “Bo”"]),
        ("<p>  Ann\n\t won\r\n it&nbsp;\u2003all&nbsp;</p><p>&nbsp;</p>", ["Ann won it all"]),
        ("<p>An&shy;n\u200b won\ufeff it\x07</p>", ["Ann won it"]),
        ("<p>Ann<script>var x = '</p>';</script> won<style>p {}</style><!-- no --> it.</p>", ["Ann won it."]),
        ("<p>Ann<noscript><div>No</div></noscript> won.</p>", ["Ann won."]),
        ("<p>Ann\x92s \x96 \x81all</p>", ["Ann’s – all"]),
        ("<p>Ann <span class='ad'>Buy!</span>won.</p>", ["Ann won."]),
        ("<p>“Ann won,” Bo <a href='#'>said</a>.</p>", ["“Ann won,” Bo said."]),
        ("<blockquote><p>Ann won.</p></blockquote><p>Bo lost.</p>", ["Ann won.", "Bo lost."]),
        ("<div>" * 300 + "<p>Ann won.</p>" + "</div>" * 300 + "<p>Bo lost.</p>", ["Ann won.", "Bo lost."]),
        ("<p>Ann won. <b>READ: <a href='#'>How</a></b></p><p>Bo lost.</p>", ["Ann won.", "Bo lost."]),
        ("<p>@highlight</p><p>Ann won.</p>", ["Ann won."]),
        ("<p>The word @highlight is a marker.</p>", ["The word @highlight is a marker."]),
        ("<font size=2><p>Ann won.</p><p>Bo lost.</p></font>", ["Ann won.", "Bo lost."]),
    ],
)
def test_text_of_paragraphs(markup: str, expected: list[str]) -> None:
    assert texts(mail(markup)) == expected


@pytest.mark.parametrize("between", [laid_out.TWEET, laid_out.ADVERT, laid_out.IFRAME, laid_out.SCRIPT])
def test_text_behind_what_is_left_out_stays_in_its_paragraph(between: str) -> None:
    # A block ends the paragraph, by the HTML standard: the rest stands bare in the body.
    assert texts(mail(f"<p>Ann won {between}in <b>May</b>.</p><p>Bo lost.</p>")) == ["Ann won in May.", "Bo lost."]
    assert texts(cnn(f"<p>Ann won{between} in May.</p>")) == ["Ann won in May."]
    zone = f'<div id="body-text"><p class="zn-body__paragraph">Ann won {between}in May.</p></div>'
    assert texts(whole(f'<ul class="el__storyhighlights__list"><li>Ann wins</li></ul>{zone}')) == ["Ann won in May."]
    twice = f"<div><p>Ann {between}won{between} it.</p></div><p>Bo{between} lost.</p>"
    assert texts(mail(twice)) == ["Ann won it.", "Bo lost."]


def test_bare_text_is_a_paragraph_in_the_body_and_none_in_a_box() -> None:
    page = cnn(f"<p>Ann won.</p>{laid_out.TWEET}Bo <i>lost</i>.<p>Cy drew.</p><div>A caption<p>Di ran.</p></div>")
    assert texts(page) == ["Ann won.", "Bo lost.", "Cy drew.", "Di ran."]
    zone = '<div id="body-text"><div class="zn-body__paragraph">Ann won.</div>A caption</div>'
    assert texts(whole(f'<ul class="el__storyhighlights__list"><li>Ann wins</li></ul>{zone}')) == ["Ann won."]


@pytest.mark.parametrize(
    "clutter",
    [
        *laid_out._CNN_CLUTTER,
        *laid_out._MAIL_CLUTTER,
        laid_out.SHARE_LIST,
        laid_out.NAVIGATION.replace("Thursday, May 1", ""),
        laid_out.NOSCRIPT,
        '<div id="reader-comments-list"><p>I agree.</p></div>',
        '<p class="byline-section">Published: 10:00</p>',
        "<p>SCROLL DOWN FOR VIDEO</p>",
        "<p>MORE: <a href='#'>What he said</a></p>",
        "<p>Click here to read the report</p>",
        "<p>Tell us @CNNOpinion what you think</p>",
        "<figure><p>A photo</p><figcaption>Ann in May</figcaption></figure>",
        "<template><p>Later</p></template>",
        "<h3>What next</h3>",
    ],
)
def test_clutter_is_left_out_between_paragraphs(clutter: str) -> None:
    markup = f"<p>Ann won.</p>{clutter}<p>Bo lost.</p>"
    assert texts(mail(markup)) == texts(cnn(markup)) == ["Ann won.", "Bo lost."]


def test_sentences_that_only_look_like_pointers_stay() -> None:
    kept = [
        "Read the judge's words again, she said.",
        "More than 40 people were hurt.",
        "Follow the money, they say.",
        "By the time Ann Ray came it was over.",
        "Watch makers in Geneva sold less.",
    ]
    assert texts(mail("".join(f"<p>{t}</p>" for t in kept))) == kept
    linked = "<p><a href='#'>“Ann won,” Bo wrote in a letter.</a></p>"
    assert texts(mail(linked)) == ["“Ann won,” Bo wrote in a letter."]


def test_paragraph_under_two_containers_comes_once_and_in_order() -> None:
    page = (
        '<ul class="el__storyhighlights__list"><li>Ann wins</li></ul><div class="l-container"><p>One.</p>'
        '<div class="cnnContentContainer"><p>Two.</p><div class="cnn_strycntntlft"><p>Three.</p></div></div></div>'
        '<div class="l-container"><p>Four.</p></div>'
    )
    assert texts(whole(page)) == ["One.", "Two.", "Three.", "Four."]


def test_editors_note_before_the_dateline_goes() -> None:
    note = "Ann Ray is a professor of law."
    assert texts(cnn(f"<p>{note}</p><p>(CNN) -- Bo lost.</p><p>Cy drew.</p>")) == ["(CNN) -- Bo lost.", "Cy drew."]
    assert texts(cnn(f"<p>{note}</p><p>NEW YORK (CNN)Bo lost.</p>")) == ["NEW YORK (CNN)Bo lost."]
    for second in ("The Cable News Network (CNN) said so.", "Bo lost, Ann told a reporter (CNN)."):
        assert texts(cnn(f"<p>{note}</p><p>{second}</p>")) == [note, second]
    assert texts(mail(f"<p>{note}</p><p>(CNN) -- Bo lost.</p>")) == [note, "(CNN) -- Bo lost."]


def test_dateline_is_set_apart_from_the_first_word() -> None:
    page = (
        '<ul class="el__storyhighlights__list"><li>Ann wins</li></ul><div id="body-text"><p class="zn-body__paragraph">'
        '<cite class="el-editorial-source"> (CNN)</cite>Ann Ray won.</p></div>'
    )
    assert texts(whole(page)) == ["(CNN) Ann Ray won."]


# --- bullets


@pytest.mark.parametrize(
    "lists",
    [
        "<ul><li>Ann wins</li><li>Bo loses</li></ul>",
        "<ul><li>Ann wins</ul><ul><li><strong>Bo&nbsp;loses</strong></ul>",
        f"{laid_out.SHARE_LIST}<ul class='mol-bullets-with-font'><li>Ann wins<li>Bo loses</ul>{laid_out.SHARE_LIST}",
        f"<p class='byline-plain'>By Jo</p><p>By . Jo Fox .</p><ul><li>Ann wins<li>Bo loses</ul>{laid_out.SHARE_LIST}",
        "<ul><li>Ann wins<li>@highlight<li>Bo loses<li>Ann wins</ul>",
        "<ul><li>Ann wins<li>Bo loses<li>12 shares</ul>",
    ],
)
def test_daily_mails_bullets_are_the_lists_above_the_text(lists: str) -> None:
    page = parse_page(mail("<p>Cy drew.</p><ul><li>First, this.</li><li>Then that.</li></ul><p>End.</p>", lists))
    assert page.highlights == ("Ann wins", "Bo loses")
    assert page.paragraphs[-4:] == ("Cy drew.", "First, this.", "Then that.", "End.")


def test_daily_mails_lists_in_the_text_are_no_bullets() -> None:
    # One class for both, in pages of 2024.
    listed = '<ul class="mol-bullets-with-font"><li>Look for a star.</li></ul>'
    body = f'<div itemprop="articleBody"><p>Do this:</p>{listed}</div>'
    page = parse_page(mail(body, '<ul class="mol-bullets-with-font"><li>Ann wins</li></ul>'))
    assert (page.layout, page.highlights) == ("daily_mail_2015", ("Ann wins",))
    assert page.paragraphs == ("Do this:", "Look for a star.")
    assert reason_of(mail(body, ""))[0] == "no_highlights"


def test_cnns_bullets_without_heading_and_next_article() -> None:
    bullets = (
        '<div id="cnnHeaderRightCol"><ul><li class="cnnHiliteHeader">In short</li><li>Story Highlights'
        '<li>Ann wins<br /> <li>Bo loses<br /><li class="cnnNextStory"><a href="#">'
        "Next Article in Politics &raquo;</a></li></ul></div>"
    )
    page = f'{bullets}<div class="cnnContentContainer"><p>Cy drew.</p><p class="cnnTopics">All About</p></div>'
    assert parse_page(whole(page)).highlights == ("Ann wins", "Bo loses")


# --- address


def test_address_is_the_canonical_one() -> None:
    canonical = '<link rel="canonical" href=" https://www.cnn.com/a ">'
    own = '<meta property="og:url" content="https://www.cnn.com/b">'
    assert parse_page(mail("<p>Ann.</p>", head=own + canonical)).url == "https://www.cnn.com/a"
    assert parse_page(mail("<p>Ann.</p>", head=own)).url == "https://www.cnn.com/b"
    assert parse_page(mail("<p>Ann.</p>", head='<link rel="canonical" href="/a">' + own)).url == "https://www.cnn.com/b"
    assert parse_page(mail("<p>Ann.</p>")).url is None
