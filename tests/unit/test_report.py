"""What an operator sees: funnel, progress, the README's tables."""

import re

import pytest

from jobs.job_support.contracts import CONTRACTS, columns_in_markdown, tables_in_markdown
from jobs.job_support.progress import describe
from jobs.transforms.funnel import KEPT, render_funnel, unaccounted
from tests.conftest import ROOT

COUNTS = {
    ("ingest", "article", KEPT): 3,
    ("ingest", "article", "empty"): 1,
    ("annotate", "article", KEPT): 3,
    ("generate", "passage", KEPT): 2,
    ("generate", "passage", "few_entities"): 1,
    ("generate", "sentence", KEPT): 4,
    ("generate", "sentence", "question"): 1,
    ("generate", "sentence", "short"): 5,
    ("generate", "query", KEPT): 6,
    ("generate", "query", "ngram_overlap"): 2,
}


def test_funnel_shows_reasons_in_the_order_of_the_conditions() -> None:
    lines = [line.split() for line in render_funnel(COUNTS).splitlines()]
    assert lines[0] == ["articles", "read", "4", "kept", "3", "75.0%"]
    assert lines[1] == ["-", "empty", "1"]
    assert [line[1] for line in lines if line[0] == "-"] == [
        "empty", "few_entities", "short", "question", "ngram_overlap",
    ]  # fmt: skip
    assert lines[-1] == ["passage-query-answers", "triples", "6"]


def test_funnel_of_nothing_has_no_shares() -> None:
    assert "%" not in render_funnel({})


def test_unaccounted_finds_what_was_lost_between_stages() -> None:
    assert unaccounted(COUNTS) == []
    assert unaccounted(COUNTS | {("annotate", "article", KEPT): 2}) == [
        "3 articles ingested but 2 articles annotated or failed",
        "2 articles annotated but 3 passages judged or failed",
    ]
    failed = COUNTS | {("annotate", "article", KEPT): 2, ("annotate", "article", "annotator_failed"): 1}
    assert unaccounted(failed | {("generate", "passage", KEPT): 1}) == []
    assert unaccounted(failed | {("generate", "passage", KEPT): 0, ("generate", "passage", "rules_failed"): 1}) == []
    assert unaccounted(COUNTS | {("tag", "article", "tagger_failed"): 1}) == []


def test_funnel_shows_what_failed() -> None:
    failed = {("generate", "passage", "rules_failed"): 1, ("tag", "article", "tagger_failed"): 2}
    lines = [line.split() for line in render_funnel(COUNTS | failed).splitlines()]
    passages = next(i for i, line in enumerate(lines) if line[:2] == ["candidate", "passages"])
    assert lines[passages] == ["candidate", "passages", "4", "kept", "2", "50.0%"]
    assert lines[passages + 1 : passages + 3] == [["-", "rules_failed", "1"], ["-", "few_entities", "1"]]
    assert lines[-2:] == [["articles", "without", "token", "tags", "2"], ["-", "tagger_failed", "2"]]


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (0, 1200, 0.0, "0 / 1,200 articles, 0.0 a second"),
        (412, 1200, 20.0, "412 / 1,200 articles, 20.6 a second, 38 s left"),
        (100, 100_000, 10.0, "100 / 100,000 articles, 10.0 a second, 2.8 h left"),
        (1000, 10_000, 100.0, "1,000 / 10,000 articles, 10.0 a second, 15 min left"),
        (1200, 1200, 60.0, "1,200 / 1,200 articles, 20.0 a second"),
        (1300, 1200, 60.0, "1,200 / 1,200 articles, 20.0 a second"),  # a retried task counts twice
    ],
)
def test_progress_tells_done_rate_and_time_left(done: int, total: int, seconds: float, text: str) -> None:
    assert describe(done, total, "articles", seconds) == text


def test_every_column_of_every_table_is_described() -> None:
    for contract in CONTRACTS.values():
        text = columns_in_markdown(contract)
        assert set(contract.key) <= set(contract.schema.names)
        assert set(contract.statistics) <= set(contract.schema.names)
        for field in contract.schema:
            assert field.metadata["comment"]
            assert f"| `{field.name}` |" in text


def test_readme_lists_the_tables_of_the_contracts() -> None:
    assert tables_in_markdown() in (ROOT / "README.md").read_text()


def test_readme_names_every_command_of_the_makefile() -> None:
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [c for c in commands if f"make {c}" not in readme] == []
