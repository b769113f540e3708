"""Models held by a Python worker: loaded once per process, kind and device, whatever the batches.

It must be imported, not pickled: a cache in a job's script would be a new one for each task.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, Protocol

from udfs.annotators.allennlp.annotator import (
    AllennlpAnnotator,
    SpacyAllennlpAnnotator,
    allennlp_digest,
    spacy_allennlp_digest,
)
from udfs.annotators.base import NO_ARCHIVES, Annotator, Archives, Token
from udfs.annotators.spacy_annotator import SpacyAnnotator, pipeline_digest

LOGGER = logging.getLogger(__name__)

load_counts: Counter[tuple[str, str, str]] = Counter()
"""How often this process loaded each (annotator, model, device)."""


class TaggingAnnotator(Annotator, Protocol):
    """An annotator that also tags texts other than articles."""

    def tag_texts(self, texts: Sequence[str]) -> Iterator[tuple[Token, ...]]: ...


class AnnotatorEntry(NamedTuple):
    """How an annotator is made; both import its libraries inside, so that an entry costs nothing unused."""

    load: Callable[[str, str, Archives], TaggingAnnotator]
    """(model, device, archives) -> the annotator."""
    digest: Callable[[str, Archives], str]
    """(model, archives) -> the digest that the loaded annotator has, without loading it."""


ANNOTATORS = {
    "spacy": AnnotatorEntry(
        lambda model, device, _: SpacyAnnotator.load(model, device), lambda model, _: pipeline_digest(model)
    ),
    "allennlp": AnnotatorEntry(AllennlpAnnotator.load, allennlp_digest),
    "spacy+allennlp": AnnotatorEntry(SpacyAllennlpAnnotator.load, spacy_allennlp_digest),
}


def annotator_for(name: str, model: str, device: str = "cpu", archives: Archives = NO_ARCHIVES) -> TaggingAnnotator:
    """The annotator, from this process's cache; asking for another one on a device drops the one held there.

    Raises:
        ValueError: there is no annotator of that name; what the annotator raises for model and device.
    """
    return _annotator_on(device)(name, model, archives)


def annotator_digest(name: str, model: str, archives: Archives = NO_ARCHIVES) -> str:
    """The digest of an annotator, for fingerprints: no model is loaded.

    Raises:
        ValueError: there is no annotator of that name; its model or an archive is not there.
    """
    return _entry(name).digest(model, archives)


def device_of_task(device: str) -> str:
    """ "cuda" as the card that Spark gave to the running task: tasks side by side share none. Others stay.

    Spark's discovery names cards by the numbers of the machine; a worker that sees some alone
    (CUDA_VISIBLE_DEVICES) counts those from 0.
    """
    if device != "cuda":
        return device
    from pyspark import TaskContext

    context = TaskContext.get()
    resources = context.resources() if context else {}
    given = resources["gpu"].addresses if "gpu" in resources else []
    if not given:
        return device
    visible = [card.strip() for card in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if card.strip()]
    return f"cuda:{visible.index(given[0]) if given[0] in visible else given[0]}"


@cache
def _annotator_on(device: str) -> Callable[[str, str, Archives], TaggingAnnotator]:
    """The loader of a device, with its cache of one annotator; models of another kind get a cache of their own."""

    @lru_cache(maxsize=1)
    def load(name: str, model: str, archives: Archives) -> TaggingAnnotator:
        load.cache_clear()  # frees the model held so far before the next one takes memory
        entry = _entry(name)
        LOGGER.info("loading annotator %s, model %s, on %s", name, model, device)
        load_counts[name, model, device] += 1
        return entry.load(model, device, archives)

    return load


def _entry(name: str) -> AnnotatorEntry:
    if name not in ANNOTATORS:
        raise ValueError(f"no annotator {name!r}; known: {', '.join(sorted(ANNOTATORS))}")
    return ANNOTATORS[name]
