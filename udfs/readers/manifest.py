"""The manifest of a trained reader's folder: what the driver asks of readers. PyTorch is not needed for it."""

import json
from typing import Any

from udfs.sources.files import file_system_of, normal_path

VERSION = 1
MANIFEST = "reader.json"
RETRAIN = "train the reader again, or restore the folder from a copy"


class CheckpointError(ValueError):
    """A folder that holds no reader that this version can use; the message names it, and the remedy."""


def read_manifest(path: str) -> dict[str, Any]:
    """The manifest in a reader's folder (path or URI).

    Raises:
        CheckpointError: no manifest there, or one that can't be used.
        OSError: the folder can't be read.
    """
    file_system, folder = file_system_of(normal_path(path))
    try:
        with file_system.open_input_stream(f"{folder}/{MANIFEST}") as stream:
            manifest = json.loads(stream.read())
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: no {MANIFEST}: no reader was saved there, or not to its end") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: {MANIFEST} is damaged ({error}); {RETRAIN}") from error
    if not isinstance(manifest, dict) or "version" not in manifest or "digest" not in manifest:
        raise CheckpointError(f"{path}: {MANIFEST} is of another kind of folder; give a reader's")
    if manifest["version"] != VERSION:
        raise CheckpointError(
            f"{path}: a reader of version {manifest['version']}, this code reads {VERSION}: "
            "use the release that wrote it, or train the reader again"
        )
    return manifest


def checkpoint_digest(path: str) -> str:
    """The digest of the reader in a folder; raises what ``read_manifest`` raises."""
    return str(read_manifest(path)["digest"])


def checkpoint_epoch(path: str) -> int:
    """How many epochs the reader in a folder has behind it; raises what ``read_manifest`` raises."""
    return int(read_manifest(path)["epoch"])
