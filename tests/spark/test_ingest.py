"""The job of ingest over several runs: what heals, what stays as it is, and reruns that do nothing."""

import json
import os
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs import ingest_articles
from jobs.job_support.store import Store, table_hash
from tests.spark.conftest import settings_for
from tests.spark.reading import ENTITIES, PAGE, STORY, TOKENS, hexes, tgz, words, write
from udfs.article_urls import article_id_of_url


class Corpus:
    """A folder of sources and the tables made of it; every write is later than the one before."""

    def __init__(self, spark: SparkSession, folder: Path, sources: str) -> None:
        self.folder = folder
        self.settings = settings_for(folder, f"ingest.sources=[{sources.replace('$', str(folder))}]")
        self.spark = spark
        self.store = Store(spark, self.settings.paths.tables)
        self._second = 1_700_000_000

    def write(self, files: dict[str, str | bytes]) -> None:
        write(self.folder, files)
        self._second += 1
        for name in files:
            os.utime(self.folder / name, (self._second, self._second))

    def delete(self, *names: str) -> None:
        for name in names:
            (self.folder / name).unlink()

    def ingest(self) -> int:
        """Runs ingest, then again: the second run finds nothing to do. Returns the files that the first one read."""
        counts = ingest_articles.run(self.spark, self.settings)
        versions = {name: self.store.version(name) for name in ("articles", "rejects", "inputs")}
        assert ingest_articles.run(self.spark, self.settings).rows_in == 0
        assert {name: self.store.version(name) for name in versions} == versions
        return counts.rows_in

    def texts(self) -> dict[str, str]:
        return {r.article_id: r.text for r in self.store.read("articles").collect()}

    def rejects(self) -> dict[str, tuple[str, str]]:
        """Reason and detail by path within the folder and item."""
        return {
            " ".join(filter(None, (r.input.removeprefix(f"{self.folder}/"), r.item))): (r.reason, r.detail)
            for r in self.store.read("rejects").collect()
        }

    def reasons(self) -> dict[str, str]:
        return {name: reason for name, (reason, _) in self.rejects().items()}


# --- articles that Hermann's have too

BY_ID, BY_URL, BY_TEXT, BY_LIST = (hexes(n) for n in range(1, 5))
ARCHIVED = "http://web.archive.org/web/2015id_/http://www.cnn.com:80/2015/{}/"
OWN = "https://cnn.com/2015/{}?utm_source=x"


@pytest.fixture
def twins(spark: SparkSession, tmp_path: Path) -> Corpus:
    """Four crawled stories, each with a twin of Hermann's: by id, by URL, by text, and by a listed URL alone."""
    corpus = Corpus(spark, tmp_path, '{path="$/hermann", origin="hermann"}, {path="$/crawled", origin="crawled"}')
    of_url, listed = (article_id_of_url(OWN.format(page)) for page in "ab")
    corpus.write(
        {
            f"hermann/stories/{BY_ID}.story": words(200, 1),
            f"hermann/stories/{article_id_of_url(ARCHIVED.format('a'))}.story": words(200, 2),
            f"hermann/stories/{BY_TEXT}.story": words(200, 3),
            "hermann/wayback_test_urls.txt": "\n".join(ARCHIVED.format(page) for page in "ab"),
            f"crawled/{BY_ID}.story": words(200, 11),
            f"crawled/{of_url}.story": words(200, 12),
            f"crawled/{hexes(13)}.story": words(200, 3, edits=2),
            f"crawled/{listed}.story": words(200, 14),
            f"crawled/{hexes(15)}.story": words(200, 15),
            "crawled/my_urls.txt": "\n".join(OWN.format(page) for page in "ab"),
        }
    )
    return corpus


def crawled(corpus: Corpus) -> set[str]:
    """Numbers of the crawled articles in the table, by their text."""
    numbers = {words(200, n): str(n) for n in (11, 12, 14, 15)} | {words(200, 3, edits=2): "13"}
    return {numbers[text] for text in corpus.texts().values() if text in numbers}


def test_crawled_article_comes_back_when_its_twin_is_none_any_more(
    twins: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins.ingest()
    rejected = twins.rejects()
    assert crawled(twins) == {"15"}
    assert sorted(detail.split(" as ")[0].split(" (")[0] for _, detail in rejected.values()) == [
        "near-identical text", "same URL", "same URL", "same id",
    ]  # fmt: skip

    # The text twin is edited, and still one: its counterpart is looked at again, and stays rejected.
    twins.write({f"hermann/stories/{BY_TEXT}.story": words(200, 3, edits=1)})
    assert twins.ingest() == 2
    assert crawled(twins) == {"15"}
    assert twins.reasons() == dict.fromkeys(rejected, "also_in_hermann")

    # All four grounds go: an unusable story, another URL, another text, a URL that leaves the list. A run that
    # breaks off before the articles are written leaves them for the next one.
    twins.write(
        {
            f"hermann/stories/{BY_ID}.story": "\n",
            "hermann/wayback_test_urls.txt": ARCHIVED.format("c"),
            f"hermann/stories/{BY_TEXT}.story": words(200, 33),
        }
    )
    written: list[str] = []
    replace = Store.replace_slices

    def broken(self: Store, name: str, *rows: Any) -> Any:
        written.append(name)
        if written.count("articles") == 2:
            raise RuntimeError("the machine stops here")
        return replace(self, name, *rows)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "replace_slices", broken)
        with pytest.raises(RuntimeError, match="stops here"):
            ingest_articles.run(twins.spark, twins.settings)
    assert crawled(twins) == {"14", "15"}  # the list is known before anything is read
    assert twins.ingest() == 3
    assert crawled(twins) == {"11", "12", "13", "14", "15"}
    assert twins.reasons() == {f"hermann/stories/{BY_ID}.story": "empty"}

    # And back: they are withdrawn again.
    twins.write(
        {
            f"hermann/stories/{BY_ID}.story": words(200, 1),
            "hermann/wayback_test_urls.txt": "\n".join(ARCHIVED.format(page) for page in "ab"),
            f"hermann/stories/{BY_TEXT}.story": words(200, 3),
        }
    )
    twins.ingest()
    assert crawled(twins) == {"15"}
    assert twins.rejects() == rejected


def test_double_in_the_table_whose_successor_hermann_has_is_no_double_reject(
    spark: SparkSession, tmp_path: Path
) -> None:
    corpus = Corpus(spark, tmp_path, '{path="$/hermann", origin="hermann"}, {path="$/crawled", origin="crawled"}')
    corpus.write({f"hermann/{hexes(1)}.story": words(200, 1), f"crawled/a/{hexes(2)}.story": words(200, 2)})
    corpus.ingest()
    corpus.write({f"crawled/b/{hexes(2)}.story": words(200, 1, edits=1)})
    corpus.ingest()
    assert set(corpus.texts()) == {hexes(1)}
    assert corpus.reasons() == {
        f"crawled/a/{hexes(2)}.story": "superseded_article",
        f"crawled/b/{hexes(2)}.story": "also_in_hermann",
    }


# --- files that grow


def test_rows_of_a_file_that_grows_stay_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    corpus = Corpus(spark, tmp_path, '{path="$/news"}')
    lines = [json.dumps({"id": hexes(n), "url": f"http://a.com/{n}", "article": f"Ann won {n}."}) for n in range(1, 5)]
    members = {
        f"stories/{hexes(11)}.story": STORY,
        f"tokens/{hexes(11)}.txt": TOKENS,
        f"entities/{hexes(11)}.txt": ENTITIES,
        "stories/empty.story": "",
    }
    corpus.write({"news/a.jsonl": "\n".join([*lines[:2], "{broken"]), "news/b.tar": tgz(members, "w")})
    corpus.ingest()
    before = {name: table_hash(corpus.store.read(name)) for name in ("articles", "rejects")}
    more = {**members, f"stories/{hexes(12)}.story": "Bo lost."}
    corpus.write({"news/a.jsonl": "\n".join([*lines[:2], "{broken", *lines[2:]]), "news/b.tar": tgz(more, "w")})
    assert corpus.ingest() == 2
    new = f"article_id in ('{hexes(3)}', '{hexes(4)}', '{hexes(12)}')"
    articles = corpus.store.read("articles")
    assert articles.where(new).count() == 3
    assert table_hash(articles.where(f"not {new}")) == before["articles"]
    assert table_hash(corpus.store.read("rejects")) == before["rejects"]
    # A changed line is another article under the same id.
    corpus.write({"news/a.jsonl": "\n".join([lines[0].replace("won", "lost"), lines[1], "{broken", *lines[2:]])})
    corpus.ingest()
    assert corpus.texts()[hexes(1)] == "Ann lost 1."
    others = f"article_id in ('{hexes(2)}', '{hexes(11)}')"
    assert table_hash(corpus.store.read("articles").where(others)) == table_hash(articles.where(others))


# --- stand-off without a story


def test_stand_off_without_a_story_is_a_reject_until_the_story_comes(spark: SparkSession, tmp_path: Path) -> None:
    corpus = Corpus(spark, tmp_path, '{path="$/cnn"}')
    one, other, both, packed = (hexes(n) for n in range(1, 5))
    in_tar = {f"entities/{packed}.txt": ENTITIES, f"tokens/{packed}.txt": TOKENS, f"{hexes(6)}.story": "Bo lost."}
    corpus.write(
        {
            f"cnn/stories/{hexes(5)}.story": "Ann won.",
            f"cnn/tokens/{one}.txt": TOKENS,
            f"cnn/entities/{other}.txt": ENTITIES,
            f"cnn/tokens/{both}.txt": TOKENS,
            f"cnn/entities/{both}.txt": ENTITIES,
            "cnn/more.tgz": tgz(in_tar),
        }
    )
    assert corpus.ingest() == 5
    missing = "stand_off_without_story"
    at = f"{tmp_path}/cnn"
    in_archive = f"no story for tokens/{packed}.txt and entities/{packed}.txt"
    assert corpus.rejects() == {
        f"cnn/tokens/{one}.txt": (missing, f"no story for {at}/tokens/{one}.txt"),
        f"cnn/entities/{other}.txt": (missing, f"no story for {at}/entities/{other}.txt"),
        f"cnn/tokens/{both}.txt": (missing, f"no story for {at}/tokens/{both}.txt and {at}/entities/{both}.txt"),
        f"cnn/more.tgz tokens/{packed}.txt": (missing, in_archive),
    }
    ids = {r.article_id for r in corpus.store.read("rejects").collect()}
    assert ids == {one, other, both, packed}

    # The other half of the stand-off is still no story; a story takes its stand-off along.
    corpus.write(
        {
            f"cnn/tokens/{other}.txt": TOKENS,
            f"cnn/stories/{both}.story": STORY,
            "cnn/more.tgz": tgz({**in_tar, f"stories/{packed}.story": STORY}),
        }
    )
    corpus.ingest()
    assert set(corpus.reasons()) == {f"cnn/tokens/{one}.txt", f"cnn/tokens/{other}.txt"}
    with_names = corpus.store.read("articles").where("size(stand_off) > 0").collect()
    assert {r.article_id for r in with_names} == {both, packed}

    # The story vanishes: its article stays, its stand-off stands alone again. Deleted stand-off lacks no story.
    corpus.delete(f"cnn/stories/{both}.story", f"cnn/tokens/{one}.txt")
    corpus.ingest()
    assert set(corpus.reasons()) == {f"cnn/tokens/{both}.txt", f"cnn/tokens/{other}.txt"}
    assert both in corpus.texts()
    corpus.write({f"cnn/stories/{both}.story": STORY})
    corpus.ingest()
    assert set(corpus.reasons()) == {f"cnn/tokens/{other}.txt"}


# --- pages


def test_page_is_read_until_its_story_comes(spark: SparkSession, tmp_path: Path) -> None:
    corpus = Corpus(spark, tmp_path, '{path="$/cnn"}')
    has_story, alone = hexes(1), hexes(2)
    corpus.write(
        {
            f"cnn/stories/{has_story}.story": "Ann won.",
            f"cnn/downloads/{has_story}.html": PAGE,
            f"cnn/downloads/{alone}.html": PAGE,
            "cnn/x/front.htm": PAGE,
        }
    )

    def made_of() -> dict[str, str | None]:
        """Ids by path: of articles and of rejects, since these pages hold no article."""
        rows = [(r.source_path, r.article_id) for r in corpus.store.read("articles").collect()]
        rows += [(r.input, r.article_id) for r in corpus.store.read("rejects").collect()]
        return {path.removeprefix(f"{tmp_path}/"): article_id for path, article_id in rows}

    assert corpus.ingest() == 3
    front = {"cnn/x/front.htm": sha1(b"cnn/x/front.htm").hexdigest()}
    story = {f"cnn/stories/{has_story}.story": has_story}
    assert made_of() == {**story, **front, f"cnn/downloads/{alone}.html": alone}

    # A page that changes beside its story is not read; a story takes the place of its page.
    corpus.write({f"cnn/downloads/{has_story}.html": PAGE + " "})
    assert corpus.ingest() == 0
    corpus.write({f"cnn/stories/{alone}.story": "Bo lost."})
    os.utime(tmp_path / f"cnn/stories/{alone}.story", (1, 1))  # older than its page
    assert corpus.ingest() == 2
    assert made_of() == {**story, **front, f"cnn/stories/{alone}.story": alone}
    assert corpus.texts() == {has_story: "Ann won.", alone: "Bo lost."}


def test_real_pages_become_the_articles_that_they_show(spark: SparkSession, shared: Path, tmp_path: Path) -> None:
    pages = [json.loads(line) for line in (shared / "data" / "gum_html" / "pages.jsonl").read_text().splitlines()]
    settings = settings_for(tmp_path, f'ingest.sources=[{{path="{shared / "data" / "gum_html"}"}}]')
    counts = ingest_articles.run(spark, settings)
    store = Store(spark, settings.paths.tables)
    # The list of the pages themselves is no article, which a reject says.
    assert {r.reason for r in store.read("rejects").collect()} == {"not_articles"}
    assert (counts.rows_in, counts.rows_out) == (len(pages) + 1, len(pages))
    found = {r.article_id: (r.text, r.format, r.publisher) for r in store.read("articles").collect()}
    names = {"cnn": "CNN", "dailymail": "Daily Mail"}
    folder = shared / "data" / "gum_html"
    assert found == {p["sha1"]: ((folder / p["story"]).read_text(), "html", names[p["corpus"]]) for p in pages}
