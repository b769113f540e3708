"""Table 1 against figures counted by hand, and the paper's."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.transforms.dataset_statistics import MEASURES, PAPER, dataset_statistics, render_table_1
from tests.spark.test_dataset import passage_row, passages_of, triple_row, triples_of


def test_statistics_equal_figures_counted_by_hand(spark: SparkSession) -> None:
    passages = passages_of(
        spark,
        # 5 + 2 tokens without the marker; "Ann" and "ann" are two words, "\x1f" and NBSP separate
        passage_row(
            1, text="Ann met\u00a0 Bo.\x1fann wept\n@highlight\nBo. won ", entities=[(0, 3, 0, None)], split="train"
        ),
        passage_row(2, text="Ann left", entities=[(0, 3, 0, None)] * 2, split="dev"),
        passage_row(3, text="never used at all", split="dev"),
        passage_row(4, text="dropped", split="dev", keep=False, reason="few_entities"),
    )
    triples = triples_of(
        spark,
        triple_row(1, "@placeholder wept a lot.", split="train"),
        triple_row(1, "So @placeholder wept.", split="train"),
        triple_row(2, "Then @placeholder's dog wept.", split="dev"),
        triple_row(2, "Dropped @placeholder.", split="dev", keep=False, reason="ngram_overlap"),
        triple_row(4, "Other @placeholder.", split="dev", keep=False, reason="ngram_overlap"),
    )
    rows = {r["split"]: tuple(r[m] for m in MEASURES) for r in dataset_statistics(passages, triples).collect()}
    # queries, passages, passage vocabulary, query vocabulary, tokens, entities, tokens of a query
    assert rows == {
        "train": (2, 1, 6, 6, 7.0, 1.0, 3.5),
        "dev": (1, 1, 2, 4, 2.0, 2.0, 4.0),
        "overall": (3, 2, 7, 9, 4.5, 1.5, 3.7),
    }


def test_statistics_split_tokens_as_python_does(spark: SparkSession) -> None:
    space = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
    not_space = "\u200b\u180e\ufeff"
    text = "".join(f"a{c}" for c in space + not_space)
    passages = passages_of(spark, passage_row(1, text=text))
    row = dataset_statistics(passages, triples_of(spark, triple_row(1, "@placeholder"))).first()
    assert row is not None
    assert row["tokens_per_passage"] == len(text.split())


def test_statistics_without_splits_are_overall_only(spark: SparkSession) -> None:
    statistics = dataset_statistics(
        passages_of(spark, passage_row(1)), triples_of(spark, triple_row(1, "@placeholder"))
    )
    assert [r["split"] for r in statistics.collect()] == ["overall"]


def test_table_1_shows_ours_beside_the_papers() -> None:
    row = {"split": "overall", **{m: 1234.5 if "per" in m else 1234 for m in MEASURES}}
    lines = render_table_1([row]).splitlines()
    header = ["", "overall", "paper: train", "paper: dev", "paper: test", "paper: overall"]
    assert [c.strip() for c in lines[2].split("|")[1:-1]] == header
    by_label = {c[1].strip(): [x.strip() for x in c[2:-1]] for c in (line.split("|") for line in lines[4:11])}
    assert by_label["queries"] == ["1,234", "100,730", "10,000", "10,000", "120,730"]
    assert by_label["tokens / query"] == ["1,234.5", "21.3", "22.1", "22.2", "21.4"]
    assert len({len(line) for line in lines[2:11]}) == 1
    with pytest.raises(ValueError, match=r"splits \['validation'\]"):
        render_table_1([row | {"split": "validation"}])


def test_table_1_holds_the_papers_figures(shared: Path) -> None:
    paper = (shared / "papers" / "record.txt").read_text(encoding="utf-8")
    lines = [line.replace("\u2009", " ").split("\t") for line in paper.splitlines()]
    for measure, label in MEASURES.items():
        assert [label, *(f"{f:,}" for f in PAPER[measure])] in lines
