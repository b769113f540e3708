"""What training takes and gives: its options, its reports, and the reader that comes out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from udfs.readers.configuration import TrainingOptions
from udfs.readers.layers import ReaderNetwork
from udfs.readers.registry import ReaderConfig
from udfs.readers.vocabulary import Vocabulary


@dataclass(frozen=True)
class EpochReport:
    """One epoch; scores are fractions over the held-out examples with answers, None where there are none."""

    epoch: int
    """1 for the first."""
    loss: float
    """Mean over the training examples, start and end together, with dropout on."""
    learning_rate: float
    exact_match: float | None
    f1: float | None
    examples: int
    examples_per_second: float
    """Training alone, without the held-out examples."""
    seconds: float
    """Training and held-out examples."""


@dataclass(frozen=True)
class TrainedReader:
    """A network with what it needs to read: saved and loaded by ``checkpoint``, used by ``prediction``."""

    network: ReaderNetwork
    config: ReaderConfig
    options: TrainingOptions
    vocabulary: Vocabulary
    epoch: int
    """Epochs done."""
    history: tuple[EpochReport, ...] = ()
    trained_on: int = 0
    """Examples that were trained on."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Training examples that were not, by reason."""
    optimizer: Mapping[str, Any] | None = None
    """State of the optimizer after ``epoch``, to resume from; None in a reader that only predicts."""
