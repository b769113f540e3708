"""Lays an article out as a page of CNN or Daily Mail, with what such pages have around and within the text.

The names of classes and ids are those of real pages of the years; words, order and clutter are made up.
"""

from collections.abc import Callable, Sequence
from html import escape
from itertools import cycle

LABELS = {"utf-8": "utf-8", "windows-1252": "iso-8859-1"}  # both newspapers wrote the latter for the former

SCRIPT = '<script>var promo = "<p>Buy now</p>"; if (1 < 2) { document.write("<div>" + promo); }</script>'
TWEET = (
    '<blockquote class="twitter-tweet"><p>So proud of them today!</p>&mdash; A reader (@reader) '
    '<a href="https://twitter.com/reader/status/1">May 1, 2014</a></blockquote>'
)
NOSCRIPT = '<noscript><p>Please enable JavaScript.</p><img src="//pixel.example/1.gif"></noscript>'
IFRAME = '<iframe src="//ads.example/300x250"><p>Your browser shows no frames.</p></iframe>'
ADVERT = '<div class="ad ad--epic"><div id="ad_rect_atf_02"><p>Advertisement</p></div></div>'
COMMENT = "<!-- google_ad_section_start --><!--startclickprintinclude-->"
SHARE_LIST = (
    '<ul><li><a href="#">Share</a></li><li class="share-twitter"><a href="#">Tweet</a></li><li>1.2k shares</li></ul>'
)
NAVIGATION = (
    '<nav><ul><li><a href="/">Home</a></li><li><a href="/news">News</a></li></ul></nav>'
    '<div id="header"><p>Thursday, May 1</p><ul><li><a href="/sport">Sport</a></li></ul></div>'
)
FOOTER = f'<footer><ul><li><a href="/terms">Terms</a></li></ul><p>All rights reserved.</p></footer>{SCRIPT}'

_CNN_CLUTTER = (
    TWEET,
    '<p><b>READ: <a href="/x">The story so far</a></b></p>',
    '<div class="cnnStoryElementBox"><h4>Don\'t Miss</h4><p>Watch the video</p></div>',
    ADVERT,
    '<div class="el__embedded el__embedded--standard"><p>More on this story</p></div>',
    f"{SCRIPT}{NOSCRIPT}",
    '<p><a href="/2014/x">Who was where on the night?</a></p>',
    '<div class="pullquote"><p>It was the longest day.</p></div>',
    IFRAME,
    '<p>Follow us on Twitter</p>',
)  # fmt: skip
_MAIL_CLUTTER = (
    TWEET,
    '<p class="mol-para-with-font"><span class="mol-style-bold">Scroll down for video</span></p>',
    '<div class="artSplitter mol-img-group"><div class="mol-img"><img src="1.jpg"></div>'
    '<p class="imageCaption">Happier times: the family in May</p></div>',
    f"{IFRAME}{NOSCRIPT}",
    '<div class="art-ins mol-factbox news"><h3>THE STORY SO FAR</h3><p class="mol-para-with-font">A box.</p></div>',
    f'<div class="adHolder mpu">{SCRIPT}<span class="mol-ads-label">Advertisement</span></div>',
    '<div class="related-carousel"><h3>RELATED ARTICLES</h3><ul><li><a href="/a">Previous</a></li></ul></div>',
    '<div class="mol-article-quote"><p>It was the longest day.</p></div>',
    '<p class="mol-para-with-font"><strong>READ MORE: <a href="/y">What they said</a></strong></p>',
)
_AFTER_MAIL = (
    f'<div class="column-content cleared"><div class="shareArticles"><h3>Share or comment</h3>{SHARE_LIST}</div></div>'
    '<div id="reader-comments"><p class="comment-body">I agree with this.</p><p>So do I.</p></div>'
)


def marked_up(text: str, number: int) -> str:
    """A paragraph's markup; the number chooses what is in it."""
    words = text.split(" ")
    middle = len(words) // 2
    before, word, after = words[:middle], words[middle], words[middle + 1 :]
    half = len(word) // 2
    kinds: list[Callable[[], str]] = [
        lambda: escape(word),
        lambda: f'<a href="/topic?a=1&amp;b=2">{escape(word)}</a>',
        lambda: f"{escape(word[:half])}<small>{escape(word[half:])}</small>",
        lambda: f"<strong><em>{escape(word)}</em></strong>",
        lambda: f"{escape(word[:half])}{SCRIPT}{COMMENT}{escape(word[half:])}",
        lambda: "".join(f"&#x{ord(c):x};" if c != word[0] else f"&#{ord(c)};" for c in word),
    ]
    blanks = (" ", "\n      ", "<br>", "&nbsp;", " <br/>\n", "</br>")
    blank = blanks[number % len(blanks)]
    marked = kinds[number % len(kinds)]()
    parts = [part for part in (escape(" ".join(before)), marked, escape(" ".join(after))) if part]
    markup = blank.join(parts)
    # Some editors' tools write signs by name.
    return markup.replace("£", "&pound;").replace("’", "&rsquo;").replace("é", "&eacute;") if number % 2 else markup


def lay_out_page(
    paragraphs: Sequence[str],
    highlights: Sequence[str],
    layout: str,
    *,
    title: str = "A title",
    url: str = "https://news.example/2014/05/01/a.html",
    encoding: str = "utf-8",
    clutter: bool = True,
) -> bytes:
    """The page, in the encoding; a sign that the encoding lacks is a character reference."""
    parts = [marked_up(text, n) for n, text in enumerate(paragraphs)]
    bullets = [marked_up(text, n) for n, text in enumerate(highlights)]
    body = _BODIES[layout](parts, bullets, escape(title), clutter)
    label = LABELS[encoding]
    declaration = (
        f'<meta http-equiv="Content-Type" content="text/html; charset={label}">'
        if encoding != "utf-8"
        else f'<meta charset="{label}"/>'
    )
    page = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>{SCRIPT if clutter else ""}{declaration}\n'
        f"<title>{escape(title)} - News</title>\n"
        f'<link rel="canonical" href="{escape(url)}"><meta property="og:type" content="article"></head>\n'
        f"<body>{NAVIGATION if clutter else ''}{body}{FOOTER if clutter else ''}</body>\n</html>\n"
    )
    return page.encode("cp1252" if encoding == "windows-1252" else encoding, "xmlcharrefreplace")


def _mixed(parts: Sequence[str], clutter: Sequence[str]) -> str:
    """Clutter between the paragraphs, from the second on."""
    pieces = list(parts[:1])
    for part, between in zip(parts[1:], cycle(clutter or ("",)), strict=False):
        pieces += [between, part]
    return "\n".join(pieces)


def _list(items: Sequence[str], list_class: str = "plain", item_class: str = "item") -> str:
    lines = "".join(f'<li class="{item_class}">{item}</li>' for item in items)
    return f'<ul class="{list_class}">{lines}</ul>' if items else ""


def _cnn_2010(parts: list[str], bullets: list[str], title: str, clutter: bool) -> str:
    heading = '<li class="cnnHiliteHeader">STORY HIGHLIGHTS</li>' if clutter else ""
    following = '<li><b>Next Article in World &raquo;</b></li>' if clutter else ""  # fmt: skip
    items = heading + "".join(f"<li>{b}<br /> " for b in bullets) + following  # <li> is not closed
    text = _mixed([f"<p>{p}</p>" for p in parts], _CNN_CLUTTER if clutter else ())
    topics = '<p class="cnnTopics"><b>All About</b> <a href="/t">Topics</a></p>' if clutter else ""
    return (
        f'<div id="cnnContentContainer" class="cnn_storyarea"><h1>{title}</h1>'
        f'<div class="cnn_strybtntools">{SHARE_LIST}</div><div class="cnnByline">By <b>A Writer</b>, CNN</div>'
        f'<div class="cnn_strycntntlft"><div class="cnn_strylftcntnt"><div>A caption</div></div>'
        f'<div class="cnn_strylftcntnt"><ul class="cnn_bulletbin cnnStryHghLght">{items}</ul></div>'
        f"{text}{topics}</div></div>"
    )


def _cnn_2015(parts: list[str], bullets: list[str], title: str, clutter: bool) -> str:
    metadata = '<div class="metadata"><p class="metadata__byline">By A Writer</p></div>' if clutter else ""
    return (
        f'<div class="l-container"><h1 class="pg-headline">{title}</h1>{metadata}'
        '<section id="body"><div class="l-container"><div class="el__storyhighlights"><h3>Story highlights</h3>'
        f"{_list(bullets, 'el__storyhighlights__list', 'el__storyhighlights__item')}</div>"
        f"{_mixed([f'<p>{p}</p>' for p in parts], _CNN_CLUTTER if clutter else ())}</div></section></div>"
    )


def _cnn_2016(parts: list[str], bullets: list[str], title: str, clutter: bool) -> str:
    name = "zn-body__paragraph"
    first = [f'<div class="el__leafmedia"><p class="{name} speakable">{p}</p></div>' for p in parts[:1]]
    others = [f'<div class="{name}">{p}</div>' for p in parts[1:]]
    more = '<div class="zn-body__read-more"><div class="read-more-link">Read More</div></div>' if clutter else ""
    text = _mixed([*first, *others], (*_CNN_CLUTTER[2:6], f"<p>Not of the article</p>{more}") if clutter else ())
    return (
        f'<div class="l-container"><h1>{title}</h1><div itemprop="articleBody">'
        '<section class="zn zn-body-text" id="body-text"><div class="l-container">'
        f'<div class="el__storyhighlights">{_list(bullets, "el__storyhighlights__list")}</div>{text}'
        "</div></section></div></div>"
    )


def _cnn_2022(parts: list[str], bullets: list[str], title: str, clutter: bool) -> str:
    between = (
        '<div class="related-content"><p class="related-content__headline">Another story</p></div>',
        '<h2 class="subheader">What next</h2>',
        '<div class="video-resource"><div class="video-resource__headline">Hear it</div><p>05:22</p></div>',
        '<p class="paragraph"><a href="/x">Source: a headline</a></p>',
    )
    text = _mixed(
        [f'<p class="paragraph inline-placeholder" data-component-name="paragraph">{p}</p>' for p in parts],
        between if clutter else (),
    )
    source = '<div class="source"><cite class="source__cite"><span>London</span> CNN &mdash; </cite></div>'
    return (
        f'<main><h1>{title}</h1><div class="article__content" itemprop="articleBody">{source if clutter else ""}'
        f'<div class="highlights" data-component-name="highlights">{_list(bullets)}</div>{text}</div></main>'
    )


def _mail(parts: list[str], bullets: list[str], heading: str, clutter: bool, *, in_body: bool) -> str:
    text = _mixed([f'<p class="mol-para-with-font">{p}</p>' for p in parts], _MAIL_CLUTTER if clutter else ())
    byline = '<p class="author-section byline-plain">By <a class="author">A Writer</a></p>' if clutter else ""
    dates = '<p class="byline-section">Published: <time>15:56 BST, 27 April 2018</time></p>' if clutter else ""
    counts = '<p class="count-number">560</p><p class="count-text">View<br>comments</p>' if clutter else ""
    share = f'{SHARE_LIST}<div id="articleIconLinksContainer">{SHARE_LIST}{counts}</div>' if clutter else ""
    if in_body:
        text = f'<div itemprop="articleBody">{text}</div>'
    return (
        f'<div id="js-article-text" class="article-text wide  heading-tag-switch">{heading}'
        f"{_list([f'<strong>{b}</strong>' for b in bullets], 'mol-bullets-with-font')}"
        f"{byline}{dates}<p></p>{share}{text}{_AFTER_MAIL if clutter else ''}</div>"
    )


def _mail_2010(parts: list[str], bullets: list[str], title: str, clutter: bool) -> str:
    return _mail([f"<font>{p}</font>" for p in parts], bullets, f"<h1>{title}</h1>", clutter, in_body=False)


def _mail_2015(parts: list[str], bullets: list[str], title: str, clutter: bool) -> str:
    return _mail(parts, bullets, f"<h2>{title}</h2>", clutter, in_body=True)


_BODIES: dict[str, Callable[[list[str], list[str], str, bool], str]] = {
    "cnn_2010": _cnn_2010,
    "cnn_2015": _cnn_2015,
    "cnn_2016": _cnn_2016,
    "cnn_2022": _cnn_2022,
    "daily_mail_2010": _mail_2010,
    "daily_mail_2015": _mail_2015,
}
PAGE_LAYOUTS = tuple(_BODIES)
