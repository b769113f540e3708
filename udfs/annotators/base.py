"""What every annotator gives: the interface that the annotate job and its UDF know."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from udfs.spans import Mention, Span
from udfs.story_text import StoryText


class Token(NamedTuple):
    """A token: half-open code point offsets, universal and Penn part of speech, lemma."""

    start: int
    end: int
    pos: str
    tag: str
    lemma: str


@dataclass(frozen=True)
class Annotation:
    """Of one article: sentences of the body, tokens, named mentions with coreference clusters.

    All offsets refer to the article's whole text. ``mentions`` may nest; pronouns and nominals are
    not among them: where an annotator finds these, they are in ``unnamed``, with the clusters that they share with
    the named ones, and are never candidates or answers. Clusters are numbered 0, 1, ... in order of their first
    mention, named or not.
    """

    sentences: tuple[Span, ...]
    tokens: tuple[Token, ...]
    mentions: tuple[Mention, ...]
    unnamed: tuple[Mention, ...] = ()


class Archives(NamedTuple):
    """Where AllenNLP's models are, and how they are run: plain values, so that loaded models are known by them.

    ``ner`` and ``coreference`` are paths or URIs; of each, the SHA-256 that it must have, or "".
    """

    ner: str = ""
    ner_sha256: str = ""
    coreference: str = ""
    coreference_sha256: str = ""
    half_precision: bool = False
    window_tokens: int = 5000


NO_ARCHIVES = Archives()


class Annotator(Protocol):
    """Loaded once per Python worker and device; the results of an article do not depend on its batch."""

    digest: str
    """Identifies model and rules: part of every fingerprint of what it made."""

    def annotate(self, stories: Sequence[StoryText]) -> Iterator[Annotation | Exception]:
        """One result per story, in order; an article that fails gives its exception and costs only itself."""
        ...
