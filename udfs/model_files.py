"""Folders and files of models, wherever they lie: written whole or not at all, and fetched once per machine.

Libraries that load models know local paths only. ``fetch_model`` copies what a URI names into a cache of
this machine and gives the local path; its entries are keyed by URI, names, sizes and times of change, so that
a model that was replaced is fetched anew. ``save_model`` is the way back.
"""

import fcntl
import hashlib
import json
import logging
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem, copy_files

from udfs.sources.files import file_system_of, normal_path

LOGGER = logging.getLogger(__name__)

CACHE_VARIABLE = "RECORD_SPARK_MODEL_CACHE"
"""Environment variable with the cache's folder; default: one of this user in the system's temporary folder."""
# File systems that rename a folder in one step; object stores know files alone.
_RENAMES_FOLDERS = ("local", "hdfs")


class ModelFileError(ValueError):
    """No model is at a place, or none that may be fetched; the message says what to do."""


class _File(NamedTuple):
    """One file of a model: its path below the model's, its size in bytes, its time of change in nanoseconds."""

    name: str
    size: int
    changed: int


def is_uri(model: str) -> bool:
    """Whether a model's name is a URI, which has to be fetched: ``hdfs://``, ``s3://``, ``file://`` and so on."""
    return "://" in model


def fetch_model(uri: str, cache: Path | None = None) -> Path:
    """The local copy of a folder or file at a URI, under its own name; fetched if it is not there yet.

    Of several processes that ask at once, one fetches and the others wait. What is found in the cache is
    compared with the sizes at the URI: temporary folders are swept file by file.

    Args:
        cache: the cache's folder; None takes that of the environment.

    Raises:
        ModelFileError: nothing is there, or a name that leads out of the folder.
        OSError: the URI can't be read; a file changed while it was fetched; the cache can't be written, or others
            may write to it.
    """
    uri = uri.rstrip("/")
    file_system, path = file_system_of(uri if uri.startswith("file:") else normal_path(uri))
    files = _listing(file_system, path, uri)
    cache = _safe_cache(cache or _default_cache())
    key = hashlib.sha256(json.dumps([uri, files]).encode()).hexdigest()[:32]
    # Its own name: libraries look at the ending of an archive's.
    model = cache / key / PurePosixPath(path).name
    with _locked(cache / f"{key}.lock"):
        if not _is_whole(model, files):
            LOGGER.info("fetching %s to %s: %d files, %d bytes", uri, model, len(files), sum(f.size for f in files))
            _fetch(file_system, path, files, cache / key, uri)
    return model


def save_model(folder: Path, target: str, last: str) -> None:
    """Copies a local folder to ``target`` (path or URI), in place of what is there.

    On a file system that renames folders it appears there whole. On an object store its files are written one by
    one, and ``last`` at the very end: without it the folder is no model to those who load it.

    Args:
        last: the name of a file in ``folder``.

    Raises:
        OSError: the target can't be written.
    """
    file_system, path = file_system_of(normal_path(target))
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p != folder / last)
    at_once = file_system.type_name in _RENAMES_FOLDERS
    unfinished = f"{path}.{uuid.uuid4().hex}.unfinished" if at_once else path
    if at_once:
        _delete_unfinished(file_system, path)
    else:
        _delete_folder(file_system, path)
    try:
        for name in [*names, last]:
            file_system.create_dir(str(PurePosixPath(unfinished, name).parent), recursive=True)
            copy_files(str(folder / name), f"{unfinished}/{name}", LocalFileSystem(), file_system)
        if at_once:
            _delete_folder(file_system, path)
            file_system.move(unfinished, path)
    except OSError:
        if at_once:
            _delete_folder(file_system, unfinished)
        raise


def _delete_unfinished(file_system: FileSystem, path: str) -> None:
    """What writers of the same folder left that were killed."""
    parent = str(PurePosixPath(path).parent)
    for info in file_system.get_file_info(FileSelector(parent, allow_not_found=True)):
        if info.path.startswith(f"{path}.") and info.path.endswith(".unfinished"):
            _delete_folder(file_system, info.path)


def _delete_folder(file_system: FileSystem, path: str) -> None:
    if file_system.get_file_info(path).type == FileType.Directory:
        file_system.delete_dir(path)


def _listing(file_system: FileSystem, path: str, uri: str) -> list[_File]:
    info = file_system.get_file_info(path)
    if info.type == FileType.NotFound:
        raise ModelFileError(f"{uri}: nothing is there; check the path, and that this machine reaches it")
    if info.type == FileType.File:
        return [_File("", info.size, info.mtime_ns or 0)]
    found: Sequence[FileInfo] = file_system.get_file_info(FileSelector(path, recursive=True))
    files = [_File(i.path[len(path) + 1 :], i.size, i.mtime_ns or 0) for i in found if i.type == FileType.File]
    for file in files:
        _refuse_way_out(file.name, uri)
    if not files:
        raise ModelFileError(f"{uri}: an empty folder; give the folder or archive of a model")
    return sorted(files)


def _refuse_way_out(name: str, uri: str) -> None:
    """Keys of an object store may hold any text: none may lead out of the model's folder."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        raise ModelFileError(f"{uri}: the file name {name!r} is none of a model; remove it there")


def _default_cache() -> Path:
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else Path(tempfile.gettempdir()) / f"record-spark-models-{os.getuid()}"


def _safe_cache(cache: Path) -> Path:
    """The cache's folder, made if need be: whoever may write to it decides what code a model runs."""
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = cache.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(
            f"{cache}: a cache of models must be a folder of this user that no one else may write to; remove it, or "
            f"set {CACHE_VARIABLE} to another folder"
        )
    return cache


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Waits for the other processes of this machine; a process that dies lets go."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_whole(model: Path, files: Sequence[_File]) -> bool:
    try:
        return all((model / f.name if f.name else model).stat().st_size == f.size for f in files)
    except FileNotFoundError:
        return False


def _fetch(file_system: FileSystem, path: str, files: Sequence[_File], entry: Path, uri: str) -> None:
    """Fetches beside the entry, checks sizes, then moves: nobody sees half a model."""
    unfinished = entry.with_name(f"{entry.name}.{uuid.uuid4().hex}.unfinished")
    name = PurePosixPath(path).name
    try:
        for file in files:
            target = unfinished / name / file.name if file.name else unfinished / name
            target.parent.mkdir(parents=True, exist_ok=True)
            source = f"{path}/{file.name}" if file.name else path
            copy_files(source, str(target), file_system, LocalFileSystem())
            size = target.stat().st_size
            if size != file.size:
                raise OSError(
                    f"{uri}: {file.name or name} has {size} bytes of {file.size}: it changed while it was fetched; "
                    "run again"
                )
        if entry.exists():  # what a sweep of the temporary folder left
            shutil.rmtree(entry)
        unfinished.rename(entry)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
