"""Small pages for tests, and what the reader makes of them."""

from typing import Any

import pytest

from udfs.sources.articles import make_candidate
from udfs.sources.outcomes import REJECT_REASONS, Candidate, RawArticle, SourceRules
from udfs.sources.pages import parse_page
from udfs.story_text import UnusableStory

ID = "2ac7ec1e2f9c14f641b63b232600fe25f5a49b2b"
PARAGRAPHS = (
    "LONDON, England (CNN) -- Zoë Ray met Al-Din on “Monday”, he said.",
    "Bo Lin's 40-year-old sister paid £6 & left <early> for Kraków.",
    "She was not there; nobody knew why.",
    "“Ray’s café was shut,” said Müller, who lives next door.",
    "It was the third time this year that the doors had stayed closed.",
    "The owner could not be reached.",
    "A hearing is set for June.",
    "The mayor declined to comment on Friday.",
)
HIGHLIGHTS = ("Zoë Ray met Al-Din in “London”", "NEW: Bo Lin's sister paid £6", "Müller: Ray’s café was shut")


def whole(body: str, head: str = "") -> bytes:
    return f'<!DOCTYPE html><html><head><meta charset="utf-8">{head}</head><body>{body}</body></html>'.encode()


def mail(body: str, bullets: str = "<ul><li>Ann Ray wins</li></ul>", head: str = "") -> bytes:
    return whole(f'<div class="article-text wide"><h1>A title</h1>{bullets}{body}</div>', head)


def cnn(body: str, bullets: str = '<ul class="cnnStryHghLght"><li>Ann Ray wins</li></ul>') -> bytes:
    return whole(f'{bullets}<div class="cnn_strycntntlft">{body}</div>')


def texts(page: bytes) -> list[str]:
    return list(parse_page(page).paragraphs)


def reason_of(page: bytes) -> tuple[str, str]:
    with pytest.raises(UnusableStory) as error:
        parse_page(page)
    assert error.value.reason in REJECT_REASONS
    return error.value.reason, error.value.detail


def candidate(page: bytes, relative: str = "a.html", **more: Any) -> Candidate:
    raw = RawArticle(0, "/d/a.html", "", "s", "html", relative, ID, story=page)
    for name, value in more.items():
        setattr(raw, name, value)
    return make_candidate(raw, SourceRules("data", "auto", "auto", False))
