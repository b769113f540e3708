"""What goes into and comes out of reading: raw articles, articles, rejects and their reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from udfs.spans import Mention, Span

REJECT_REASONS = (
    "empty",  # nothing but white space
    "undecodable",  # neither UTF-8 nor windows-1252, or binary
    "error_page",  # an HTML or XML page in place of a story, or an error's in place of the page asked for
    "no_body",  # highlights only, or a page of a known layout without a paragraph
    "no_layout",  # a page in none of the known layouts of articles
    "no_highlights",  # a page of an article without its bullets
    "partial_page",  # a page that was cut off within the article, or that only subscribers see all of
    "not_an_article_page",  # a live blog, a video, a gallery
    "not_an_archive",  # a .tar or .tgz that holds something else
    "broken_archive",  # truncated or damaged: what came before the break is kept
    "malformed_record",  # a line or row that is no article
    "no_identity",  # neither id nor URL
    "not_articles",  # a file without any article in it
    "unreadable_file",  # it vanished, access is denied, or it is damaged
    "stand_off_without_story",  # tokens/ or entities/ of an article that is not there
    "duplicate_article",  # the same id and content stand elsewhere too
    "superseded_article",  # the same id with newer content stands elsewhere
    "also_in_hermann",  # a crawled article that is one of the public script's
)


@dataclass(frozen=True, slots=True)
class SourceRules:
    """What the settings say about one source; ``name`` is the last part of its path."""

    name: str
    origin: str
    publisher: str
    has_url_lists: bool


@dataclass(slots=True)
class RawArticle:
    """An article's bytes and where they stood, before anything is checked.

    ``relative`` is the path within the source, archive member included: publisher and identity come
    from it. With ``reject_reason`` it stands for an input that could not even be opened.
    """

    source: int
    path: str
    item: str
    signature: str
    format: str
    relative: str = ""
    article_id: str | None = None
    url: str | None = None
    listed_url: str | None = None
    in_hermann_list: bool = False
    story: bytes | None = None
    tokens: bytes | None = None
    entities: bytes | None = None
    reject_reason: str | None = None
    reject_detail: str | None = None


@dataclass(slots=True)
class Candidate:
    """A row of the candidates: an article, or with ``reject_reason`` a reject. Offsets are code points."""

    source: int
    source_path: str
    source_item: str
    source_signature: str
    format: str
    article_id: str | None = None
    url: str | None = None
    url_key: str | None = None
    origin: str | None = None
    publisher: str | None = None
    text: str | None = None
    paragraphs: Sequence[Span] | None = None
    highlights: Sequence[Span] | None = None
    stand_off: Sequence[Mention] | None = None
    notes: list[str] = field(default_factory=list)
    shingle_hashes: Any = None  # 64 values, numpy
    content_hash: str | None = None
    fold: int | None = None
    reject_reason: str | None = None
    reject_detail: str | None = None
