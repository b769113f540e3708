"""Exact match and F1: equal to the official script's on its vectors; what it crashes on is said in words."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.answer_match import (
    UnscorableError,
    best_over_answers,
    choose_candidate,
    exact_match,
    f1,
    normalise_answer,
    score_predictions,
)


def dataset(**answers_of: list[str]) -> dict[str, Any]:
    """One passage; its queries by id with their right answers."""
    qas = [
        {"id": i, "query": "@placeholder x.", "answers": [{"start": 0, "end": 0, "text": t} for t in answers]}
        for i, answers in answers_of.items()
    ]
    passage = {"text": "", "entities": []}
    return {"version": "1.0", "data": [{"id": "0", "source": "CNN", "passage": passage, "qas": qas}]}


@pytest.mark.parametrize(
    ("prediction", "answer", "normalised", "em", "f"),
    [
        ("the Ann Lee", "Ann Lee", "ann lee", 1, 1),
        ("A-Rod", "Rod", "arod", 0, 0),
        ("A. Lee", "Lee", "lee", 1, 1),
        ("Jean-Luc Roy", "Jean Luc Roy", "jeanluc roy", 0, 0.4),
        ("Lee\u2019s", "Lee's", "lee\u2019s", 0, 0),
        ("Ann\u00a0Lee", "Ann Lee", "ann lee", 1, 1),
        ("New New York", "New York", "new new york", 0, 0.8),
        ("Lee Ann", "Ann Lee", "lee ann", 0, 1),
        ("The The", "the the", "", 1, 0),
    ],
)
def test_metrics_equal_the_official_values(prediction: str, answer: str, normalised: str, em: int, f: float) -> None:
    assert normalise_answer(prediction) == normalised
    assert exact_match(prediction, answer) == em
    assert f1(prediction, answer) == pytest.approx(f, abs=1e-12)


def test_metrics_equal_all_official_pairs(shared: Path) -> None:
    cases = json.loads((shared / "vectors" / "em_f1_pairs.json").read_text(encoding="utf-8"))
    for case in cases:
        prediction, answers = case["prediction"], case["golds"]
        if "raises" in case:
            for metric in (exact_match, f1):
                with pytest.raises(UnscorableError):
                    best_over_answers(metric, prediction, answers)
            continue
        assert normalise_answer(prediction) == case["norm_prediction"], case["name"]
        assert [normalise_answer(a) for a in answers] == case["norm_golds"], case["name"]
        assert best_over_answers(exact_match, prediction, answers) == case["em"], case["name"]
        assert best_over_answers(f1, prediction, answers) == pytest.approx(case["f1"], abs=1e-12), case["name"]
    assert len(cases) >= 52


def test_scores_equal_all_official_files(shared: Path) -> None:
    cases = json.loads((shared / "vectors" / "em_f1_files.json").read_text(encoding="utf-8"))
    for case in cases:
        expected = case["expected"]
        if "raises" in expected:
            with pytest.raises(UnscorableError):
                score_predictions(case["dataset"], case["predictions"])
            continue
        scores = score_predictions(case["dataset"], case["predictions"])
        assert scores.exact_match == pytest.approx(expected["metrics"]["exact_match"], abs=1e-12), case["name"]
        assert scores.f1 == pytest.approx(expected["metrics"]["f1"], abs=1e-12), case["name"]
        assert list(scores.correct_ids) == expected["correct_ids"], case["name"]
        assert len(scores.missing) == expected["stderr_lines"], case["name"]
    assert len(cases) >= 12


def test_exact_match_is_averaged_over_queries_not_answers() -> None:
    scores = score_predictions(dataset(**{"0_0": ["Ann", "Ann Ray"], "0_1": ["new_york"]}), {"0_0": "Ann", "0_1": "Bo"})
    assert scores.exact_match == 1 / 2
    assert scores.correct_ids == ("0_0",)


def test_any_right_answer_counts_and_equal_strings_are_one_candidate() -> None:
    mentions = [("Ann Ray", 0.2), ("Ray", 0.1), ("Bo", 0.5), ("Ray", 0.9)]
    prediction = choose_candidate(mentions)
    assert prediction == "Ray"
    assert score_predictions(dataset(q=["Ann Ray", "Ray"]), {"q": prediction}).exact_match == 1


def test_choose_candidate_takes_the_first_of_equal_scores() -> None:
    assert choose_candidate([("Bo", 0.5), ("Ann", 0.5)]) == "Bo"


def test_choose_candidate_refuses_nan_and_no_mentions() -> None:
    with pytest.raises(ValueError, match="'Bo' is not a number"):
        choose_candidate([("Ann", 0.5), ("Bo", float("nan"))])
    with pytest.raises(ValueError, match="no candidates"):
        choose_candidate([])


def test_missing_unknown_and_repeated_ids_are_reported() -> None:
    data = dataset(a=["Ann"], b=["Bo"])
    data["data"] += dataset(a=["Cy"])["data"]
    scores = score_predictions(data, {"a": "Ann", "z": "Zoe"}, dataset_name="dev.json", predictions_name="p.json")
    assert (scores.exact_match, scores.queries) == (1 / 3, 3)
    assert (scores.missing, scores.unknown, scores.repeated) == (("b",), ("z",), ("a",))
    assert "p.json: no prediction for 1 of 3 queries (scored 0), as 'b'" in scores.notes
    assert any(note.startswith("dev.json: 1 ids stand for several queries") for note in scores.notes)


def test_ids_that_differ_in_type_only_are_pointed_out() -> None:
    data = dataset(a=["Ann"])
    data["data"][0]["qas"][0]["id"] = 5
    scores = score_predictions(data, {"5": "Ann"})
    assert (scores.exact_match, scores.missing, scores.unknown) == (0, (5,), ("5",))
    assert any("differ in type only" in note for note in scores.notes)


def test_another_version_is_noted() -> None:
    data = dataset(a=["Ann"]) | {"version": "0.9"}
    scores = score_predictions(data, {"a": "Ann"}, dataset_name="old.json")
    assert scores.exact_match == 1
    assert scores.notes == ("old.json: version '0.9', expected '1.0'",)


def test_scores_do_not_need_the_file_in_memory() -> None:
    elements = (element for element in dataset(a=["Ann"], b=["Bo"])["data"])
    assert score_predictions(elements, {"a": "Ann", "b": "Bo"}).exact_match == 1


@pytest.mark.parametrize(
    ("data", "predictions", "message"),
    [
        (dataset(), {}, "dev.json: no queries"),
        (dataset(a=[]), {"a": "Ann"}, "dev.json / p.json: query 'a': no right answers"),
        (dataset(a=["Ann"]), {"a": None}, "dev.json / p.json: query 'a': the prediction is null"),
        (dataset(a=["Ann"]), {"a": ["Ann"]}, "dev.json / p.json: query 'a': the prediction is a list"),
        (dataset(a=[None]), {"a": "Ann"}, "query 'a': an answer's text is null"),  # type: ignore[list-item]
        (dataset(a=["Ann"]), ["Ann"], r"p.json: a list \(\['Ann'\]\), not an object"),
        ({"version": "1.0"}, {}, r"dev.json: no 'data' \(keys \['version'\]\)"),
        ([{"id": "0"}], {}, r"dev.json: data\[0\]: no 'qas'"),
        ([{"qas": [{"query": "x"}]}], {}, r"dev.json: data\[0\].qas\[0\]: no 'id'"),
        ([{"qas": [{"id": ["x"]}]}], {}, r"dev.json: data\[0\].qas\[0\]: the id is a list"),
    ],
)  # fmt: skip
def test_what_has_no_score_is_said_with_file_and_query(data: Any, predictions: Any, message: str) -> None:
    with pytest.raises(UnscorableError, match=message):
        score_predictions(data, predictions, dataset_name="dev.json", predictions_name="p.json")


@given(st.text(), st.text())
def test_metrics_are_symmetric_fractions(a: str, b: str) -> None:
    assert 0 <= f1(a, b) <= 1
    assert f1(a, b) == pytest.approx(f1(b, a))
    assert exact_match(a, b) == exact_match(b, a)


@given(st.text())
def test_text_matches_itself(text: str) -> None:
    assert exact_match(text, text) == 1
    assert f1(text, text) == (1 if normalise_answer(text) else 0)
