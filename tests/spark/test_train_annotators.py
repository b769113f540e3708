"""Articles with stand-off in, a pipeline that annotate_articles takes out; reruns; errors in words."""

import shutil
from collections import Counter
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from jobs import annotate_articles, train_annotators
from jobs.job_support.annotator import digest_of_annotator
from jobs.job_support.command_line import JobError
from jobs.job_support.contracts import ARTICLES
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from tests.builders import article_id, make_article
from tests.corpus.lay_out import source_articles
from tests.corpus.markup import SourceArticle
from tests.spark.conftest import settings_for
from udfs.annotators.spacy_annotator import pipeline_digest
from udfs.annotators.spacy_pipelines import hash_of_files
from udfs.fold_of import fold_of
from udfs.model_files import CACHE_VARIABLE
from udfs.story_text import parse_story

STEPS = {"max_steps": 4, "eval_frequency": 2, "batch_words": 300}
QUICK = [f"train_annotators.spacy.{name}={value}" for name, value in STEPS.items()]


def row_of(article: SourceArticle) -> dict[str, Any]:
    """A row of ``articles``, with stand-off where the article has it."""
    story = parse_story(article.text)
    clusters = {e: i for i, e in enumerate(dict.fromkeys(m.entity for m in article.mentions))}
    mentions = [{"start": m.start, "end": m.end, "cluster": clusters[m.entity]} for m in article.mentions]
    return make_article("Nothing.") | {
        "article_id": article.article_id,
        "fold": fold_of(article.article_id),
        "text": article.text,
        "paragraphs": [s._asdict() for s in story.paragraphs],
        "highlights": [s._asdict() for s in story.highlights],
        "stand_off": mentions if article.standoff else None,
        "content_hash": article.article_id,
    }


ROWS = [row_of(a) for a in source_articles()]
TRAIN = [r for r in ROWS if r["stand_off"] and r["fold"] != 0]
HELD_OUT = [r for r in ROWS if r["stand_off"] and r["fold"] == 0]


def write(store: Store, rows: list[dict[str, Any]]) -> None:
    store.merge("articles", store.spark.createDataFrame(rows, ARTICLES.schema))


def run_of(store: Store) -> Row:
    [row] = store.read("annotator_runs").collect()
    return row


@pytest.fixture(scope="module")
def trained(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings whose annotator was trained on the bundled articles."""
    settings = settings_for(tmp_path_factory.mktemp("trained"), *QUICK)
    write(Store(spark, settings.paths.tables), ROWS)
    counts = train_annotators.run(spark, settings)
    assert (counts.rows_in, counts.rows_out) == (len(TRAIN), 1)
    return settings


@pytest.fixture
def copied(trained: Settings, tmp_path: Path) -> Path:
    """A folder with copies of its tables and models."""
    shutil.copytree(Path(trained.paths.tables).parent, tmp_path / "out")
    return tmp_path / "out"


def folder_of(settings: Settings, row: Row) -> Path:
    return Path(settings.paths.models) / row.path


def test_what_was_trained_and_how_good_it_is_is_recorded(spark: SparkSession, trained: Settings) -> None:
    row = run_of(Store(spark, trained.paths.tables))
    assert HELD_OUT, "choose another fold"
    assert (row.articles, row.held_out_articles, row.held_out_fold) == (len(TRAIN), len(HELD_OUT), 0)
    left_out = Counter({x.reason: x.mentions for x in row.left_out})
    assert row.mentions + left_out.total() == sum(len(r["stand_off"]) for r in TRAIN)
    assert left_out.keys() <= {"nested", "not_aligned"}
    assert left_out["nested"] > 0
    assert [e.step for e in row.curve] == [0, 2, 4]
    assert row.best_step in (0, 2, 4)
    assert row.f1 == max(e.f1 for e in row.curve)
    assert 0 < row.f1 < 1 > row.base_f1 > 0.7
    assert row.base_model.startswith("en_core_web_sm")
    assert row.digest == hash_of_files(folder_of(trained, row))
    assert [p.name for p in Path(trained.paths.models).iterdir()] == [row.path]
    assert not list((Path(trained.paths.tables) / "_staging").iterdir())


def test_a_rerun_does_nothing(spark: SparkSession, trained: Settings, caplog: pytest.LogCaptureFixture) -> None:
    store = Store(spark, trained.paths.tables)
    version = store.version("annotator_runs")
    caplog.set_level("INFO")
    assert not train_annotators.run(spark, trained).did_work
    assert store.version("annotator_runs") == version
    assert f"annotate.model={trained.paths.models}/{run_of(store).path}" in caplog.text
    where = settings_for(Path(trained.paths.tables).parent, *QUICK, "train_annotators.spacy.device=cuda")
    assert not train_annotators.run(spark, where).did_work, "where it is trained does not matter"


def test_a_damaged_annotator_is_trained_again_and_comes_out_the_same(
    spark: SparkSession, trained: Settings, copied: Path
) -> None:
    settings = settings_for(copied, *QUICK)
    store = Store(spark, settings.paths.tables)
    before = run_of(store)
    (folder_of(settings, before) / "ner" / "model").write_bytes(b"half")
    assert train_annotators.run(spark, settings).did_work
    after = run_of(store)
    assert {**after.asDict(), "seconds": 0} == {**before.asDict(), "seconds": 0}
    assert hash_of_files(folder_of(settings, after)) == after.digest


def test_other_settings_train_another_annotator_beside_it(spark: SparkSession, copied: Path) -> None:
    settings = settings_for(copied, *QUICK, "train_annotators.spacy.seed=7", "train_annotators.held_out_articles=1")
    assert train_annotators.run(spark, settings).did_work
    rows = Store(spark, settings.paths.tables).read("annotator_runs").collect()
    assert len({r.digest for r in rows}) == len({r.fingerprint for r in rows}) == 2
    assert all(hash_of_files(folder_of(settings, r)) == r.digest for r in rows)
    assert sorted(r.held_out_articles for r in rows) == [1, len(HELD_OUT)]


def test_articles_are_annotated_with_the_trained_folder_by_path_or_uri(
    spark: SparkSession, trained: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    folder = folder_of(trained, run_of(Store(spark, trained.paths.tables)))
    plain, by_path, by_uri = (settings_for(tmp_path, *m) for m in ((), models(folder), models(folder.as_uri())))
    digests = [digest_of_annotator(s.annotate) for s in (plain, by_path, by_uri)]
    assert digests[0] != digests[1] == digests[2] == pipeline_digest(str(folder))
    store = Store(spark, by_uri.paths.tables)
    write(store, [r for r in ROWS if r["stand_off"] is None][:2])
    assert annotate_articles.run(spark, by_uri).rows_out == 2
    annotations = {r.article_id: r for r in store.read("annotations").collect()}
    wanted = stage_hash(annotate_articles.VERSION, digests[1])
    for article, row in annotations.items():
        assert row.mentions
        assert row.fingerprint == sha1(f"{article}|{wanted}".encode()).hexdigest()  # content_hash is the id here
    assert not annotate_articles.run(spark, by_path).did_work


def models(model: str | Path) -> tuple[str]:
    return (f"annotate.model={model}",)


NAMED = "[Ann Ray|a] left [Oslo|o]."
IN_FOLD = {fold: next(n for n in range(100) if fold_of(article_id(n)) == fold) for fold in range(5)}


def refusal(spark: SparkSession, settings: Settings, rows: list[dict[str, Any]]) -> str:
    write(Store(spark, settings.paths.tables), rows)
    with pytest.raises(JobError) as caught:
        train_annotators.run(spark, settings)
    return str(caught.value)


def test_what_cannot_be_trained_is_refused_with_a_remedy(spark: SparkSession, tmp_path: Path) -> None:
    first = make_article(NAMED, IN_FOLD[1])
    unmarked = [make_article(NAMED, 1, stand_off=False), make_article("Nobody.", 2)]
    said = refusal(spark, settings_for(tmp_path / "a", *QUICK), unmarked)
    assert "no articles with stand-off mentions in" in said
    assert "tokens/ and entities/" in said
    said = refusal(spark, settings_for(tmp_path / "a", *QUICK), [first])
    assert "no articles with stand-off in fold 0" in said
    assert "held_out_fold" in said
    said = refusal(spark, settings_for(tmp_path / "a", *QUICK, "train_annotators.held_out_fold=1"), [first])
    assert "all articles with stand-off are in fold 1" in said
    absent = settings_for(tmp_path / "a", *QUICK, "train_annotators.spacy.base_model=en_core_web_huge")
    assert "train_annotators.spacy.base_model: no spaCy pipeline 'en_core_web_huge'" in refusal(spark, absent, [first])


def test_mentions_that_all_miss_the_tokens_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = [make_article("Then A[nn Ra|a]y left O[sl|o]o.", IN_FOLD[fold]) for fold in (0, 1)]
    said = refusal(spark, settings_for(tmp_path, *QUICK), rows)
    assert "none of the mentions of 1 articles (train) can be trained on: not_aligned 2" in said


def test_an_error_of_the_training_task_comes_in_words(spark: SparkSession, copied: Path) -> None:
    settings = settings_for(copied, *QUICK, "train_annotators.spacy.seed=8")
    shutil.rmtree(settings.paths.models)
    Path(settings.paths.models).write_text("in the way")
    with pytest.raises(JobError, match=r"the annotator was not trained: .*models"):
        train_annotators.run(spark, settings)
    assert len(Store(spark, settings.paths.tables).read("annotator_runs").collect()) == 1
