"""Five folds of SAN on a small corpus: training, scoring, verdicts, splits, files; reruns of all of them."""

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from jobs import evaluate_readers, export_dataset, filter_triples, run_pipeline, score_queries, train_readers
from jobs.job_support.command_line import JobError
from jobs.job_support.contracts import CONTRACTS
from jobs.job_support.reader_contracts import ANSWERED, NOT_SCORED
from jobs.job_support.run_metrics import StageCounts
from jobs.job_support.settings import Paths, Settings
from jobs.job_support.store import Store, table_hash
from jobs.transforms.machine_filter import SPLITS, split_of
from tests.builders import article_id
from tests.corpus.lay_out import lay_out, source_articles
from tests.spark.conftest import TINY_READER, settings_for
from udfs.answer_match import best_over_answers, exact_match, f1
from udfs.record_validation import validate_record_json

TABLES = ("reader_runs", "learning_curves", "predictions", "machine_filter", "evaluations", "funnel")
# Hermann's articles are held out too, or so few of them would give no dev and no test.
HALF = "splits.hermann_held_out=0.5"


@dataclass(frozen=True)
class Line:
    """A line that ran once; copies of it go on without training again."""

    out: Path
    corpus: Path
    first: list[StageCounts]


@pytest.fixture(scope="module")
def line(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Line:
    out = tmp_path_factory.mktemp("line")
    corpus = out / "corpus"
    lay_out([a for a in source_articles() if a.standoff][:6], corpus)
    return Line(out, corpus, run_pipeline.run(spark, of_line(out, corpus)))


def of_line(out: Path, corpus: Path, *overrides: str) -> Settings:
    return settings_for(out, f'ingest.sources=[{{path="{corpus}"}}]', *TINY_READER, HALF, *overrides)


GoOn = Callable[..., tuple[list[StageCounts], Store, Store]]
OF_FILTER = (*run_pipeline.MACHINE_FILTER, export_dataset, evaluate_readers)


@pytest.fixture
def go_on(line: Line, spark: SparkSession, tmp_path: Path) -> GoOn:
    """Runs jobs on a copy of the line, with other settings or articles; also gives the tables before and after."""

    def run(
        *overrides: str, jobs: Sequence[Any] = OF_FILTER, add: int = 0, edit: str = ""
    ) -> tuple[list[StageCounts], Store, Store]:
        for name in Paths.model_fields:
            shutil.copytree(line.out / name, tmp_path / name)
        corpus = line.corpus
        if add or edit:
            corpus = shutil.copytree(line.corpus, tmp_path / "corpus")
            lay_out([a for a in source_articles() if a.standoff][: 6 + add], corpus)
        if edit:
            [story] = corpus.rglob(f"{edit}.story")
            story.write_text(story.read_text() + "\n\n@highlight\n\nOne more bullet")
        settings = of_line(tmp_path, corpus, *overrides)
        counts = [job.run(spark, settings) for job in jobs]
        return counts, Store(spark, str(line.out / "tables")), Store(spark, settings.paths.tables)

    return run


def work_of(counts: list[StageCounts]) -> dict[str, int]:
    return {c.stage: c.rows_in for c in counts if c.did_work}


def test_each_triple_is_answered_by_a_reader_that_never_saw_its_article(line: Line, spark: SparkSession) -> None:
    store = Store(spark, str(line.out / "tables"))
    triples = {r.query_id: r for r in store.read("triples").where("keep").collect()}
    predictions = {r.query_id: r for r in store.read("predictions").collect()}
    passages = {r.article_id: r for r in store.read("passages").collect()}
    assert predictions.keys() == triples.keys()
    assert {p.error for p in predictions.values()} == {None}
    for query_id, p in predictions.items():
        text, answers = passages[p.article_id].text, [a.text for a in triples[query_id].answers]
        assert text[p.start : p.end] == p.text
        assert p.fold == triples[query_id].fold
        assert p.exact_match == (best_over_answers(exact_match, p.text, answers) == 1)
        assert p.f1 == best_over_answers(f1, p.text, answers)
        entities = {(e.start, e.end) for e in passages[p.article_id].entities}
        assert (p.candidate_start, p.candidate_end) in entities
        assert text[p.candidate_start : p.candidate_end] == p.candidate_text
        assert p.candidate_exact_match == (best_over_answers(exact_match, p.candidate_text, answers) == 1)
        assert 0 < p.candidate_score <= p.score * (1 + 1e-9)
    runs = {r.fold: r for r in store.read("reader_runs").collect()}
    sizes = {f: sum(t.fold != f for t in triples.values()) for f in runs}
    assert runs.keys() == {t.fold for t in triples.values()}
    assert {f: r.trained_on + sum(x.triples for x in r.left_out) for f, r in runs.items()} == sizes
    curves = store.read("learning_curves").collect()
    assert sorted((c.fold, c.epoch) for c in curves) == [(f, e) for f in sorted(runs) for e in (1, 2)]
    held_out = {(c.fold, c.epoch): c.exact_match for c in curves}
    for fold in runs:
        of_fold = [p.exact_match for p in predictions.values() if p.fold == fold]
        assert held_out[fold, 2] == pytest.approx(sum(of_fold) / len(of_fold)), "training and scoring disagree"


def test_what_the_reader_answers_is_dropped(line: Line, spark: SparkSession) -> None:
    store = Store(spark, str(line.out / "tables"))
    right = {r.query_id: r.exact_match for r in store.read("predictions").collect()}
    verdicts = {r.query_id: r for r in store.read("machine_filter").collect()}
    assert {q: v.keep for q, v in verdicts.items()} == {q: not r for q, r in right.items()}
    assert {v.reason for v in verdicts.values() if not v.keep} <= {ANSWERED}
    released = {}
    for split in SPLITS:
        path = line.out / "release" / f"{split}.json"
        if path.exists():
            assert validate_record_json(path).valid
            data = json.loads(path.read_text())["data"]
            released |= {qa["id"]: split for record in data for qa in record["qas"]}
    assert released == {q: v.split for q, v in verdicts.items() if v.keep}
    assert len(set(released.values())) > 1
    by_article = {(v.article_id, v.split) for v in verdicts.values()}
    assert len(by_article) == len({a for a, _ in by_article}), "an article in two splits"


def test_answers_may_be_entities_alone_without_asking_again(go_on: GoOn) -> None:
    counts, before, after = go_on('filter.answers="candidates"')
    assert work_of(counts).keys() == {"filter", "export"}
    right = {r.query_id: r.candidate_exact_match for r in after.read("predictions").collect()}
    assert {r.query_id: r.keep for r in after.read("machine_filter").collect()} == {q: not r for q, r in right.items()}
    of_all = after.read("evaluations").where("slice = 'all'").collect()[0]
    assert of_all.candidate_exact_match == pytest.approx(sum(right.values()) / len(right))
    assert table_hash(after.read("evaluations")) == table_hash(before.read("evaluations"))


def test_a_rerun_does_nothing(line: Line, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(spark, str(line.out / "tables"))
    versions = {t: store.version(t) for t in TABLES}
    assert work_of(run_pipeline.run(spark, of_line(line.out, line.corpus))) == {}
    assert {t: store.version(t) for t in TABLES} == versions
    shown = capsys.readouterr().out
    assert "Nothing to do" in shown
    assert "hard triples" in shown


def test_new_articles_are_scored_by_the_readers_that_are_there(go_on: GoOn) -> None:
    counts, before, after = go_on(jobs=(*run_pipeline.TO_TRIPLES, *OF_FILTER), add=1)
    [added] = {r.article_id for r in after.read("articles").collect()} - {
        r.article_id for r in before.read("articles").collect()
    }
    folds = {r.fold for r in before.read("reader_runs").collect()}
    [fold] = {r.fold for r in after.read("articles").where(F.col("article_id") == added).collect()}
    work = work_of(counts)
    assert work["score"] == work["filter"] == 1
    assert work.get("train", 0) == (fold not in folds)  # a fold that had no triples has no reader yet
    for name in ("predictions", "machine_filter"):
        rows = after.read(name)
        assert rows.where(F.col("article_id") == added).count() > 0
        assert table_hash(rows.where(F.col("article_id") != added)) == table_hash(before.read(name))
    old = after.read("reader_runs").where(F.col("fold").isin(*folds))
    assert table_hash(old) == table_hash(before.read("reader_runs"))


def test_an_edited_article_is_asked_anew_by_the_same_reader(go_on: GoOn) -> None:
    edited = [a.article_id for a in source_articles() if a.standoff][2]
    counts, before, after = go_on(jobs=(*run_pipeline.TO_TRIPLES, *OF_FILTER), edit=edited)
    work = work_of(counts)
    assert "train" not in work
    assert work["score"] == work["filter"] == 1
    of_article = F.col("article_id") == edited
    for name in ("predictions", "machine_filter"):
        old, new = before.read(name), after.read(name)
        assert table_hash(new.where(~of_article)) == table_hash(old.where(~of_article))
        assert new.where(of_article).count() > 0
        assert new.where(of_article).join(old, on="fingerprint", how="left_semi").isEmpty()


def test_other_splits_train_and_score_nothing(go_on: GoOn) -> None:
    counts, before, after = go_on("splits.hermann_held_out=0.0")
    assert work_of(counts).keys() == {"filter", "export", "evaluate"}
    assert {r.split for r in after.read("machine_filter").collect()} == {"train"}
    released = {p.name for p in Path(after.root).parent.joinpath("release").iterdir()}
    assert released == {"record.json", "train.json", "manifest.json"}, "files of splits that are empty now"
    assert table_hash(after.read("predictions")) == table_hash(before.read("predictions"))


@pytest.fixture
def copied(line: Line, tmp_path: Path) -> Settings:
    """The settings of a copy of the line, to go on with or to damage."""
    for name in Paths.model_fields:
        shutil.copytree(line.out / name, tmp_path / name)
    return of_line(tmp_path, line.corpus)


def readers_of(store: Store) -> dict[int, Row]:
    return {r.fold: r for r in store.read("reader_runs").collect()}


def forget_predictions(store: Store) -> None:
    for name in ("predictions", "machine_filter"):
        store.replace_slices(name, store.read(name).limit(0), store.read(name).select("article_id").distinct())


def test_a_reader_whose_folder_is_gone_is_trained_again_and_is_the_same(copied: Settings, spark: SparkSession) -> None:
    store = Store(spark, copied.paths.tables)
    before = readers_of(store)
    fold = min(before)
    predictions = table_hash(store.read("predictions"))
    forget_predictions(store)
    shutil.rmtree(Path(copied.paths.models) / before[fold].path)
    with pytest.raises(JobError, match=rf"reader of fold {fold} is not in .*run train_readers"):
        score_queries.run(spark, copied)
    assert train_readers.run(spark, copied).rows_in == 1
    assert readers_of(store) == before
    score_queries.run(spark, copied)
    assert table_hash(store.read("predictions")) == predictions


def test_a_fold_that_fails_takes_no_other_along(copied: Settings, spark: SparkSession) -> None:
    store = Store(spark, copied.paths.tables)
    before = readers_of(store)
    store.replace_slices("reader_runs", store.read("reader_runs").limit(0), store.read("reader_runs").select("fold"))
    shutil.rmtree(copied.paths.models)
    failing = Path(copied.paths.models) / before[max(before)].path
    failing.parent.mkdir(parents=True)
    failing.write_text("a file where the reader's folder should be")
    with pytest.raises(JobError, match=rf"the reader of fold {max(before)} was not trained: .*{failing.name}"):
        train_readers.run(spark, copied)
    assert readers_of(store) == {f: r for f, r in before.items() if f != max(before)}
    failing.unlink()
    assert train_readers.run(spark, copied).rows_in == 1
    assert readers_of(store) == before


def test_readers_that_cannot_be_looked_at_are_not_trained_again(copied: Settings, spark: SparkSession) -> None:
    shutil.rmtree(copied.paths.models)
    Path(copied.paths.models).write_text("a file: as unreadable as a file system that is down")
    with pytest.raises(JobError, match=r"paths\.models .* can't be read"):
        train_readers.run(spark, copied)


def test_a_damaged_reader_is_named_in_words(copied: Settings, spark: SparkSession) -> None:
    store = Store(spark, copied.paths.tables)
    forget_predictions(store)
    [*_, weights] = Path(copied.paths.models).rglob("weights-*")
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(JobError, match=rf"nothing was scored: .*{weights.name} is damaged"):
        score_queries.run(spark, copied)
    with pytest.raises(JobError, match=r"kept triples have no verdict in machine_filter: run train_readers"):
        export_dataset.run(spark, copied)


def test_readers_are_trained_on_all_triples_or_say_on_which_not(copied: Settings, spark: SparkSession) -> None:
    store = Store(spark, copied.paths.tables)
    tags, triples = store.read("token_tags"), store.read("triples").where("keep")
    sizes = {(r.article_id, r.fold): r["count"] for r in triples.groupBy("article_id", "fold").count().collect()}
    (untagged, _), (unusable, _) = sorted(sizes)[:2]
    articles = tags.where(F.col("article_id") == untagged).select("article_id").distinct()
    store.replace_slices("token_tags", tags.limit(0), articles)
    beyond = F.expr(
        "transform(tokens, t -> struct(t.start + 99999 as start, t.end + 99999 as end, t.pos, t.tag, t.lemma))"
    )
    damaged = tags.where((F.col("article_id") == unusable) & (F.col("unit") == "passage")).withColumn("tokens", beyond)
    store.merge("token_tags", damaged)
    other_seed = of_line(Path(copied.paths.tables).parent, Path(), "reader.training.seed=7")

    n = sum(n for (article, _), n in sizes.items() if article == untagged)
    with pytest.raises(JobError, match=rf"^{n} kept triples are not tagged yet: run tag_tokens"):
        train_readers.run(spark, other_seed)
    row = ("tag", untagged, "", "tagger_failed", "it failed", untagged, "f")
    store.merge("rejects", spark.createDataFrame([row], CONTRACTS["rejects"].schema))
    train_readers.run(spark, other_seed)

    for fold, run in readers_of(store).items():
        others = {article: n for (article, f), n in sizes.items() if f != fold}
        left_out = {x.reason: x.triples for x in run.left_out}
        assert left_out.get("not_tagged", 0) == others.get(untagged, 0)
        assert left_out.get("unusable", 0) == others.get(unusable, 0)
        assert run.trained_on + sum(left_out.values()) == sum(others.values())


def test_when_all_triples_go_their_verdicts_go_too(copied: Settings, spark: SparkSession) -> None:
    out = Path(copied.paths.tables).parent
    corpus = next(Path(s.path) for s in copied.ingest.sources)
    strict = of_line(out, corpus, "generate.min_sentence_tokens=500")
    with pytest.raises(JobError, match="no kept triples, so there is nothing to export"):
        run_pipeline.run(spark, strict)
    store = Store(spark, copied.paths.tables)
    assert store.is_empty("machine_filter")
    assert store.is_empty("predictions")
    assert "passage-query-answers triples" in (out / "report" / "funnel.txt").read_text()


def test_figures_follow_the_tables_whoever_wrote_them_last(copied: Settings, spark: SparkSession) -> None:
    report = Path(copied.paths.report)
    before = {p.name: p.read_text() for p in report.iterdir()}
    (report / "funnel.txt").unlink()
    (report / "evaluation.md").write_text("of another run")
    store = Store(spark, copied.paths.tables)
    rows = table_hash(store.read("funnel"))
    stale = store.read("funnel").where("stage = 'filter'").withColumn("rows", F.lit(1).cast("bigint"))
    store.merge("funnel", stale)
    run_pipeline.run(spark, copied)
    assert {p.name: p.read_text() for p in report.iterdir()} == before
    assert table_hash(store.read("funnel")) == rows


def test_imported_data_are_not_split_anew(spark: SparkSession, settings: Settings, store: Store, line: Line) -> None:
    passages = Store(spark, str(line.out / "tables")).read("passages").where("keep").limit(1)
    store.merge("passages", passages.withColumns({"origin": F.lit("imported"), "split": F.lit("dev")}))
    with pytest.raises(JobError, match="1 imported passages, which have been filtered and split"):
        filter_triples.run(spark, settings)


def test_other_settings_of_the_reader_train_and_score_anew(go_on: GoOn) -> None:
    counts, before, after = go_on("reader.training.seed=7", jobs=(train_readers, score_queries))
    assert work_of(counts)["train"] == before.read("reader_runs").count()
    digests = {r.fold: r.digest for r in before.read("reader_runs").collect()}
    assert all(digests[r.fold] != r.digest for r in after.read("reader_runs").collect())
    assert after.read("predictions").join(before.read("predictions"), on="fingerprint", how="left_semi").isEmpty()


def test_the_same_seed_gives_the_same_readers(
    line: Line, copied: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    settings = copied
    shutil.rmtree(tmp_path / "models")
    for name in ("reader_runs", "predictions"):
        shutil.rmtree(tmp_path / "tables" / name)
    assert train_readers.run(spark, settings).did_work
    score_queries.run(spark, settings)
    before, after = (Store(spark, str(out / "tables")) for out in (line.out, tmp_path))
    assert table_hash(after.read("reader_runs")) == table_hash(before.read("reader_runs"))
    assert table_hash(after.read("predictions")) == table_hash(before.read("predictions"))


def test_a_query_that_cannot_be_read_is_not_hard_but_not_scored(copied: Settings, spark: SparkSession) -> None:
    settings = copied
    store = Store(spark, settings.paths.tables)
    tags = store.read("token_tags").where("unit = 'passage'").limit(1)
    [broken] = tags.collect()
    beyond = F.expr(
        "transform(tokens, t -> struct(t.start + 100000 as start, t.end + 100000 as end, t.pos, t.tag, t.lemma))"
    )
    damaged = tags.withColumns({"tokens": beyond, "fingerprint": F.lit("damaged")})
    store.merge("token_tags", damaged)

    score_queries.run(spark, settings)
    filter_triples.run(spark, settings)

    of_article = F.col("article_id") == broken.article_id
    errors = {r.error for r in store.read("predictions").where(of_article).collect()}
    assert len(errors) == 1
    assert "lies outside the passage" in errors.pop()
    verdicts = store.read("machine_filter").where(of_article).collect()
    assert {(v.keep, v.reason) for v in verdicts} == {(False, NOT_SCORED)}
    assert store.read("predictions").where(~of_article & F.isnotnull("error")).isEmpty()


def test_triples_of_one_fold_are_refused_with_a_remedy(line: Line, spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(line.out / "tables", tmp_path / "tables")
    settings = of_line(tmp_path, line.corpus, "reader.training.seed=8")
    store = Store(spark, settings.paths.tables)
    others = store.read("triples").where("fold != 0").select("article_id").distinct()
    store.replace_slices("triples", store.read("triples").limit(0), others)
    with pytest.raises(JobError, match=r"all triples are in fold 0.*filter\.enabled=false"):
        train_readers.run(spark, settings)


def test_without_torch_the_message_says_what_to_type(
    line: Line, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(line.out / "tables", tmp_path / "tables")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(JobError, match=r"record-spark\[train\]"):
        train_readers.run(spark, of_line(tmp_path, line.corpus, "reader.training.seed=9"))


def test_splits_are_stable_and_follow_the_shares(spark: SparkSession) -> None:
    ids = spark.createDataFrame(
        [(article_id(n), o) for n in range(4000) for o in ("hermann", "crawled")], "id string, o string"
    )
    split = split_of(F.col("id"), F.col("o"), hermann_held_out=0.1, dev_share=0.25)
    found = {(r.o, r.s): r["count"] for r in ids.groupBy("o", split.alias("s")).count().collect()}
    assert ("crawled", "train") not in found
    assert found["hermann", "train"] == pytest.approx(3600, abs=80)
    assert found["crawled", "dev"] == pytest.approx(1000, abs=120)
    assert found["hermann", "dev"] / (4000 - found["hermann", "train"]) == pytest.approx(0.25, abs=0.08)
    [one] = ids.limit(1).select(split.alias("s")).collect()
    assert one.s == "train"  # by the id alone: this value stays
