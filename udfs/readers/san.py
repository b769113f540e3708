"""SAN, the Stochastic Answer Network (Liu et al. 2018, arXiv 1712.03556), as its reference implementation computes it.

The published results came from the authors' code, so this network follows it, not the paper's text, where they differ:

* the GRU's input is weighted by the turn's own end distribution (paper: by an attention of its own);
* the end is scored independently of the start (paper: conditioned on it);
* prediction dropout is .1 (paper .4), hidden dropout .3 (paper .1), and there is no max-out layer.

Unlike the reference, LSTMs don't run over padding, so that a query's scores do not depend on its batch;
word rows that are not trained are no parameters; the match features are filled. CoVe and ELMo are off.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from udfs.readers.configuration import SanConfig
from udfs.readers.features import MATCH_FEATURES, Batch
from udfs.readers.layers import (
    PackedBiLstm,
    PositionDropout,
    ProjectedAttention,
    ReaderNetwork,
    VariationalDropout,
    WeightNormLinear,
    WordTable,
    masked_softmax,
    pads_of,
)
from udfs.readers.span_scores import MASKED, SpanScores
from udfs.readers.vocabulary import PAD


class PositionwiseFfn(nn.Module):
    """Two layers at each position; dropout removes whole positions, after the first and after the second."""

    def __init__(self, size_in: int, size_out: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(size_in, size_out)
        self.second = nn.Linear(size_out, size_out)
        self.drop = PositionDropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, in) -> (batch, length, out)"""
        hidden = self.drop(F.relu(self.first(x)))  # (batch, length, out)
        out: Tensor = self.drop(self.second(hidden))
        return out


class DeepAttention(nn.Module):
    """For each level of the query's encoding an attention over the whole history of both sides."""

    def __init__(self, history: int, size: int, levels: int, dropout: float) -> None:
        super().__init__()
        self.levels = nn.ModuleList(ProjectedAttention(WeightNormLinear(history, size), dropout) for _ in range(levels))

    def forward(self, passage: Tensor, query: Tensor, values: tuple[Tensor, ...], query_pads: Tensor) -> Tensor:
        """(batch, passage, history), (batch, query, history), values (batch, query, v_k) -> (batch, passage, sum v)"""
        masked = query_pads.unsqueeze(1)  # (batch, 1, query)
        read = [level(passage, query, value, masked) for level, value in zip(self.levels, values, strict=True)]
        return torch.cat(read, dim=-1)


class QuerySummary(nn.Module):
    """A query as one vector: the mean of its tokens by learned weights."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weigh = nn.Linear(size, 1)

    def forward(self, query: Tensor, pads: Tensor) -> Tensor:
        """(batch, query, size), (batch, query) -> (batch, size)"""
        weights = masked_softmax(self.weigh(query).squeeze(-1), pads)  # (batch, query)
        return (weights.unsqueeze(1) @ query).squeeze(1)


class StochasticAnswer(nn.Module):
    """Reads the memory in several turns, each with its own guess at start and end; the guesses are averaged.

    In training some turns are left out of the average, never all: the network can't rely on one of them.
    """

    def __init__(self, size: int, turns: int, dropout: float, turn_dropout: float) -> None:
        super().__init__()
        self.turns = turns
        self.turn_dropout = turn_dropout
        self.start = nn.Linear(size, size)
        self.end = nn.Linear(size, size)
        self.gru = nn.GRUCell(size, size)
        self.drop = VariationalDropout(dropout)

    def forward(self, memory: Tensor, summary: Tensor, pads: Tensor, turn_weights: Tensor | None) -> SpanScores:
        """(batch, passage, size), (batch, size), (batch, passage), (batch, turns) -> scores (batch, passage)"""
        if turn_weights is None:
            turn_weights = self._turn_weights(memory)  # (batch, turns)
        state = summary  # (batch, size)
        starts, ends = [], []
        for _ in range(self.turns):
            start = self._score(self.start, memory, state, pads)  # (batch, passage)
            end = self._score(self.end, memory, state, pads)  # (batch, passage)
            starts.append(start)
            ends.append(end)
            read = (end.softmax(-1).unsqueeze(1) @ memory).squeeze(1)  # (batch, size)
            state = self.gru(read, self.drop(state))
        return SpanScores(_log_mean(starts, turn_weights), _log_mean(ends, turn_weights))

    def _score(self, project: nn.Module, memory: Tensor, state: Tensor, pads: Tensor) -> Tensor:
        projected: Tensor = project(self.drop(state))  # (batch, size)
        scores: Tensor = self.drop(memory) @ projected.unsqueeze(2)  # (batch, passage, 1)
        return scores.squeeze(2).masked_fill(pads, MASKED)  # (batch, passage)

    def _turn_weights(self, like: Tensor) -> Tensor:
        """1 in evaluation; in training 0 for dropped turns, else 1 / (1 - rate), one random turn always kept."""
        rows = like.size(0)
        if not self.training or not self.turn_dropout:
            return like.new_ones(rows, self.turns)
        keep = like.new_empty(rows, self.turns).bernoulli_(1 - self.turn_dropout)
        always = torch.randint(self.turns, (rows, 1), device=like.device)
        return keep.scatter_(1, always, 1.0) / (1 - self.turn_dropout)


class San(ReaderNetwork):
    """The whole network. Word vectors are zero until ``word_table.set_vectors``."""

    def __init__(self, config: SanConfig, words: int, pos: int, ner: int) -> None:
        """``words``, ``pos``, ``ner``: rows of the three tables, padding included.

        Raises:
            ValueError: a table without a row for words that are not known.
        """
        super().__init__()
        if min(words, pos, ner) < 2:
            raise ValueError(f"tables of {words}, {pos}, {ner} rows; each needs padding and an unknown row at least")
        c, drop = config, config.dropout
        context, memory = 2 * c.context_size, 2 * c.memory_size  # both directions
        read = 2 * context + memory  # what deep attention reads: two levels and the query's understanding

        self.word_table = WordTable(words, c.word_size, c.tuned_words)
        self.pos_table = nn.Embedding(pos, c.pos_size, padding_idx=PAD)
        self.ner_table = nn.Embedding(ner, c.ner_size, padding_idx=PAD)
        self.drop_words = VariationalDropout(c.word_vector_dropout)
        self.drop = VariationalDropout(drop)

        self.prealign = ProjectedAttention(
            nn.Linear(c.word_size, c.prealign_size, bias=False), drop, scale=1 / math.sqrt(c.prealign_size)
        )
        lexicon = 2 * c.word_size + c.pos_size + c.ner_size + MATCH_FEATURES
        self.passage_ffn = PositionwiseFfn(lexicon, c.lexicon_size, drop)
        self.query_ffn = PositionwiseFfn(c.word_size, c.lexicon_size, drop)

        self.passage_low = PackedBiLstm(c.lexicon_size, c.context_size)
        self.passage_high = PackedBiLstm(context, c.context_size)
        self.query_low = PackedBiLstm(c.lexicon_size, c.context_size)
        self.query_high = PackedBiLstm(context, c.context_size)
        self.query_understanding = PackedBiLstm(2 * context, c.memory_size)

        self.deep_attention = DeepAttention(c.word_size + 2 * context, c.deep_attention_size, 3, drop)
        self.passage_understanding = PackedBiLstm(read + 2 * context, c.memory_size)
        self.self_attention = ProjectedAttention(
            nn.Linear(read + 2 * context + memory + c.word_size, c.self_attention_size, bias=False), drop
        )
        self.memory = PackedBiLstm(2 * memory, c.memory_size)
        self.query_summary = QuerySummary(memory)
        self.answer = StochasticAnswer(memory, c.turns, drop, c.turn_dropout)

    def forward(self, batch: Batch, turn_weights: Tensor | None = None) -> SpanScores:
        """Scores (batch, passage) of first and last token.

        Args:
            turn_weights: (batch, turns), instead of those drawn in training: 0 leaves a turn out.
        """
        p_lengths, q_lengths = batch.passage_lengths, batch.query_lengths
        p_pads = pads_of(p_lengths, batch.passage_words.size(1), batch.passage_words.device)  # (batch, passage)
        q_pads = pads_of(q_lengths, batch.query_words.size(1), batch.query_words.device)  # (batch, query)

        # Lexicon: words, aligned query words, tags, labels and match features.
        p = self.drop_words(self.word_table(batch.passage_words))  # (batch, passage, word)
        q = self.drop_words(self.word_table(batch.query_words))  # (batch, query, word)
        p_lexicon = self.passage_ffn(self._passage_lexicon(batch, p, q, q_pads))  # (batch, passage, lexicon)
        q_lexicon = self.query_ffn(self.drop(q))  # (batch, query, lexicon)

        # Context.
        p_low = self.drop(self.passage_low(p_lexicon, p_lengths))  # (batch, passage, 2 context)
        p_high = self.drop(self.passage_high(p_low, p_lengths))  # (batch, passage, 2 context)
        q_low = self.drop(self.query_low(q_lexicon, q_lengths))  # (batch, query, 2 context)
        q_high = self.drop(self.query_high(q_low, q_lengths))  # (batch, query, 2 context)
        q_both = torch.cat([q_low, q_high], dim=-1)  # (batch, query, 4 context)
        q_understood = self.drop(self.query_understanding(q_both, q_lengths))  # (batch, query, 2 memory)

        # Memory: the passage with what it reads from the query, then from itself.
        p_history = torch.cat([p, p_low, p_high], dim=-1)  # (batch, passage, word + 4 context)
        q_history = torch.cat([q, q_low, q_high], dim=-1)  # (batch, query, word + 4 context)
        read = self.drop(self.deep_attention(p_history, q_history, (q_low, q_high, q_understood), q_pads))
        p_read = torch.cat([read, p_low, p_high], dim=-1)  # (batch, passage, 8 context + 2 memory)
        p_understood = self.drop(self.passage_understanding(p_read, p_lengths))  # (batch, passage, 2 memory)
        p_all = torch.cat([p_read, p_understood, p], dim=-1)  # (batch, passage, 8 context + 4 memory + word)
        itself = torch.eye(p_pads.size(1), dtype=torch.bool, device=p_pads.device)  # (passage, passage)
        masked = p_pads.unsqueeze(1) | itself  # (batch, passage, passage)
        p_self = self.self_attention(p_all, p_all, p_understood, masked)  # (batch, passage, 2 memory)
        memory = self.memory(torch.cat([p_understood, p_self], dim=-1), p_lengths)  # (batch, passage, 2 memory)

        summary = self.query_summary(self.drop(q_understood), q_pads)  # (batch, 2 memory)
        scores: SpanScores = self.answer(memory, summary, p_pads, turn_weights)
        return scores

    def _passage_lexicon(self, batch: Batch, p: Tensor, q: Tensor, q_pads: Tensor) -> Tensor:
        aligned = self.prealign(p, q, q, q_pads.unsqueeze(1))  # (batch, passage, word)
        pos = self.drop(self.pos_table(batch.passage_pos))  # (batch, passage, pos)
        ner = self.drop(self.ner_table(batch.passage_ner))  # (batch, passage, ner)
        features = self.drop(batch.passage_features)  # (batch, passage, 4)
        lexicon: Tensor = self.drop(torch.cat([p, aligned, pos, ner, features], dim=-1))
        return lexicon  # (batch, passage, 2 word + pos + ner + 4)


def _log_mean(turns: list[Tensor], weights: Tensor) -> Tensor:
    """Logarithm of the weighted mean of softmax(turn): turns of (batch, passage), weights (batch, turns).

    In logarithms all through: a probability that underflows would make the loss infinite.
    """
    logs = torch.stack([turn.log_softmax(-1) for turn in turns], dim=1)  # (batch, turns, passage)
    weighted = logs + weights.log().unsqueeze(2)
    return (weighted.logsumexp(1) - math.log(len(turns))).clamp(min=MASKED)  # (batch, passage)
