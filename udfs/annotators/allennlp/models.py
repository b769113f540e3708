"""Loads AllenNLP's models from archives: the network in evaluation mode, and the reader that knows its indexers."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from udfs.annotators.allennlp.archives import ArchiveError, unpacked
from udfs.annotators.allennlp.library import import_allennlp


class LoadedModel(NamedTuple):
    """A network on its device, its reader, and the SHA-256 of the archive."""

    network: Any
    reader: Any
    digest: str
    device: str


def load_model(source: str, sha256: str, device: str, kind: str) -> LoadedModel:
    """The model of an archive.

    Args:
        source, sha256: as ``archives.unpacked`` takes them.
        device: "cpu", "cuda" or "cuda:<index>".
        kind: the type that the archive's model must have: "crf_tagger" or "coref".

    Raises:
        ArchiveError: the archive can't be used, or holds another kind of model.
        LibraryMissing: AllenNLP is not installed.
        ValueError: the device is unknown or absent.
    """
    import_allennlp()
    _check_device(device)
    import torch
    from allennlp.models.archival import load_archive

    with unpacked(source, sha256) as (folder, digest):
        found = _model_type(source, folder)
        if found != kind:
            raise ArchiveError(f"{source}: a model of type {found!r}, not {kind!r}: give each setting its own archive")
        _drop_old_buffers(folder / "weights.th")
        try:
            archive = load_archive(str(folder))
        except Exception as error:
            raise ArchiveError(f"{source}: AllenNLP can't load it ({type(error).__name__}: {error})") from error
    network = archive.model.to(torch.device(device)).eval()
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    return LoadedModel(network, archive.validation_dataset_reader, digest, device)


def text_tensors(model: LoadedModel, words: list[str], indexers: dict[str, Any], tokens: Any = None) -> Any:
    """The tensors of one text, a batch of one: nothing is padded to other texts' lengths."""
    from allennlp.data.fields import TextField
    from allennlp.data.tokenizers import Token
    from allennlp.nn.util import move_to_device

    field = TextField(tokens if tokens is not None else [Token(word) for word in words], indexers)
    field.index(model.network.vocab)
    tensors = field.batch_tensors([field.as_tensor(field.get_padding_lengths())])
    return move_to_device(tensors, next(model.network.parameters()).device)


def forget_earlier_texts(network: Any) -> None:
    """ELMo's encoder begins a text in the state in which the one before left it: results would depend on the order."""
    for module in network.modules():
        if hasattr(module, "reset_states"):
            module.reset_states()


def _check_device(device: str) -> None:
    import torch

    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", device)
    if match is None:
        raise ValueError(f'no device {device!r}: "cpu", "cuda" or "cuda:<index>"')
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device != "cpu" and int(match[1] or 0) >= cards:
        raise ValueError(f'no device {device!r}: PyTorch sees {cards} cards here. Set annotate.device = "cpu"')


def _model_type(source: str, folder: Path) -> str:
    try:
        return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["model"]["type"])
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"{source}: its config.json names no model type: not an archive of AllenNLP") from error


def _drop_old_buffers(weights: Path) -> None:
    """Transformers used to save the numbers of positions with the weights, and refuses them now."""
    import torch

    try:
        state = torch.load(weights, map_location="cpu", weights_only=True, mmap=True)
        kept = {name: value for name, value in state.items() if not name.endswith("embeddings.position_ids")}
    except Exception:
        return  # what is wrong with the weights, loading the archive says
    if len(kept) < len(state):
        torch.save(kept, weights.with_suffix(".new"))
        weights.with_suffix(".new").replace(weights)
