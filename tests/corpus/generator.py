"""Corpora of any size from the bundled articles, for measuring: seeded, with stand-off.

Article ``i`` of a seed is always the same, whatever the size of the corpus. It has the first part, the
second part and the bullets of one bundled article under new names, is cut or padded with paragraphs of
others to a length drawn from CNN/Daily Mail's distribution, and so gives triples at about the bundled
corpus' rate.

    python -m tests.corpus.generator build/generated-2000 2000 --seed 1
"""

import argparse
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import exp, log
from pathlib import Path
from random import Random

from tests.corpus.lay_out import source_articles, stand_off_lines
from tests.corpus.markup import GoldMention, SourceArticle
from udfs.cloze import split_first_part
from udfs.spans import Span
from udfs.story_text import HIGHLIGHT, parse_story

# White space tokens of a body: log-normal with CNN/Daily Mail's mean of about 780 and its long tail.
MEDIAN_TOKENS, SPREAD = 690, 0.5
MIN_TOKENS, MAX_TOKENS = 220, 4000
_NAME_TOKEN = re.compile(r"[^\W\d_]{2,}")
_ONSETS = "b br c ch d dr f g gr h j k kl l m n p pr r s st t tr v w z".split()
_VOWELS = "a e i o u ai ea ie ou á é ö ü".split()
_CODAS = ["", "", "l", "n", "r", "s", "rd", "nt", "x", "ck"]


@dataclass(frozen=True)
class _Paragraph:
    text: str
    mentions: tuple[GoldMention, ...]  # offsets into text

    @property
    def tokens(self) -> int:
        return len(self.text.split())


@dataclass(frozen=True)
class _Base:
    first: tuple[_Paragraph, ...]
    second: tuple[_Paragraph, ...]
    bullets: tuple[_Paragraph, ...]
    publisher: str

    @property
    def tokens(self) -> int:
        return sum(p.tokens for p in self.first + self.second)


def generate_articles(n: int, *, seed: int = 0, start: int = 0) -> Iterator[SourceArticle]:
    """Articles ``start`` to ``start + n`` of a seed, all with stand-off."""
    for i in range(start, start + n):
        yield _generate(Random(f"{seed}-{i}"), f"https://generated.example/{seed}/{i}.html")


def write_corpus(folder: Path, n: int, *, seed: int = 0, stand_off: bool = True) -> None:
    """Writes a corpus in rc-data's layout, 10,000 stories to a folder."""
    for i, article in enumerate(generate_articles(n, seed=seed)):
        corpus = folder / f"{'cnn' if article.publisher == 'CNN' else 'dailymail'}-{i // 10_000:03d}"
        parts = {"stories": (".story", article.text)}
        if stand_off:
            tokens, entities = stand_off_lines(article.text, article.mentions)
            parts |= {"tokens": (".txt", tokens), "entities": (".txt", entities)}
        for name, (suffix, content) in parts.items():
            (corpus / name).mkdir(parents=True, exist_ok=True)
            (corpus / name / f"{article.article_id}{suffix}").write_bytes(content.encode())


def _generate(random: Random, url: str) -> SourceArticle:
    wanted = int(min(MAX_TOKENS, max(MIN_TOKENS, exp(random.gauss(log(MEDIAN_TOKENS), SPREAD)))))
    bases = _bases()
    fitting = [b for b in bases if b.tokens <= wanted]
    base = random.choice(fitting or bases)
    body = [*base.first, *base.second]
    tokens = base.tokens
    while tokens > wanted and len(body) > len(base.first) + 2:
        tokens -= body.pop().tokens
    while tokens < wanted:
        # Paragraphs of others bring new names, as the later parts of long articles do.
        other = random.choice(bases)
        if other is not base:
            paragraph = random.choice(other.second)
            at = random.randint(len(base.first) + 1, len(body))
            body.insert(at, paragraph)
            tokens += paragraph.tokens
    rename = _Renamer(random)
    parts = [rename(p) for p in body]
    for bullet in base.bullets:
        parts += [_Paragraph(HIGHLIGHT, ()), rename(bullet)]
    text, mentions = _join(parts)
    return SourceArticle(Path(url), url, base.publisher, True, "story", "", text, mentions)


def _join(parts: list[_Paragraph]) -> tuple[str, tuple[GoldMention, ...]]:
    mentions = []
    length = 0
    for part in parts:
        mentions += [GoldMention(m.start + length, m.end + length, m.entity, m.type) for m in part.mentions]
        length += len(part.text) + 2
    return "\n\n".join(p.text for p in parts), tuple(mentions)


class _Renamer:
    """Gives every capitalised word of a name a new one, the same throughout an article: surnames stay shared."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._names: dict[str, str] = {}

    def __call__(self, paragraph: _Paragraph) -> _Paragraph:
        pieces: list[str] = []
        borders: dict[int, int] = {}
        wanted = sorted({p for m in paragraph.mentions for p in (m.start, m.end)})
        length = at = 0
        named = [(m.start, m.end) for m in paragraph.mentions]
        for match in _NAME_TOKEN.finditer(paragraph.text):
            if not match.group()[0].isupper() or not any(a <= match.start() and match.end() <= b for a, b in named):
                continue
            while wanted and wanted[0] <= match.start():
                borders[wanted[0]] = length + wanted[0] - at
                wanted.pop(0)
            pieces += [paragraph.text[at : match.start()], self._new_name(match.group())]
            length += match.start() - at + len(pieces[-1])
            at = match.end()
        pieces.append(paragraph.text[at:])
        borders |= {w: length + w - at for w in wanted}
        mentions = tuple(GoldMention(borders[m.start], borders[m.end], m.entity, m.type) for m in paragraph.mentions)
        return _Paragraph("".join(pieces), mentions)

    def _new_name(self, word: str) -> str:
        if word not in self._names:
            r = self._random
            if word.isupper():
                new = "".join(r.choice("ABCDEFGHIKLMNOPRSTUVW") for _ in word)
            else:
                syllables = range(2 if len(word) > 4 else 1)
                new = "".join(r.choice(_ONSETS) + r.choice(_VOWELS) for _ in syllables) + r.choice(_CODAS)
            self._names[word] = new if word.isupper() else new.capitalize()
        return self._names[word]


@cache
def _bases() -> tuple[_Base, ...]:
    return tuple(_base(article, f"{n}.") for n, article in enumerate(source_articles()))


def _base(article: SourceArticle, prefix: str) -> _Base:
    story = parse_story(article.text)
    paragraphs = [_cut(article, span, prefix) for span in story.paragraphs]
    n_first, _ = split_first_part(article.text, story.paragraphs, min_tokens=100)
    bullets = tuple(_cut(article, span, prefix) for span in story.highlights)
    return _Base(tuple(paragraphs[:n_first]), tuple(paragraphs[n_first:]), bullets, article.publisher)


def _cut(article: SourceArticle, span: Span, prefix: str) -> _Paragraph:
    inside = [m for m in article.mentions if span.start <= m.start and m.end <= span.end]
    mentions = tuple(GoldMention(m.start - span.start, m.end - span.start, prefix + m.entity, m.type) for m in inside)
    return _Paragraph(article.text[span.start : span.end], mentions)


def corpus_hash(folder: Path) -> str:
    """A hash of all files of a corpus, to see that a seed gives the same again."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("articles", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-stand-off", action="store_true")
    arguments = parser.parse_args()
    write_corpus(arguments.folder, arguments.articles, seed=arguments.seed, stand_off=not arguments.without_stand_off)
