"""Fixtures that every kind of test may use."""

import os
from pathlib import Path
from typing import Any

import pytest

from udfs.annotators.allennlp.library import LibraryMissing, check_installed

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with GUM and the test vectors, which are not part of the project; skips where it is absent."""
    folder = Path(os.environ.get("RECORD_SPARK_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no {folder}: set RECORD_SPARK_SHARED to the folder with data/gum and vectors/")
    return folder


@pytest.fixture(scope="session")
def small_archives(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Trained archives of AllenNLP's tagger and coreference model; skips where AllenNLP is not installed."""
    try:
        check_installed()
    except LibraryMissing as missing:
        pytest.skip(str(missing))
    from tests.small_archives import train_archives

    return train_archives(tmp_path_factory.mktemp("archives"))
