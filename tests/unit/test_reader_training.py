"""Training: it learns, is the same twice, can be resumed, and says what it left out."""

import json
import random
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from udfs.annotators.base import Token
from udfs.readers.checkpoint import load_reader, reader_digest, save_reader
from udfs.readers.configuration import SanConfig, TrainingError, TrainingOptions
from udfs.readers.examples import ReaderExample, make_example, passage_words
from udfs.readers.features import shuffled_batches
from udfs.readers.prediction import predict
from udfs.readers.running import seeded
from udfs.readers.trained_reader import EpochReport, TrainedReader
from udfs.readers.training import learning_rate, train_reader
from udfs.readers.vocabulary import build_vocabulary
from udfs.spans import Mention, Span

SMALL = SanConfig(
    word_size=24,
    pos_size=4,
    ner_size=4,
    prealign_size=16,
    lexicon_size=24,
    context_size=12,
    memory_size=12,
    deep_attention_size=12,
    self_attention_size=12,
    turns=3,
    tuned_words=40,
)
QUICK = TrainingOptions(epochs=2, batch_size=4)
PEOPLE = "Ann Bob Cleo Dan Eve Finn Gail Hugo".split()
PLACES = "Rome Oslo Lima Bonn Kyiv Bern Nice Cork".split()


def tokenised(text: str) -> list[Token]:
    """Words and marks; the tag tells capitals, figures and the rest apart."""
    found = []
    for match in re.finditer(r"@?\w+|[^\w\s]", text):
        word = match[0]
        tag = "NNP" if word[0].isupper() else "CD" if word[0].isdigit() else "NN" if word.isalpha() else "."
        found.append(Token(*match.span(), tag, tag, word.lower()))
    return found


def make(query_id: str, passage: str, query: str, answers: list[str]) -> ReaderExample:
    spans = [Span(m.start(), m.end()) for a in answers for m in re.finditer(rf"\b{a}\b", passage)]
    names = [Mention(*m.span(), 0, "ENT") for m in re.finditer(r"\b[A-Z]\w+\b", passage)]
    return make_example(
        query_id=query_id,
        article_id=query_id,
        passage_text=passage,
        passage_tokens=tokenised(passage),
        passage_entities=names,
        query=query,
        placeholder=query.index("@placeholder"),
        answer_surface=None,
        sentence_tokens=tokenised(query),
        answers=spans,
    )


def invented(count: int, seed: int = 1) -> list[ReaderExample]:
    """Three people in three places; the query asks who was in one of them."""
    draw = random.Random(seed)
    examples = []
    for i in range(count):
        people, places = draw.sample(PEOPLE, 3), draw.sample(PLACES, 3)
        passage = " ".join(f"{who} went to {where} ." for who, where in zip(people, places, strict=True))
        at = draw.randrange(3)
        examples.append(make(f"q{i}", passage, f"@placeholder saw {places[at]} .", [people[at]]))
    return examples


@pytest.fixture(scope="module")
def trained() -> TrainedReader:
    return train_reader(invented(12), invented(6, seed=2), SMALL, QUICK)


def test_twenty_invented_examples_are_learned_by_heart() -> None:
    examples = invented(20)
    reports: list[EpochReport] = []
    config = replace(SMALL, dropout=0.1, word_vector_dropout=0.1)
    options = TrainingOptions(epochs=60, batch_size=5, learning_rate=0.01, word_dropout=0.0, decay_after=(40,))
    reader = train_reader(examples, examples, config, options, on_epoch=reports.append)
    assert reports[-1].exact_match == 1.0
    assert reports[-1].f1 == 1.0
    assert reports[-1].loss < reports[0].loss / 5
    assert [p.text for p in predict(reader, examples)] == [e.answer_texts[0] for e in examples]


def squad(path: Path, *, longest: int, count: int) -> list[ReaderExample]:
    """Questions on short passages, spread evenly; a question has no placeholder."""
    examples = []
    for article in json.loads(path.read_text())["data"]:
        for n, paragraph in enumerate(article["paragraphs"]):
            text = paragraph["context"]
            words = passage_words(text, tokenised(text), [])
            for qa in paragraph["qas"] if len(words) <= longest else ():
                question = passage_words(qa["question"], tokenised(qa["question"]), [])
                answers = tuple(Span(a["answer_start"], a["answer_start"] + len(a["text"])) for a in qa["answers"])
                examples.append(ReaderExample(qa["id"], f"{article['title']} {n}", text, words, question, answers))
    return examples[:: len(examples) // count][:count]


def test_real_questions_are_learned_and_what_was_learned_holds_for_other_articles(shared: Path) -> None:
    train = squad(shared / "data/squad/train_2000.json", longest=100, count=600)
    held_out = squad(shared / "data/squad/heldout_500.json", longest=130, count=150)
    assert (len(train), len(held_out)) == (600, 150)
    config = SanConfig(
        word_size=100,
        prealign_size=64,
        lexicon_size=64,
        context_size=32,
        memory_size=32,
        deep_attention_size=64,
        self_attention_size=64,
        dropout=0.1,
        word_vector_dropout=0.1,
        tuned_words=300,
    )
    options = TrainingOptions(epochs=6, learning_rate=0.006, lower_case=True)
    first, *_, last = train_reader(train, held_out, config, options).history
    # Measured: loss 8.5 -> 5.5, exact match .01 -> .09, F1 .08 -> .21; without the match features 6.2, .06, .11.
    assert last.loss < first.loss - 2
    assert last.exact_match is not None
    assert last.f1 is not None
    assert first.f1 is not None
    assert last.exact_match > 0.06
    assert last.f1 > max(0.14, first.f1 + 0.05)


def weights(reader: TrainedReader) -> dict[str, np.ndarray]:
    return {name: tensor.numpy().copy() for name, tensor in reader.network.state_dict().items()}


def assert_equal_weights(one: TrainedReader, other: TrainedReader) -> None:
    ours, theirs = weights(one), weights(other)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert np.array_equal(ours[name], theirs[name]), name
    assert reader_digest(one) == reader_digest(other)


def without_times(reports: tuple[EpochReport, ...]) -> list[EpochReport]:
    return [replace(r, seconds=0, examples_per_second=0) for r in reports]


def test_same_seed_gives_the_same_weights_to_the_last_bit(trained: TrainedReader) -> None:
    torch.manual_seed(99)  # what others do with torch's generator has no influence
    again = train_reader(invented(12), invented(6, seed=2), SMALL, QUICK)
    assert_equal_weights(trained, again)
    assert without_times(again.history) == without_times(trained.history)


def test_held_out_examples_have_no_influence_on_the_weights(trained: TrainedReader) -> None:
    assert_equal_weights(trained, train_reader(invented(12), [], SMALL, QUICK))


def test_other_seed_gives_other_weights(trained: TrainedReader) -> None:
    other = train_reader(invented(12), [], SMALL, replace(QUICK, seed=1))
    assert reader_digest(other) != reader_digest(trained)


def test_training_leaves_torchs_generator_and_threads_as_they_were() -> None:
    torch.manual_seed(5)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    train_reader(invented(4), invented(2), SMALL, replace(QUICK, epochs=1, threads=threads + 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("done", [1, 2])
def test_training_resumed_from_a_checkpoint_is_as_if_not_interrupted(tmp_path: Path, done: int) -> None:
    options = replace(QUICK, epochs=3, decay_after=(2,))
    whole = train_reader(invented(12), invented(6, seed=2), SMALL, options)

    def save_and_fail(reader: TrainedReader) -> None:
        save_reader(reader, str(tmp_path))
        if reader.epoch == done:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train_reader(invented(12), invented(6, seed=2), SMALL, options, on_checkpoint=save_and_fail)
    saved = load_reader(str(tmp_path), resume=True)
    assert saved.epoch == done
    resumed = train_reader(invented(12), invented(6, seed=2), SMALL, options, resume=saved)
    assert_equal_weights(whole, resumed)
    assert without_times(resumed.history) == without_times(whole.history)


def test_training_can_be_prolonged(tmp_path: Path, trained: TrainedReader) -> None:
    save_reader(trained, str(tmp_path))
    longer = replace(QUICK, epochs=3)
    resumed = train_reader(invented(12), [], SMALL, longer, resume=load_reader(str(tmp_path), resume=True))
    assert_equal_weights(resumed, train_reader(invented(12), [], SMALL, longer))
    assert [r.epoch for r in resumed.history] == [1, 2, 3]


def test_reader_that_is_done_is_given_back_as_it_is(trained: TrainedReader) -> None:
    before = weights(trained)
    done = train_reader(invented(12), [], SMALL, QUICK, resume=trained)
    assert done.epoch == 2
    assert all(np.array_equal(before[name], value) for name, value in weights(done).items())


def test_resuming_another_run_is_refused(trained: TrainedReader) -> None:
    examples = invented(12)
    with pytest.raises(TrainingError, match="start anew"):
        train_reader(examples, [], replace(SMALL, turns=2), QUICK, resume=trained)
    with pytest.raises(TrainingError, match="start anew"):
        train_reader(examples, [], SMALL, replace(QUICK, learning_rate=0.1), resume=trained)
    other = build_vocabulary(examples, max_words=5)
    with pytest.raises(TrainingError, match="another vocabulary"):
        train_reader(examples, [], SMALL, QUICK, vocabulary=other, resume=trained)
    with pytest.raises(TrainingError, match="trained on 12 examples, these are 11"):
        train_reader(examples[1:], [], SMALL, QUICK, resume=trained)
    with pytest.raises(TrainingError, match="resume=True"):
        train_reader(examples, [], SMALL, QUICK, resume=replace(trained, optimizer=None))


def test_what_is_not_trained_on_is_counted_by_reason() -> None:
    good = invented(5)
    unaligned = replace(good[0], answers=(Span(1, 3),))
    unanswered = replace(good[1], answers=())
    no_passage, no_query = replace(good[2], passage=()), replace(good[3], query=())
    long = make("long", "Ann " + "went home . " * 20, "@placeholder went", ["Ann"])
    train = [*good, unaligned, unanswered, no_passage, no_query, long]
    reader = train_reader(train, [], SMALL, replace(QUICK, epochs=1, max_passage_tokens=20))
    assert reader.trained_on == reader.history[0].examples == 5
    assert reader.left_out == {"empty_passage": 1, "empty_query": 1, "no_answer_span": 2, "too_long": 1}


def test_nothing_to_train_on_is_an_error_that_says_why() -> None:
    with pytest.raises(TrainingError, match=re.escape("left out: {'no_answer_span': 3}")):
        train_reader([replace(e, answers=()) for e in invented(3)], [], SMALL, QUICK)


def test_examples_that_can_be_read_only_once_are_refused() -> None:
    with pytest.raises(TrainingError, match="iterated twice"):
        train_reader(iter(invented(3)), [], SMALL, QUICK)


def test_examples_may_come_from_an_object_that_reads_anew(trained: TrainedReader) -> None:
    class Table:
        def __iter__(self) -> Iterator[ReaderExample]:
            yield from invented(12)

    assert_equal_weights(trained, train_reader(Table(), [], SMALL, QUICK))


def test_held_out_examples_are_scored_by_the_official_metrics_over_all_answers() -> None:
    examples = invented(4)
    # Every token is a right answer: whatever single token is predicted is one. Longer ones share tokens with it.
    every = [replace(e, answers=tuple(Span(w.start, w.end) for w in e.passage[:3])) for e in examples]
    unanswered = replace(examples[0], answers=())
    seen: list[EpochReport] = []
    reader = train_reader(examples, [*every, unanswered], SMALL, replace(QUICK, epochs=1), on_epoch=seen.append)
    texts = [p.text for p in predict(reader, every)]
    right = [t in e.answer_texts for t, e in zip(texts, every, strict=True)]
    assert seen == list(reader.history)
    assert seen[0].exact_match == sum(right) / 4
    assert seen[0].f1 is not None
    assert seen[0].f1 >= seen[0].exact_match


def test_without_held_out_answers_there_are_no_scores() -> None:
    history = train_reader(invented(4), [replace(invented(1)[0], answers=())], SMALL, replace(QUICK, epochs=1)).history
    assert (history[0].exact_match, history[0].f1) == (None, None)


def test_learning_rate_is_halved_after_the_given_epochs() -> None:
    rates = [learning_rate(TrainingOptions(), epoch) for epoch in (1, 10, 11, 20, 21, 31, 50)]
    assert rates == [0.002, 0.002, 0.001, 0.001, 0.0005, 0.00025, 0.00025]


def test_only_the_first_word_rows_are_trained_and_padding_never() -> None:
    examples = invented(12)
    vocabulary = build_vocabulary(examples)
    vectors = np.random.default_rng(1).random((len(vocabulary.words), 24), dtype=np.float32)
    vectors[0] = 0
    config = replace(SMALL, tuned_words=6)
    reader = train_reader(examples, [], config, QUICK, vocabulary=vocabulary, vectors=vectors)
    after = weights(reader)
    assert np.array_equal(after["word_table.frozen"], vectors[6:])
    changed = (after["word_table.tuned"] != vectors[:6]).any(1)
    assert changed.tolist() == [False, True, True, True, True, True]


def test_word_vectors_need_their_vocabulary_and_its_number_of_rows() -> None:
    with pytest.raises(TrainingError, match="without a vocabulary"):
        train_reader(invented(4), [], SMALL, QUICK, vectors=np.zeros((9, 24), dtype=np.float32))
    with pytest.raises(ValueError, match=r"\(9, 24\)"):
        train_reader(
            invented(4), [], SMALL, QUICK, vocabulary=build_vocabulary(invented(4)),
            vectors=np.zeros((9, 24), dtype=np.float32),
        )  # fmt: skip


def test_loss_that_is_not_a_number_stops_training() -> None:
    vocabulary = build_vocabulary(invented(4))
    vectors = np.full((len(vocabulary.words), 24), np.nan, dtype=np.float32)
    with pytest.raises(TrainingError, match="epoch 1: the loss is nan"):
        train_reader(invented(4), [], SMALL, QUICK, vocabulary=vocabulary, vectors=vectors)


def test_every_epoch_has_its_own_order_of_all_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[list[list[int]]] = []

    def spy(count: int, batch_size: int, rng: np.random.Generator) -> list[list[int]]:
        orders.append(list(shuffled_batches(count, batch_size, rng)))
        return orders[-1]

    monkeypatch.setattr("udfs.readers.training.shuffled_batches", spy)
    train_reader(invented(12), [], SMALL, QUICK)
    first, second = orders
    assert [len(b) for b in first] == [4, 4, 4]
    # Not only the batches' order: their examples are drawn anew.
    assert {frozenset(b) for b in first} != {frozenset(b) for b in second}
    assert sorted(i for b in second for i in b) == list(range(12))


def test_every_epoch_draws_its_own_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def spy(seed: int, device: torch.device) -> AbstractContextManager[None]:
        seeds.append(seed)
        return seeded(seed, device)

    monkeypatch.setattr("udfs.readers.training.seeded", spy)
    train_reader(invented(4), [], SMALL, QUICK)
    assert len(seeds) == len(set(seeds)) == 3  # the first weights, then each epoch


def test_words_are_hidden_in_training(trained: TrainedReader) -> None:
    nothing_hidden = train_reader(invented(12), [], SMALL, replace(QUICK, word_dropout=0.0))
    assert reader_digest(nothing_hidden) != reader_digest(trained)


def test_gradient_is_clipped_over_all_trained_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    clip = torch.nn.utils.clip_grad_norm_

    def spy(parameters: list[torch.nn.Parameter], limit: float) -> torch.Tensor:
        norm = clip(parameters, limit)
        assert torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None]) <= limit * 1.001
        seen.append(len(parameters))
        return norm

    monkeypatch.setattr("udfs.readers.training.clip_grad_norm_", spy)
    reader = train_reader(invented(4), [], SMALL, replace(QUICK, epochs=1, clip=0.01))
    assert seen == [len(list(reader.network.parameters()))]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("batch_size", 0),
        ("threads", 0),
        ("learning_rate", 0.0),
        ("clip", float("nan")),
        ("word_dropout", 1.0),
        ("max_words", 2),
        ("seed", -1),
    ],
)
def test_options_refuse_values_that_cannot_train(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} {value}"):
        replace(QUICK, **{name: value})
