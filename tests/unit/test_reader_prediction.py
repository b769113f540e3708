"""Predictions do not depend on order or batch, keep the passage's exact text, and fail one by one."""

import random
from dataclasses import replace

import pytest
import torch

from tests.unit.test_reader_training import QUICK, SMALL, invented, make
from udfs.annotators.base import Token
from udfs.readers.examples import ReaderExample, passage_words
from udfs.readers.features import Batch, candidate_tokens
from udfs.readers.layers import ReaderNetwork
from udfs.readers.prediction import Prediction, predict
from udfs.readers.span_scores import SpanScores
from udfs.readers.trained_reader import TrainedReader
from udfs.readers.training import train_reader
from udfs.spans import Span


@pytest.fixture(scope="module")
def reader() -> TrainedReader:
    return train_reader(invented(12), [], SMALL, QUICK)


def various(count: int) -> list[ReaderExample]:
    """Passages of 1 to 60 tokens, queries of 1 to 6."""
    draw = random.Random(4)
    words = "Ann Bob went to Rome Oslo with unheard words , and".split()
    return [
        make(
            f"v{i}",
            " ".join(draw.choices(words, k=draw.randint(1, 60))),
            " ".join(["@placeholder", *draw.choices(words, k=draw.randint(0, 5))]),
            [],
        )
        for i in range(count)
    ]


def assert_same(ours: list[Prediction], expected: list[Prediction]) -> None:
    for one, other in zip(ours, expected, strict=True):
        assert (one.query_id, one.start, one.end, one.text) == (other.query_id, other.start, other.end, other.text)
        assert one.error is None
        assert one.score == pytest.approx(other.score, rel=1e-4)


def test_prediction_does_not_depend_on_batch_or_order(reader: TrainedReader) -> None:
    examples = various(60)
    alone = [predict(reader, [e])[0] for e in examples]
    assert_same(predict(reader, examples), alone)
    assert_same(predict(reader, examples, batch_tokens=100), alone)
    order = random.Random(1).sample(range(60), 60)
    assert_same(predict(reader, [examples[i] for i in order], batch_tokens=300), [alone[i] for i in order])


def test_prediction_is_a_span_of_the_exact_passage_text(reader: TrainedReader) -> None:
    passage = "Ann  went\\tto  Rome .\n@highlight\nBob  went to   Oslo ."
    prediction = predict(reader, [make("q", passage, "@placeholder went", [])])[0]
    assert prediction.start is not None
    assert prediction.end is not None
    assert 0 <= prediction.start < prediction.end <= len(passage)
    assert prediction.text == passage[prediction.start : prediction.end]
    assert prediction.score is not None
    assert 0 < prediction.score <= 1


def test_example_that_cannot_be_read_costs_only_itself(reader: TrainedReader) -> None:
    good = invented(2)
    bad = ReaderExample("bad", "a", "", (), good[0].query)
    mute = ReaderExample("mute", "a", good[0].passage_text, good[0].passage, ())
    predictions = predict(reader, [good[0], bad, mute, good[1]])
    assert predictions[1] == Prediction("bad", None, None, None, None, "empty_passage")
    assert predictions[2] == Prediction("mute", None, None, None, None, "empty_query")
    assert_same([predictions[0], predictions[3]], predict(reader, good))


def test_candidate_is_an_entity_of_the_passage_though_tokens_end_elsewhere(reader: TrainedReader) -> None:
    """ "Ann" is all of a token, "Rome" a part of "Rome-based"; "," touches none of the tokens that are there."""
    passage = "Ann met Bob , of Rome-based Fox"
    words = [w for w in passage_words(passage, tokens(passage, "Ann met Bob of Rome-based Fox".split()), [])]
    spans = (Span(0, 3), Span(17, 21), Span(12, 13))
    query = make("q", "x", "@placeholder left", []).query
    example = ReaderExample("q", "a", passage, tuple(words), query, (), spans)
    assert candidate_tokens(words, spans) == [(0, 0, 0), (4, 4, 1)]
    for chosen in spans[:2]:
        [alone] = predict(reader, [replace(example, candidates=(chosen,))])
        assert (alone.candidate, alone.error) == (chosen, None)
    [both] = predict(reader, [example])
    of_each = {s: predict(reader, [replace(example, candidates=(s,))])[0].candidate_score for s in spans[:2]}
    assert both.candidate == max(of_each, key=lambda s: of_each[s] or 0.0)
    assert both.candidate_score == pytest.approx(max(of_each.values()), rel=1e-6)
    assert (both.start, both.end, both.score) == tuple(getattr(alone, n) for n in ("start", "end", "score"))
    [none] = predict(reader, [replace(example, candidates=spans[2:])])
    assert (none.candidate, none.candidate_score, none.text) == (None, None, both.text)


def tokens(text: str, parts: list[str]) -> list[Token]:
    found, at = [], 0
    for part in parts:
        at = text.index(part, at)
        found.append(Token(at, at + len(part), "X", "X", part.lower()))
        at += len(part)
    return found


class Failing(ReaderNetwork):
    """Runs out of memory on batches with a long passage; scores of one length are not numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.anything = torch.nn.Parameter(torch.zeros(1))
        self.calls: list[int] = []

    def forward(self, batch: Batch) -> SpanScores:
        rows, length = batch.passage_words.shape
        self.calls.append(rows)
        if length > 20:
            raise torch.OutOfMemoryError("out of memory: tried to allocate 7 GiB")
        scores = torch.zeros(rows, length)
        scores[batch.passage_lengths == 4] = torch.nan
        return SpanScores(scores, scores)


def failing(reader: TrainedReader) -> tuple[TrainedReader, Failing]:
    network = Failing()
    return TrainedReader(network, reader.config, reader.options, reader.vocabulary, epoch=1), network


def of_length(tokens: int) -> ReaderExample:
    return make(f"q{tokens}", " ".join(["x"] * tokens), "@placeholder", [])


def test_batch_that_fails_is_tried_again_one_by_one(reader: TrainedReader, caplog: pytest.LogCaptureFixture) -> None:
    broken, network = failing(reader)
    predictions = predict(broken, [of_length(n) for n in (3, 30, 5)])
    assert network.calls == [3, 1, 1, 1]
    assert [p.text for p in predictions] == ["x", None, "x"]
    assert predictions[1].error == "OutOfMemoryError: out of memory: tried to allocate 7 GiB"
    assert "a batch of 3 examples failed" in caplog.text


def test_scores_that_are_not_numbers_are_an_error_of_that_example(reader: TrainedReader) -> None:
    broken, _ = failing(reader)
    predictions = predict(broken, [of_length(n) for n in (3, 4, 5)])
    assert [p.error for p in predictions] == [None, "scores are not numbers", None]


def test_no_examples_give_no_predictions(reader: TrainedReader) -> None:
    assert predict(reader, []) == []


def test_threads_are_set_for_the_call_only(reader: TrainedReader, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, network = failing(reader)
    during: list[int] = []
    monkeypatch.setattr(
        network, "forward", lambda batch: (during.append(torch.get_num_threads()), Failing.forward(network, batch))[1]
    )
    before = torch.get_num_threads()
    predict(broken, [of_length(3)], threads=before + 1)
    assert during == [before + 1]
    assert torch.get_num_threads() == before
