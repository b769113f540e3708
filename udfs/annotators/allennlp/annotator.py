"""The annotators ``allennlp`` and ``spacy+allennlp``: spaCy's tokens, AllenNLP's names and coreference."""

import hashlib
import json
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from udfs.annotators import name_linking
from udfs.annotators.allennlp.archives import ArchiveError, archive_digest
from udfs.annotators.allennlp.coreference import CoreferenceResolver
from udfs.annotators.allennlp.library import VERSION, check_installed
from udfs.annotators.allennlp.naming import Clustered, clusters_merged, clusters_of_model
from udfs.annotators.allennlp.tagger import EntityTagger
from udfs.annotators.allennlp.windows import Clusters, StitchedCluster, Window, cut_long, stitch, windows_over
from udfs.annotators.base import Annotation, Archives, Token
from udfs.annotators.name_types import UNLINKED
from udfs.annotators.spacy_annotator import SpacyAnnotator, bare_names, pipeline_digest
from udfs.sentence_split import split_sentences
from udfs.spans import Mention, Span
from udfs.story_text import StoryText

LOGGER = logging.getLogger(__name__)

RULES_VERSION = 1
"""Part of the digest: raise it with any change of this package that changes annotations."""

# Labels that are no names, in OntoNotes' models; CoNLL's have PER, LOC, ORG and MISC alone.
_NO_NAMES = frozenset(("DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"))
# Where memory doesn't suffice even for so many tokens, the article fails.
_LEAST_WINDOW = 64
_OVERLAP_SHARE = 4  # neighbouring windows share up to a fourth

Resolve = Callable[[Sequence[Sequence[str]]], Clusters]


class _AllennlpBase:
    """What both annotators share: an article's tokens by sentence, and its clusters, in windows where it is long."""

    digest: str

    def __init__(self, spacy: SpacyAnnotator, resolver: CoreferenceResolver, digest: str, window_tokens: int) -> None:
        self.digest = digest
        self._spacy = spacy
        self._resolver = resolver
        self._window_tokens = window_tokens

    def tag_texts(self, texts: Sequence[str]) -> Iterator[tuple[Token, ...]]:
        """As ``SpacyAnnotator.tag_texts``."""
        return self._spacy.tag_texts(texts)

    def _each(
        self, stories: Sequence[StoryText], analysed: Iterator[Annotation | Exception]
    ) -> Iterator[Annotation | Exception]:
        for story, base in zip(stories, analysed, strict=True):
            if isinstance(base, Exception):
                yield base
                continue
            try:
                yield self._annotated(story, base)
            except Exception as error:  # the article's result: it costs no other
                yield error

    def _annotated(self, story: StoryText, base: Annotation) -> Annotation:
        raise NotImplementedError


class AllennlpAnnotator(_AllennlpBase):
    """``allennlp``: names by the CRF tagger, sentence by sentence; clusters by the coreference model, over body and
    highlights together. A name that the model does not cluster is a cluster by itself."""

    def __init__(self, spacy: SpacyAnnotator, tagger: EntityTagger, resolver: CoreferenceResolver, **rest: Any) -> None:
        super().__init__(spacy, resolver, **rest)
        self._tagger = tagger

    @classmethod
    def load(cls, model: str, device: str, archives: Archives) -> "AllennlpAnnotator":
        """Raises ArchiveError, LibraryMissing, PipelineError; ValueError: a device that is unknown or absent."""
        digest = allennlp_digest(model, archives)
        tagger = EntityTagger.load(archives.ner, archives.ner_sha256, device)
        resolver = _resolver(device, archives)
        return cls(
            SpacyAnnotator.load(model), tagger, resolver, digest=digest, window_tokens=archives.window_tokens
        )  # spaCy stays on the CPU: the card is for the networks

    def annotate(self, stories: Sequence[StoryText]) -> Iterator[Annotation | Exception]:
        """One result per story, in order; one that fails gives its exception."""
        return self._each(stories, self._spacy.annotate_without_names(stories))

    def _annotated(self, story: StoryText, base: Annotation) -> Annotation:
        document = _document(story, base)
        named = _names(story.text, document, self._tagger)
        clusters, windows = clusters_in_windows(document.words, self._resolver.clusters, self._window_tokens)
        characters = [_characters(document.tokens, window) for window in windows]
        found = clusters_of_model(story.text, document.tokens, named, clusters, characters)
        return Annotation(base.sentences, base.tokens, found.mentions, found.unnamed)


class SpacyAllennlpAnnotator(_AllennlpBase):
    """``spacy+allennlp``: spaCy's mentions, linked by name; clusters of names that AllenNLP's model puts together are
    united.

    The rule (``naming.clusters_merged``): a cluster of names belongs to the cluster of the model that holds the most,
    and at least half, of its mentions; those that belong to one are united, persons with persons only. Nothing is
    split: over names, linking by name is the better of the two.
    """

    @classmethod
    def load(cls, model: str, device: str, archives: Archives) -> "SpacyAllennlpAnnotator":
        """Raises what ``AllennlpAnnotator.load`` does."""
        digest = spacy_allennlp_digest(model, archives)
        resolver = _resolver(device, archives)
        return cls(SpacyAnnotator.load(model), resolver, digest, archives.window_tokens)

    def annotate(self, stories: Sequence[StoryText]) -> Iterator[Annotation | Exception]:
        """One result per story, in order; one that fails gives its exception."""
        return self._each(stories, self._spacy.annotate(stories))

    def _annotated(self, story: StoryText, base: Annotation) -> Annotation:
        document = _document(story, base)
        clusters, _ = clusters_in_windows(document.words, self._resolver.clusters, self._window_tokens)
        found: Clustered = clusters_merged(document.tokens, base.mentions, clusters)
        return Annotation(base.sentences, base.tokens, found.mentions, found.unnamed)


def allennlp_digest(model: str, archives: Archives) -> str:
    """The digest of ``allennlp``: nothing is loaded; an archive without a SHA-256 in the settings is read through.

    Raises:
        ArchiveError: an archive is not named, or not there.
        LibraryMissing: AllenNLP is not installed.
    """
    ner = archive_digest(_required(archives.ner, "ner_archive"), archives.ner_sha256)
    return _digest(model, archives, ner)


def spacy_allennlp_digest(model: str, archives: Archives) -> str:
    """The digest of ``spacy+allennlp``; raises as ``allennlp_digest``."""
    return _digest(model, archives, "spacy")


def _digest(model: str, archives: Archives, names_by: str) -> str:
    check_installed()
    parts = {
        "allennlp": VERSION,
        "spacy": pipeline_digest(model),
        "ner": names_by,
        "coreference": archive_digest(
            _required(archives.coreference, "coreference_archive"), archives.coreference_sha256
        ),
        "half_precision": archives.half_precision,
        "window_tokens": archives.window_tokens,
        "rules": [RULES_VERSION, name_linking.RULES_VERSION],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _required(source: str, key: str) -> str:
    if not source:
        raise ArchiveError(f"annotate.{key} is empty: give the path or URI of AllenNLP's model.tar.gz")
    return source


def _resolver(device: str, archives: Archives) -> CoreferenceResolver:
    return CoreferenceResolver.load(
        archives.coreference, archives.coreference_sha256, device, half_precision=archives.half_precision
    )


class _Document(NamedTuple):
    """The tokens that lie in sentences, of body and highlights, and their words by sentence."""

    tokens: list[Token]
    words: list[list[str]]


def _document(story: StoryText, base: Annotation) -> _Document:
    sentences = sorted([*base.sentences, *split_sentences(story.text, story.highlights)])
    starts = [sentence.start for sentence in sentences]
    words: list[list[str]] = [[] for _ in sentences]
    tokens = []
    for token in sorted(base.tokens):
        at = bisect_right(starts, token.start) - 1
        if at >= 0:
            words[at].append(story.text[token.start : token.end])
            tokens.append(token)
    return _Document(tokens, [sentence for sentence in words if sentence])


def _names(text: str, document: _Document, tagger: EntityTagger) -> list[Mention]:
    named: dict[tuple[int, int], Mention] = {}
    first = 0
    for words in document.words:
        for start, end, label in tagger.spans(words):
            if label not in _NO_NAMES:
                begins, ends = document.tokens[first + start].start, document.tokens[first + end - 1].end
                named.update({(m.start, m.end): m for m in bare_names(text, begins, ends, label)})
        first += len(words)
    return [mention._replace(cluster=UNLINKED) for mention in named.values()]


def _characters(tokens: Sequence[Token], window: Span) -> Span:
    return Span(tokens[window.start].start, tokens[window.end - 1].end)


def clusters_in_windows(
    words: Sequence[Sequence[str]], resolve: Resolve, window_tokens: int
) -> tuple[list[StitchedCluster], list[Span]]:
    """A document's clusters, and the tokens of its windows; smaller windows where memory does not suffice.

    Raises:
        RuntimeError, MemoryError: it does not suffice for the smallest windows either; or what ``resolve`` raises.
    """
    while True:
        try:
            return _in_windows(words, resolve, window_tokens)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or window_tokens // 2 < _LEAST_WINDOW:
                raise
            largest = min(window_tokens, sum(map(len, words)))
            window_tokens = largest // 2
            LOGGER.warning("out of memory with %d tokens: windows of %d", largest, window_tokens)
            if window_tokens < _LEAST_WINDOW:
                raise
        _free_cached_memory()


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of PyTorch, on the CPU or a card, says that memory did not suffice."""
    return isinstance(error, MemoryError) or any(
        said in str(error).lower() for said in ("out of memory", "not enough memory", "can't allocate memory")
    )


def _free_cached_memory() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _in_windows(
    words: Sequence[Sequence[str]], resolve: Resolve, window_tokens: int
) -> tuple[list[StitchedCluster], list[Span]]:
    lengths = cut_long([len(sentence) for sentence in words], window_tokens)
    flat = [word for sentence in words for word in sentence]
    starts = [0, *accumulate(lengths)]
    windows = windows_over(lengths, window_tokens, window_tokens // _OVERLAP_SHARE)
    covered = [Span(starts[start], starts[end]) for start, end in windows]
    found = [_resolved(flat, starts, window, resolve) for window in windows]
    return stitch(found, covered), covered


def _resolved(flat: Sequence[str], starts: Sequence[int], window: Window, resolve: Resolve) -> Clusters:
    sentences = [flat[starts[i] : starts[i + 1]] for i in range(*window)]
    shift = starts[window.start]
    return [[(first + shift, last + shift) for first, last in cluster] for cluster in resolve(sentences)]
