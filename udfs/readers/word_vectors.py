"""Word vectors for a vocabulary: drawn at random, or read from a text file in GloVe's format."""

import hashlib
import io
import math
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt

from udfs.readers.vocabulary import PAD, Vocabulary
from udfs.sources.files import Gunzipped, normal_path, open_random, open_stream

_END = 1 << 20
Vectors = npt.NDArray[np.float32]


class VectorFileError(ValueError):
    """A file of word vectors that can't be used; the message names file, line and remedy."""


def random_vectors(vocabulary: Vocabulary, size: int, *, seed: int) -> Vectors:
    """Standard normal vectors of shape (words, size), zero for padding; a word's depend on its row and the seed."""
    vectors = np.random.default_rng(seed).standard_normal((len(vocabulary.words), size), dtype=np.float32)
    vectors[PAD] = 0
    return vectors


def load_vectors(path: str, vocabulary: Vocabulary, size: int, *, seed: int) -> Vectors:
    """The file's vectors of the vocabulary's words, shape (words, size); the others as ``random_vectors`` gives them.

    The file is read as a stream, and only the vocabulary's words are kept. Its lines are a word and ``size``
    numbers, separated by blanks (GloVe); a first line of two counts (word2vec) is skipped. ``.gz`` is unpacked.
    Of a word that stands there twice the first vector is taken.

    Args:
        path: a path or URI.

    Raises:
        VectorFileError: it can't be read, is empty, has another number of columns, holds something that is
            not a finite number, or none of the vocabulary's words.
    """
    vectors = random_vectors(vocabulary, size, seed=seed)
    rows = vocabulary.word_rows
    found: set[int] = set()
    empty = True
    for number, line in _lines(path):
        empty = False
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and all(f.isdigit() for f in fields):
            continue
        if len(fields) != size + 1:
            _check_columns(path, number, fields, size)
            continue
        row = rows.get(fields[0])
        if row is not None and row not in found:
            vectors[row] = _numbers(path, number, fields)
            found.add(row)
    if empty:
        raise VectorFileError(f"{path}: the file is empty; give a file of word vectors, or none for random ones")
    if not found:
        raise VectorFileError(
            f"{path}: none of the vocabulary's {len(rows)} words is there; if its words are in lower case only, "
            "set lower_case; else it is of another language or encoding"
        )
    return vectors


def vectors_digest(path: str) -> str:
    """A hash of a file's size and of its first and last megabyte: the same file elsewhere has the same.

    Of the file and not of the path: what is read anew under a name has other vectors. Not of all bytes: the
    largest files have several gigabytes, and readers are looked up by the digest in every run.

    Raises:
        VectorFileError: it can't be read.
    """
    try:
        with open_random(normal_path(path)) as file:
            size = file.size()
            head = file.read(_END)
            file.seek(max(len(head), size - _END))
            return hashlib.sha1(b"%d " % size + head + file.read()).hexdigest()
    except OSError as error:
        raise VectorFileError(f"{path}: can't be read ({error}); check path and rights") from error


def _lines(path: str) -> Iterator[tuple[int, str]]:
    if path.endswith(".zip"):
        raise VectorFileError(f"{path}: a zip archive; unpack it and give the .txt file inside")
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(open_stream(normal_path(path)))
            raw = Gunzipped(stream) if path.endswith(".gz") else stream
            text = stack.enter_context(
                io.TextIOWrapper(io.BufferedReader(raw, 1 << 20), encoding="utf-8", newline="\n")
            )
            yield from enumerate(text, start=1)
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise VectorFileError(f"{path}: can't be read as text in UTF-8 ({error}); check path and rights") from error


def _check_columns(path: str, number: int, fields: list[str], size: int) -> None:
    """Some words hold blanks: in GloVe's largest file a few lines have more fields. Those are no tokens of ours."""
    if len(fields) > size + 1 and not all(_is_number(f) for f in fields[1:-size]):
        return
    raise VectorFileError(
        f"{path}: line {number} has {len(fields) - 1} numbers after its word, the network wants {size}; "
        f"give vectors of that size, or set the network's word_size; if only this line differs, the file is damaged"
    )


def _numbers(path: str, number: int, fields: list[str]) -> list[float]:
    if not all(_is_number(f) for f in fields[1:]):
        wrong = next(f for f in fields[1:] if not _is_number(f))
        raise VectorFileError(f"{path}: line {number} holds {wrong[:40]!r}, not a finite number; get the file again")
    return [float(f) for f in fields[1:]]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
