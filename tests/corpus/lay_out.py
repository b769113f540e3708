"""Lays the bundled articles out as the corpora that the pipeline reads.

``<out>/<cnn|dailymail>/stories/<id>.story``, for about half of them with Hermann's ``tokens/<id>.txt``
and ``entities/<id>.txt`` beside (deepmind/rc-data's form); ``<out>/hermann_urls.txt`` lists the URLs of those.
Some of the others are ``<out>/<cnn|dailymail>/downloads/<id>.html``, pages as a crawler downloads them.

    python -m tests.corpus.lay_out build/corpus
"""

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from tests.corpus.markup import GoldMention, SourceArticle, parse_article
from tests.corpus.pages import lay_out_page
from udfs.story_text import parse_story

ARTICLES = Path(__file__).parent / "articles"

# Words, numbers with their separators, clitics, single signs; a hyphen stands alone ("Al", "-", "Din").
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|['’](?:s|S|re|ve|ll|d|m|t)\b|(?:[^\W\d_]\.){2,}|[^\W_]+(?:['’](?!(?:s|S|re|ve|ll|d|m)\b)[^\W_]+)*|\S"
)


def source_articles(folder: Path = ARTICLES) -> list[SourceArticle]:
    """All bundled articles, in order of their file names."""
    return [parse_article(path) for path in sorted(folder.glob("*.txt"))]


def stand_off_lines(text: str, mentions: Iterable[GoldMention]) -> tuple[str, str]:
    """The ``tokens/`` and ``entities/`` lines: byte offsets, inclusive ends, sorted by end."""
    tokens = tokenize(text, sorted({p for m in mentions for p in (m.start, m.end)}))
    byte_at = [0]
    for char in text:
        byte_at.append(byte_at[-1] + len(char.encode()))
    token_entries = [f"{byte_at[a]},{byte_at[b] - byte_at[a] - 1}" for a, b in tokens]
    first = {a: i for i, (a, _) in enumerate(tokens)}
    last = {b: i for i, (_, b) in enumerate(tokens)}
    clusters: dict[str, int] = {}
    entries = []
    for mention in sorted(mentions, key=lambda m: (m.end, m.start)):
        cluster = clusters.setdefault(mention.entity, len(clusters))
        entries.append(f"{cluster},{first[mention.start]},{last[mention.end]}")
    return ";".join(token_entries), ";".join(entries)


def tokenize(text: str, cuts: Sequence[int]) -> list[tuple[int, int]]:
    """Token spans; every offset in ``cuts`` (where a mention starts or ends) is a token border."""
    spans = []
    borders = [0, *cuts, len(text)]
    for low, high in pairwise(borders):
        spans += [(m.start(), m.end()) for m in _TOKEN.finditer(text, low, high)]
    return spans


def lay_out(articles: Iterable[SourceArticle], out: Path) -> None:
    """Writes the articles; files that are there with the same content are left alone, so their times stay."""
    urls = []
    for article in articles:
        corpus = out / ("cnn" if article.publisher == "CNN" else "dailymail")
        story = corpus / "stories" / f"{article.article_id}.story"
        page = corpus / "downloads" / f"{article.article_id}.html"
        is_story = article.layout == "story"
        _write(story if is_story else page, article.text if is_story else page_of(article))
        (page if is_story else story).unlink(missing_ok=True)  # of an earlier form of the corpus
        if article.standoff:
            tokens, entities = stand_off_lines(article.text, article.mentions)
            _write(corpus / "tokens" / f"{article.article_id}.txt", tokens)
            _write(corpus / "entities" / f"{article.article_id}.txt", entities)
            urls.append(article.url)
    _write(out / "hermann_urls.txt", "\n".join(urls) + "\n")


def page_of(article: SourceArticle) -> bytes:
    """The page of an article whose layout is that of a page."""
    story = parse_story(article.text)
    paragraphs, highlights = ([article.text[s:e] for s, e in spans] for spans in (story.paragraphs, story.highlights))
    return lay_out_page(
        paragraphs, highlights, article.layout, title=article.title, url=article.url, encoding=article.encoding
    )


def _write(path: Path, text: str | bytes) -> None:
    content = text.encode() if isinstance(text, str) else text
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    lay_out(source_articles(), Path(sys.argv[1]))
