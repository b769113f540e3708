"""Saved readers: the same after loading, whole or not there, and told apart by their digest; word vector files."""

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.unit.test_reader_training import QUICK, SMALL, invented
from udfs.readers import checkpoint
from udfs.readers.checkpoint import (
    load_reader,
    reader_digest,
    save_reader,
)
from udfs.readers.manifest import CheckpointError, checkpoint_digest, checkpoint_epoch
from udfs.readers.prediction import predict
from udfs.readers.trained_reader import TrainedReader
from udfs.readers.training import train_reader
from udfs.readers.vocabulary import Vocabulary
from udfs.readers.word_vectors import VectorFileError, load_vectors, random_vectors, vectors_digest


@pytest.fixture(scope="module")
def reader() -> TrainedReader:
    return train_reader(invented(8), invented(3, seed=2), replace(SMALL, tuned_words=10), QUICK)


@pytest.fixture
def saved(reader: TrainedReader, tmp_path: Path) -> Path:
    save_reader(reader, str(tmp_path / "reader"))
    return tmp_path / "reader"


def test_loaded_reader_is_the_saved_one(reader: TrainedReader, saved: Path) -> None:
    loaded = load_reader(str(saved), resume=True)
    assert not loaded.network.training
    for name in ("config", "options", "vocabulary", "epoch", "history", "trained_on", "left_out"):
        assert getattr(loaded, name) == getattr(reader, name), name
    assert predict(loaded, invented(5, seed=3)) == predict(reader, invented(5, seed=3))
    assert loaded.optimizer is not None
    assert loaded.optimizer.keys() == {"state", "param_groups"}


def test_path_may_be_a_uri(reader: TrainedReader, tmp_path: Path) -> None:
    uri = (tmp_path / "a reader").as_uri()
    digest = save_reader(reader, uri)
    assert checkpoint_epoch(uri) == 2
    assert checkpoint_digest(uri) == digest == reader_digest(load_reader(str(tmp_path / "a reader")))


def test_digest_is_of_what_predicts(reader: TrainedReader, saved: Path) -> None:
    digest = checkpoint_digest(str(saved))
    assert digest == reader_digest(reader)
    assert reader_digest(replace(reader, history=(), optimizer=None, options=replace(QUICK, threads=3))) == digest
    others = [
        replace(reader, config=replace(reader.config, dropout=0.2)),
        replace(reader, vocabulary=replace(reader.vocabulary, lower_case=True)),
    ]
    changed = load_reader(str(saved))
    with torch.no_grad():
        changed.network.word_table.frozen[0, 0] += 1
    assert len({digest, *map(reader_digest, [*others, changed])}) == 4


def test_reader_without_optimizer_predicts_and_is_not_resumed(reader: TrainedReader, tmp_path: Path) -> None:
    save_reader(replace(reader, optimizer=None), str(tmp_path))
    assert load_reader(str(tmp_path)).optimizer is None
    with pytest.raises(CheckpointError, match="without its optimizer: it can predict, but not be resumed"):
        load_reader(str(tmp_path), resume=True)


def names(folder: Path) -> list[str]:
    return sorted(p.name.partition("-")[0] for p in folder.iterdir())


def test_saving_again_replaces_all_and_leaves_other_files(reader: TrainedReader, saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    (saved / "weights-0.1f.unfinished").write_text("of a write broken off")
    other = train_reader(invented(8), [], reader.config, replace(QUICK, epochs=1))
    save_reader(other, str(saved))
    assert reader_digest(load_reader(str(saved))) == reader_digest(other) != reader_digest(reader)
    assert names(saved) == ["notes.txt", "optimizer", "reader.json", "vocabulary", "weights"]


@pytest.mark.parametrize("broken_off_at", ["vocabulary", "weights", "optimizer", "reader.json"])
def test_write_broken_off_anywhere_leaves_the_old_reader(
    reader: TrainedReader, saved: Path, broken_off_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = train_reader(invented(9, seed=8), [], reader.config, QUICK)
    write = checkpoint._write

    def fail(file_system: object, path: str, content: bytes) -> None:
        if Path(path).name.startswith(broken_off_at):
            Path(path + ".x.unfinished").write_bytes(content[: len(content) // 2])
            raise OSError("disk full")
        write(file_system, path, content)

    monkeypatch.setattr(checkpoint, "_write", fail)
    with pytest.raises(OSError, match="disk full"):
        save_reader(other, str(saved))
    assert reader_digest(load_reader(str(saved), resume=True)) == reader_digest(reader)


def test_new_folder_is_no_reader_until_the_manifest_is_there(
    reader: TrainedReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "MANIFEST", "not-yet.json")
    save_reader(reader, str(tmp_path))
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="no reader was saved there, or not to its end"):
        load_reader(str(tmp_path))


def data_file(folder: Path, name: str) -> Path:
    return next(folder.glob(f"{name}-*"))


def damage(folder: Path, how: str) -> None:
    manifest = folder / "reader.json"
    values = json.loads(manifest.read_text())
    weights = data_file(folder, "weights")
    content = weights.read_bytes()
    if how == "weights gone":
        weights.unlink()
    elif how == "weights cut":
        weights.write_bytes(content[:-7])
    elif how == "weights changed":
        weights.write_bytes(content[:-300] + b"x" + content[-299:])
    elif how == "manifest cut":
        manifest.write_text(manifest.read_text()[:-20])
    elif how == "other version":
        manifest.write_text(json.dumps({**values, "version": 2}))
    elif how == "other network":
        manifest.write_text(json.dumps({**values, "network": "qanet"}))
    elif how == "other sizes":
        manifest.write_text(json.dumps({**values, "config": {**values["config"], "turns": 4, "word_size": 25}}))
    elif how == "other digest":
        manifest.write_text(json.dumps({**values, "digest": "0" * 40}))
    elif how == "other settings":
        manifest.write_text(json.dumps({**values, "config": {**values["config"], "dropout": 0.2}}))
    elif how == "unknown setting":
        manifest.write_text(json.dumps({**values, "config": {**values["config"], "layers": 2}}))
    elif how == "no options":
        manifest.write_text(json.dumps({k: v for k, v in values.items() if k != "options"}))
    else:
        manifest.write_text("[]")


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ("weights gone", "weights-.* is missing"),
        ("weights cut", "weights-.* is damaged: .* bytes of"),
        ("weights changed", "weights-.* is damaged"),
        ("manifest cut", "reader.json is damaged"),
        ("other version", "a reader of version 2, this code reads 1: use the release that wrote it"),
        ("other network", "no network 'qanet'; known: san"),
        ("other sizes", "not a reader of this version"),
        ("other digest", "does not belong to the files beside it"),
        ("other settings", "does not belong to the files beside it"),
        ("unknown setting", "san has no layers"),
        ("no options", "not a reader of this version"),
        ("another json", "of another kind of folder"),
    ],
)
def test_damaged_reader_is_refused_with_its_path(saved: Path, how: str, complaint: str) -> None:
    damage(saved, how)
    with pytest.raises(CheckpointError, match=complaint) as raised:
        load_reader(str(saved))
    assert str(saved) in str(raised.value)


class Evil:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Path]]:
        return Path.touch, (self.path,)


def test_code_in_the_weights_is_not_run(saved: Path, tmp_path: Path) -> None:
    content = checkpoint._tensors_as_bytes({"word_table.tuned": Evil(tmp_path / "run")})
    weights, manifest = data_file(saved, "weights"), saved / "reader.json"
    weights.write_bytes(content)
    values = json.loads(manifest.read_text())
    values["files"]["weights"] |= {"bytes": len(content), "sha1": hashlib.sha1(content).hexdigest()}
    manifest.write_text(json.dumps(values))
    with pytest.raises(CheckpointError, match="not a reader of this version"):
        load_reader(str(saved))
    assert not (tmp_path / "run").exists()


VOCABULARY = Vocabulary(("<pad>", "<unknown>", "@placeholder", "cat", "Dog", "bird"), ("", ""), ("", ""))


def vector_file(folder: Path, text: str, name: str = "vectors.txt") -> str:
    content = text.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(folder / name)


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_vectors_of_known_words_are_read_and_the_others_drawn(tmp_path: Path, name: str) -> None:
    text = "cat 1 2 3\nhorse 9 9 9\n. . . 4 4 4\n<pad> 7 7 7\nbird -1e-2 .5 0\ncat 8 8 8\n"
    vectors = load_vectors(vector_file(tmp_path, text, name), VOCABULARY, 3, seed=5)
    drawn = random_vectors(VOCABULARY, 3, seed=5)
    expected = drawn.copy()
    expected[3], expected[5] = (1, 2, 3), (-0.01, 0.5, 0)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, expected)
    assert not drawn[0].any()
    assert drawn[1:].any(axis=1).all()


def test_header_of_word2vec_and_uris_are_known(tmp_path: Path) -> None:
    path = vector_file(tmp_path, "1 2\nDog 1 2\n")
    assert load_vectors(Path(path).as_uri(), VOCABULARY, 2, seed=1)[4].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the file is empty"),
        ("cat 1 2\nDog 1 2\n", "line 1 has 2 numbers after its word, the network wants 3"),
        ("cat 1 2 3 4\nDog 1 2 3 4\n", "line 1 has 4 numbers after its word, the network wants 3"),
        ("cat 1 2 3\nDog 1 2\n", "line 2 has 2 numbers.*if only this line differs, the file is damaged"),
        ("cat 1 2 3\n\nDog 1 2 3\n", "line 2 has 0 numbers"),
        ("cat 1 x 3\n", "line 1 holds 'x', not a finite number"),
        ("cat 1 nan 3\n", "line 1 holds 'nan', not a finite number"),
        ("horse 1 2 3\n", "none of the vocabulary's 4 words is there; .* set lower_case"),
    ],
)
def test_unusable_vector_files_are_refused_with_line_and_remedy(tmp_path: Path, text: str, complaint: str) -> None:
    path = vector_file(tmp_path, text)
    with pytest.raises(VectorFileError, match=complaint) as raised:
        load_vectors(path, VOCABULARY, 3, seed=1)
    assert path in str(raised.value)


def test_vector_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VectorFileError, match="can't be read as text in UTF-8"):
        load_vectors(str(tmp_path / "absent.txt"), VOCABULARY, 3, seed=1)
    (tmp_path / "latin.txt").write_bytes("caf\xe9 1 2 3\n".encode("latin-1"))
    with pytest.raises(VectorFileError, match="can't be read as text in UTF-8"):
        load_vectors(str(tmp_path / "latin.txt"), VOCABULARY, 3, seed=1)
    cut = Path(vector_file(tmp_path, "cat 1 2 3\n" * 500, "cut.txt.gz"))
    cut.write_bytes(cut.read_bytes()[:-12])
    with pytest.raises(VectorFileError, match="can't be read"):
        load_vectors(str(cut), VOCABULARY, 3, seed=1)
    with pytest.raises(VectorFileError, match="unpack it"):
        load_vectors(str(tmp_path / "glove.zip"), VOCABULARY, 3, seed=1)


def test_digest_of_vectors_is_of_their_content_wherever_they_lie(tmp_path: Path) -> None:
    def of(name: str, text: str) -> str:
        return vectors_digest(vector_file(tmp_path, text, name))

    long = "word 1 2\n" * 300_000
    digests = [of("a.txt", "word 1 2\n"), of("b.txt", "word 1 3\n"), of("c.txt", long), of("d.txt", f"{long[:-2]}3\n")]
    assert len(set(digests)) == 4
    assert of("elsewhere.txt", long) == digests[2]
    assert vectors_digest((tmp_path / "c.txt").as_uri()) == digests[2]
    with pytest.raises(VectorFileError, match=r"absent\.txt: can't be read"):
        vectors_digest(str(tmp_path / "absent.txt"))
