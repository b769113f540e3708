"""What networks of spans give, their loss, and the best span by SAN's reference implementation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional as F

Candidates = npt.NDArray[np.int32]
Products = npt.NDArray[np.float64]

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


class BestSpans(NamedTuple):
    """A row's best span of all, and its best candidate: (number, score); None where it has no candidates."""

    span: BestSpan
    candidate: tuple[int, float] | None


def span_loss(scores: SpanScores, targets: Tensor) -> Tensor:
    """Cross entropy of the first token plus that of the last, mean over the batch; targets are (batch, 2)."""
    return F.cross_entropy(scores.start, targets[:, 0]) + F.cross_entropy(scores.end, targets[:, 1])


def best_spans(scores: SpanScores, lengths: Sequence[int], candidates: Sequence[Candidates]) -> list[BestSpans]:
    """The best span of each row: argmax over i <= j of softmax(start)_i softmax(end)_j w(j - i).

    The best candidate is the argmax of the same over the candidates' first and last tokens; of several mentions
    of one entity each counts by itself.

    w is 1 up to ``UNPENALISED_STEP``, then 1 / ln(j - i + 1): long spans are penalised, none is excluded.
    Of equal scores the first in order of i, then j, wins; of candidates the first given. The score is NaN where
    the network's were.

    Args:
        candidates: for each row (candidates, 3): first and last token, and the candidate's number.
    """
    start = scores.start.double().softmax(-1).cpu().numpy()  # (batch, passage)
    end = scores.end.double().softmax(-1).cpu().numpy()
    weights = _length_weights(max(lengths))  # (passage, passage)
    best = []
    for row, n in enumerate(lengths):
        products = start[row, :n, None] * end[row, None, :n]  # (passage, passage)
        products *= weights[:n, :n]
        first, last = divmod(int(products.argmax()), n)
        span = BestSpan(first, last, float(products[first, last]))
        best.append(BestSpans(span, _best_candidate(products, candidates[row])))
    return best


def _best_candidate(products: Products, candidates: Candidates) -> tuple[int, float] | None:
    if not len(candidates):
        return None
    of_candidates = products[candidates[:, 0], candidates[:, 1]]  # (candidates,)
    best = int(of_candidates.argmax())
    return int(candidates[best, 2]), float(of_candidates[best])


def _length_weights(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """w(j - i) at [i, j], 0 below the diagonal."""
    steps = np.arange(n)
    by_step = np.ones(n)
    by_step[UNPENALISED_STEP + 1 :] = 1 / np.log(steps[UNPENALISED_STEP + 1 :] + 1)
    distance = steps[None, :] - steps[:, None]  # (passage, passage)
    return np.where(distance >= 0, by_step[np.abs(distance)], 0.0)
