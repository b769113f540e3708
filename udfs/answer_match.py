"""Exact match and F1 by ReCoRD's official evaluation (FORMATS.md, section 3), for answers and whole files.

Scores are fractions, 0 to 1. A query has several right answers: each metric takes its own best over
them, and is averaged over queries, never over answers. Where the official script stops with a bare
Python error, ``UnscorableError`` says which query is at fault and what to do.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ARTICLES = re.compile(r"\b(a|an|the)\b")
# ASCII only: curly quotes and dashes stay, as in the official script.
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
VERSION = "1.0"


class UnscorableError(ValueError):
    """Data or predictions that have no score; the message names file, query and remedy."""


@dataclass(frozen=True)
class Scores:
    """Of a whole file; ``exact_match`` and ``f1`` are means over ``queries``.

    Ids are as the data set gives them, in its order. ``missing`` have no prediction: they score 0
    and count. ``unknown`` are ids of predictions that no query has: they are ignored.
    ``repeated`` ids stand for several queries, all scored with one prediction. ``notes`` say in
    words what the caller should know of these.
    """

    exact_match: float
    f1: float
    queries: int
    correct_ids: tuple[str | int, ...]
    missing: tuple[str | int, ...]
    unknown: tuple[str | int, ...]
    repeated: tuple[str | int, ...]
    notes: tuple[str, ...]


def normalise_answer(text: str) -> str:
    """Lower case, without ASCII punctuation, articles and superfluous white space.

    Punctuation goes first: "A-Rod" becomes "arod", "A. Lee" becomes "lee".
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, answer: str) -> float:
    """1.0 where both normalise to the same string, else 0.0."""
    return float(normalise_answer(prediction) == normalise_answer(answer))


def f1(prediction: str, answer: str) -> float:
    """F1 of the bags of normalised tokens; 0.0 without a common token, so also where both are empty."""
    predicted, right = normalise_answer(prediction).split(), normalise_answer(answer).split()
    common = (Counter(predicted) & Counter(right)).total()
    if not common:
        return 0.0
    precision, recall = common / len(predicted), common / len(right)
    return 2 * precision * recall / (precision + recall)


def best_over_answers(metric: Callable[[str, str], float], prediction: str, answers: Iterable[str]) -> float:
    """The metric's best value over the right answers.

    Raises:
        UnscorableError: no answers, or a prediction that is not a string.
    """
    if not isinstance(prediction, str):
        raise UnscorableError(
            f"the prediction is {_described(prediction)}; give one answer string, or leave the query out"
        )
    scores = [metric(prediction, answer) for answer in answers]
    if not scores:
        raise UnscorableError("no right answers to compare with (a test file without answers?)")
    return max(scores)


def choose_candidate(mentions: Iterable[tuple[str, float]]) -> str:
    """The predicted answer of a reader that scores entity mentions, given as (string, score) in text order.

    Mentions with one string are one candidate; its score is the highest of theirs. Among equal
    scores the first mention wins.

    Raises:
        ValueError: no mentions, or a score that is not a number.
    """
    best: tuple[str, float] | None = None
    for text, score in mentions:
        if score != score:
            raise ValueError(f"the score of {text!r} is not a number")
        if best is None or score > best[1]:
            best = text, score
    if best is None:
        raise ValueError("no candidates to choose from")
    return best[0]


def score_predictions(
    dataset: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    predictions: Mapping[str | int, str],
    *,
    dataset_name: str = "the data set",
    predictions_name: str = "the predictions",
) -> Scores:
    """Scores a file of predictions, query id -> answer string, as the official script does.

    Args:
        dataset: a parsed ReCoRD file, or the elements of its "data", which may come as a stream.
        dataset_name, predictions_name: the files' names, for messages.

    Raises:
        UnscorableError: no queries; an answered query without right answers; a prediction that is not a
            string; an element without "qas", "id" or "answers".
    """
    if not isinstance(predictions, Mapping):
        raise UnscorableError(f"{predictions_name}: {_described(predictions)}, not an object of query id -> answer")
    notes: list[str] = []
    elements = _elements(dataset, dataset_name, notes)
    total, em_sum, f1_sum = 0, 0.0, 0.0
    correct: list[str | int] = []
    missing: list[str | int] = []
    times: Counter[str | int] = Counter()
    for query_id, qa in _queries(elements, dataset_name):
        total += 1
        times[query_id] += 1
        if query_id not in predictions:
            missing.append(query_id)
            continue
        try:
            answers = _answer_texts(qa)
            matched = best_over_answers(exact_match, predictions[query_id], answers)
            f1_sum += best_over_answers(f1, predictions[query_id], answers)
        except UnscorableError as error:
            raise UnscorableError(f"{dataset_name} / {predictions_name}: query {query_id!r}: {error}") from error
        em_sum += matched
        if matched:
            correct.append(query_id)
    if not total:
        raise UnscorableError(f"{dataset_name}: no queries, so there is no mean; is it the right file?")
    unknown = tuple(i for i in predictions if i not in times)
    repeated = tuple(i for i, n in times.items() if n > 1)
    notes += _notes(missing, unknown, repeated, total, dataset_name, predictions_name)
    return Scores(
        em_sum / total, f1_sum / total, total, tuple(correct), tuple(missing), unknown, repeated, tuple(notes)
    )


def _elements(
    dataset: Mapping[str, Any] | Iterable[Mapping[str, Any]], where: str, notes: list[str]
) -> Iterable[Mapping[str, Any]]:
    if not isinstance(dataset, Mapping):
        return dataset
    # The official script only warns of another version.
    if dataset.get("version") != VERSION:
        notes.append(f"{where}: version {dataset.get('version')!r}, expected {VERSION!r}")
    elements: Iterable[Mapping[str, Any]] = _field(dataset, "data", where)
    return elements


def _queries(elements: Iterable[Mapping[str, Any]], where: str) -> Iterator[tuple[str | int, Mapping[str, Any]]]:
    for n, element in enumerate(elements):
        at = f"{where}: data[{n}]"
        for m, qa in enumerate(_field(element, "qas", at)):
            query_id = _field(qa, "id", f"{at}.qas[{m}]")
            if not isinstance(query_id, str | int):
                raise UnscorableError(f"{at}.qas[{m}]: the id is {_described(query_id)}, not a string")
            yield query_id, qa


def _answer_texts(qa: Mapping[str, Any]) -> list[str]:
    texts = [_field(a, "text", "an answer") for a in qa.get("answers", ())]
    for text in texts:
        if not isinstance(text, str):
            raise UnscorableError(f"an answer's text is {_described(text)}, not a string")
    return texts


def _field(value: Any, name: str, where: str) -> Any:
    if not isinstance(value, Mapping) or name not in value:
        found = f"keys {sorted(map(str, value))}" if isinstance(value, Mapping) else _described(value)
        raise UnscorableError(f"{where}: no {name!r} ({found}); is it a ReCoRD v{VERSION} file?")
    return value[name]


def _described(value: Any) -> str:
    return "null" if value is None else f"a {type(value).__name__} ({str(value)[:40]})"


def _notes(
    missing: Sequence[str | int],
    unknown: Sequence[str | int],
    repeated: Sequence[str | int],
    total: int,
    dataset_name: str,
    predictions_name: str,
) -> Iterator[str]:
    if missing:
        yield f"{predictions_name}: no prediction for {len(missing)} of {total} queries (scored 0), as {missing[0]!r}"
    if unknown:
        yield f"{predictions_name}: {len(unknown)} predictions for ids that {dataset_name} lacks, as {unknown[0]!r}"
    # Ids are compared as given: 5 and "5" differ, which JSON makes easy to get wrong (its keys are strings).
    alike = {str(i) for i in missing} & {str(i) for i in unknown}
    if alike:
        yield (
            f"{len(alike)} of these ids differ in type only, as {min(alike)!r}: JSON keys are strings; "
            f"make the ids of {dataset_name} strings"
        )
    if repeated:
        yield f"{dataset_name}: {len(repeated)} ids stand for several queries, as {repeated[0]!r}"
