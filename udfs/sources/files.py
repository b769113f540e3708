"""Opening files by path or URI on executors, through pyarrow's file systems."""

import gzip
import io
import os
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from pyarrow import NativeFile
from pyarrow.fs import FileSystem, LocalFileSystem

# Larger than any news article: a bigger "story" is another thing with that name.
MAX_STORY_BYTES = 16 * 1024 * 1024


class Readable(Protocol):
    """What a stream must be able to do here."""

    def read(self, size: int = -1, /) -> bytes: ...


class Gunzipped(io.RawIOBase):
    """The content of a gzip stream, as far as it goes: what comes before a break is given before the error.

    ``gzip.GzipFile`` alone loses up to a buffer of sound data when the file turns out to be cut off.
    """

    def __init__(self, stream: Readable) -> None:
        self._file = gzip.GzipFile(fileobj=stream, mode="rb")  # type: ignore[call-overload]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class TooLarge(OSError):
    """A file that should hold one article and is larger than any."""


def normal_path(path: str) -> str:
    """A source's path as the tables keep it: local paths absolute, URIs as given, ``s3a:`` and ``s3n:`` as ``s3:``,
    no slash at the end."""
    scheme, separator, rest = path.partition(":")
    if not separator or len(scheme) < 2 or "/" in scheme or not rest.startswith("/"):  # "C:/data" is a local path
        return os.path.abspath(path)
    if scheme.lower() == "file":
        return os.path.abspath(unquote(urlsplit(path).path))
    if scheme.lower() in ("s3a", "s3n"):
        path = "s3:" + rest
    return path.rstrip("/")


def file_system_of(path: str) -> tuple[FileSystem, str]:
    """The file system of a path that ``normal_path`` gave or that lies below it, and the path within it."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        return _local(), path
    authority, slash, inside = rest.partition("/")
    file_system, base = _remote(f"{scheme}://{authority}/")
    return file_system, base.rstrip("/") + slash + inside if slash else base


@lru_cache(maxsize=1)
def _local() -> LocalFileSystem:
    return LocalFileSystem()


@lru_cache(maxsize=16)
def _remote(root: str) -> tuple[FileSystem, str]:
    file_system, base = FileSystem.from_uri(root)
    return file_system, base


def open_stream(path: str) -> NativeFile:
    """The bytes of a file from start to end, as they are: compression is not looked at."""
    file_system, inside = file_system_of(path)
    return file_system.open_input_stream(inside, compression=None)


def open_random(path: str) -> NativeFile:
    """A file that can be read at any offset (Parquet)."""
    file_system, inside = file_system_of(path)
    return file_system.open_input_file(inside)


def read_small_file(path: str) -> bytes:
    """The content of a file of one article.

    Raises:
        OSError: it can't be read, or is larger than ``MAX_STORY_BYTES``.
    """
    if "://" not in path:  # the usual case, at a third of pyarrow's cost
        with open(path, "rb") as stream:
            content = stream.read(MAX_STORY_BYTES + 1)
    else:
        with open_stream(path) as remote:
            content = remote.read(MAX_STORY_BYTES + 1)
    if len(content) > MAX_STORY_BYTES:
        raise TooLarge(f"more than {MAX_STORY_BYTES} bytes: not one article")
    return content
