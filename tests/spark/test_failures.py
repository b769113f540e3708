"""Articles on which a stage fails: rejects until their fingerprint changes; too many of them stop the stage."""

from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs import annotate_articles, generate_triples, tag_tokens
from jobs.job_support import failures
from jobs.job_support.annotator import digest_of_annotator
from jobs.job_support.command_line import JobError
from jobs.job_support.contracts import ARTICLES
from jobs.job_support.settings import Settings
from jobs.job_support.store import Store, Written
from jobs.transforms.funnel import funnel_rows, unaccounted
from tests.builders import article_id, make_article
from tests.spark.conftest import settings_for

BODY = (
    "[Ann Ray|ann] of [Oslo|oslo] met [Bo Lin|bo] for [Fox Film|fox] today.\n\n"
    "Later that week [Ray|ann] called for help.\n\n@highlight\n\n[Ray|ann] meets [Lin|bo]"
)
TOO_LONG = "word " * 250_000  # spaCy takes a million characters
RULES = ("generate.min_first_part_tokens=5", "generate.min_sentence_tokens=4")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_for(tmp_path, *RULES)


def write_articles(store: Store, texts: dict[int, str], *, stand_off: bool = True) -> None:
    rows = [make_article(text, n, stand_off=stand_off) for n, text in texts.items()]
    store.merge("articles", store.spark.createDataFrame(rows, ARTICLES.schema))


def break_annotations(store: Store, which: Column) -> None:
    """Gives articles a mention that lies outside their text, as the annotation of another text has."""
    outside = "array(named_struct('start', 9000, 'end', 9010, 'cluster', 0, 'type', cast(null as string)))"
    broken = store.read("annotations").where(which)
    store.merge("annotations", broken.withColumns({"mentions": F.expr(outside), "fingerprint": F.lit("by hand")}))


def ids_in(store: Store, *tables: str) -> list[set[int]]:
    return [{int(r.article_id, 16) for r in store.read(t).collect()} for t in tables]


def test_article_on_which_the_annotator_fails_is_a_reject_and_many_stop_the_stage(
    spark: SparkSession, settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_articles(store, {1: "Ann Ray left Oslo.", 2: TOO_LONG}, stand_off=False)
    counts = annotate_articles.run(spark, settings)
    assert (counts.rows_out, counts.rejects) == (1, 1)
    (reject,) = store.read("rejects").collect()
    assert (reject.stage, reject.input, reject.reason) == ("annotate", article_id(2), "annotator_failed")
    assert annotate_articles.run(spark, settings).rows_in == 0

    monkeypatch.setattr(failures, "FEW_FAILURES", 0)
    write_articles(store, {3: "Bo Lin left Rome.", 4: "so " * 400_000}, stand_off=False)
    with pytest.raises(JobError, match=r"annotate: 1 of 2 articles failed, more than limits\.max_failed_share = 0\.01"):
        annotate_articles.run(spark, settings)
    # What was annotated is kept; the one that failed is tried again.
    assert ids_in(store, "annotations", "rejects") == [{1, 3}, {2}]
    monkeypatch.undo()
    counts = annotate_articles.run(spark, settings)
    assert (counts.rows_in, counts.rejects) == (1, 1)


def test_article_on_which_the_rules_fail_is_a_reject_until_its_annotation_changes(
    spark: SparkSession, settings: Settings, store: Store
) -> None:
    write_articles(store, {1: BODY, 2: BODY})
    annotate_articles.run(spark, settings)
    generate_triples.run(spark, settings)
    break_annotations(store, F.col("article_id") == article_id(1))
    counts = generate_triples.run(spark, settings)
    assert (counts.rows_in, counts.rows_out, counts.rejects) == (1, 0, 1)
    (reject,) = store.read("rejects").collect()
    length = len(make_article(BODY)["text"])
    assert reject.asDict() | {"fingerprint": ""} == {
        "stage": "generate",
        "input": article_id(1),
        "item": "",
        "reason": "rules_failed",
        "detail": f"ValueError: mention [9000, 9010) is not inside the article's {length} characters",
        "article_id": article_id(1),
        "fingerprint": "",
    }
    assert ids_in(store, "passages", "sentences", "triples") == [{2}] * 3
    assert generate_triples.run(spark, settings).rows_in == 0

    names = ("articles", "rejects", "annotations", "passages", "sentences", "triples")
    funnel = funnel_rows(*(store.read(name) for name in names)).collect()
    found = {(r["stage"], r["unit"], r["outcome"]): r["rows"] for r in funnel}
    assert found["generate", "passage", "rules_failed"] == found["generate", "passage", "kept"] == 1
    assert unaccounted(found) == []

    # The annotation is made good: the article has its rows again, and no reject.
    assert annotate_articles.run(spark, settings).rows_in == 1
    counts = generate_triples.run(spark, settings)
    assert (counts.rows_in, counts.rejects) == (1, 0)
    assert ids_in(store, "passages", "sentences", "triples", "rejects") == [{1, 2}, {1, 2}, {1, 2}, set()]


def test_generate_stops_where_the_rules_fail_on_many(
    spark: SparkSession, settings: Settings, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "FEW_FAILURES", 0)
    write_articles(store, {1: BODY, 2: BODY})
    annotate_articles.run(spark, settings)
    break_annotations(store, F.col("article_id") == article_id(1))
    message = rf"generate: 1 of 2 articles failed.* limits\.max_failed_share = 0\.01; .*article {article_id(1)}: Value"
    with pytest.raises(JobError, match=message):
        generate_triples.run(spark, settings)
    assert ids_in(store, "passages", "rejects") == [{2}, set()]
    # It is no reject, so it is tried again.
    counts = generate_triples.run(spark, settings_for(tmp_path, *RULES, "limits.max_failed_share=1"))
    assert (counts.rows_in, counts.rejects) == (1, 1)
    assert ids_in(store, "passages", "rejects") == [{2}, {1}]


def test_mark_of_a_failed_article_is_withdrawn_before_its_rows_are_made(
    spark: SparkSession, settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_articles(store, {1: BODY})
    annotate_articles.run(spark, settings)
    break_annotations(store, F.lit(True))
    assert generate_triples.run(spark, settings).rejects == 1
    annotate_articles.run(spark, settings)
    replace = Store.replace_slices

    def fail_at_passages(self: Store, name: str, rows: DataFrame, slices: DataFrame) -> Written:
        if name == "passages" and not rows.isEmpty():
            raise OSError("the machine died")
        return replace(self, name, rows, slices)

    monkeypatch.setattr(Store, "replace_slices", fail_at_passages)
    with pytest.raises(OSError, match="the machine died"):
        generate_triples.run(spark, settings)
    monkeypatch.undo()
    assert ids_in(store, "triples") == [{1}]
    # The annotation is again as when the rules failed on it: that mark must not call the triples done.
    break_annotations(store, F.lit(True))
    assert generate_triples.run(spark, settings).rejects == 1
    assert ids_in(store, "triples", "sentences", "rejects") == [set(), set(), {1}]


def test_article_on_which_the_tagger_fails_is_a_reject_and_has_no_tags(
    spark: SparkSession, settings: Settings, store: Store
) -> None:
    def run_all() -> tuple[int, int, int]:
        annotate_articles.run(spark, settings)
        generate_triples.run(spark, settings)
        counts = tag_tokens.run(spark, settings)
        return counts.rows_in, counts.rows_out, counts.rejects

    write_articles(store, {1: f"{BODY}\n\n@highlight\n\n{TOO_LONG}", 2: BODY})
    assert run_all() == (2, 2, 1)
    (reject,) = store.read("rejects").collect()
    assert (reject.stage, reject.input, reject.reason) == ("tag", article_id(1), "tagger_failed")
    assert reject.detail.startswith("passage at 0: ValueError: a text of 1249999 characters")
    # Its sentence was tagged, and is not kept: an article has all of its tags or none.
    assert ids_in(store, "triples", "token_tags") == [{1, 2}, {2}]
    assert run_all() == (0, 0, 0)
    write_articles(store, {1: f"{BODY}\n\n@highlight\n\nAnn won"})
    assert run_all() == (1, 2, 0)
    assert ids_in(store, "token_tags", "rejects") == [{1, 2}, set()]


def test_missing_model_is_said_in_words_by_annotate_and_tag(tmp_path: Path) -> None:
    absent = settings_for(tmp_path, "annotate.model=en_absent_sm")
    with pytest.raises(JobError, match=r"annotate\.annotator, annotate\.model: no spaCy pipeline 'en_absent_sm'"):
        digest_of_annotator(absent.annotate)
