"""Rows for tests: a test shows only what matters to it."""

from hashlib import sha1
from typing import Any

from tests.corpus.markup import MarkupError, _strip_marks
from udfs.fold_of import fold_of
from udfs.spans import Mention, Span
from udfs.story_text import parse_story


class _AnyEntity(dict[str, str]):
    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> str:
        return "PERSON"


def marked(text: str) -> tuple[str, list[Mention]]:
    """Story text and mentions from inline markup: ``"[Ann Ray|ann] left."``; clusters in order of first mention."""
    try:
        plain, found = _strip_marks(text, _AnyEntity(), "marked text")  # type: ignore[arg-type]
    except MarkupError as error:
        raise AssertionError(error) from error
    found.sort(key=lambda m: (m.start, -m.end))
    clusters = {e: i for i, e in enumerate(dict.fromkeys(m.entity for m in found))}
    return plain, [Mention(m.start, m.end, clusters[m.entity]) for m in found]


def article_id(n: int) -> str:
    return f"{n:040x}"


def make_article(text: str, n: int = 1, *, stand_off: bool = True, **values: Any) -> dict[str, Any]:
    """A row of ``articles`` from marked text; without stand-off the marks are only stripped."""
    plain, mentions = marked(text)
    story = parse_story(plain)
    row: dict[str, Any] = {
        "article_id": article_id(n),
        "url": None,
        "url_key": None,
        "origin": "hermann",
        "publisher": "CNN",
        "format": "story",
        "source_path": f"cnn/stories/{article_id(n)}.story",
        "source_item": "",
        "source_signature": "s",
        "text": plain,
        "paragraphs": _spans(story.paragraphs),
        "highlights": _spans(story.highlights),
        "stand_off": [{"start": m.start, "end": m.end, "cluster": m.cluster} for m in mentions] if stand_off else None,
        "notes": [],
        "shingle_hashes": [],
        "content_hash": sha1(repr((plain, mentions)).encode()).hexdigest(),
        "fold": fold_of(article_id(n)),
    }
    return row | values


def _spans(spans: tuple[Span, ...]) -> list[dict[str, int]]:
    return [s._asdict() for s in spans]
