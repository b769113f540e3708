"""How an annotator is trained: plain values. Pure, so that settings can be read without spaCy."""

from dataclasses import dataclass, fields

RUN_ONLY = ("device",)
"""The options that say how a run is made, not what comes out (but for last digits)."""


@dataclass(frozen=True)
class NerTrainingOptions:
    """How the named entity recogniser of a spaCy pipeline is fine-tuned."""

    base_model: str = "en_core_web_sm"
    """The pipeline that is begun with, by package name, folder or URI."""
    max_steps: int = 20_000
    eval_frequency: int = 500
    """Steps from one evaluation on the held-out articles to the next."""
    patience: int = 4_000
    """Training ends after so many steps without a better evaluation; 0: only after ``max_steps``."""
    batch_words: int = 1_000
    dropout: float = 0.1
    learning_rate: float = 0.001
    seed: int = 2018
    device: str = "cpu"

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("max_steps", "eval_frequency", "batch_words") and value < 1:
                raise ValueError(f"{each.name} {value} must be at least 1")
            if each.name in ("patience", "seed") and value < 0:
                raise ValueError(f"{each.name} {value} must be at least 0")
        if self.eval_frequency > self.max_steps:
            raise ValueError(
                f"eval_frequency {self.eval_frequency} is more than max_steps {self.max_steps}: nothing trained would "
                "be evaluated, and what is kept is the best evaluated"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout {self.dropout} must be at least 0 and less than 1")
        if not 0 < self.learning_rate < 1:
            raise ValueError(f"learning_rate {self.learning_rate} must be greater than 0 and less than 1")
