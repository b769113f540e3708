"""AllenNLP's model archives (``model.tar.gz``): found by path or URI, checked, and unpacked with care.

An archive is a gzipped tar of ``config.json``, ``weights.th`` and ``vocabulary/``. Whoever can give one to a job
is trusted with no more than its numbers: no member leaves the folder, links and devices are refused, sizes are
bounded, and weights are read by PyTorch's loader of plain tensors, which runs no code of the archive.
"""

import hashlib
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from udfs.sources.files import normal_path, open_stream

MAX_BYTES = 16 * 2**30
MAX_MEMBERS = 10_000
NEEDED = ("config.json", "weights.th", "vocabulary")
_CHUNK = 2**20
_BROKEN = (tarfile.TarError, EOFError, zlib.error, OSError)


class ArchiveError(ValueError):
    """An archive that is missing, broken, hostile or another than asked for; the message says which and what to do."""


def archive_digest(source: str, sha256: str = "") -> str:
    """SHA-256 of the archive's content, in hex; taken as given where ``sha256`` is, since loading checks that.

    Raises:
        ArchiveError: there is no such archive, or ``sha256`` is no SHA-256.
    """
    if sha256:
        return _well_formed(source, sha256)
    digest = hashlib.sha256()
    with _opened(source) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def unpacked(source: str, sha256: str = "") -> Iterator[tuple[Path, str]]:
    """(folder with the archive's files, SHA-256 of its content); the folder is deleted at the end of the block.

    Args:
        source: a path, or a URI that Arrow reads (file:, hdfs:, s3:, gs:).
        sha256: of the archive, in hex; empty: not checked.

    Raises:
        ArchiveError: missing; not what ``sha256`` says; not a gzipped tar; a member that leaves the folder, a link or
            a device; too large; without config, weights or vocabulary.
    """
    wanted = _well_formed(source, sha256) if sha256 else ""
    with tempfile.TemporaryDirectory(prefix="archive-") as made:
        copy, folder = Path(made, "archive"), Path(made, "files")
        digest = _copied(source, copy)
        if wanted and digest != wanted:
            raise ArchiveError(
                f"{source}: its SHA-256 is {digest}, not {wanted}: fetch it anew, or correct the setting"
            )
        _extract(source, copy, folder)
        copy.unlink()
        missing = [name for name in NEEDED if not (folder / name).exists()]
        if missing:
            raise ArchiveError(f"{source}: holds no {missing[0]}: give the model.tar.gz that AllenNLP's training wrote")
        yield folder, digest


def _well_formed(source: str, sha256: str) -> str:
    found = sha256.strip().lower()
    if len(found) != 64 or set(found) - set("0123456789abcdef"):
        raise ArchiveError(f"{source}: {sha256!r} is no SHA-256: 64 hexadecimal digits, or empty for no check")
    return found


def _copied(source: str, copy: Path) -> str:
    digest = hashlib.sha256()
    with _opened(source) as stream, copy.open("wb") as out:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
            if out.tell() > MAX_BYTES:
                raise ArchiveError(f"{source}: larger than {MAX_BYTES} bytes: no archive of these models")
    return digest.hexdigest()


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes] | Any]:
    try:
        stream = open_stream(normal_path(source))
    except (OSError, ValueError) as error:
        raise ArchiveError(
            f"{source}: no archive there ({error}): give the path or URI of a model.tar.gz that the executors reach too"
        ) from error
    with stream:
        yield stream


def _extract(source: str, copy: Path, folder: Path) -> None:
    folder.mkdir()
    total = 0
    try:
        with tarfile.open(copy, "r:gz") as archive:
            for count, member in enumerate(archive):
                total += member.size
                if count >= MAX_MEMBERS or total > MAX_BYTES:
                    raise ArchiveError(
                        f"{source}: more than {MAX_MEMBERS} files or {MAX_BYTES} bytes unpacked: refused"
                    )
                _extract_member(source, archive, member, folder)
    except _BROKEN as error:
        raise ArchiveError(f"{source}: no sound gzipped tar ({error}): fetch it anew") from error


def _extract_member(source: str, archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or "\\" in member.name or "\0" in member.name:
        raise ArchiveError(f"{source}: the member {member.name!r} leaves the archive's folder: refused")
    if member.isdir():
        (folder / path).mkdir(parents=True, exist_ok=True)
        return
    content = archive.extractfile(member) if member.isreg() else None
    if content is None:
        raise ArchiveError(f"{source}: the member {member.name!r} is a link or a device: refused")
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with content, target.open("wb") as out:
        shutil.copyfileobj(content, out, _CHUNK)
