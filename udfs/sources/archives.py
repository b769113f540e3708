"""Tar archives of stories and pages, read as a stream: members as they come, one in memory at a time.

Python's ``tarfile`` ends quietly where a header is damaged or the file is cut between two members,
and does not check gzip's checksum; the end is therefore looked at here.
"""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from udfs.sources.files import MAX_STORY_BYTES, Gunzipped, Readable
from udfs.sources.listing import classify
from udfs.story_text import is_web_page

_BLOCK = 512
_GZIP_MARK = b"\x1f\x8b"
_STREAM_ERRORS = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, OSError, ValueError)


@dataclass(frozen=True)
class Member:
    """A file of the archive; ``unit`` joins a story with its stand-off and its page (``listing.classify``)."""

    role: str
    unit: str
    name: str
    content: bytes


class BadArchive(ValueError):
    """The archive can't be read, or no further; ``reason`` is one of the reject reasons."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


def members_of(stream: Readable) -> Iterator[Member]:
    """The stories, pages and stand-off files of a tar archive, plain or gzipped, in the archive's order.

    Raises:
        BadArchive: ``empty``, ``not_an_archive``, ``not_articles`` (sound, but without a story or page), or, after
            the members before the break, ``broken_archive``.
    """
    plain: Any = _Watched(_decompressed(stream))
    try:
        archive: Any = tarfile.open(fileobj=plain, mode="r|", bufsize=_Watched.CHUNK)  # noqa: SIM115 (closed below)
    except _STREAM_ERRORS as error:
        raise BadArchive("not_an_archive", f"no tar archive: {error}") from error
    files = articles = 0
    try:
        with archive:
            for info in archive:
                archive.members = []  # tarfile keeps the header of every member otherwise
                files += info.isreg()
                if member := _member(archive, info):
                    articles += member.role in ("story", "page")
                    yield member
        plain.check_end(archive.offset)
    except _STREAM_ERRORS as error:
        raise BadArchive("broken_archive", f"{error}, after {articles} articles in {files} files") from error
    if not articles:
        raise BadArchive("not_articles", f"{files} files in the archive, none of them a .story or .html")


def _member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Member | None:
    name = info.name.removeprefix("./").lstrip("/")
    known = classify(name)
    if not info.isreg() or not known or known[0] not in ("story", "page", "tokens", "entities"):
        return None
    content = archive.extractfile(info)
    if content is None:
        return None
    # What is longer than any story is cut one byte past the limit: the caller sees that and rejects it.
    wanted = min(info.size, MAX_STORY_BYTES + 1)
    data = content.read(wanted)
    if len(data) < wanted:
        raise EOFError(f"the archive ends within {name}")
    return Member(*known, name, data)


def _decompressed(stream: Readable) -> Readable:
    head = stream.read(_BLOCK)
    if not head:
        raise BadArchive("empty", "0 bytes")
    whole = _Resumed(head, stream)
    if head.startswith(_GZIP_MARK):
        return Gunzipped(whole)
    text = head.decode("latin-1").removeprefix("\xef\xbb\xbf")
    if is_web_page(text):
        raise BadArchive("not_an_archive", f"an HTML or XML page, not an archive: {text.strip()[:60]!r}")
    return whole


class _Resumed:
    """A stream of which the head was already taken."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1, /) -> bytes:
        if not self._head:
            return self._rest.read(size)
        taken = self._head if size < 0 else self._head[:size]
        self._head = self._head[len(taken) :]
        return taken


class _Watched:
    """Fills every read, gives what comes before an error before raising it, and remembers the last chunk,
    to see what stands where tarfile stopped."""

    CHUNK = 20 * _BLOCK

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._last = b""
        self._read = 0
        self._error: Exception | None = None

    def read(self, size: int = -1, /) -> bytes:
        chunk = b""
        while len(chunk) < size and self._error is None:
            try:
                more = self._stream.read(size - len(chunk))
            except _STREAM_ERRORS as error:
                self._error = error
                break
            if not more:
                break
            chunk += more
        if not chunk and self._error:
            raise self._error
        if chunk:
            self._last = chunk
            self._read += len(chunk)
        return chunk

    def check_end(self, offset: int) -> None:
        """Checks that the archive's end mark, a block of zeros, stands at ``offset``, and reads to the end
        of the compressed data, which checks its checksum."""
        if self._error:
            raise self._error
        at = offset - (self._read - len(self._last))
        block = self._last[at : at + _BLOCK] if at >= 0 else b""
        if len(block) < _BLOCK:
            raise EOFError("the archive ends without its end mark: cut off")
        if block.strip(b"\x00"):
            raise ValueError(f"a damaged header at byte {offset}")
        while self._stream.read(1024 * 1024):
            pass
