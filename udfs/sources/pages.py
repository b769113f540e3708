"""A crawled page of CNN or Daily Mail as an article: paragraphs and bullets, or the reason why it is none.

The page is read as a browser reads it, by lexbor's HTML5 parser: ``<br>`` in any spelling, tags never closed or
closed in the wrong order, character references. libxml2 was tried too: it is half as fast, builds other trees
of faulty markup, and silently loses all that follows 255 nested elements.

No article comes out halved. What stands within a paragraph and is no text (tweets, advertisements, scripts) is
left out, the text behind it is kept. A page is rejected where its bullets are missing, where it was cut off
within the article or says that only subscribers see all of it, and where it is a live blog.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from udfs.sources import page_layouts as rules
from udfs.sources.page_encoding import Decoded, decode_page
from udfs.sources.page_layouts import LAYOUTS, Layout
from udfs.sources.page_text import is_clutter, is_inline, is_link_only, paragraphs_of, text_of
from udfs.story_text import HIGHLIGHT, UnusableStory, build_story

# Lexbor goes through all open elements at each tag: 20,000 take half a second, ten times as many a minute.
_MAX_UNCLOSED = 20_000
# Where this tag comes to stand tells whether the article was closed before the page's end.
_END_TAG = "end-of-page"
_END = f"<{_END_TAG}></{_END_TAG}>"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LAST_TAG = re.compile(r"</(?:html|body)\s*>", re.IGNORECASE)
_TAIL = 16 * 1024
_ABSOLUTE = re.compile(r"https?://[^\s/]+\.[^\s/]+\S*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """An article's page. ``url`` is the address that it gives itself; ``notes`` say what was repaired."""

    paragraphs: tuple[str, ...]
    highlights: tuple[str, ...]
    url: str | None
    publisher: str
    layout: str
    encoding: str
    notes: tuple[str, ...] = ()

    @property
    def story(self) -> str:
        """The article in the form of a ``.story``."""
        return build_story(list(self.paragraphs), list(self.highlights))


@dataclass(frozen=True, slots=True)
class _Article:
    layout: Layout
    bodies: list[LexborNode]
    paragraphs: list[str]
    bullets: list[str]


def parse_page(page: bytes) -> Page:
    """The article of a page as downloaded.

    Raises:
        UnusableStory: ``empty``, ``undecodable``, ``error_page`` (in place of a missing page),
            ``not_an_article_page`` (live blog, video, gallery), ``no_layout`` (none of the known ones),
            ``no_body``, ``no_highlights``, ``partial_page`` (cut off, or for subscribers only).
    """
    decoded = decode_page(page)
    text = decoded.text
    if (unclosed := text.count("<") - 2 * text.count("</")) > _MAX_UNCLOSED:
        raise UnusableStory("no_layout", f"about {unclosed} tags that are never closed: no article's page")
    tree = LexborHTMLParser(text + _END, scripting=True)
    url = _own_url(tree)
    if rules.LIVE_BLOG.search(text) or (url and "/live-news/" in url):
        raise UnusableStory("not_an_article_page", f"a live blog, titled {_title(tree)!r}")
    article = _find_article(tree, url)
    _check_whole(tree, text, article.bodies)
    layout = article.layout
    if not article.bullets:
        sought = layout.bullets or f"lists in {layout.lead} before the first paragraph"
        detail = f"layout {layout.name}: {len(article.paragraphs)} paragraphs and no bullet; looked for {sought}"
        raise UnusableStory("no_highlights", detail)
    parts = tuple(article.paragraphs), tuple(article.bullets)
    return Page(*parts, url, layout.publisher, layout.name, decoded.encoding, _notes(decoded))


def _notes(decoded: Decoded) -> tuple[str, ...]:
    if decoded.text.isascii():
        return ()
    notes = [] if decoded.encoding == "utf-8" else [f"decoded_as:{decoded.encoding}"]
    if decoded.contradicts:
        notes.append(f"charset_declared:{decoded.contradicts}")
    return tuple(notes)


def _find_article(tree: LexborHTMLParser, url: str | None) -> _Article:
    marked = [layout for layout in LAYOUTS if tree.css_first(layout.mark)]
    for layout in marked:
        bullets, lists = _bullets(tree, layout)
        for selector in layout.bodies:
            bodies = _outermost(tree.css(selector))
            if paragraphs := _paragraphs(bodies, layout, lists):
                return _Article(layout, bodies, paragraphs, bullets)
    title = _title(tree)
    if rules.ERROR_TITLE.match(title):
        raise UnusableStory("error_page", f"a page in place of the article, titled {title!r}")
    if tree.css_first(rules.VIDEO):
        raise UnusableStory("not_an_article_page", f"a video, titled {title!r}")
    if kind := rules.OTHER_KIND_IN_URL.search(url or ""):
        raise UnusableStory("not_an_article_page", f"its address has {kind[1]!r}, its title is {title!r}")
    if marked:
        sought = ", ".join(f"{layout.name} ({'; '.join(layout.bodies)})" for layout in marked)
        raise UnusableStory("no_body", f"no paragraph in the page titled {title!r} by the layouts {sought}")
    sought = "; ".join(layout.mark for layout in LAYOUTS)
    raise UnusableStory("no_layout", f"the page titled {title!r} has none of {sought}")


# --- paragraphs


def _paragraphs(bodies: Iterable[LexborNode], layout: Layout, bullet_lists: set[int]) -> list[str]:
    found = [text for body in bodies for text in _Body(body, layout, bullet_lists).read()]
    if layout.publisher == "CNN" and len(found) > 1 and rules.DATELINE.match(found[1]):
        del found[0]
    return found


class _Body:
    """Reads the paragraphs of one body in order.

    A block element inside ``<p>`` ends it: by the standard, what follows up to the stray ``</p>`` stands bare, with
    an empty paragraph behind it. That text is given back to its paragraph. Other bare text is a paragraph
    where it stands directly in the body, and a caption or the like where it stands deeper.
    """

    def __init__(self, body: LexborNode, layout: Layout, bullet_lists: set[int]) -> None:
        self._body = body
        self._layout = layout
        self._bullet_lists = bullet_lists
        self._found: list[str] = []
        self._run: list[LexborNode] = []  # bare text since the last block
        self._bare: list[tuple[str, bool]] = []  # bare texts since the last paragraph, and whether each is one
        self._open = False  # whether the last paragraph was taken and may go on

    def read(self) -> list[str]:
        stack: list[LexborNode | None] = [None, *reversed(list(self._body.iter(include_text=True)))]
        while stack:
            node = stack.pop()
            if node is None:  # the end of a block that holds others
                self._end_run()
                self._end_paragraph()
            elif is_inline(node):
                self._run.append(node)
            elif node.is_element_node:
                was_bare = self._end_run()
                if is_clutter(node) or (was_bare and self._give_back(node)):
                    continue
                if _is_paragraph(node, self._layout):
                    self._take(node)
                elif node.tag in ("ul", "ol"):
                    self._take_list(node)
                else:
                    self._end_paragraph()
                    stack += [None, *reversed(list(node.iter(include_text=True)))]
        return self._found

    def _give_back(self, node: LexborNode) -> bool:
        """Gives bare text back to the last paragraph if ``node`` is the empty one behind it; whether it is."""
        if not self._open or node.tag != "p" or paragraphs_of([node]):
            return False
        self._found[-1] = " ".join([self._found[-1], *(text for text, _ in self._bare)])
        self._bare = []
        return True

    def _take(self, node: LexborNode) -> None:
        if texts := paragraphs_of([node]):
            self._end_paragraph()
            kept = [] if _is_promotion(" ".join(texts), node) else [t for t in texts if t != HIGHLIGHT]
            self._found += kept
            self._open = bool(kept)

    def _take_list(self, node: LexborNode) -> None:
        self._end_paragraph()
        if self._layout.has_lists and node.mem_id not in self._bullet_lists and not _is_menu(node):
            for item in _items(node):
                self._found += [t for t in paragraphs_of([item]) if not rules.PROMOTION.match(t) and t != HIGHLIGHT]

    def _end_run(self) -> bool:
        """Puts bare text aside; whether there was any."""
        texts = paragraphs_of(self._run)
        is_own = bool(texts) and not self._layout.paragraph_class and _is_child(self._run[0], self._body)
        self._bare += [(text, is_own) for text in texts]
        self._run = []
        return bool(texts)

    def _end_paragraph(self) -> None:
        self._found += [t for t, is_own in self._bare if is_own and not rules.PROMOTION.match(t) and t != HIGHLIGHT]
        self._bare = []
        self._open = False


def _is_paragraph(node: LexborNode, layout: Layout) -> bool:
    if layout.paragraph_class:
        return layout.paragraph_class in (node.attributes.get("class") or "").split()
    return node.tag == "p"


def _is_promotion(text: str, node: LexborNode) -> bool:
    """Whether a paragraph only points elsewhere: by its words, or a headline that is a link as a whole."""
    if rules.PROMOTION.match(text) or (rules.PROMOTED_ACCOUNT in text and len(text) < 200):
        return True
    return text[-1] not in ".!\"'”’" and is_link_only(node)


# --- bullets


def _bullets(tree: LexborHTMLParser, layout: Layout) -> tuple[list[str], set[int]]:
    """The bullets, each once, and the ids of the lists that stand before the text."""
    lists: set[int] = set()
    if layout.bullets:
        items = _outermost(tree.css(layout.bullets))
    else:
        items = []
        for container in _outermost(tree.css(layout.lead)):
            for node in _lead_lists(container):
                lists.add(node.mem_id)
                items += _items(node)
    texts = (" ".join(paragraphs_of([item])) for item in items if not _has_class(item, rules.NO_BULLET_CLASSES))
    bullets = (t for t in texts if t and t != HIGHLIGHT and not rules.NO_BULLET.match(t) and not rules.BUTTON.match(t))
    return list(dict.fromkeys(bullets)), lists


def _lead_lists(container: LexborNode) -> Iterator[LexborNode]:
    for node in _outermost_wanted(container, lambda n: n.tag in ("ul", "ol", "p")):
        if node.tag != "p":
            if not _is_menu(node):
                yield node
        elif (texts := paragraphs_of([node])) and not rules.BYLINE.match(" ".join(texts)):
            return


def _items(node: LexborNode) -> list[LexborNode]:
    return [child for child in node.iter() if child.tag == "li"]


def _is_menu(node: LexborNode) -> bool:
    """Whether a list holds buttons or links and nothing else."""
    return all(rules.BUTTON.match(text_of([item]).strip() or "share") or is_link_only(item) for item in _items(node))


# --- whole or not


def _check_whole(tree: LexborHTMLParser, text: str, bodies: Iterable[LexborNode]) -> None:
    if rules.NOT_FREE.search(text):
        raise UnusableStory("partial_page", "the page says that it is not free to read (isAccessibleForFree)")
    last = tree.css_first(_END_TAG)
    if last is None and (last := tree.root) is not None:  # within a script, a comment or a tag
        while last.last_child is not None:
            last = last.last_child
    ids = {body.mem_id for body in bodies}
    while last is not None and last.mem_id not in ids:
        last = last.parent
    if last is None:
        return
    tail = text[-_TAIL:]
    ends = list(_LAST_TAG.finditer(tail))
    if not ends or _COMMENT.sub("", tail[ends[-1].end() :]).strip():
        raise UnusableStory("partial_page", f"cut off within the article, which ends in {text.rstrip()[-40:]!r}")


# --- the tree


def _own_url(tree: LexborHTMLParser) -> str | None:
    for selector, attribute in (('link[rel~="canonical"]', "href"), ('meta[property="og:url"]', "content")):
        for node in tree.css(selector):
            url = (node.attributes.get(attribute) or "").strip()
            if _ABSOLUTE.match(url):
                return url
    return None


def _title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("title")
    return " ".join(node.text().split())[:100] if node else ""


def _is_child(node: LexborNode, parent: LexborNode) -> bool:
    above = node.parent  # comparing nodes themselves would compare their markup
    return above is not None and above.mem_id == parent.mem_id


def _has_class(node: LexborNode, classes: frozenset[str]) -> bool:
    return not classes.isdisjoint((node.attributes.get("class") or "").split())


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """The nodes that stand in no other of them, each once."""
    ids = {node.mem_id for node in nodes}
    found = []
    for node in {node.mem_id: node for node in nodes}.values():
        above = node.parent
        while above is not None and above.mem_id not in ids:
            above = above.parent
        if above is None:
            found.append(node)
    return found


def _outermost_wanted(root: LexborNode, is_wanted: Callable[[LexborNode], bool]) -> Iterator[LexborNode]:
    """The wanted elements in document order, without those in clutter or in another wanted one."""
    stack = list(reversed(list(root.iter())))
    while stack:
        node = stack.pop()
        if is_clutter(node):
            continue
        if is_wanted(node):
            yield node
        else:
            stack += reversed(list(node.iter()))
