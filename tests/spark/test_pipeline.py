"""The whole line on a small corpus: first run, rerun, added, edited and bad articles, changed settings."""

import json
import os
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import ingest_articles, run_pipeline
from jobs.job_support.contracts import CONTRACTS
from jobs.job_support.run_metrics import StageCounts
from jobs.job_support.settings import SettingsError
from jobs.job_support.store import Store, table_hash
from tests.corpus.lay_out import lay_out, source_articles
from tests.corpus.markup import SourceArticle
from tests.spark.conftest import settings_for
from udfs.answer_match import score_predictions
from udfs.fold_of import fold_of
from udfs.record_validation import validate_record_json

DOWNSTREAM = ("annotations", "passages", "sentences", "triples", "token_tags")


def bundled(standoff: bool, start: int, n: int) -> list[SourceArticle]:
    return [a for a in source_articles() if a.standoff == standoff][start : start + n]


def work_of(counts: list[StageCounts]) -> dict[str, int]:
    return {c.stage: c.rows_in for c in counts if c.did_work}


def touch_later(path: Path) -> None:
    """A write within the clock's resolution would keep the time of change."""
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 1_000_000_000))


def test_pipeline_does_only_the_missing_work(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    corpus = tmp_path / "corpus"
    first = [*bundled(True, 0, 2), *bundled(False, 0, 2)]
    lay_out(first, corpus)
    (corpus / "cnn" / "stories" / f"{'0' * 40}.story").write_text("  \n")
    (corpus / "cnn" / "stories" / f"{'1' * 40}.story").write_text("<!DOCTYPE html><html><body>Quota</body></html>")
    source = f'ingest.sources=[{{path="{corpus}"}}]'
    settings = settings_for(tmp_path, source)
    store = Store(spark, settings.paths.tables)

    # First run.
    counts = run_pipeline.run(spark, settings)
    assert work_of(counts) == {"ingest": 6, "annotate": 4, "generate": 4, "tag": 4, "export": counts[4].rows_in}
    shown = capsys.readouterr().out
    assert "passage-query-answers triples" in shown
    ids = {a.article_id for a in first}
    articles = {r.article_id: r for r in store.read("articles").collect()}
    assert set(articles) == ids
    assert {r.reason for r in store.read("rejects").collect()} == {"empty", "error_page"}
    assert {i: a.origin for i, a in articles.items()} == {
        a.article_id: "hermann" if a.standoff else "crawled" for a in first
    }
    for a in first:
        assert articles[a.article_id].text == a.text
        assert articles[a.article_id].fold == fold_of(a.article_id)
    annotators = {r.article_id: r.annotator for r in store.read("annotations").collect()}
    assert annotators == {a.article_id: "stand-off" if a.standoff else "spacy" for a in first}
    check_release(store, Path(settings.paths.release) / "record.json")

    # Nothing to do: no new version of any table, and it says so.
    versions = {name: store.version(name) for name in CONTRACTS}
    assert work_of(run_pipeline.run(spark, settings)) == {}
    assert {name: store.version(name) for name in CONTRACTS} == versions
    assert "Nothing to do: everything is up to date" in capsys.readouterr().out

    # Two articles more: two are processed downstream, the rows of the others stay as they are.
    before = {name: table_hash(store.read(name)) for name in DOWNSTREAM}
    more = [*bundled(True, 2, 1), *bundled(False, 2, 1)]
    lay_out([*first, *more], corpus)
    counts = run_pipeline.run(spark, settings)
    assert work_of(counts) | {"export": 0} == {"ingest": 2, "annotate": 2, "generate": 2, "tag": 2, "export": 0}
    old = f"article_id in ({', '.join(repr(i) for i in sorted(ids))})"
    assert {name: table_hash(store.read(name).where(old)) for name in DOWNSTREAM} == before

    # An edited article replaces its own rows.
    edited = (
        corpus / ("cnn" if first[2].publisher == "CNN" else "dailymail") / "stories" / f"{first[2].article_id}.story"
    )
    last_sentence = "Nobody at the harbour could say afterwards who had paid for the lanterns."
    others = f"article_id != '{first[2].article_id}'"
    before = {name: table_hash(store.read(name).where(others)) for name in DOWNSTREAM}
    edited.write_text(first[2].text.replace("\n\n@highlight", f"\n\n{last_sentence}\n\n@highlight", 1))
    touch_later(edited)
    counts = run_pipeline.run(spark, settings)
    assert {k: work_of(counts).get(k) for k in ("ingest", "annotate", "generate")} == {
        "ingest": 1, "annotate": 1, "generate": 1,
    }  # fmt: skip
    assert {name: table_hash(store.read(name).where(others)) for name in DOWNSTREAM} == before
    sentences = store.read("sentences")
    assert [s.article_id for s in sentences.where(f"text = '{last_sentence}'").collect()] == [first[2].article_id]

    # A source's publisher is a setting of ingest: it reaches the passages without new annotation.
    named = f'ingest.sources=[{{path="{corpus}", publisher="The Wire"}}]'
    counts = run_pipeline.run(spark, settings_for(tmp_path, named))
    assert {k: v for k, v in work_of(counts).items() if k not in ("export", "tag")} == {"ingest": 8, "generate": 6}
    assert {p.publisher for p in store.read("passages").collect()} == {"The Wire"}
    run_pipeline.run(spark, settings)

    # A setting of generate redoes generate and what follows from it, nothing before.
    counts = run_pipeline.run(spark, settings_for(tmp_path, source, "generate.min_sentence_tokens=14"))
    assert {k: v for k, v in work_of(counts).items() if k != "export"} == {"generate": 6, "tag": 6}
    assert min(len(s.text.split()) for s in store.read("sentences").where("keep").collect()) >= 14
    check_release(store, Path(settings.paths.release) / "record.json")


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
