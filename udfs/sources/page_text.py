"""The text of HTML elements: as a browser shows it, without what is no part of an article."""

import re
from collections.abc import Iterable

from selectolax.lexbor import LexborNode

from udfs.sources import page_layouts as rules
from udfs.sources.page_encoding import WINDOWS_1252_SIGNS

_BLOCKS = frozenset(
    "address article aside blockquote center dd details div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header "
    "hr iframe li main nav ol p pre section table tbody td tfoot th thead tr ul".split()
)
_SPACED_CLASSES = frozenset({"el-editorial-source"})  # CNN's "(CNN)", glued to the first word since 2015
_POINTERS = frozenset("a b strong em i u span font".split())
_HTML_SPACE = re.compile(r"[ \t\n\r\f]+")
_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
# What is not seen: control characters, soft hyphen, zero width space and joiner, byte order mark. Control characters
# that windows-1252 has a sign for were meant to be that sign.
_UNSEEN = dict.fromkeys((*range(0x09), *range(0x0E, 0x1C), *range(0x7F, 0xA0), 0xAD, 0x200B, 0x2060, 0xFEFF))
_CLEAN = _UNSEEN | WINDOWS_1252_SIGNS


def paragraphs_of(nodes: Iterable[LexborNode]) -> list[str]:
    """The text of adjoining nodes as paragraphs of one line each: ``<br><br>`` parts them, ``<br>`` is a blank.

    White space of any kind, no-break spaces too, is one blank: a name has one form.
    """
    parts = _PARAGRAPH_BREAK.split(text_of(nodes).translate(_CLEAN))
    return [line for part in parts if (line := " ".join(part.split()))]


def text_of(nodes: Iterable[LexborNode]) -> str:
    """The text of adjoining nodes, without clutter; a line break for each ``<br>``."""
    pieces: list[str] = []
    stack: list[LexborNode | str] = list(reversed(list(nodes)))
    roots = {node.mem_id for node in stack if not isinstance(node, str)}
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif node.is_text_node:
            pieces.append(_HTML_SPACE.sub(" ", node.text_content or ""))
        elif node.tag == "br":
            pieces.append("\n")
        elif node.is_element_node:
            edge = " " if node.tag in _BLOCKS or _has_class(node, _SPACED_CLASSES) else ""
            pieces.append(edge)
            if node.mem_id in roots or not (is_clutter(node) or _is_pointer(node)):
                stack.append(edge)
                stack += reversed(list(node.iter(include_text=True)))
    return "".join(pieces)


def is_clutter(node: LexborNode) -> bool:
    """Whether an element is no part of the text, wherever it stands."""
    if node.tag in rules.CLUTTER_TAGS:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    words = (attributes.get("class") or "").split()
    if not rules.CLUTTER_CLASSES.isdisjoint(words):
        return True
    return any(word.startswith(rules.CLUTTER_BEGINNINGS) for word in (*words, attributes.get("id") or ""))


def is_inline(node: LexborNode) -> bool:
    """Whether a node is text, or an element that stands in a line of it and holds no block."""
    if node.is_text_node:
        return True
    if not node.is_element_node or node.tag in _BLOCKS or is_clutter(node):
        return False
    return all(below.tag not in _BLOCKS for below in node.traverse())


def is_link_only(node: LexborNode) -> bool:
    """Whether all text of an element stands in links."""
    whole = "".join(text_of([node]).split())
    links = "".join("".join(text_of([link]).split()) for link in node.css("a"))
    return whole != "" and whole == links


def _is_pointer(node: LexborNode) -> bool:
    return node.tag in _POINTERS and rules.PROMOTION_ELEMENT.match(text_of([node]).strip()) is not None


def _has_class(node: LexborNode, classes: frozenset[str]) -> bool:
    return not classes.isdisjoint((node.attributes.get("class") or "").split())
