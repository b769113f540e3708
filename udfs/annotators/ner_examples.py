"""What a named entity recogniser is trained on: paragraphs and bullets with the spans of their names.

An article's stand-off mentions get silver types from a base pipeline, which also keeps what else it finds
(dates, amounts): else the network would unlearn it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from udfs.annotators.silver_types import silver_types
from udfs.annotators.spacy_annotator import NAME_LABELS, SETS_NAMES, UNTYPED, bare_names
from udfs.annotators.spacy_pipelines import locate
from udfs.spans import Mention, Span, inside, outermost
from udfs.story_text import StoryText

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

NESTED, OUTSIDE, NOT_ALIGNED, TOO_LONG = "nested", "outside_paragraphs", "not_aligned", "text_too_long"
_BATCH_TEXTS = 64


class Label(NamedTuple):
    """What stands at a span of a text: half-open code point offsets."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class NerText:
    """One paragraph or bullet.

    ``labels`` don't overlap, and begin and end where tokens do: names (``NAME_LABELS``), and the base
    pipeline's other findings. ``unaligned``: named mentions that begin or end inside a token; what their
    tokens are is not told to the network, and they count as missed in scores.
    """

    text: str
    labels: tuple[Label, ...]
    unaligned: tuple[Span, ...] = ()

    def names(self) -> set[Span]:
        """The spans of all named mentions, nested ones apart."""
        return {Span(s, e) for s, e, label in self.labels if label in NAME_LABELS} | set(self.unaligned)


@dataclass(frozen=True)
class NerArticle:
    """The texts of an article in order; ``left_out`` counts its mentions that can't be trained on, by reason."""

    texts: tuple[NerText, ...]
    left_out: Mapping[str, int]


class SilverTagger:
    """Makes training texts of articles with stand-off mentions."""

    def __init__(self, nlp: "Language") -> None:
        self._nlp = nlp
        needed = {n for n in nlp.pipe_names if n in SETS_NAMES}
        needed |= {n for n, p in nlp.pipeline if needed & set(getattr(p, "listening_components", ()))}
        self._idle = [n for n in nlp.pipe_names if n not in needed]

    @classmethod
    def load(cls, base_model: str) -> "SilverTagger":
        """On the CPU; raises PipelineError where the pipeline is not installed."""
        import spacy

        spacy.require_cpu()  # type: ignore[attr-defined]
        return cls(spacy.load(locate(base_model)))

    def examples(self, story: StoryText, mentions: Sequence[Mention]) -> NerArticle:
        """The article's texts, with the mentions as its names."""
        units = [u for u in (*story.paragraphs, *story.highlights) if u.end - u.start <= self._nlp.max_length]
        too_long = [u for u in (*story.paragraphs, *story.highlights) if u.end - u.start > self._nlp.max_length]
        outer = outermost(mentions)
        starts = [m.start for m in outer]
        of_units = [inside(outer, starts, unit) for unit in units]
        left_out = Counter(
            {
                NESTED: len(mentions) - len(outer),
                OUTSIDE: len(outer) - sum(map(len, of_units)),
            }
        )
        if too_long:
            left_out[TOO_LONG] = sum(len(inside(outer, starts, unit)) for unit in too_long)
            left_out[OUTSIDE] -= left_out[TOO_LONG]
        with self._nlp.memory_zone():
            docs = list(
                self._nlp.pipe(
                    (story.text[u.start : u.end] for u in units), batch_size=_BATCH_TEXTS, disable=self._idle
                )
            )
            tagged = {
                Span(m.start + u.start, m.end + u.start): str(m.type)
                for u, doc in zip(units, docs, strict=True)
                for m in names_of(doc)
            }
            typed = {(m.start, m.end): m for m in silver_types(outer, tagged, UNTYPED)}
            texts = [
                _text(doc, [typed[m.start, m.end]._replace(start=m.start - u.start, end=m.end - u.start) for m in of])
                for u, doc, of in zip(units, docs, of_units, strict=True)
            ]
        left_out[NOT_ALIGNED] = sum(len(t.unaligned) for t in texts)
        return NerArticle(tuple(texts), {reason: n for reason, n in left_out.items() if n})


@lru_cache(maxsize=1)
def silver_tagger(base_model: str) -> SilverTagger:
    """The tagger of this process: loaded once, whatever the batches."""
    return SilverTagger.load(base_model)


def names_of(doc: "Doc") -> list[Mention]:
    """The names that a pipeline found in a text, as the annotator takes them: without articles and possessives."""
    return [m for label in findings(doc) if label.label in NAME_LABELS for m in bare_names(doc.text, *label)]


def findings(doc: "Doc") -> list[Label]:
    """All that a pipeline found in a text."""
    return [Label(e.start_char, e.end_char, e.label_) for e in doc.ents]


def _text(doc: "Doc", mentions: Iterable[Mention]) -> NerText:
    labels, unaligned = [], []
    for m in mentions:
        if doc.char_span(m.start, m.end) is None:
            unaligned.append(Span(m.start, m.end))
        else:
            labels.append(Label(m.start, m.end, str(m.type)))
    taken = [*labels, *((s.start, s.end, "") for s in unaligned)]
    for found in findings(doc):
        free = all(found.end <= start or end <= found.start for start, end, _ in taken)
        if found.label not in NAME_LABELS and free:
            labels.append(found)
    return NerText(doc.text, tuple(sorted(labels)), tuple(unaligned))
