"""Named entities by AllenNLP's CRF tagger (Peters et al. 2018): the tags of its own predictor, text by text."""

from collections.abc import Sequence
from typing import NamedTuple

from udfs.annotators.allennlp.models import LoadedModel, forget_earlier_texts, load_model, text_tensors


class TaggedSpan(NamedTuple):
    """Half-open token indices, and the label without its prefix."""

    start: int
    end: int
    label: str


class EntityTagger:
    """Tags one text per forward: tags don't depend on what else is in a batch."""

    def __init__(self, model: LoadedModel) -> None:
        self.digest = model.digest
        self._model = model
        self._indexers = model.reader._token_indexers

    @classmethod
    def load(cls, source: str, sha256: str = "", device: str = "cpu") -> "EntityTagger":
        """Raises ArchiveError and LibraryMissing, as ``models.load_model``."""
        return cls(load_model(source, sha256, device, "crf_tagger"))

    def tags(self, words: Sequence[str]) -> list[str]:
        """One tag per word; no words, no tags (AllenNLP fails on them)."""
        import torch

        if not words:
            return []
        network = self._model.network
        with torch.inference_mode():
            forget_earlier_texts(network)
            made = network.make_output_human_readable(network(text_tensors(self._model, list(words), self._indexers)))
        return list(made["tags"][0])

    def spans(self, words: Sequence[str]) -> list[TaggedSpan]:
        """The entities of a text."""
        return spans_of_tags(self.tags(words))


def spans_of_tags(tags: Sequence[str]) -> list[TaggedSpan]:
    """The spans of BIO, BIOUL, IOB1 or bare tags; a tag that continues nothing begins a span."""
    spans: list[TaggedSpan] = []
    start, label = 0, ""
    for i, tag in enumerate([*tags, "O"]):
        prefix, _, named = tag.partition("-")
        named = "" if prefix == "O" else named or prefix
        if label and (named != label or prefix in ("B", "U", "S")):
            spans.append(TaggedSpan(start, i, label))
            label = ""
        if named and not label:
            start, label = i, named
        if label and prefix in ("L", "U", "E", "S"):
            spans.append(TaggedSpan(start, i + 1, label))
            label = ""
    return spans
