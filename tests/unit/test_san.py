"""SAN against its reference implementation (vectors/san_oracle.npz): scores, intermediate results, gradients, spans.

Both are of single precision. Measured: scores differ by 2e-7, gradients (up to .1) by 7e-8; the
tolerances leave other processors some room.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from udfs.readers.configuration import SanConfig
from udfs.readers.features import Batch
from udfs.readers.layers import PositionDropout, VariationalDropout, masked_softmax
from udfs.readers.san import San
from udfs.readers.span_scores import MASKED, SpanScores, best_spans, span_loss

NONE = np.zeros((0, 3), dtype=np.int32)
SCORES = {"rtol": 5e-6, "atol": 5e-6}
GRADIENTS = {"rtol": 2e-5, "atol": 1e-6}
CONFIG = SanConfig(
    word_size=12,
    pos_size=5,
    ner_size=4,
    prealign_size=8,
    lexicon_size=14,
    context_size=6,
    memory_size=7,
    deep_attention_size=9,
    self_attention_size=10,
    turns=5,
    dropout=0.0,
    word_vector_dropout=0.0,
    turn_dropout=0.4,
    tuned_words=50,
)
# The reference's names of modules and weights, and ours.
MODULES = {
    "lexicon_encoder.prealign.score_func.score_func.proj_1": "prealign.projection",
    "lexicon_encoder.pos_embedding": "pos_table",
    "lexicon_encoder.ner_embedding": "ner_table",
    "lexicon_encoder.doc_pwnn.w_0": "passage_ffn.first",
    "lexicon_encoder.doc_pwnn.w_1": "passage_ffn.second",
    "lexicon_encoder.que_pwnn.w_0": "query_ffn.first",
    "lexicon_encoder.que_pwnn.w_1": "query_ffn.second",
    "doc_encoder_low.rnn": "passage_low.lstm",
    "doc_encoder_high.rnn": "passage_high.lstm",
    "query_encoder_low.rnn": "query_low.lstm",
    "query_encoder_high.rnn": "query_high.lstm",
    "query_understand.rnn": "query_understanding.lstm",
    "deep_attn.attn_list.0.score_func.score_func.proj_1": "deep_attention.levels.0.projection",
    "deep_attn.attn_list.1.score_func.score_func.proj_1": "deep_attention.levels.1.projection",
    "deep_attn.attn_list.2.score_func.score_func.proj_1": "deep_attention.levels.2.projection",
    "doc_understand.rnn": "passage_understanding.lstm",
    "doc_self_attn.score_func.score_func.proj_1": "self_attention.projection",
    "doc_mem_gen.rnn": "memory.lstm",
    "query_sum_attn.att.linear": "query_summary.weigh",
    "decoder.attn_b.score_func.linear": "answer.start",
    "decoder.attn_e.score_func.linear": "answer.end",
    "decoder.rnn": "answer.gru",
}
INTERMEDIATE = {
    "prealign": "prealign",
    "doc_pwnn": "passage_ffn",
    "que_pwnn": "query_ffn",
    "doc_encoder_low": "passage_low",
    "doc_encoder_high": "passage_high",
    "query_encoder_low": "query_low",
    "query_encoder_high": "query_high",
    "query_understand": "query_understanding",
    "deep_attn": "deep_attention",
    "doc_understand": "passage_understanding",
    "doc_self_attn": "self_attention",
    "doc_mem_gen": "memory",
    "query_sum_attn": "query_summary",
}
ALL = range(4)


def our_names(reference: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Weights or gradients of the reference under our names; doubles and what it does not use are left out."""
    ours = {"word_table.tuned": reference["lexicon_encoder.embedding.weight"]}
    for name, value in reference.items():
        module, _, parameter = name.rpartition(".")
        if module in MODULES:
            parameter = {"weight_g": "g", "weight_v": "v"}.get(parameter, parameter)
            # The reference's position-wise layers are convolutions of width 1.
            ours[f"{MODULES[module]}.{parameter}"] = value[:, :, 0] if value.ndim == 3 else value
    return {name: torch.from_numpy(value) for name, value in ours.items()}


class Oracle:
    """The vectors by folder."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as file:
            self.arrays = dict(file)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def folder(self, prefix: str) -> dict[str, np.ndarray]:
        return {k[len(prefix) :]: v for k, v in self.arrays.items() if k.startswith(prefix)}

    def batch(self, rows: list[int]) -> Batch:
        """Some of the four examples, in this order, padded to the longest of them."""
        passages = (~self["inputs/doc_mask"][rows]).sum(1)
        queries = (~self["inputs/query_mask"][rows]).sum(1)

        def cut(name: str, lengths: np.ndarray) -> Tensor:
            return torch.from_numpy(self[f"inputs/{name}"][rows, : lengths.max()])

        return Batch(
            passage_words=cut("doc_tok", passages),
            passage_pos=cut("doc_pos", passages),
            passage_ner=cut("doc_ner", passages),
            passage_features=cut("doc_fea", passages),
            passage_lengths=torch.from_numpy(passages),
            query_words=cut("query_tok", queries),
            query_pos=torch.zeros(len(rows), int(queries.max()), dtype=torch.int64),
            query_lengths=torch.from_numpy(queries),
            targets=torch.from_numpy(np.stack([self["inputs/start"][rows], self["inputs/end"][rows]], axis=1)),
        )


@pytest.fixture(scope="module")
def oracle(shared: Path) -> Oracle:
    return Oracle(shared / "vectors" / "san_oracle.npz")


@pytest.fixture
def san(oracle: Oracle) -> San:
    network = San(CONFIG, words=50, pos=9, ner=8).eval()
    missing, unexpected = network.load_state_dict(our_names(oracle.folder("weights/")), strict=False)
    assert (missing, unexpected) == (["word_table.frozen"], [])
    assert network.word_table.frozen.numel() == 0
    return network


def batches() -> Iterator[list[int]]:
    yield from ([i] for i in ALL)
    yield from ([0, 1, 2, 3], [3, 1, 0, 2], [2, 0], [1, 2, 2, 3, 0])


@pytest.mark.parametrize("rows", list(batches()), ids=str)
def test_scores_and_loss_are_the_references_whatever_the_batch(oracle: Oracle, san: San, rows: list[int]) -> None:
    batch = oracle.batch(rows)
    with torch.no_grad():
        scores = san(batch)
    for at, row in enumerate(rows):
        length = int(batch.passage_lengths[at])
        for ours, name in ((scores.start, "start_logp"), (scores.end, "end_logp")):
            expected = oracle[f"alone/{row}/{name}"]
            assert len(expected) == length
            np.testing.assert_allclose(ours[at, :length], expected, **SCORES)
            assert (ours[at, length:] == MASKED).all()
    expected_loss = np.mean([oracle[f"alone/{row}/loss"] for row in rows])
    assert batch.targets is not None
    np.testing.assert_allclose(float(span_loss(scores, batch.targets)), expected_loss, **SCORES)


@pytest.mark.parametrize("name", INTERMEDIATE)
def test_intermediate_results_are_the_references_where_it_has_no_padding(oracle: Oracle, san: San, name: str) -> None:
    seen: list[Tensor] = []
    handle = san.get_submodule(INTERMEDIATE[name]).register_forward_hook(lambda _m, _i, out: seen.append(out))
    with torch.no_grad():
        san(oracle.batch(list(ALL)))
    handle.remove()
    expected = oracle[f"padded/intermediate/{name}"]
    # Only the second example fills its batch on both sides; before the LSTMs padding has no influence.
    rows = ALL if name in ("prealign", "doc_pwnn", "que_pwnn") else [1]
    lengths = (~oracle["inputs/query_mask" if "que" in name else "inputs/doc_mask"]).sum(1)
    for row in rows:
        at = row if name == "query_sum_attn" else (row, slice(lengths[row]))
        np.testing.assert_allclose(seen[0][at], expected[at], **SCORES)


def test_training_scores_loss_and_gradients_are_the_references(oracle: Oracle, san: San) -> None:
    batch = oracle.batch(list(ALL))
    san.train()  # no dropout but that of the turns, whose mask is given
    scores = san(batch, torch.from_numpy(oracle["train/mask"]))
    for row in ALL:
        length = int(batch.passage_lengths[row])
        for ours, name in ((scores.start, "start"), (scores.end, "end")):
            np.testing.assert_allclose(ours[row, :length].detach(), oracle[f"train/{name}_logp/{row}"], **SCORES)
    assert batch.targets is not None
    loss = span_loss(scores, batch.targets)
    np.testing.assert_allclose(loss.item(), oracle["train/loss"], **SCORES)
    loss.backward()
    gradients = {name: p.grad for name, p in san.named_parameters() if p.grad is not None}
    expected = our_names(oracle.folder("train/grads/"))
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[name], **GRADIENTS, err_msg=name)
    norm = torch.nn.utils.get_total_norm(gradients.values())
    np.testing.assert_allclose(float(norm), oracle["train/grad_norm"], rtol=1e-5)


@pytest.mark.parametrize("rows", list(batches()), ids=str)
def test_spans_and_their_scores_are_the_references(oracle: Oracle, san: San, rows: list[int]) -> None:
    batch = oracle.batch(rows)
    with torch.no_grad():
        spans = [best.span for best in best_spans(san(batch), batch.passage_lengths.tolist(), [NONE] * len(rows))]
    for row, span in zip(rows, spans, strict=True):
        text = " ".join(f"w{j}" for j in range(span.first, span.last + 1))
        assert text == str(oracle[f"predict/text/{row}"])
        assert span.score == pytest.approx(float(oracle[f"predict/score/{row}"]), rel=1e-5)


def best_by_definition(start: np.ndarray, end: np.ndarray) -> tuple[int, int, float]:
    best, at = -1.0, (0, 0)
    for i in range(len(start)):
        for j in range(i, len(start)):
            score = start[i] * end[j] * (1 if j - i <= 5 else 1 / np.log(j - i + 1))
            if score > best:
                best, at = score, (i, j)
    return (*at, best)


def test_best_spans_is_the_argmax_of_its_definition_also_beyond_the_free_length() -> None:
    generator = torch.Generator().manual_seed(1)
    lengths = [1, 2, 7, 12, 25, 25]
    scores = torch.full((2, len(lengths), 25), MASKED)
    for row, n in enumerate(lengths):
        scores[:, row, :n] = 2 * torch.randn(2, n, generator=generator)
    scores[0, 5, 1], scores[1, 5, 23] = 9.0, 9.0  # a long span wins in spite of its penalty
    spans = [best.span for best in best_spans(SpanScores(scores[0], scores[1]), lengths, [NONE] * len(lengths))]
    for row, span in enumerate(spans):
        start, end = scores[:, row, : lengths[row]].double().softmax(-1).numpy()
        first, last, score = best_by_definition(start, end)
        assert (span.first, span.last) == (first, last)
        assert span.score == pytest.approx(score, rel=1e-12)
    assert (spans[5].first, spans[5].last) == (1, 23)


def test_best_candidate_is_the_argmax_over_the_candidates_alone() -> None:
    generator = torch.Generator().manual_seed(2)
    lengths = [9, 30, 4]
    scores = torch.full((2, len(lengths), 30), MASKED)
    for row, n in enumerate(lengths):
        scores[:, row, :n] = torch.randn(2, n, generator=generator)
    given = [[(0, 1, 5), (3, 3, 2), (2, 8, 0)], [(1, 29, 0), (4, 4, 1), (4, 4, 2)], []]
    candidates = [np.array(rows, dtype=np.int32).reshape(-1, 3) for rows in given]
    found = best_spans(SpanScores(scores[0], scores[1]), lengths, candidates)
    for row, (best, rows) in enumerate(zip(found, given, strict=True)):
        start, end = scores[:, row, : lengths[row]].double().softmax(-1).numpy()
        weigh = {n: start[i] * end[j] * (1 if j - i <= 5 else 1 / np.log(j - i + 1)) for i, j, n in rows}
        if not rows:
            assert best.candidate is None
            continue
        assert best.candidate is not None
        number, score = best.candidate
        assert score == pytest.approx(max(weigh.values()), rel=1e-12)
        assert number == max(weigh, key=lambda n: (weigh[n], -n))
        assert score <= best.span.score


def random_batch(lengths: list[int], *, words: int = 30) -> Batch:
    generator = torch.Generator().manual_seed(7)
    rows, longest = len(lengths), max(lengths)
    pads = torch.arange(longest) >= torch.tensor(lengths).unsqueeze(1)
    ids = torch.randint(1, 9, (3, rows, longest), generator=generator).masked_fill(pads, 0)
    return Batch(
        passage_words=torch.randint(1, words, (rows, longest), generator=generator).masked_fill(pads, 0),
        passage_pos=ids[0],
        passage_ner=ids[1],
        passage_features=torch.zeros(rows, longest, 4),
        passage_lengths=torch.tensor(lengths),
        query_words=torch.randint(1, words, (rows, 3), generator=generator),
        query_pos=torch.ones(rows, 3, dtype=torch.int64),
        query_lengths=torch.full((rows,), 3),
        targets=torch.zeros(rows, 2, dtype=torch.int64),
    )


def small_san(config: SanConfig, words: int = 30) -> San:
    torch.manual_seed(3)
    san = San(config, words=words, pos=9, ner=9)
    vectors = torch.randn(words, config.word_size)
    vectors[0] = 0
    san.word_table.set_vectors(vectors)
    return san


def test_passage_of_one_token_has_numbers_for_scores_and_gradients() -> None:
    san = small_san(CONFIG)
    batch = random_batch([1, 6])
    assert san.eval()(batch).start[0, 0].item() == pytest.approx(0, abs=1e-5)  # ln 1: the only token
    scores = san.train()(batch)
    assert batch.targets is not None
    span_loss(scores, batch.targets).backward()
    assert all(torch.isfinite(p.grad).all() for p in san.parameters() if p.grad is not None)


def test_softmax_of_a_row_that_is_all_masked_is_zero() -> None:
    masked = torch.tensor([[False, True, False], [True, True, True]])
    weights = masked_softmax(torch.tensor([[1.0, 9.0, 1.0], [1.0, 2.0, 3.0]]), masked)
    assert weights.tolist() == [[0.5, 0, 0.5], [0, 0, 0]]


@pytest.mark.parametrize(("layer", "constant_along"), [(VariationalDropout(0.4), 1), (PositionDropout(0.4), 2)])
def test_dropout_removes_a_units_or_a_positions_all(layer: torch.nn.Module, constant_along: int) -> None:
    torch.manual_seed(1)
    kept = layer(torch.ones(50, 20, 30))
    assert kept.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert (kept.std(dim=constant_along) == 0).all()
    assert (kept.std(dim=3 - constant_along) > 0).all()
    assert (kept.std(dim=0) > 0).all()  # each row has a mask of its own
    assert kept.mean().item() == pytest.approx(1, abs=0.05)


def test_words_beyond_the_tuned_rows_are_read_but_are_no_parameters() -> None:
    table = small_san(replace(CONFIG, tuned_words=10)).word_table
    every_row = torch.arange(30).unsqueeze(0)
    vectors = table(every_row)
    assert torch.equal(vectors[0], torch.cat([table.tuned, table.frozen]))
    vectors.sum().backward()
    assert [tuple(p.shape) for p in table.parameters()] == [(10, 12)]
    assert table.tuned.grad is not None
    assert not table.tuned.grad[0].any()  # padding
    assert (table.tuned.grad[1:] == 1).all()


def test_network_is_the_same_whether_its_words_are_tuned_or_not() -> None:
    batch = random_batch([9, 5])
    with torch.no_grad():
        all_tuned = small_san(CONFIG).eval()(batch)
        few_tuned = small_san(replace(CONFIG, tuned_words=4)).eval()(batch)
    assert torch.equal(all_tuned.start, few_tuned.start)


def test_dropout_of_turns_keeps_one_turn_at_least_and_the_expected_weight() -> None:
    answer = small_san(replace(CONFIG, turn_dropout=0.9)).train().answer
    torch.manual_seed(5)
    weights = answer._turn_weights(torch.zeros(20000, 1))
    assert weights.unique().tolist() == pytest.approx([0.0, 10.0])
    assert (weights > 0).any(1).all()
    # One of five turns is always kept, of the others a tenth: (1 + 4 x .1) / 5.
    assert (weights > 0).float().mean().item() == pytest.approx(0.28, abs=0.01)
    assert (answer.eval()._turn_weights(torch.zeros(2, 1)) == 1).all()


def test_each_dropout_changes_training_and_not_evaluation() -> None:
    batch = random_batch([9, 5])
    off = replace(CONFIG, turn_dropout=0.0)
    with torch.no_grad():
        expected = small_san(off).eval()(batch).start
        assert torch.equal(small_san(off).train()(batch).start, expected)
        for name in ("dropout", "word_vector_dropout", "turn_dropout"):
            san = small_san(replace(off, **{name: 0.5}))
            assert not torch.allclose(san.train()(batch).start, expected), name
            assert torch.equal(san.eval()(batch).start, expected), name


@pytest.mark.parametrize(("name", "value"), [("turns", 0), ("dropout", 1.0), ("turn_dropout", -0.1)])
def test_configuration_refuses_values_that_make_no_network(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        replace(CONFIG, **{name: value})


def test_word_vectors_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(30, 5\)"):
        small_san(CONFIG).word_table.set_vectors(torch.zeros(30, 5))


def test_default_network_has_the_references_sizes() -> None:
    san = San(SanConfig(), words=1100, pos=54, ner=41)
    shapes = {name: tuple(p.shape) for name, p in san.named_parameters()}
    assert shapes["passage_ffn.first.weight"] == (256, 624)
    assert shapes["deep_attention.levels.2.projection.v"] == (128, 812)
    assert shapes["passage_understanding.lstm.weight_ih_l0"] == (512, 1280)
    assert shapes["self_attention.projection.weight"] == (128, 1836)
    assert shapes["memory.lstm.weight_ih_l0"] == (512, 512)
    assert shapes["answer.gru.weight_ih"] == (768, 256)
    assert shapes["word_table.tuned"] == (1000, 300)
