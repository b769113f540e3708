"""The text of a news article: paragraphs and highlights (bullets) of a ``.story`` string.

Format (deepmind/rc-data, generate_questions.py): paragraphs joined by blank lines; before each
highlight a paragraph that is exactly ``@highlight``. The whole string is kept as it is, so that
stand-off offsets stay true; paragraphs and highlights are spans into it.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from udfs.spans import Span

HIGHLIGHT = "@highlight"
# Lines up to a blank one.
_BLOCK = re.compile(r"\S[^\n]*(?:\n(?![^\S\n]*\n)[^\n]*)*")
_MARKER_LINE = re.compile(rf"^[^\S\n]*{HIGHLIGHT}[^\S\n]*$", re.MULTILINE)
_ERROR_PAGE = re.compile(r"\s*(<!doctype\s+html|<html[\s>]|<head[\s>]|<\?xml\s)", re.IGNORECASE)


@dataclass(frozen=True)
class StoryText:
    """One article's text with the spans of its paragraphs and highlights, in order."""

    text: str
    paragraphs: tuple[Span, ...]
    highlights: tuple[Span, ...]


class UnusableStory(ValueError):
    """A story that can't become an article; ``reason`` is one of the reject reasons."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def decode_story(content: bytes) -> tuple[str, str | None]:
    """Decodes a story file; returns the text and a note where it had to be repaired.

    UTF-8 is the format's encoding. A byte order mark decides otherwise and is removed; what is
    not UTF-8 is read as windows-1252, which both newspapers' pages used.

    Raises:
        UnusableStory: ``empty``, ``undecodable`` (neither encoding fits, or binary content).
    """
    if not content.strip():
        raise UnusableStory("empty", f"{len(content)} bytes, none but white space")
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            try:
                text = content[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise UnusableStory("undecodable", f"byte order mark of {encoding}, but {error}") from error
            if "\x00" in text:
                raise UnusableStory("undecodable", f"binary content: U+0000 at {text.index(chr(0))} of the {encoding}")
            return text, f"decoded_by_mark:{encoding}"
    if b"\x00" in content:
        raise UnusableStory("undecodable", f"binary content: a NUL byte at {content.index(0)}")
    try:
        return content.decode("utf-8"), None
    except UnicodeDecodeError as error:
        utf8_error = error
    try:
        return content.decode("cp1252"), "decoded_as:windows-1252"
    except UnicodeDecodeError as error:
        detail = (
            f"neither UTF-8 ({utf8_error.reason} at byte {utf8_error.start}) "
            f"nor windows-1252 ({error.reason} at byte {error.start})"
        )
        raise UnusableStory("undecodable", detail) from error


def parse_story(text: str) -> StoryText:
    """Finds paragraphs and highlights in a ``.story`` string.

    A marker is a line of its own, mostly with blank lines around it; an ``@highlight`` inside a line is
    text. A highlight is what stands between one marker and the next; a marker without text gives none.

    Raises:
        UnusableStory: ``empty``, ``error_page`` (HTML in a story file), ``no_body`` (only highlights).
    """
    if not text.strip():
        raise UnusableStory("empty", "no text")
    if is_web_page(text):
        raise UnusableStory("error_page", f"an HTML or XML page, not a story: {text.strip()[:60]!r}")
    markers = [m.span() for m in _MARKER_LINE.finditer(text)] if HIGHLIGHT in text else []
    body_end = markers[0][0] if markers else len(text)
    paragraphs = tuple(_trimmed(text, *m.span()) for m in _BLOCK.finditer(text, 0, body_end))
    parts = [_trimmed(text, start, end) for (_, start), (end, _) in pairwise([*markers, (len(text), len(text))])]
    highlights = tuple(span for span in parts if span.start < span.end)
    if not paragraphs:
        raise UnusableStory("no_body", f"{len(highlights)} highlights and no paragraph before them")
    return StoryText(text, paragraphs, highlights)


def is_web_page(text: str) -> bool:
    """Whether ``text`` begins as an HTML or XML page: what a server sends in place of a missing file."""
    return _ERROR_PAGE.match(text) is not None


def _trimmed(text: str, start: int, end: int) -> Span:
    """The span without white space at its ends."""
    part = text[start:end]
    return Span(end - len(part.lstrip()), start + len(part.rstrip()))


def build_story(paragraphs: list[str], highlights: list[str]) -> str:
    """The ``.story`` string of an article that comes in another format (JSONL, Parquet, HTML)."""
    parts = list(paragraphs)
    for highlight in highlights:
        parts += [HIGHLIGHT, highlight]
    return "\n\n".join(parts)


def one_line(text: str) -> str:
    """``text`` with each line break and other white space character made one blank: same length."""
    return "".join(" " if c.isspace() else c for c in text) if _HAS_BREAK.search(text) else text


_HAS_BREAK = re.compile(r"[^\S ]")
