"""The bundled corpus' source form: invented articles with light inline markup.

A source file has TOML front matter between two ``+++`` lines, then the body::

    +++
    url = "https://cnn.example/2014/05/01/world/lisbon-ferry/index.html"
    publisher = "CNN"            # or "Daily Mail": the directory it is laid out under
    standoff = true              # lay out Hermann tokens/ and entities/ beside the story
    layout = "story"             # "story", or the layout of the page that a crawler would see: "cnn_2010"
    encoding = "windows-1252"    # of the page; "utf-8" where the line is missing
    title = "Ferry captain freed after nine months"

    [entities]                   # id = type of every entity named in the text
    ana_reis = "PERSON"
    lisbon = "GPE"
    +++
    [Ana Reis|ana_reis] left [Lisbon|lisbon] on Friday.

    @highlight

    [Reis|ana_reis] freed after nine months

Paragraphs are separated by blank lines; each bullet stands after its own ``@highlight``
paragraph. ``[surface|id]`` marks a named mention of the entity ``id``; marks nest
(``[[Porto|porto] FC|porto_fc]``). A literal ``[`` or ``]`` is written ``\\[`` or ``\\]``.
"""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.pages import LABELS, PAGE_LAYOUTS

TYPES = frozenset(["PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "EVENT", "PRODUCT", "WORK_OF_ART", "LAW", "LANGUAGE"])


@dataclass(frozen=True)
class GoldMention:
    """A named mention: half-open code point offsets into the story text."""

    start: int
    end: int
    entity: str
    type: str


@dataclass(frozen=True)
class SourceArticle:
    """One bundled article: its story text and the gold mentions in it."""

    path: Path
    url: str
    publisher: str
    standoff: bool
    layout: str
    title: str
    text: str
    mentions: tuple[GoldMention, ...]
    encoding: str = "utf-8"

    @property
    def article_id(self) -> str:
        return hashlib.sha1(self.url.encode()).hexdigest()


class MarkupError(ValueError):
    """A source file that breaks the form; the message names file, place and remedy."""


def parse_article(path: Path) -> SourceArticle:
    """Reads one source file.

    Raises:
        MarkupError: broken front matter, unbalanced marks, an undeclared or unused entity.
    """
    head, body = _split_front_matter(path)
    types: dict[str, str] = head["entities"]
    for entity, kind in types.items():
        if kind not in TYPES:
            raise MarkupError(f"{path}: entity {entity} has type {kind!r}; use one of {sorted(TYPES)}")
    paragraphs = [" ".join(p.split()) for p in body.split("\n\n") if p.strip()]
    text, mentions = _strip_marks("\n\n".join(paragraphs), types, path)
    unused = set(types) - {m.entity for m in mentions}
    if unused:
        raise MarkupError(f"{path}: entities declared but never marked: {sorted(unused)}")
    return SourceArticle(
        path=path,
        url=head["url"],
        publisher=head["publisher"],
        standoff=head["standoff"],
        layout=head["layout"],
        title=head["title"],
        text=text,
        mentions=tuple(sorted(mentions, key=lambda m: (m.start, -m.end))),
        encoding=head.get("encoding", "utf-8"),
    )


def _split_front_matter(path: Path) -> tuple[dict, str]:
    parts = path.read_text(encoding="utf-8").split("+++\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise MarkupError(f"{path}: no front matter between two lines of +++")
    try:
        head = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as error:
        raise MarkupError(f"{path}: front matter is not TOML: {error}") from error
    missing = {"url", "publisher", "standoff", "layout", "title", "entities"} - head.keys()
    if missing:
        raise MarkupError(f"{path}: front matter lacks {sorted(missing)}")
    if head["publisher"] not in ("CNN", "Daily Mail"):
        raise MarkupError(f"{path}: publisher {head['publisher']!r} is not 'CNN' or 'Daily Mail'")
    of_publisher = [n for n in PAGE_LAYOUTS if n.startswith(head["publisher"].lower().replace(" ", "_"))]
    if head["layout"] not in ("story", *of_publisher):
        raise MarkupError(f"{path}: layout {head['layout']!r} is not 'story' or one of {of_publisher}")
    if head["standoff"] and head["layout"] != "story":
        raise MarkupError(f"{path}: stand-off goes with a story, not with a page")
    if head.get("encoding", "utf-8") not in LABELS:
        raise MarkupError(f"{path}: encoding {head['encoding']!r} is none of {sorted(LABELS)}")
    return head, parts[2]


def _strip_marks(marked: str, types: dict[str, str], path: Path) -> tuple[str, list[GoldMention]]:
    out: list[str] = []
    length = 0
    opened: list[int] = []
    mentions: list[GoldMention] = []
    i = 0
    while i < len(marked):
        char = marked[i]
        if char == "\\" and marked[i + 1 : i + 2] in ("[", "]"):
            out.append(marked[i + 1])
            length += 1
            i += 2
        elif char == "[":
            opened.append(length)
            i += 1
        elif char == "|" and opened:
            close = marked.find("]", i)
            entity = marked[i + 1 : close].strip()
            if close < 0 or entity not in types:
                near = marked[max(0, i - 40) : i + 30]
                raise MarkupError(f"{path}: entity {entity!r} is not declared, near {near!r}")
            mentions.append(GoldMention(opened.pop(), length, entity, types[entity]))
            i = close + 1
        elif char == "]":
            raise MarkupError(f"{path}: ']' without '|entity' near {marked[max(0, i - 40) : i + 1]!r}")
        else:
            out.append(char)
            length += 1
            i += 1
    if opened:
        raise MarkupError(f"{path}: '[' never closed near {''.join(out)[opened[-1] : opened[-1] + 40]!r}")
    return "".join(out), mentions
