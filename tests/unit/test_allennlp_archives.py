"""Archives: found, checked, and unpacked without harm; what is wrong is said with file and remedy."""

import hashlib
import io
import json
import tarfile

import pytest

from udfs.annotators.allennlp import archives
from udfs.annotators.allennlp.archives import ArchiveError, archive_digest, unpacked

SOUND = {"config.json": json.dumps({"model": {"type": "coref"}}), "weights.th": "x", "vocabulary/labels.txt": "a"}


def write_archive(path, files=SOUND, extra=()):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content.encode()))
        for info in extra:
            archive.addfile(info, io.BytesIO(b"\0" * info.size))
    return str(path)


def test_archive_by_path_and_by_uri(tmp_path):
    path = write_archive(tmp_path / "model.tar.gz")
    digest = hashlib.sha256((tmp_path / "model.tar.gz").read_bytes()).hexdigest()
    for source in (path, f"file://{path}"):
        with unpacked(source, digest.upper()) as (folder, found):
            assert found == digest == archive_digest(source)
            assert (folder / "vocabulary" / "labels.txt").read_text() == "a"
        assert not folder.exists()
    assert archive_digest("/nowhere", digest) == digest  # checked when it is loaded


@pytest.mark.parametrize("name", ["../outside", "/absolute", "a/../../b", "vocabulary/..\\x"])
def test_member_that_leaves_the_folder_is_refused(tmp_path, name):
    path = write_archive(tmp_path / "model.tar.gz", {**SOUND, name: "evil"})
    with (
        pytest.raises(ArchiveError, match=r"model\.tar\.gz: the member .* leaves the archive's folder: refused"),
        unpacked(path),
    ):
        pass
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(tmp_path, kind):
    member = tarfile.TarInfo("weights.link")
    member.type, member.linkname = kind, "/etc/hostname"
    path = write_archive(tmp_path / "model.tar.gz", extra=[member])
    with pytest.raises(ArchiveError, match="is a link or a device: refused"), unpacked(path):
        pass


def test_sizes_are_bounded(tmp_path, monkeypatch):
    path = write_archive(tmp_path / "model.tar.gz", {**SOUND, "bomb": "0" * 100_000})
    monkeypatch.setattr(archives, "MAX_BYTES", 50_000)
    with pytest.raises(ArchiveError, match="50000 bytes unpacked: refused"), unpacked(path):
        pass
    monkeypatch.setattr(archives, "MAX_BYTES", 10)
    with pytest.raises(ArchiveError, match="larger than 10 bytes"), unpacked(path):
        pass
    monkeypatch.undo()
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    with pytest.raises(ArchiveError, match="more than 2 files"), unpacked(path):
        pass


def test_what_is_no_archive_of_the_right_kind(tmp_path):
    path = write_archive(tmp_path / "model.tar.gz")
    with pytest.raises(ArchiveError, match=r"its SHA-256 is .*: fetch it anew"), unpacked(path, "0" * 64):
        pass
    with pytest.raises(ArchiveError, match="'abc' is no SHA-256"), unpacked(path, "abc"):
        pass
    with (
        pytest.raises(ArchiveError, match=r"nothing\.tar\.gz: no archive there"),
        unpacked(str(tmp_path / "nothing.tar.gz")),
    ):
        pass
    (tmp_path / "text").write_text("no tar")
    with pytest.raises(ArchiveError, match="text: no sound gzipped tar"), unpacked(str(tmp_path / "text")):
        pass
    whole = (tmp_path / "model.tar.gz").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArchiveError, match="cut: no sound gzipped tar"), unpacked(str(tmp_path / "cut")):
        pass
    without = write_archive(tmp_path / "without", {"config.json": "{}", "vocabulary/a": "a"})
    with pytest.raises(ArchiveError, match=r"holds no weights\.th"), unpacked(without):
        pass
