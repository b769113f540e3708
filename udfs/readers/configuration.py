"""What a reader is made and trained with: plain values. Pure, so that settings can be read without torch."""

from dataclasses import dataclass, fields

RUN_ONLY = ("threads", "device", "held_out_batch_tokens")
"""The training options that say how a run is made, not what comes out (but for last digits)."""
SCORING_WINDOW = 2_000
"""Queries that are read together: sorted by length, they fill even batches. About 60 MB of examples."""


class TrainingError(ValueError):
    """Training can't start or go on; the message says what to do."""


@dataclass(frozen=True)
class SanConfig:
    """Sizes and dropout rates; the defaults are the reference implementation's."""

    word_size: int = 300
    pos_size: int = 12
    ner_size: int = 8
    prealign_size: int = 128
    lexicon_size: int = 256
    context_size: int = 128
    """Hidden units of each direction of the contextual LSTMs."""
    memory_size: int = 128
    """The same for the LSTMs of the memory and of the query's understanding."""
    deep_attention_size: int = 128
    self_attention_size: int = 128
    turns: int = 5
    """Answer turns whose distributions are averaged."""
    dropout: float = 0.3
    word_vector_dropout: float = 0.4
    turn_dropout: float = 0.1
    """Share of turns left out of the average in training."""
    tuned_words: int = 1000
    """The first rows of the word table, which are trained; the others are constants."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name.endswith("dropout"):
                if not 0 <= value < 1:
                    raise ValueError(f"{each.name} {value} must be at least 0 and less than 1")
            elif value < 1:
                raise ValueError(f"{each.name} {value} must be at least 1")


@dataclass(frozen=True)
class TrainingOptions:
    """How a reader is trained; the defaults are those of SAN's reference implementation."""

    epochs: int = 50
    batch_size: int = 32
    learning_rate: float = 0.002
    decay_after: tuple[int, ...] = (10, 20, 30)
    """After each of these epochs the learning rate is multiplied by ``decay_factor``."""
    decay_factor: float = 0.5
    clip: float = 5.0
    """Upper limit of the norm of all trained parameters' gradient."""
    word_dropout: float = 0.05
    """Share of words that a training batch shows as unknown."""
    max_passage_tokens: int = 1000
    """Examples with longer passages are not trained on; prediction knows no limit."""
    min_count: int = 1
    """Words that are seen less often in the training examples have no row of their own."""
    max_words: int = 100_000
    """Rows of the word table at most."""
    lower_case: bool = False
    """Whether words are looked up in lower case: true for vectors of an uncased vocabulary."""
    held_out_batch_tokens: int = 8192
    seed: int = 2018
    threads: int = 1
    """Threads of torch within this process. Another number may give other last digits."""
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "max_passage_tokens", "min_count", "held_out_batch_tokens", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)} must be at least 1")
        for name in ("learning_rate", "decay_factor", "clip"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} {getattr(self, name)} must be greater than 0")
        if self.seed < 0:
            raise ValueError(f"seed {self.seed} must be at least 0")
        if self.max_words < 3:
            raise ValueError(f"max_words {self.max_words} must be at least 3: padding, unknown and @placeholder")
        if not 0 <= self.word_dropout < 1:
            raise ValueError(f"word_dropout {self.word_dropout} must be at least 0 and less than 1")
