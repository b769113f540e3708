"""The whole line on a small corpus: first run, rerun, added, edited and bad articles, changed settings."""

import io
import json
import os
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import annotate_articles, ingest_articles, run_pipeline
from jobs.job_support.contracts import CONTRACTS
from jobs.job_support.settings import SettingsError, load_settings
from jobs.job_support.store import Store, table_hash
from tests.conftest import ROOT
from tests.corpus.lay_out import lay_out, source_articles
from tests.corpus.markup import SourceArticle
from tests.spark.conftest import settings_for
from udfs.answer_match import score_predictions
from udfs.fold_of import fold_of
from udfs.model_holder import annotator_digest
from udfs.record_validation import validate_record_json

DOWNSTREAM = ("annotations", "passages", "sentences", "triples", "token_tags")


def bundled(standoff: bool, start: int, n: int) -> list[SourceArticle]:
    return [a for a in source_articles() if a.standoff == standoff and a.layout == "story"][start : start + n]


def touch_later(path: Path) -> None:
    """A write within the clock's resolution would keep the time of change."""
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000_000))


FIRST = (*bundled(True, 0, 2), *bundled(False, 0, 2))


@dataclass(frozen=True)
class Line:
    """A corpus of the articles ``FIRST`` and two bad files, and a folder with all that the pipeline makes of it."""

    spark: SparkSession
    corpus: Path
    out: Path

    @property
    def store(self) -> Store:
        return Store(self.spark, str(self.out / "tables"))

    def run(self, *overrides: str) -> dict[str, int]:
        """Runs all stages up to triples, and the export; how many inputs each stage did that did any."""
        source = f'ingest.sources=[{{path="{self.corpus}"}}]'
        settings = settings_for(self.out, "filter.enabled=false", source, *overrides)
        return {c.stage: c.rows_in for c in run_pipeline.run(self.spark, settings) if c.did_work}

    def hashes(self, where: str) -> dict[str, str]:
        return {name: table_hash(self.store.read(name).where(where)) for name in DOWNSTREAM}

    def versions(self) -> dict[str, int]:
        return {name: self.store.version(name) for name in CONTRACTS}


@dataclass(frozen=True)
class FirstRun:
    """What the first run did and said; not to be written to."""

    line: Line
    untouched_corpus: Path
    work: dict[str, int]
    shown: str


@pytest.fixture(scope="module")
def first_run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> FirstRun:
    folder = tmp_path_factory.mktemp("first_run")
    line = Line(spark, folder / "corpus", folder)
    lay_out(FIRST, line.corpus)
    (line.corpus / "cnn" / "stories" / f"{'0' * 40}.story").write_text("  \n")
    (line.corpus / "cnn" / "stories" / f"{'1' * 40}.story").write_text("<!DOCTYPE html><html><body>Quota</body></html>")
    untouched = Path(shutil.copytree(line.corpus, folder / "untouched"))
    with redirect_stdout(io.StringIO()) as shown:
        work = line.run()
    return FirstRun(line, untouched, work, shown.getvalue())


@pytest.fixture
def line(first_run: FirstRun, tmp_path: Path) -> Line:
    """The state after the first run: a copy of what it made, and the corpus (its path is in the tables) put back."""
    first = first_run.line
    shutil.rmtree(first.corpus)
    shutil.copytree(first_run.untouched_corpus, first.corpus)
    for name in ("tables", "release", "report"):
        shutil.copytree(first.out / name, tmp_path / name)
    return replace(first, out=tmp_path)


def test_first_run_takes_every_article_through_all_stages(first_run: FirstRun) -> None:
    store = first_run.line.store
    queries = store.read("triples").where("keep").count()
    assert first_run.work == {"ingest": 6, "annotate": 4, "generate": 4, "tag": 4, "export": queries}
    assert "passage-query-answers triples" in first_run.shown
    articles = {r.article_id: r for r in store.read("articles").collect()}
    assert {i: (a.origin, a.text, a.fold) for i, a in articles.items()} == {
        a.article_id: ("hermann" if a.standoff else "crawled", a.text, fold_of(a.article_id)) for a in FIRST
    }
    assert {r.reason for r in store.read("rejects").collect()} == {"empty", "error_page"}
    annotations = store.read("annotations").collect()
    annotators = {r.article_id: r.annotator for r in annotations}
    assert annotators == {a.article_id: "stand-off" if a.standoff else "spacy" for a in FIRST}
    model = load_settings(ROOT / "conf" / "base.toml").annotate.model
    assert {r.digest for r in annotations if r.annotator == "spacy"} == {annotator_digest("spacy", model)}
    assert {r.version for r in annotations} == {str(annotate_articles.VERSION)}
    assert len({(r.annotator, r.digest) for r in annotations}) == 2
    check_release(store, first_run.line.out / "release" / "record.json")


def test_rerun_makes_no_version_of_any_table_and_says_so(line: Line, capsys: pytest.CaptureFixture[str]) -> None:
    versions = line.versions()
    assert line.run() == {}
    assert line.versions() == versions
    assert "Nothing to do: everything is up to date" in capsys.readouterr().out


def test_added_articles_leave_the_rows_of_the_others_as_they_are(line: Line) -> None:
    old = f"article_id in ({', '.join(repr(a.article_id) for a in FIRST)})"
    before = line.hashes(old)
    more = [*bundled(True, 2, 1), *bundled(False, 2, 1)]
    lay_out([*FIRST, *more], line.corpus)
    work = line.run()
    assert work == {"ingest": 2, "annotate": 2, "generate": 2, "tag": 2, "export": work["export"]}
    assert line.hashes(old) == before
    added = {a.article_id for a in more}
    for name in DOWNSTREAM:
        assert added <= {r.article_id for r in line.store.read(name).collect()}, name


def test_edited_article_replaces_its_own_rows(line: Line) -> None:
    article = FIRST[2]
    others = f"article_id != '{article.article_id}'"
    before = line.hashes(others)
    last_sentence = "Nobody at the harbour could say afterwards who had paid for the lanterns."
    (story,) = line.corpus.glob(f"*/stories/{article.article_id}.story")
    story.write_text(article.text.replace("\n\n@highlight", f"\n\n{last_sentence}\n\n@highlight", 1))
    touch_later(story)
    work = line.run()
    assert [work[stage] for stage in ("ingest", "annotate", "generate")] == [1, 1, 1]
    assert line.hashes(others) == before
    found = line.store.read("sentences").where(f"text = '{last_sentence}'").collect()
    assert [s.article_id for s in found] == [article.article_id]


def test_publisher_of_a_source_reaches_the_passages_without_new_annotation(line: Line) -> None:
    work = line.run(f'ingest.sources=[{{path="{line.corpus}", publisher="The Wire"}}]')
    assert work == {"ingest": 6, "generate": 4, "tag": 4, "export": work["export"]}
    assert {p.publisher for p in line.store.read("passages").collect()} == {"The Wire"}


def test_changed_rule_redoes_generate_and_what_follows_from_it(line: Line) -> None:
    work = line.run("generate.min_sentence_tokens=14")
    assert work == {"generate": 4, "tag": 4, "export": work["export"]}
    assert min(len(s.text.split()) for s in line.store.read("sentences").where("keep").collect()) >= 14
    check_release(line.store, line.out / "release" / "record.json")


def check_release(store: Store, path: Path) -> None:
    """The file is valid, holds the kept triples, and its own answers score 1."""
    assert validate_record_json(path).valid
    data = json.loads(path.read_text(encoding="utf-8"))
    kept = {t.query_id: t for t in store.read("triples").where("keep").collect()}
    answers = {q["id"]: q["answers"] for record in data["data"] for q in record["qas"]}
    assert set(answers) == set(kept)
    passages = {r["id"]: r["passage"]["text"] for r in data["data"]}
    for query_id, found in answers.items():
        text = passages[kept[query_id].article_id]
        assert [text[a["start"] : a["end"] + 1] for a in found] == [a.text for a in kept[query_id].answers]
    scores = score_predictions(data, {i: found[0]["text"] for i, found in answers.items()})
    assert (scores.exact_match, scores.f1) == (1.0, 1.0)
    tagged = {(t.article_id, t.unit, t.start) for t in store.read("token_tags").collect()}
    assert tagged == {(t.article_id, "passage", 0) for t in kept.values()} | {
        (t.article_id, "sentence", t.sentence_start) for t in kept.values()
    }


def test_crawled_article_that_hermann_has_too_is_rejected_whenever_it_comes(
    spark: SparkSession, tmp_path: Path
) -> None:
    hermann, crawled = bundled(True, 0, 2), bundled(False, 0, 1)
    lay_out([hermann[0]], tmp_path / "hermann")
    copied = hermann[0].text.partition("\n\n@highlight")[0].replace("\n\n", "\n")
    own = crawled[0].text.partition("\n\n@highlight")[0]
    rows = [
        {"id": "copy", "url": "https://elsewhere.example/1", "article": copied, "highlights": "A bullet"},
        {"id": "own", "url": crawled[0].url, "article": own, "highlights": "B"},
        {"id": "early", "url": f"{hermann[1].url}?utm_source=x", "article": "Ann won.\nBo lost.", "highlights": "C"},
    ]
    (tmp_path / "crawled.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    sources = [f'{{path="{tmp_path / "hermann"}"}}', f'{{path="{tmp_path / "crawled.jsonl"}", origin="crawled"}}']
    settings = settings_for(tmp_path, f"ingest.sources=[{', '.join(sources)}]")
    store = Store(spark, settings.paths.tables)

    def rejects() -> set[str]:
        return {f"{r.item} {r.reason}: {r.detail}" for r in store.read("rejects").collect()}

    ingest_articles.run(spark, settings)
    assert {r.url for r in store.read("articles").where("origin = 'crawled'").collect()} == {
        rows[1]["url"],
        rows[2]["url"],
    }
    (only,) = rejects()
    assert "also_in_hermann: near-identical text" in only
    assert hermann[0].article_id in only

    # The Hermann article with the URL of the third row comes later: the crawled one is withdrawn.
    lay_out(hermann, tmp_path / "hermann")
    (tmp_path / "hermann" / "hermann_urls.txt").write_text("\n".join(a.url for a in hermann))
    ingest_articles.run(spark, settings)
    assert {r.url for r in store.read("articles").where("origin = 'crawled'").collect()} == {rows[1]["url"]}
    assert any("also_in_hermann: same URL" in r for r in rejects())
    assert ingest_articles.run(spark, settings).rows_in == 0


def test_source_that_gives_no_article_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    lay_out(bundled(True, 0, 1), tmp_path / "good")
    (tmp_path / "cnn_stories.tgz").write_bytes(b"<html><body>Quota exceeded</body></html>" * 50)
    sources = f'ingest.sources=[{{path="{tmp_path / "good"}"}}, {{path="{tmp_path / "cnn_stories.tgz"}"}}]'
    settings = settings_for(tmp_path, sources)
    with pytest.raises(SettingsError, match=r"ingest.sources\[1\].path .*: none of 1 inputs gave an article"):
        ingest_articles.run(spark, settings)
    store = Store(spark, settings.paths.tables)
    (reject,) = store.read("rejects").collect()
    assert (reject.reason, Path(reject.input).name) == ("not_an_archive", "cnn_stories.tgz")
    # What the good source gave is kept; a rerun still fails, and reads nothing again.
    assert store.read("articles").count() == 1
    with pytest.raises(SettingsError, match=r"ingest.sources\[1\]"):
        ingest_articles.run(spark, settings)
    shutil.rmtree(tmp_path / "good")
    with pytest.raises(SettingsError, match=r"ingest.sources\[0\].path: no such file or folder"):
        ingest_articles.run(spark, settings)


def test_articles_of_two_sources_with_one_name_are_two(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name / "stories").mkdir(parents=True)
        (tmp_path / name / "stories" / "1.story").write_text(f"Ann Ray of {name} won.")
        (tmp_path / name / "a.jsonl").write_text(json.dumps({"id": "1", "article": f"Bo of {name} lost."}))
    sources = ", ".join(f'{{path="{tmp_path / name}"}}' for name in ("x", "y"))
    settings = settings_for(tmp_path, f"ingest.sources=[{sources}]")
    ingest_articles.run(spark, settings)
    store = Store(spark, settings.paths.tables)
    assert store.read("articles").count() == 4
    assert store.is_empty("rejects")


def test_broken_line_and_new_twin_in_one_run_are_no_double(spark: SparkSession, tmp_path: Path) -> None:
    hermann = bundled(True, 0, 1)
    body = hermann[0].text.partition("\n\n@highlight")[0]
    lines = [json.dumps({"id": "1", "article": "Bo Lin lost."}), json.dumps({"id": "2", "article": body})]
    crawled = tmp_path / "crawled.jsonl"
    crawled.write_text("\n".join(lines))
    (tmp_path / "hermann").mkdir()
    lay_out(bundled(True, 1, 1), tmp_path / "hermann")
    sources = f'ingest.sources=[{{path="{crawled}", origin="crawled"}}, {{path="{tmp_path / "hermann"}"}}]'
    settings = settings_for(tmp_path, sources)
    ingest_articles.run(spark, settings)
    crawled.write_text(f"{lines[0]}\n{lines[1][:50]}")
    touch_later(crawled)
    lay_out(hermann, tmp_path / "hermann")
    ingest_articles.run(spark, settings)
    store = Store(spark, settings.paths.tables)
    assert [(r.item, r.reason) for r in store.read("rejects").collect()] == [("2", "malformed_record")]
    assert {(r["origin"], r["count"]) for r in store.read("articles").groupBy("origin").count().collect()} == {
        ("hermann", 2),
        ("crawled", 1),
    }
    assert ingest_articles.run(spark, settings).rows_in == 0
