"""The bundled corpus and the generator: forms, variety, repeatability."""

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from tests.corpus.check_articles import cloze_of, unmarked_repeats
from tests.corpus.generator import generate_articles
from tests.corpus.lay_out import lay_out, page_of, source_articles, stand_off_lines
from tests.corpus.markup import MarkupError, parse_article
from tests.corpus.pages import PAGE_LAYOUTS
from udfs.annotators.stand_off import read_stand_off
from udfs.cloze import ngrams
from udfs.sources.pages import parse_page
from udfs.story_text import parse_story

ARTICLES = source_articles()
PAGES = [a for a in ARTICLES if a.layout != "story"]


def test_corpus_has_what_the_readme_says() -> None:
    assert len(ARTICLES) >= 32
    assert len({a.url for a in ARTICLES}) == len(ARTICLES)
    assert {a.publisher for a in ARTICLES} == {"CNN", "Daily Mail"}
    assert 0.4 <= sum(a.standoff for a in ARTICLES) / len(ARTICLES) <= 0.6
    lengths = sorted(len(a.text.split("@highlight")[0].split()) for a in ARTICLES)
    assert lengths[0] >= 350
    assert lengths[-1] <= 800
    assert all(3 <= len(parse_story(a.text).highlights) <= 4 for a in ARTICLES)


@pytest.mark.parametrize("article", ARTICLES, ids=lambda a: a.path.stem)
def test_article_is_marked_throughout_and_gives_queries(article) -> None:
    assert unmarked_repeats(article) == []
    cloze = cloze_of(article)
    assert cloze.passage.keep
    assert len([q for q in cloze.queries if q.keep]) >= 4


@pytest.mark.parametrize("article", ARTICLES, ids=lambda a: a.path.stem)
def test_stand_off_reads_back_as_it_was_marked(article) -> None:
    story = parse_story(article.text)
    tokens, entities = stand_off_lines(article.text, article.mentions)
    read = read_stand_off(article.text, [*story.paragraphs, *story.highlights], tokens, entities)
    clusters = {
        e: i
        for i, e in enumerate(dict.fromkeys(m.entity for m in sorted(article.mentions, key=lambda m: (m.end, m.start))))
    }
    assert read.dropped == 0
    assert {(m.start, m.end, m.cluster) for m in read.mentions} == {
        (m.start, m.end, clusters[m.entity]) for m in article.mentions
    }


def test_no_template_repeats() -> None:
    # No two articles share a run of eight words: each is its own story.
    grams = [(a.path.stem, ngrams(a.text, 8)) for a in ARTICLES]
    assert [(x, y) for (x, g), (y, h) in combinations(grams, 2) if not g.isdisjoint(h)] == []


def test_triples_vary_in_sentence_and_name() -> None:
    queries = [q for a in ARTICLES for q in cloze_of(a).queries if q.keep]
    assert len({q.query for q in queries}) == len(queries)
    surfaces = Counter(q.answer_surface for q in queries)
    assert surfaces.most_common(1)[0][1] <= len(queries) * 0.03


def test_generator_gives_the_same_articles_whatever_the_size() -> None:
    five = list(generate_articles(5, seed=3))
    assert list(generate_articles(2, seed=3, start=3)) == five[3:]
    assert [a.text for a in generate_articles(5, seed=4)] != [a.text for a in five]


def test_generated_articles_give_triples_at_the_bundled_rate() -> None:
    def rate(articles) -> float:
        return sum(q.keep for a in articles for q in cloze_of(a).queries) / len(articles)

    assert 0.8 <= rate(list(generate_articles(300))) / rate(ARTICLES) <= 1.2


def test_generated_stand_off_fits_the_text() -> None:
    for article in generate_articles(20, seed=9):
        story = parse_story(article.text)
        tokens, entities = stand_off_lines(article.text, article.mentions)
        read = read_stand_off(article.text, [*story.paragraphs, *story.highlights], tokens, entities)
        assert read.dropped == 0
        assert all(re.search(r"\w", article.text[m.start : m.end]) for m in read.mentions)


def test_some_articles_are_pages_of_each_layout() -> None:
    assert {a.layout for a in PAGES} == set(PAGE_LAYOUTS)
    assert sum(n >= 2 for n in Counter(a.layout for a in PAGES).values()) >= 3
    in_windows_1252 = [page_of(a) for a in PAGES if a.encoding == "windows-1252"]
    assert in_windows_1252
    assert not any(page.isascii() for page in in_windows_1252)


@pytest.mark.parametrize("article", PAGES, ids=lambda a: a.path.stem)
def test_page_of_an_article_gives_its_text(article) -> None:
    page = parse_page(page_of(article))
    assert page.story == article.text
    assert (page.layout, page.encoding, page.url) == (article.layout, article.encoding, article.url)
    assert page.publisher == article.publisher


def test_lay_out_writes_each_article_once(tmp_path: Path) -> None:
    story = next(a for a in ARTICLES if not a.standoff and a.layout == "story")
    page = PAGES[0]
    earlier = tmp_path / "cnn" / "stories" / f"{page.article_id}.story"
    earlier.parent.mkdir(parents=True)
    earlier.write_text(page.text)
    lay_out([story, page], tmp_path)
    (story_file,) = tmp_path.rglob(f"{story.article_id}.*")
    (page_file,) = tmp_path.rglob(f"{page.article_id}.*")
    assert story_file.read_text(encoding="utf-8") == story.text
    assert page_file.relative_to(tmp_path).parts[1:] == ("downloads", f"{page.article_id}.html")
    assert page_file.read_bytes() == page_of(page)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('layout = "story"', None),
        ('layout = "cnn_2015"', "stand-off goes with a story"),
        ('layout = "daily_mail_2015"', "layout 'daily_mail_2015' is not 'story' or one of ['cnn_2010'"),
        ('layout = "html"', "layout 'html' is not 'story'"),
        ('layout = "story"\nencoding = "latin-9"', "encoding 'latin-9' is none of ['utf-8', 'windows-1252']"),
    ],
)
def test_layout_of_a_source_file_is_checked(tmp_path: Path, line: str, message: str | None) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        f'+++\nurl = "u"\npublisher = "CNN"\nstandoff = true\n{line}\ntitle = "t"\n[entities]\nann = "PERSON"\n'
        "+++\n[Ann|ann] left.\n"
    )
    if message is None:
        assert parse_article(path).encoding == "utf-8"
        return
    with pytest.raises(MarkupError, match=re.escape(message)):
        parse_article(path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("[Ann|ann left.", "entity 'ann left' is not declared"),
        ("[Ann left.", "never closed"),
        ("Ann] left.", "without '|entity'"),
        ("[Ann|bob] left.", "entity 'bob' is not declared"),
        ("Ann left.", "declared but never marked"),
    ],
)
def test_markup_error_names_file_and_place(tmp_path: Path, body: str, message: str) -> None:
    path = tmp_path / "a.txt"
    head = 'url = "u"\npublisher = "CNN"\nstandoff = true\nlayout = "story"\ntitle = "t"\n[entities]\nann = "PERSON"\n'
    path.write_text(f"+++\n{head}+++\n{body}\n")
    with pytest.raises(MarkupError, match=re.escape(message)) as error:
        parse_article(path)
    assert str(path) in str(error.value)
