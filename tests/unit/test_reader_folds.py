"""Training of a fold from files: what it trains on, what it goes on with, and what it says where files are gone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from tests.unit.test_reader_training import QUICK, SMALL, invented
from udfs.reader_examples import EXAMPLES
from udfs.reader_training import FoldTraining, train_fold
from udfs.readers.configuration import TrainingError
from udfs.readers.examples import ReaderExample


def row_of(example: ReaderExample, fold: int) -> dict[str, Any]:
    def tokens(words: Any) -> list[dict[str, Any]]:
        return [{"start": w.start, "end": w.end, "pos": w.pos, "tag": w.pos, "lemma": w.lemma} for w in words]

    text = "".join(w.text.ljust(w.end - w.start) + " " for w in example.query).strip()
    query = {
        "query_id": example.query_id,
        "query": text,
        "placeholder": 0,
        "answer_surface": None,
        "answers": [
            {"start": a.start, "end": a.end, "text": example.passage_text[a.start : a.end]} for a in example.answers
        ],
        "sentence_tokens": tokens(example.query),
    }
    return {
        "article_id": example.article_id,
        "fold": fold,
        "text": example.passage_text,
        "entities": [],
        "tokens": tokens(example.passage),
        "queries": [query],
        "fingerprint": "f",
    }


@pytest.fixture
def training(tmp_path: Path) -> FoldTraining:
    examples = invented(12)
    for fold in (0, 1):
        rows = [row_of(e, fold) for e in examples[6 * fold : 6 * fold + 6]]
        folder = tmp_path / "examples" / f"fold={fold}"
        folder.mkdir(parents=True)
        table = pa.Table.from_pylist(rows, schema=to_arrow_schema(EXAMPLES)).drop(["fold"])
        pq.write_table(table, folder / "part-0.parquet")
    return FoldTraining(str(tmp_path / "examples"), {0: 6, 1: 6}, str(tmp_path / "models"), SMALL, QUICK, "")


def test_reader_that_is_done_or_half_done_is_gone_on_with_on_any_machine(training: FoldTraining) -> None:
    first = train_fold(training, 0)
    assert (first["epochs"], first["trained_on"], first["left_out"]) == (2, 6, [])
    elsewhere = replace(training, options=replace(QUICK, threads=2, held_out_batch_tokens=100))
    assert train_fold(elsewhere, 0) == first, "not a second was spent again: the history is the same to the digit"
    longer = train_fold(replace(training, options=replace(QUICK, epochs=3)), 0)
    assert longer["history"][:2] == first["history"]
    anew = train_fold(replace(training, options=replace(QUICK, seed=1)), 0)
    assert anew["history"][0]["loss"] != first["history"][0]["loss"]


def test_files_that_went_away_meanwhile_are_no_smaller_training_set(training: FoldTraining) -> None:
    with pytest.raises(TrainingError, match=r"6 of 7 queries of fold 1 are there"):
        train_fold(replace(training, queries={0: 6, 1: 7}), 0)
    Path(training.examples, "fold=1", "part-0.parquet").unlink()
    with pytest.raises(TrainingError, match=r"0 of 6 queries of fold 1 are there: files were deleted"):
        train_fold(training, 0)
    with pytest.raises(TrainingError, match="no example to train on"):
        train_fold(replace(training, queries={0: 6}), 0)


def test_examples_that_cannot_be_used_are_counted(training: FoldTraining) -> None:
    path = Path(training.examples, "fold=1", "part-0.parquet")
    rows = pq.read_table(path).to_pylist()
    rows[0]["tokens"][0]["end"] = 10_000
    rows[1]["queries"][0]["placeholder"] = 3
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(path)), path)
    trained = train_fold(training, 0)
    assert (trained["trained_on"], trained["left_out"]) == (4, [{"reason": "unusable", "triples": 2}])
