"""What networks of spans give, their loss, and the best span by SAN's reference implementation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor
from torch.nn import functional as F

MASKED = -1e30
"""Score of padding: finite, so that no gradient becomes NaN; its softmax is exactly 0."""
UNPENALISED_STEP = 5
"""Spans of up to so many tokens after their first are not penalised."""


class SpanScores(NamedTuple):
    """Logarithms, up to a constant, of the distributions of first and last token; ``MASKED`` at padding."""

    start: Tensor  # (batch, passage)
    end: Tensor  # (batch, passage)


class BestSpan(NamedTuple):
    """First and last token, both inclusive; the score is a product of probabilities and the length penalty."""

    first: int
    last: int
    score: float


def span_loss(scores: SpanScores, targets: Tensor) -> Tensor:
    """Cross entropy of the first token plus that of the last, mean over the batch; targets are (batch, 2)."""
    return F.cross_entropy(scores.start, targets[:, 0]) + F.cross_entropy(scores.end, targets[:, 1])


def best_spans(scores: SpanScores, lengths: Sequence[int]) -> list[BestSpan]:
    """The best span of each row: argmax over i <= j of softmax(start)_i softmax(end)_j w(j - i).

    w is 1 up to ``UNPENALISED_STEP``, then 1 / ln(j - i + 1): long spans are penalised, none is excluded.
    Of equal scores the first in order of i, then j, wins. The score is NaN where the network's were.
    """
    start = scores.start.double().softmax(-1).cpu().numpy()  # (batch, passage)
    end = scores.end.double().softmax(-1).cpu().numpy()
    weights = _length_weights(max(lengths))  # (passage, passage)
    best = []
    for row, n in enumerate(lengths):
        products = start[row, :n, None] * end[row, None, :n]  # (passage, passage)
        products *= weights[:n, :n]
        first, last = divmod(int(products.argmax()), n)
        best.append(BestSpan(first, last, float(products[first, last])))
    return best


def _length_weights(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """w(j - i) at [i, j], 0 below the diagonal."""
    steps = np.arange(n)
    by_step = np.ones(n)
    by_step[UNPENALISED_STEP + 1 :] = 1 / np.log(steps[UNPENALISED_STEP + 1 :] + 1)
    distance = steps[None, :] - steps[:, None]  # (passage, passage)
    return np.where(distance >= 0, by_step[np.abs(distance)], 0.0)
