"""Fixtures that every kind of test may use."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with GUM and the test vectors, which are not part of the project; skips where it is absent."""
    folder = Path(os.environ.get("RECORD_SPARK_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no {folder}: set RECORD_SPARK_SHARED to the folder with data/gum and vectors/")
    return folder
