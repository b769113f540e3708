"""What the notebook's pictures show, on rows whose counts are plain to see."""

from collections.abc import Sequence
from hashlib import sha1
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jobs.transforms.browse import measures
from jobs.transforms.dataset_statistics import dataset_statistics

SPANS = "array<struct<start int, end int, text string>>"
PREDICTIONS = "query_id string, start int, end int, text string, exact_match boolean, f1 double, is_candidate boolean"


def tuples(rows: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in rows.collect()]


def answers(*found: tuple[int, str]) -> list[tuple[int, int, str]]:
    return [(start, start + len(text), text) for start, text in found]


def sentences(spark: SparkSession, rows: Sequence[tuple[str | None, str]]) -> DataFrame:
    """Sentences with their reasons and all conditions that fail, by initial letter."""
    initials = {"s": "is_short", "q": "is_question", "n": "has_no_entity", "l": "lacks_precedent"}
    columns = [*initials.values(), "is_repeated", "holds_placeholder"]
    failed = [(reason is None, reason, *(c in {initials[f] for f in fails} for c in columns)) for reason, fails in rows]
    return spark.createDataFrame(failed, "keep boolean, reason string, " + ", ".join(f"{c} boolean" for c in columns))


def test_sentences_count_by_their_reason_and_by_what_fails_too(spark: SparkSession) -> None:
    rows = sentences(
        spark,
        [(None, ""), ("short", "snq"), ("short", "sn"), ("question", "ql"), ("no_entity", "n"), ("no_entity", "n")],
    )
    assert tuples(measures.fallen_sentences(rows)) == [
        ("no_entity", 2, 2),
        ("short", 2, 0),
        ("question", 1, 1),
        ("entity_without_precedent", 0, 1),
    ]


def test_shares_are_grouped_by_what_may_make_a_query_easy(spark: SparkSession) -> None:
    triples = spark.createDataFrame(
        [
            ("q1", answers((0, "Ann"))),
            ("q2", answers((0, "Ann"), (60, "ann"))),
            ("q3", answers((60, "Ann"), (70, "Ann Ray"))),
            ("q4", answers(*((n, f"Ann {n}") for n in range(5)))),
        ],
        f"query_id string, answers {SPANS}",
    )
    verdicts = spark.createDataFrame(
        [("q1", "a", None), ("q2", "a", "answered_by_reader"), ("q3", "b", "not_scored"), ("q4", "b", None)],
        "query_id string, article_id string, reason string",
    )
    passages = spark.createDataFrame(
        [("a", "hermann", 50), ("b", "crawled", 50)], "article_id string, origin string, first_part_end int"
    )
    assert tuples(measures.answered_shares(verdicts, triples, passages)) == [
        (measures.STRINGS, "1", 2, 1),
        (measures.STRINGS, "2", 1, 0),
        (measures.STRINGS, "4 or more", 1, 0),
        (measures.ORIGIN, "crawled", 2, 0),
        (measures.ORIGIN, "hermann", 2, 1),
        (measures.RECURRENCE, "once", 3, 0),
        (measures.RECURRENCE, "twice or more", 1, 1),
        (measures.PLACE, "bullets alone", 1, 0),
        (measures.PLACE, "first part alone", 2, 0),
        (measures.PLACE, "first part and bullets", 1, 1),
    ]


def test_answers_are_sorted_by_how_near_they_come(spark: SparkSession) -> None:
    predictions = spark.createDataFrame(
        [
            ("q1", 0, 1, "Ann", True, 1.0, True),
            ("q2", 0, 1, "Ann Ray", False, 0.5, True),
            ("q3", 0, 1, "Bo", False, 0.0, True),
            ("q4", 0, 1, "of", False, 0.0, False),
            ("q5", 0, 1, "at", False, 0.0, False),
            ("q6", None, None, None, False, 0.0, False),
        ],
        PREDICTIONS,
    )
    assert tuples(measures.answer_kinds(predictions)) == [
        (kind, 2 if kind == measures.NO_ENTITY else 1) for kind in measures.ANSWER_KINDS
    ]
    assert tuples(measures.answer_kinds(predictions.where("exact_match"))) == [(measures.RIGHT, 1)]


def test_hard_examples_are_of_different_articles_in_the_order_of_a_hash(spark: SparkSession) -> None:
    ids = [(f"q{n}", "abc"[n % 3]) for n in range(9)]
    hard = spark.createDataFrame(
        [(q, a, "dev", "@placeholder left.", 0, None, []) for q, a in ids],
        "query_id string, article_id string, split string, query string, placeholder int, answer_surface string, "
        f"answers {SPANS}",
    )
    passages = spark.createDataFrame(
        [(a, f"text of {a}", []) for a in "abc"],
        "article_id string, text string, entities array<struct<start int, end int, cluster int, type string>>",
    )
    predictions = spark.createDataFrame([(q, 5, 7, "of", False, 0.0, False) for q, _ in ids], PREDICTIONS)
    by_hash = sorted(ids, key=lambda row: sha1(row[0].encode()).hexdigest())
    firsts = [next(row for row in by_hash if row[1] == a) for a in dict.fromkeys(a for _, a in by_hash)]
    found = measures.hard_examples(hard, passages, predictions, number=2).collect()
    assert [(r.query_id, r.article_id) for r in found] == firsts[:2]
    again = measures.hard_examples(hard.repartition(4), passages, predictions, number=5).collect()
    assert [(r.query_id, r.article_id) for r in again][:3] == firsts
    assert len({r.query_id for r in again}) == 5  # more than articles: then others of the same ones
    assert all(r.text == f"text of {r.article_id}" for r in again)
    assert all(r.text[r.predicted.start : r.predicted.end] == r.predicted.answer for r in again)


def test_sizes_of_passages_are_those_of_table_1(spark: SparkSession) -> None:
    passages = spark.createDataFrame(
        [
            ("a", "One two three.\n@highlight\nFour", [(0, 3)], True, None),
            ("b", "One two", [(0, 3), (4, 7)], True, None),
            ("c", "No query", [], True, None),
        ],
        "article_id string, text string, entities array<struct<start int, end int>>, keep boolean, split string",
    )
    triples = spark.createDataFrame(
        [("a", "@placeholder left", True, None), ("b", "x", True, None), ("c", "x", False, None)],
        "article_id string, query string, keep boolean, split string",
    )
    sizes = sorted(tuples(measures.passage_sizes(passages, triples)))
    assert sizes == [("a", 4, 1), ("b", 2, 2)]
    [table_1] = dataset_statistics(passages, triples).collect()
    assert table_1.tokens_per_passage == 3.0
    assert table_1.entities_per_passage == 1.5
