"""Annotator on a spaCy pipeline: its tokens and names, rule-based sentences, and linking by name.

Paragraphs and highlights are analysed one by one, so no token or mention spans two of them. spaCy is
imported inside the functions that load or locate a pipeline, never with this module.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from udfs.annotators import name_linking
from udfs.annotators.base import Annotation, Token
from udfs.annotators.name_forms import fits_in_order, is_acronym, without_possessive
from udfs.annotators.name_linking import resolve_names
from udfs.annotators.name_types import UNLINKED
from udfs.annotators.spacy_pipelines import PipelineError, locate, pipeline_identity, use_device
from udfs.sentence_split import split_sentences
from udfs.spans import Mention
from udfs.story_text import StoryText

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

RULES_VERSION = 2
"""Part of the digest: raise it with any change of this module that changes annotations."""

UNTYPED = "MISC"
"""The label of a name of no known type, in a pipeline that was trained on mentions without types."""
NAME_LABELS = frozenset(
    ("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE", UNTYPED)
)
"""The labels of names; dates, times, quantities and numbers are dropped."""

_NOT_NEEDED = ("parser", "senter", "sentencizer", "entity_linker", "textcat", "textcat_multilabel", "spancat")
SETS_NAMES = frozenset(("ner", "entity_ruler", "beam_ner"))

# Articles are taken in groups of so many characters, their paragraphs analysed in batches of so many.
# Measured over 24 articles on a busy machine, articles per CPU second: batches of 5,000 characters 7.3; 10,000: 8.0;
# 20,000: 7.6; 40,000: 7.5, and 0.1 GB more memory.
_GROUP_CHARACTERS = 200_000
_BATCH_CHARACTERS = 10_000
# Entries that spaCy's lemmatizer may cache before they are dropped: it keeps every word that it meets.
_LEMMA_CACHE_ENTRIES = 50_000

# The words of so much text stay in memory for good, about 15,000. Measured over 24 articles: 0.15 s of splitting into
# words without them, 0.01 with them, of 3 s in all.
_LEARNT_CHARACTERS = 600_000

_ARTICLE = re.compile(r"[Tt]he\s+")
_OPEN_BRACKET = re.compile(r"(.*\w)\s*\(\s*(\S+)", re.DOTALL)


class _Analysed(NamedTuple):
    """Of one text, copied out of spaCy's memory."""

    tokens: tuple[Token, ...]
    names: tuple[tuple[int, int, str], ...]


class SpacyAnnotator:
    """Implements ``Annotator``; results of an article are the same alone and in any batch."""

    def __init__(self, nlp: "Language", digest: str) -> None:
        names = set(nlp.pipe_names)
        if not names & SETS_NAMES:
            raise PipelineError(f"the pipeline {nlp.meta['name']!r} finds no names: it has {', '.join(nlp.pipe_names)}")
        self.digest = digest
        self._nlp = nlp
        self._characters_to_learn = _LEARNT_CHARACTERS
        self._finds_names = [name for name in nlp.pipe_names if name in SETS_NAMES]

    @classmethod
    def load(cls, model: str, device: str = "cpu") -> "SpacyAnnotator":
        """Loads a pipeline by package name, folder or URI, for "cpu", "cuda" or "cuda:<index>".

        Raises:
            PipelineError: it is not installed, or finds no names.
            ValueError: the device is unknown or absent.
        """
        import spacy

        source = locate(model)
        use_device(device)
        return cls(spacy.load(source, exclude=list(_NOT_NEEDED)), pipeline_digest(model))

    def annotate(self, stories: Sequence[StoryText]) -> Iterator[Annotation | Exception]:
        """One result per story, in order; one that fails gives its exception.

        A text longer than the pipeline's ``max_length`` gives a ``ValueError``.
        """
        yield from self._in_groups(stories)

    def annotate_without_names(self, stories: Sequence[StoryText]) -> Iterator[Annotation | Exception]:
        """As ``annotate``, with sentences and tokens alone: for annotators that find names by another model."""
        yield from self._in_groups(stories, skip=self._finds_names)

    def _in_groups(self, stories: Sequence[StoryText], skip: Sequence[str] = ()) -> Iterator[Annotation | Exception]:
        for group in _runs([len(story.text) for story in stories], _GROUP_CHARACTERS):
            yield from self._annotate_group([stories[i] for i in group], skip)

    def tag_texts(self, texts: Sequence[str]) -> Iterator[tuple[Token, ...]]:
        """Tokens of each text, in order, without names; texts are taken whole, line breaks and all.

        Raises:
            ValueError: a text is longer than the pipeline's ``max_length``.
            Exception: what spaCy raised on a text.
        """
        for group in _runs([len(text) for text in texts], _GROUP_CHARACTERS):
            for text in (texts[i] for i in group):
                self._check_length(text)
            for result in self._analyse([texts[i] for i in group], skip=self._finds_names):
                if isinstance(result, Exception):
                    raise result
                yield result.tokens

    def _annotate_group(self, stories: Sequence[StoryText], skip: Sequence[str]) -> list[Annotation | Exception]:
        results: list[Annotation | Exception] = []
        parts: list[range] = []  # of each story, where its paragraphs and highlights are among the texts
        texts: list[str] = []
        for story in stories:
            units = (*story.paragraphs, *story.highlights) if len(story.text) <= self._nlp.max_length else ()
            parts.append(range(len(texts), len(texts) + len(units)))
            texts += [story.text[start:end] for start, end in units]
        analysed = self._analyse(texts, skip)
        for story, part in zip(stories, parts, strict=True):
            try:
                self._check_length(story.text)
                results.append(_assemble(story, [analysed[i] for i in part]))
            except Exception as error:  # the article's result: it costs no other
                results.append(error)
        return results

    def _check_length(self, text: str) -> None:
        if len(text) > self._nlp.max_length:
            raise ValueError(f"a text of {len(text)} characters; the pipeline takes at most {self._nlp.max_length}")

    def _analyse(self, texts: Sequence[str], skip: Sequence[str] = ()) -> list[_Analysed | Exception]:
        """In batches of texts of similar length; the results are in the order of ``texts``."""
        results: dict[int, _Analysed | Exception] = {}
        by_length = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        self._learn_words(texts)
        try:
            # Nothing of a Doc may outlive the zone: _copy takes strings and numbers out. One zone for all batches,
            # since a word is looked up anew in each.
            with self._nlp.memory_zone():
                for run in _runs([len(texts[i]) for i in by_length], _BATCH_CHARACTERS):
                    batch = [by_length[i] for i in run]
                    results.update(zip(batch, self._analyse_batch([texts[i] for i in batch], skip), strict=True))
        finally:
            self._drop_cached_lemmas()
        return [results[i] for i in range(len(texts))]

    def _learn_words(self, texts: Sequence[str]) -> None:
        """Keeps the words of the first texts for good: a word that only the zone knows is split anew each time."""
        for text in texts:
            if self._characters_to_learn <= 0:
                return
            self._characters_to_learn -= len(text)
            with suppress(Exception):  # a text that fails here fails again when it is analysed, and is reported then
                self._nlp.tokenizer(text)

    def _analyse_batch(self, texts: Sequence[str], skip: Sequence[str]) -> Sequence[_Analysed | Exception]:
        try:
            return [_copy(doc) for doc in self._nlp.pipe(texts, batch_size=len(texts), disable=list(skip))]
        except Exception:
            # One text spoils the batch: each by itself shows which, and keeps the error.
            return [self._analyse_alone(text, skip) for text in texts]

    def _analyse_alone(self, text: str, skip: Sequence[str]) -> _Analysed | Exception:
        try:
            return _copy(self._nlp(text, disable=list(skip)))
        except Exception as error:
            return error

    def _drop_cached_lemmas(self) -> None:
        for _, component in self._nlp.pipeline:
            cache = getattr(component, "cache", None)
            if isinstance(cache, dict) and len(cache) > _LEMMA_CACHE_ENTRIES:
                cache.clear()


def pipeline_digest(model: str) -> str:
    """Identifies a pipeline and the rules applied to it, without loading it.

    Over name and version of the pipeline, spaCy's version, the labels kept and the rules' versions; of a
    pipeline in a folder, also over its files, since their version does not tell that they were retrained.
    """
    from spacy.about import __version__ as spacy_version

    pipeline = pipeline_identity(model)
    parts = {
        "pipeline": pipeline.name,
        "version": pipeline.version,
        "spacy": spacy_version,
        "labels": sorted(NAME_LABELS),
        "rules": [RULES_VERSION, name_linking.RULES_VERSION],
        "files": pipeline.files,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _runs(sizes: Sequence[int], budget: int) -> Iterator[range]:
    """Runs of neighbours with a total size of at most ``budget``, or of one that is larger."""
    start = total = 0
    for i, size in enumerate(sizes):
        if i > start and total + size > budget:
            yield range(start, i)
            start, total = i, 0
        total += size
    if start < len(sizes):
        yield range(start, len(sizes))


def _copy(doc: "Doc") -> _Analysed:
    return _Analysed(
        tuple(Token(t.idx, t.idx + len(t), t.pos_, t.tag_, t.lemma_) for t in doc if not t.is_space),
        tuple((e.start_char, e.end_char, e.label_) for e in doc.ents if e.label_ in NAME_LABELS),
    )


def _assemble(story: StoryText, analysed: Iterable[_Analysed | Exception]) -> Annotation:
    """Lays the results of paragraphs and highlights, or the first one's exception, over the article."""
    text = story.text
    units = (*story.paragraphs, *story.highlights)
    tokens: list[Token] = []
    found: list[Mention] = []
    for (shift, _), result in zip(units, analysed, strict=True):
        if isinstance(result, Exception):
            raise result
        tokens += [t._replace(start=t.start + shift, end=t.end + shift) for t in result.tokens]
        for start, end, label in result.names:
            found += bare_names(text, start + shift, end + shift, label)
    mentions = resolve_names(text, units, found)
    return Annotation(tuple(split_sentences(text, story.paragraphs)), tuple(tokens), tuple(mentions))


def bare_names(text: str, start: int, end: int, label: str) -> list[Mention]:
    """The mentions that a tagged span holds, without leading "the" and possessive "'s".

    None where no name is left: a name has a capital or a digit. Two where an acronym's bracket was
    taken for a part of the name: "World Health Organization (WHO".
    """
    article = _ARTICLE.match(text, start, end)
    start = article.end() if article else start
    while start < end and text[start].isspace():
        start += 1
    surface = without_possessive(text[start:end]).rstrip()
    if not any(c.isupper() or c.isdigit() for c in surface):
        return []
    bracket = _OPEN_BRACKET.fullmatch(surface)
    if bracket and is_acronym(bracket[2]) and fits_in_order(bracket[2], bracket[1]):
        spans = [bracket.span(1), bracket.span(2)]
    else:
        spans = [(0, len(surface))]
    return [Mention(start + a, start + b, UNLINKED, label) for a, b in spans]
