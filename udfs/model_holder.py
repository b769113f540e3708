"""Models held by a Python worker: loaded once per process, kind and device, whatever the batches.

It must be imported, not pickled: a cache in a job's script would be a new one for each task.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, Protocol

from udfs.annotators.base import Annotator, Token
from udfs.annotators.spacy_annotator import SpacyAnnotator, pipeline_digest

LOGGER = logging.getLogger(__name__)

load_counts: Counter[tuple[str, str, str]] = Counter()
"""How often this process loaded each (annotator, model, device)."""


class TaggingAnnotator(Annotator, Protocol):
    """An annotator that also tags texts other than articles."""

    def tag_texts(self, texts: Sequence[str]) -> Iterator[tuple[Token, ...]]: ...


class AnnotatorEntry(NamedTuple):
    """How an annotator is made; both import its libraries inside, so that an entry costs nothing unused."""

    load: Callable[[str, str], TaggingAnnotator]
    """(model, device) -> the annotator."""
    digest: Callable[[str], str]
    """model -> the digest that the loaded annotator has, without loading it."""


ANNOTATORS = {"spacy": AnnotatorEntry(SpacyAnnotator.load, pipeline_digest)}


def annotator_for(name: str, model: str, device: str = "cpu") -> TaggingAnnotator:
    """The annotator, from this process's cache; asking for another one on a device drops the one held there.

    Raises:
        ValueError: there is no annotator of that name; what the annotator raises for model and device.
    """
    return _annotator_on(device)(name, model)


def annotator_digest(name: str, model: str) -> str:
    """The digest of an annotator, for fingerprints: no model is loaded."""
    return _entry(name).digest(model)


@cache
def _annotator_on(device: str) -> Callable[[str, str], TaggingAnnotator]:
    """The loader of a device, with its cache of one annotator; models of another kind get a cache of their own."""

    @lru_cache(maxsize=1)
    def load(name: str, model: str) -> TaggingAnnotator:
        load.cache_clear()  # frees the model held so far before the next one takes memory
        entry = _entry(name)
        LOGGER.info("loading annotator %s, model %s, on %s", name, model, device)
        load_counts[name, model, device] += 1
        return entry.load(model, device)

    return load


def _entry(name: str) -> AnnotatorEntry:
    if name not in ANNOTATORS:
        raise ValueError(f"no annotator {name!r}; known: {', '.join(sorted(ANNOTATORS))}")
    return ANNOTATORS[name]
