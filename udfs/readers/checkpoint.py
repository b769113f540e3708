"""Trained readers on disk or in an object store: a folder with a manifest and the data files that it names.

Data files are named by their content and written first, the manifest last and in one move: a folder
holds the old reader or the new one, whenever a write is broken off. ``digest`` is a hash of what a reader
computes with (network, configuration, vocabulary, weights): the fingerprint of its predictions.
"""

import hashlib
import io
import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict
from pickle import UnpicklingError
from typing import Any

import torch
from pyarrow.fs import FileSelector, FileSystem, FileType
from torch import Tensor

from udfs.readers.configuration import TrainingOptions
from udfs.readers.manifest import MANIFEST, RETRAIN, VERSION, CheckpointError, read_manifest
from udfs.readers.registry import config_from, make_network, network_name
from udfs.readers.trained_reader import EpochReport, TrainedReader
from udfs.readers.vocabulary import Vocabulary
from udfs.sources.files import file_system_of, normal_path


def save_reader(reader: TrainedReader, path: str) -> str:
    """Writes a reader to a folder (path or URI), in place of the one there, and returns its digest.

    With its optimizer, if it has one: it can then be resumed.

    Raises:
        OSError: the folder can't be written.
    """
    file_system, folder = file_system_of(normal_path(path))
    file_system.create_dir(folder, recursive=True)
    contents = {
        "vocabulary": json.dumps(asdict(reader.vocabulary)).encode(),
        "weights": _tensors_as_bytes(_on_cpu(reader.network.state_dict())),
    }
    if reader.optimizer is not None:
        contents["optimizer"] = _tensors_as_bytes(_on_cpu(reader.optimizer))
    files = {}
    for name, content in contents.items():
        sha1 = hashlib.sha1(content).hexdigest()
        file_name = f"{name}-{sha1[:16]}"
        files[name] = {"name": file_name, "bytes": len(content), "sha1": sha1}
        _write(file_system, f"{folder}/{file_name}", content)
    digest = reader_digest(reader)
    manifest = {
        "version": VERSION,
        "digest": digest,
        "network": network_name(reader.config),
        "config": asdict(reader.config),
        "options": asdict(reader.options),
        "epoch": reader.epoch,
        "trained_on": reader.trained_on,
        "left_out": dict(reader.left_out),
        "history": [asdict(report) for report in reader.history],
        "files": files,
    }
    _write(file_system, f"{folder}/{MANIFEST}", json.dumps(manifest, indent=1).encode())
    _remove_others(file_system, folder, {str(f["name"]) for f in files.values()})
    return digest


def load_reader(path: str, *, device: str = "cpu", resume: bool = False) -> TrainedReader:
    """The reader of a folder (path or URI), its network on ``device`` and in evaluation mode.

    Args:
        resume: loads the optimizer too, for ``train_reader``.

    Raises:
        CheckpointError: no reader there, a file that is missing or changed, one of another version.
        OSError: the folder can't be read.
    """
    file_system, folder = file_system_of(normal_path(path))
    manifest = read_manifest(path)
    try:
        config = config_from(manifest["network"], manifest["config"])
        options = TrainingOptions(**{**manifest["options"], "decay_after": tuple(manifest["options"]["decay_after"])})
        values = json.loads(_content(file_system, folder, path, manifest, "vocabulary"))
        words, pos, ner = (tuple(values[name]) for name in ("words", "pos", "ner"))
        vocabulary = Vocabulary(words, pos, ner, values["lower_case"])
        network = make_network(config, len(vocabulary.words), len(vocabulary.pos), len(vocabulary.ner))
        network.load_state_dict(_tensors(_content(file_system, folder, path, manifest, "weights")))
        optimizer = _tensors(_content(file_system, folder, path, manifest, "optimizer")) if resume else None
        history = tuple(EpochReport(**report) for report in manifest["history"])
        epoch, trained_on, left_out = manifest["epoch"], manifest["trained_on"], manifest["left_out"]
    except (KeyError, TypeError, ValueError, RuntimeError, UnpicklingError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path}: not a reader of this version ({error}); {RETRAIN}") from error
    reader = TrainedReader(
        network.to(device).eval(), config, options, vocabulary, epoch, history, trained_on, left_out, optimizer
    )
    if reader_digest(reader) != manifest["digest"]:
        raise CheckpointError(f"{path}: {MANIFEST} does not belong to the files beside it; {RETRAIN}")
    return reader


def reader_digest(reader: TrainedReader) -> str:
    """SHA-1 of network, configuration, vocabulary and weights; equal for equal training."""
    digest = hashlib.sha1()
    plain = [VERSION, network_name(reader.config), asdict(reader.config), asdict(reader.vocabulary)]
    digest.update(json.dumps(plain, sort_keys=True).encode())
    for name, tensor in sorted(reader.network.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(memoryview(tensor.cpu().contiguous().numpy()).cast("B") if tensor.numel() else b"")
    return digest.hexdigest()


def _content(file_system: FileSystem, folder: str, path: str, manifest: Mapping[str, Any], name: str) -> bytes:
    """A data file, checked against the manifest."""
    if name not in manifest["files"]:
        raise CheckpointError(f"{path}: the reader was saved without its {name}: it can predict, but not be resumed")
    file = manifest["files"][name]
    try:
        with file_system.open_input_stream(f"{folder}/{file['name']}") as stream:
            content: bytes = stream.read()
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{path}: {file['name']} is missing; if the reader is being trained right now, try again; else {RETRAIN}"
        ) from error
    if len(content) != file["bytes"] or hashlib.sha1(content).hexdigest() != file["sha1"]:
        raise CheckpointError(
            f"{path}: {file['name']} is damaged: {len(content)} bytes of {file['bytes']}, or changed; {RETRAIN}"
        )
    return content


def _write(file_system: FileSystem, path: str, content: bytes) -> None:
    """Writes beside the file, then moves: nobody sees half a file."""
    unfinished = f"{path}.{uuid.uuid4().hex}.unfinished"
    with file_system.open_output_stream(unfinished) as stream:
        stream.write(content)
    file_system.move(unfinished, path)


def _remove_others(file_system: FileSystem, folder: str, keep: set[str]) -> None:
    """The files of the reader that was here before, and what broken writes left."""
    for info in file_system.get_file_info(FileSelector(folder)):
        ours = info.base_name.endswith(".unfinished") or info.base_name.startswith(
            ("vocabulary-", "weights-", "optimizer-")
        )
        if info.type == FileType.File and ours and info.base_name not in keep:
            file_system.delete_file(info.path)


def _on_cpu(value: Any) -> Any:
    """Nested dicts and lists with every tensor on the CPU, so that any machine can load them."""
    if isinstance(value, Tensor):
        return value.detach().cpu()
    if isinstance(value, Mapping):
        return {k: _on_cpu(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_on_cpu(v) for v in value)
    return value


def _tensors_as_bytes(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _tensors(content: bytes) -> Any:
    # weights_only: nothing in the file is run.
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
