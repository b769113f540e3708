"""Generate: passages, sentences and triples in Delta, and reruns that do only the missing work."""

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs import annotate_articles, generate_triples
from jobs.job_support.command_line import JobError
from jobs.job_support.contracts import ARTICLES
from jobs.job_support.settings import Settings
from jobs.job_support.store import ContractError, Store, Written, table_hash
from tests.builders import article_id, make_article
from tests.spark.conftest import settings_for

TABLES = ("annotations", "passages", "sentences", "triples")
BODY = (
    "[Ann Ray|ann] of [Oslo|oslo] met [Bo Lin|bo] for [Fox Film|fox] today.\n\n"
    "Later that week {who} called for help.\n\nNobody knew why.\n\n@highlight\n\n[Ray|ann] meets [Lin|bo]"
)
RULES = ("generate.min_first_part_tokens=5", "generate.min_sentence_tokens=4")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, *RULES)


def write_articles(store: Store, *texts: str, start: int = 1) -> None:
    rows = [make_article(text, n) for n, text in enumerate(texts, start=start)]
    store.merge("articles", store.spark.createDataFrame(rows, ARTICLES.schema))


def test_merge_of_equal_rows_makes_no_version(store: Store) -> None:
    write_articles(store, BODY.format(who="[Ray|ann]"))
    version = store.version("articles")
    write_articles(store, BODY.format(who="[Ray|ann]"))
    one = store.read("articles").select("article_id")
    store.replace_slices("articles", store.read("articles"), one)
    assert store.version("articles") == version


def run(spark: SparkSession, settings: Settings) -> tuple[int, int]:
    return annotate_articles.run(spark, settings).rows_in, generate_triples.run(spark, settings).rows_in


def test_generate_writes_passage_sentences_and_triples(spark: SparkSession, settings: Settings, store: Store) -> None:
    write_articles(store, BODY.format(who="[Ray|ann]"))
    assert run(spark, settings) == (1, 1)
    passage = store.read("passages").collect()[0]
    assert passage.text.endswith("today.\n@highlight\nRay meets Lin")
    assert (passage.keep, passage.origin, passage.first_part_entities) == (True, "hermann", 4)
    sentences = {s.text: s.reason for s in store.read("sentences").collect()}
    assert sentences == {"Later that week Ray called for help.": None, "Nobody knew why.": "short"}
    triple = store.read("triples").collect()[0]
    assert triple.query == "Later that week @placeholder called for help."
    assert triple.query_id == f"{article_id(1)}-{triple.sentence_sha1}-16"
    assert [(a.start, a.end, a.text) for a in triple.answers] == [(0, 7, "Ann Ray"), (58, 61, "Ray")]
    assert all(passage.text[a.start : a.end] == a.text for a in triple.answers)


def test_reruns_do_only_the_missing_work(spark: SparkSession, settings: Settings, store: Store, tmp_path: Path) -> None:
    write_articles(store, BODY.format(who="[Ray|ann]"), BODY.format(who="[Lin|bo] and [Ray|ann]"))
    assert run(spark, settings) == (2, 2)
    assert store.read("triples").count() == 3

    # Nothing changed: no new version of any table.
    versions = {t: store.version(t) for t in (*TABLES, "rejects", "run_metrics")}
    assert run(spark, settings) == (0, 0)
    assert {t: store.version(t) for t in versions} == versions

    # An article more: the rows of the others stay as they are.
    before = {t: table_hash(store.read(t)) for t in TABLES}
    write_articles(store, BODY.format(who="[Fox Film|fox]"), start=3)
    assert run(spark, settings) == (1, 1)
    assert {t: table_hash(store.read(t).where(f"article_id != '{article_id(3)}'")) for t in TABLES} == before
    assert store.read("triples").where(f"article_id = '{article_id(3)}'").count() == 1

    # An edited article: its own rows are replaced, the triples that it no longer gives are gone.
    write_articles(store, BODY.format(who="the film star"), start=2)
    assert run(spark, settings) == (1, 1)
    assert {t.article_id for t in store.read("triples").collect()} == {article_id(1), article_id(3)}
    assert {s.text for s in store.read("sentences").where(f"article_id = '{article_id(2)}'").collect()} == {
        "Later that week the film star called for help.",
        "Nobody knew why.",
    }

    # A removed article takes its rows along.
    gone = spark.createDataFrame([(article_id(3),)], "article_id string")
    store.replace_slices("articles", store.read("articles").limit(0), gone)
    assert run(spark, settings) == (1, 1)
    for table in TABLES:
        assert article_id(3) not in {r.article_id for r in store.read(table).collect()}

    # A changed rule redoes generate and nothing before it.
    assert run(spark, settings_for(tmp_path, *RULES, "generate.min_sentence_tokens=9")) == (0, 2)
    assert store.read("triples").count() == 0
    assert {s.reason for s in store.read("sentences").collect()} == {"short", "no_entity"}


def test_store_refuses_what_breaks_a_contract(spark: SparkSession, store: Store) -> None:
    row = make_article(BODY.format(who="[Ray|ann]"))
    frame = spark.createDataFrame([row, row], ARTICLES.schema)
    with pytest.raises(ContractError, match=r"articles: key .* occurs 2 times"):
        store.merge("articles", frame)
    with pytest.raises(ContractError, match="articles: column 'url' is missing"):
        store.merge("articles", frame.drop("url"))
    with pytest.raises(ContractError, match="articles: the contract has no column 'colour'"):
        store.merge("articles", frame.selectExpr("*", "1 AS colour"))
    with pytest.raises(ContractError, match="articles: column 'fold' is string, not int"):
        store.merge("articles", frame.limit(1).withColumn("fold", frame.fold.cast("string")))
    with pytest.raises(ContractError, match="articles: CHECK constraint origin"):
        store.merge("articles", spark.createDataFrame([row | {"origin": "elsewhere"}], ARTICLES.schema))
    nullable = T.StructType([T.StructField(f.name, f.dataType) for f in ARTICLES.schema])
    without_text = spark.createDataFrame([row | {"text": None}], nullable)
    with pytest.raises(ContractError, match=r"articles: NOT NULL constraint violated for column: text"):
        store.merge("articles", without_text)
    assert store.is_empty("articles")


def test_generate_leaves_imported_passages_alone(spark: SparkSession, settings: Settings, store: Store) -> None:
    write_articles(store, BODY.format(who="[Ray|ann]"))
    run(spark, settings)
    imported = store.read("passages").withColumns(
        {"article_id": F.lit(article_id(9)), "origin": F.lit("imported"), "split": F.lit("dev")}
    )
    store.merge("passages", imported)
    with pytest.raises(JobError, match="holds 1 imported passages: keep imported and generated data sets apart"):
        generate_triples.run(spark, settings)
    assert store.read("passages").count() == 2


def test_run_that_breaks_off_between_tables_is_made_good(
    spark: SparkSession, settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_articles(store, BODY.format(who="[Ray|ann]"), BODY.format(who="[Lin|bo] and [Ray|ann]"))
    run(spark, settings)
    before = {t: table_hash(store.read(t)) for t in TABLES}
    replace = Store.replace_slices

    def fail_at_passages(self: Store, name: str, rows: DataFrame, slices: DataFrame) -> Written:
        if name == "passages" and not rows.isEmpty():
            raise OSError("the machine died")
        return replace(self, name, rows, slices)

    monkeypatch.setattr(Store, "replace_slices", fail_at_passages)
    with pytest.raises(OSError, match="the machine died"):
        run(spark, settings_for(tmp_path, *RULES, "generate.min_sentence_tokens=12"))
    assert store.read("triples").count() == 0
    monkeypatch.undo()
    # The setting goes back: the rows of the broken run are not taken for done.
    assert run(spark, settings) == (0, 2)
    assert {t: table_hash(store.read(t)) for t in TABLES} == before
    assert not list((Path(settings.paths.tables) / "_staging").iterdir())


def test_staging_of_killed_runs_is_deleted_when_its_time_is_over(store: Store) -> None:
    with store.staging_folder(keep=timedelta(minutes=-2)) as over, store.staging_folder() as running:
        for folder in (over, running):
            Path(folder).mkdir(parents=True)
        store.clean_staging()
        assert not Path(over).exists()
        assert Path(running).exists()
    assert not Path(running).exists()
