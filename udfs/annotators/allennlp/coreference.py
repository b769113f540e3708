"""Coreference by AllenNLP's ``coref`` models (Lee et al. 2017, 2018): its own clusters, in less time and memory.

One document per forward: AllenNLP takes the number of spans that it keeps from the padded length of a batch, so that
clusters depend on it. Three things are computed otherwise, with the same scores up to rounding (2e-6):

* candidate spans are enumerated in numpy, not as fields;
* spans are embedded and scored some thousand at a time; only those that are kept are embedded for good;
* the first layer of the pair scorer acts on [span i; span j; i * j; distance]. Its parts on i and on j are computed
  once per span, the one on the distance once per bucket; only i * j remains per pair.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from udfs.annotators.allennlp.models import LoadedModel, forget_earlier_texts, load_model, text_tensors

TokenSpan = tuple[int, int]
"""Indices of the first and the last token of a mention, as AllenNLP gives them."""
Clusters = list[list[TokenSpan]]

_SPANS_AT_ONCE = 4096
# Pairs that are scored at once: of Lee's size, 1,120 numbers each for i * j.
_PAIRS_AT_ONCE = 32_768


class CoreferenceResolver:
    """Clusters of one document; the network's own code decides what is linked, ours computes the scores."""

    def __init__(self, model: LoadedModel, half_precision: bool = False) -> None:
        self.digest = model.digest
        self._model = model
        self._half = half_precision and model.device.startswith("cuda")
        self._scorer = _PairScorer(model.network)
        self.max_span_width = int(model.reader._max_span_width)

    @classmethod
    def load(
        cls, source: str, sha256: str = "", device: str = "cpu", half_precision: bool = False
    ) -> "CoreferenceResolver":
        """Raises ArchiveError and LibraryMissing, as ``models.load_model``; half precision is CUDA's alone."""
        return cls(load_model(source, sha256, device, "coref"), half_precision)

    def clusters(self, sentences: Sequence[Sequence[str]]) -> Clusters:
        """AllenNLP's clusters of a document given as words; indices count words over all sentences.

        A document without two words that can corefer has none (AllenNLP fails on it).
        """
        import torch

        document = self._document(sentences)
        if document is None:
            return []
        network = self._model.network
        with torch.inference_mode(), torch.autocast("cuda", torch.float16, enabled=self._half):
            forget_earlier_texts(network)
            kept = self._kept_spans(document)
            if kept is None:
                return []
            made = self._link(kept)
        found = network.make_output_human_readable(made)["clusters"][0]
        words = document.word_of_piece
        return [[(int(words[s]), int(words[e])) for s, e in cluster] for cluster in found]

    def _document(self, sentences: Sequence[Sequence[str]]) -> "_Document | None":
        words = [_plain(word) for sentence in sentences for word in sentence]
        spans = enumerate_spans([len(sentence) for sentence in sentences], self.max_span_width)
        tokens, word_of_piece = None, np.arange(len(words))
        pieces = self._model.reader._wordpiece_modeling_tokenizer
        if words and pieces is not None:
            tokens, offsets = pieces.intra_word_tokenize(words)
            spans, word_of_piece = _in_pieces(spans, offsets, len(tokens), pieces, self.max_span_width)
        if len(words) < 2 or not len(spans):
            return None
        text = text_tensors(self._model, words, self._model.reader._token_indexers, tokens)
        return _Document(text, len(tokens or words), spans, word_of_piece)

    def _kept_spans(self, document: "_Document") -> "_Kept | None":
        """The spans that may corefer, embedded; None where fewer than two are kept, which AllenNLP fails on."""
        import torch
        from allennlp.nn import util

        network = self._model.network
        n = min(int(np.floor(network._spans_per_word * document.length)), len(document.spans))
        if n < 2:
            return None
        embedded = network._text_field_embedder(document.text)  # (1, tokens, embedding)
        context = network._context_layer(embedded, util.get_text_field_mask(document.text))  # (1, tokens, context)
        spans = torch.from_numpy(document.spans).to(embedded.device).unsqueeze(0)  # (1, spans, 2)
        scores = torch.cat(
            [
                network._mention_scorer(network._mention_feedforward(self._embed_spans(embedded, context, part)))
                for part in torch.split(spans, _SPANS_AT_ONCE, 1)
            ],
            1,
        ).squeeze(-1)  # (1, spans)
        top_scores, top_mask, top = util.masked_topk(scores, torch.ones_like(scores, dtype=torch.bool), n)
        top_spans = spans[:, top[0]]  # (1, kept, 2)
        parts = [self._embed_spans(embedded, context, part) for part in torch.split(top_spans, _SPANS_AT_ONCE, 1)]
        return _Kept(top_spans, torch.cat(parts, 1), top_scores, top_mask)

    def _embed_spans(self, embedded: Any, context: Any, spans: Any) -> Any:
        import torch

        network = self._model.network
        ends = network._endpoint_span_extractor(context, spans)
        return torch.cat([ends, network._attentive_span_extractor(embedded, spans)], -1)

    def _link(self, kept: "_Kept") -> dict[str, Any]:
        import torch
        from allennlp.nn import util

        network = self._model.network
        n = kept.spans.size(1)
        n_antecedents = min(network._max_antecedents, n)
        if network._coarse_to_fine:
            pruned = network._coarse_to_fine_pruning(kept.embeddings, kept.scores, kept.mask, n_antecedents)
        else:
            pruned = network._distance_pruning(kept.embeddings, kept.scores, n_antecedents)
        partial, mask, offsets, antecedents = pruned  # (1, kept, antecedents) each, offsets perhaps (1, 1, ...)
        partial, mask, antecedents = partial[0], mask[0].expand_as(partial[0]), antecedents[0]
        buckets = util.bucket_values(offsets[0], num_total_buckets=network._num_distance_buckets).expand_as(antecedents)
        embeddings = kept.embeddings[0]
        scores = self._scorer.scores(embeddings, antecedents, buckets, partial, mask)
        for _ in range(network._inference_order - 1):
            embeddings = _refined(network, embeddings, antecedents, scores, mask)
            scores = self._scorer.scores(embeddings, antecedents, buckets, partial, mask)
        chosen = scores.max(1).indices - 1  # -1: no antecedent
        return {
            "top_spans": kept.spans,
            "antecedent_indices": antecedents.unsqueeze(0),
            "predicted_antecedents": torch.as_tensor(chosen).unsqueeze(0),
        }


class _Document(NamedTuple):
    text: Any
    length: int
    spans: np.ndarray[Any, np.dtype[np.int64]]  # (spans, 2), inclusive ends
    word_of_piece: np.ndarray[Any, np.dtype[np.int64]]


class _Kept(NamedTuple):
    spans: Any  # (1, kept, 2)
    embeddings: Any  # (1, kept, size)
    scores: Any  # (1, kept)
    mask: Any  # (1, kept)


class _PairScorer:
    """The antecedent scorer with its first layer split by what it acts on."""

    def __init__(self, network: Any) -> None:
        forward = network._antecedent_feedforward._module
        self._network = network
        self._layers = list(zip(forward._linear_layers, forward._activations, strict=True))
        first = self._layers[0][0]
        size = (first.in_features - network._distance_embedding.get_output_dim()) // 3
        self._of_target, self._of_antecedent, self._of_product, self._of_distance = first.weight.split(
            [size, size, size, first.in_features - 3 * size], 1
        )
        self._bias = first.bias

    def scores(self, embeddings: Any, antecedents: Any, buckets: Any, partial: Any, mask: Any) -> Any:
        """(kept, 1 + antecedents): 0 for "none", then the antecedents' scores.

        Args:
            embeddings: (kept, size); antecedents, buckets, partial, mask: (kept, antecedents).
        """
        import torch
        from allennlp.nn import util

        rows = max(1, _PAIRS_AT_ONCE // max(1, antecedents.size(1)))
        of_target = embeddings @ self._of_target.T + self._bias  # (kept, hidden)
        of_antecedent = embeddings @ self._of_antecedent.T  # (kept, hidden)
        of_distance = self._network._distance_embedding.weight @ self._of_distance.T  # (buckets, hidden)
        found = []
        for low in range(0, len(embeddings), rows):
            part = slice(low, low + rows)
            chosen = antecedents[part]
            hidden = (embeddings[chosen] * embeddings[part].unsqueeze(1)) @ self._of_product.T  # (rows, ant, hidden)
            hidden = hidden + of_target[part].unsqueeze(1) + of_antecedent[chosen] + of_distance[buckets[part]]
            hidden = self._layers[0][1](hidden)
            for linear, activation in self._layers[1:]:
                hidden = activation(linear(hidden))
            found.append(self._network._antecedent_scorer._module(hidden).squeeze(-1))
        scores = torch.cat(found) + partial
        scores = util.replace_masked_values(scores, mask, util.min_value_of_dtype(scores.dtype))
        return torch.cat([scores.new_zeros(len(scores), 1), scores], 1)


def _refined(network: Any, embeddings: Any, antecedents: Any, scores: Any, mask: Any) -> Any:
    """Span embeddings after one more order of inference: each moved towards its likely antecedents."""
    import torch
    from allennlp.nn import util

    with_none = torch.cat([mask.new_ones(len(mask), 1), mask], 1)
    weights = util.masked_softmax(scores, with_none, memory_efficient=True).to(embeddings.dtype)  # (kept, 1 + ant)
    rows = max(1, _PAIRS_AT_ONCE // max(1, antecedents.size(1)))
    attended = []
    for low in range(0, len(embeddings), rows):
        part = slice(low, low + rows)
        own = weights[part, :1] * embeddings[part]
        attended.append(own + torch.einsum("ra,rad->rd", weights[part, 1:], embeddings[antecedents[part]]))
    return network._span_updating_gated_sum(embeddings.unsqueeze(0), torch.cat(attended).unsqueeze(0))[0]


def enumerate_spans(lengths: Sequence[int], max_width: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """(spans, 2): all spans of at most ``max_width`` tokens inside one sentence, by start, then by end, inclusive."""
    ends = np.cumsum(np.asarray(lengths, dtype=np.int64))
    n = int(ends[-1]) if len(ends) else 0
    starts = np.arange(n)
    end_of_sentence = np.repeat(ends, lengths) if n else np.zeros(0, dtype=np.int64)
    widths = np.minimum(max_width, end_of_sentence - starts)  # spans that begin at each token
    first = np.repeat(starts, widths)
    at = np.arange(len(first)) - np.repeat(np.cumsum(widths) - widths, widths)
    return np.stack([first, first + at], 1)


def _in_pieces(
    spans: np.ndarray[Any, Any], offsets: list[Any], n_pieces: int, tokenizer: Any, max_width: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Spans of words as spans of word pieces, without those that are too wide, and the word of each piece."""
    known = [(-1, -1) if pair is None else pair for pair in offsets]  # a word without a piece
    bounds = np.asarray(known, dtype=np.int64).reshape(-1, 2)
    starts, ends = bounds[spans[:, 0], 0], bounds[spans[:, 1], 1]
    low, high = len(tokenizer.single_sequence_start_tokens), n_pieces - len(tokenizer.single_sequence_end_tokens)
    fits = (ends - starts < max_width) & (starts >= low) & (ends < high) & (starts <= ends)
    word_of_piece = np.zeros(n_pieces, dtype=np.int64)
    for word, (start, end) in enumerate(bounds):
        if start >= 0:
            word_of_piece[start : end + 1] = word
    return np.stack([starts[fits], ends[fits]], 1), word_of_piece


def _plain(word: str) -> str:
    return word[1:] if word in ("/.", "/?") else word  # OntoNotes' escapes, undone as AllenNLP's reader does
