"""Layers that networks share. Sequences are padded; what a layer gives for a row does not depend on its padding."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from udfs.readers.vocabulary import PAD


def pads_of(lengths: Tensor, longest: int, device: torch.device) -> Tensor:
    """True at padding: (batch, longest) from the rows' lengths (batch,)."""
    return torch.arange(longest, device=device) >= lengths.to(device).unsqueeze(1)


def masked_softmax(scores: Tensor, masked: Tensor) -> Tensor:
    """Softmax over the last dimension without the masked entries; zeros where all of a row are masked.

    A passage of one token leaves nothing to attend to but itself; minus infinity would make that row NaN.
    """
    weights = scores.masked_fill(masked, torch.finfo(scores.dtype).min).softmax(-1)
    return weights.masked_fill(masked, 0.0)


class WordTable(nn.Module):
    """Word vectors; the first ``tuned`` rows are trained, the others are constants and no parameters.

    Row ``PAD`` stays as it is: it takes no gradient.
    """

    frozen: Tensor

    def __init__(self, words: int, size: int, tuned: int) -> None:
        super().__init__()
        self.tuned_rows = min(words, tuned)
        self.tuned = nn.Parameter(torch.zeros(self.tuned_rows, size))
        self.register_buffer("frozen", torch.zeros(words - self.tuned_rows, size))

    def set_vectors(self, vectors: Tensor) -> None:
        """Replaces all rows.

        Args:
            vectors: (words, size)

        Raises:
            ValueError: another shape.
        """
        words, size = self.tuned_rows + len(self.frozen), self.tuned.shape[1]
        if tuple(vectors.shape) != (words, size):
            raise ValueError(f"word vectors of shape {tuple(vectors.shape)}; vocabulary and network need {words, size}")
        with torch.no_grad():
            self.tuned.copy_(vectors[: self.tuned_rows])
            self.frozen.copy_(vectors[self.tuned_rows :])

    def forward(self, ids: Tensor) -> Tensor:
        """(batch, length) -> (batch, length, size)"""
        if not len(self.frozen):
            return F.embedding(ids, self.tuned, padding_idx=PAD)
        is_tuned = ids < self.tuned_rows
        # Looking both tables up costs less than joining them, which would also give every row a gradient.
        tuned = F.embedding(ids.masked_fill(~is_tuned, PAD), self.tuned, padding_idx=PAD)
        frozen = F.embedding((ids - self.tuned_rows).clamp(min=0), self.frozen)
        return torch.where(is_tuned.unsqueeze(-1), tuned, frozen)


class ReaderNetwork(nn.Module):
    """What training, prediction and checkpoints know of a network.

    It is called with a ``features.Batch`` and gives ``span_scores.SpanScores``. In training mode it draws
    its dropout from torch's generator; in evaluation mode an example's scores do not depend on its batch.
    """

    word_table: WordTable


class VariationalDropout(nn.Module):
    """On (batch, length, size): one mask a row, the same for all its positions; on (batch, size) plain dropout."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        if x.dim() == 2:
            return F.dropout(x, self.rate)
        return x * _kept(x, (x.size(0), 1, x.size(2)), self.rate)


class PositionDropout(nn.Module):
    """On (batch, length, size): removes whole positions."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return x
        return x * _kept(x, (x.size(0), x.size(1), 1), self.rate)


class PackedBiLstm(nn.Module):
    """One layer, both directions, zero initial state; the backward one starts at each row's own last token."""

    def __init__(self, size_in: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(size_in, hidden, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(batch, length, in), lengths (batch,) on the CPU -> (batch, length, 2 * hidden), zeros at padding."""
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=x.size(1))
        return out


class WeightNormLinear(nn.Module):
    """A projection without bias whose rows are g v / |v|."""

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        initial = nn.Linear(size_in, size_out, bias=False).weight.detach()
        self.g = nn.Parameter(initial.norm(dim=1, keepdim=True))  # (out, 1)
        self.v = nn.Parameter(initial.clone())  # (out, in)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)"""
        return F.linear(x, self.v * (self.g / self.v.norm(dim=1, keepdim=True)))


class ProjectedAttention(nn.Module):
    """Attention by the dot product of relu projections; both sides share the projection, each has its own dropout."""

    def __init__(self, projection: nn.Module, dropout: float, scale: float = 1.0) -> None:
        super().__init__()
        self.projection = projection
        self.drop = VariationalDropout(dropout)
        self.scale = scale

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, masked: Tensor) -> Tensor:
        """(batch, m, in), (batch, n, in), (batch, n, v), masked (batch, 1 or m, n) -> (batch, m, v)"""
        left = F.relu(self.projection(self.drop(queries)))  # (batch, m, attention)
        right = F.relu(self.projection(self.drop(keys)))  # (batch, n, attention)
        scores = (left * self.scale) @ right.transpose(1, 2)  # (batch, m, n)
        return masked_softmax(scores, masked) @ values  # (batch, m, v)


def _kept(x: Tensor, shape: Sequence[int], rate: float) -> Tensor:
    """A mask of ``shape``: 0 with probability ``rate``, else 1 / (1 - rate)."""
    return x.new_empty(shape).bernoulli_(1 - rate).div_(1 - rate)
