"""The notebooks are stored without outputs, run to their end on a small corpus, and write nothing."""

import os
from html import escape
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from pyspark.sql import SparkSession

from jobs import annotate_articles, generate_triples, ingest_articles
from jobs.job_support.store import Store
from tests.conftest import ROOT
from tests.corpus.lay_out import lay_out, source_articles
from tests.spark.conftest import settings_for

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def read(notebook: Path) -> NotebookNode:
    return nbformat.read(notebook, as_version=4)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda n: n.stem)
def test_notebook_is_stored_without_outputs_and_logic(notebook: Path) -> None:
    stored = read(notebook)
    nbformat.validate(stored)
    for cell in stored.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            assert not [line for line in cell.source.splitlines() if line.lstrip().startswith(("def ", "class "))]


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Path:
    """Tables of four bundled articles and an empty file."""
    bundled = source_articles()
    lay_out([*[a for a in bundled if a.standoff][:2], *[a for a in bundled if not a.standoff][:2]], tmp_path / "corpus")
    (tmp_path / "corpus" / f"{'0' * 40}.story").write_text(" \n")
    settings = settings_for(tmp_path, f'ingest.sources=[{{path="{tmp_path / "corpus"}"}}]')
    for job in (ingest_articles, annotate_articles, generate_triples):
        job.run(spark, settings)
    return tmp_path / "tables"


def files(folder: Path) -> set[tuple[str, int]]:
    return {(str(p), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def execute(notebook: Path, tables: Path, own: Path) -> NotebookNode:
    """Runs it as Jupyter does: from its own folder, with the environment of ``make notebook``."""
    executed = read(notebook)
    client = NotebookClient(executed, timeout=300, resources={"metadata": {"path": str(notebook.parent)}})
    own_settings = {"PYTHONPATH": str(ROOT), "RECORD_SPARK_TABLES": str(tables), "IPYTHONDIR": str(own)}
    client.execute(env=os.environ | own_settings)
    return executed


def shown(executed: NotebookNode, heading: str) -> str:
    """All output below a heading, up to the next one."""
    found, here = [], False
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            here = cell.source.startswith(f"## {heading}\n") or cell.source == f"## {heading}"
        elif here:
            for output in cell.outputs:
                data = output.get("data", {"text/plain": output.get("text", "")})
                found.append(data.get("text/html") or data.get("text/markdown") or data["text/plain"])
    return "\n".join(found)


def test_explore_tables_shows_what_is_in_them(spark: SparkSession, tables: Path, tmp_path: Path) -> None:
    store = Store(spark, str(tables))
    kept = store.read("triples").where("keep").collect()
    before, here = files(tables), files(ROOT / "notebooks")
    executed = execute(ROOT / "notebooks" / "explore_tables.ipynb", tables, tmp_path / "ipython")
    assert files(tables) == before
    assert files(ROOT / "notebooks") == here

    assert f"passage-query-answers triples{len(kept):>15,}" in shown(executed, "Funnel")
    by_article = {i: [t for t in kept if t.article_id == i] for i in {t.article_id for t in kept}}
    most = min(by_article, key=lambda i: (-len(by_article[i]), i))
    first = min(by_article[most], key=lambda t: (t.sentence_start, t.placeholder))
    html = shown(executed, "A passage and its queries")
    assert html.count(">@placeholder</mark>") == min(10, len(by_article[most]))
    before_it, after_it = first.query.split("@placeholder", 1)
    assert escape(before_it, quote=False) in html
    assert escape(after_it, quote=False) in html
    assert html.count("outline:") == len(first.answers)
    assert f">{escape(first.answers[0].text, quote=False)}</mark>" in html

    verdicts = shown(executed, "Verdicts on passages, sentences and queries")
    for reason in {s.reason for s in store.read("sentences").where("not keep").collect()}:
        assert f">{reason}</td>" in verdicts
    assert f"| queries            | {len(kept):>7,} |" in shown(executed, "Statistics")
    assert f"{'0' * 40}.story" in shown(executed, "Rejects")
    assert ">empty</td>" in shown(executed, "Rejects")
    assert shown(executed, "Articles").count("<table>") == 2
    assert "<td style='text-align:right'>" in shown(executed, "Triples per article")
