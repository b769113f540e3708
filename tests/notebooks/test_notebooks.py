"""The notebooks are stored without outputs, run to their end on a small corpus, and write nothing."""

import base64
import os
import shutil
from collections import Counter
from html import escape
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from jobs import compare_annotators, run_pipeline
from jobs.job_support.store import Store
from jobs.transforms.browse import measures, plots, tables
from jobs.transforms.machine_filter import hard_passages, hard_triples
from tests.conftest import ROOT
from tests.corpus.lay_out import lay_out, source_articles
from tests.spark.conftest import TINY_READER, settings_for

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NO_FILTER = "These tables hold no machine filter"
OF_FILTER = ("reader_runs", "learning_curves", "predictions", "machine_filter", "evaluations")
PICTURES = {
    "Funnel": 1,
    "Passages": 2,
    "Why sentences fell": 1,
    "Triples per article": 1,
    "Learning curves": 1,
    "What the reader solved": 3,
}


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
        elif cell.source.startswith("## "):
            heading, explanation = cell.source.split("\n\n")
            assert explanation.endswith("."), heading


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of a whole run, tiny readers included, on five bundled articles and an empty file."""
    out = tmp_path_factory.mktemp("run")
    bundled = source_articles()
    few = [*[a for a in bundled if a.standoff][:3], *[a for a in bundled if not a.standoff and a.layout == "story"][:2]]
    lay_out(few, out / "corpus")
    (out / "corpus" / f"{'0' * 40}.story").write_text(" \n")
    sources = f'ingest.sources=[{{path="{out / "corpus"}"}}]'
    run_pipeline.run(spark, settings_for(out, sources, *TINY_READER, "splits.hermann_held_out=0.5"))
    return out / "tables"


def files(folder: Path) -> set[tuple[str, int]]:
    return {(str(p), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def execute(notebook: Path, tables: Path, own: Path) -> NotebookNode:
    """Runs it as Jupyter does: from its own folder, with the environment of ``make notebook``, without PyTorch."""
    blocked = own / "blocked"
    blocked.mkdir()
    (blocked / "torch.py").write_text("raise ImportError('the notebooks need no PyTorch')\n")
    executed = read(notebook)
    client = NotebookClient(executed, timeout=300, resources={"metadata": {"path": str(notebook.parent)}})
    python_path = os.pathsep.join([str(blocked), str(ROOT)])
    own_settings = {"PYTHONPATH": python_path, "RECORD_SPARK_TABLES": str(tables), "IPYTHONDIR": str(own / "ipython")}
    client.execute(env=os.environ | own_settings)
    return executed


def outputs(executed: NotebookNode, heading: str) -> list[NotebookNode]:
    """All outputs below a heading, up to the next one."""
    found, here, seen = [], False, False
    for cell in executed.cells:
        if cell.cell_type == "markdown":
            here = cell.source.startswith(f"## {heading}\n")
            seen |= here
        elif here:
            found += cell.outputs
    assert seen, f"no heading {heading}"
    return found


def shown(executed: NotebookNode, heading: str) -> str:
    """All text below a heading."""
    datas = [o.get("data", {"text/plain": o.get("text", "")}) for o in outputs(executed, heading)]
    return "\n".join(d.get("text/html") or d.get("text/markdown") or d["text/plain"] for d in datas)


def pictures(executed: NotebookNode, heading: str) -> list[bytes]:
    """All pictures below a heading, as files."""
    datas = [o.get("data", {}) for o in outputs(executed, heading)]
    return [base64.b64decode(data["image/png"]) for data in datas if "image/png" in data]


def test_the_story_of_a_run_shows_what_is_in_its_tables(spark: SparkSession, run: Path, tmp_path: Path) -> None:
    store = Store(spark, str(run))
    kept = store.read("triples").where("keep").collect()
    verdicts = store.read("machine_filter").collect()
    before, here = files(run), files(ROOT / "notebooks")
    executed = execute(ROOT / "notebooks" / "explore.ipynb", run, tmp_path)
    assert files(run) == before
    assert files(ROOT / "notebooks") == here

    for heading, number in PICTURES.items():
        found = pictures(executed, heading)
        assert len(found) == number, heading
        assert all(picture.startswith(b"\x89PNG") and len(picture) > 5_000 for picture in found)
    hard = [v.query_id for v in verdicts if v.keep]
    assert f"passage-query-answers triples{len(kept):>15,}" in shown(executed, "Funnel")
    assert f"hard triples{len(hard):>32,}" in shown(executed, "Funnel")
    _check_passage(shown(executed, "A passage and its queries"), kept)
    fallen = shown(executed, "Why sentences fell")
    for reason in {s.reason for s in store.read("sentences").where("not keep").collect()}:
        assert f">{reason}</td>" in fallen
    by_outcome = Counter(t.reason or "kept" for t in store.read("triples").collect())
    for outcome, n in by_outcome.items():
        row = f">{outcome}</td><td style='text-align:right'>{n:,}</td>"
        assert row in shown(executed, "Verdicts on passages and queries")
    table_1 = shown(executed, "Statistics")
    [header] = [line for line in table_1.splitlines() if "paper: overall" in line]
    [queries] = [line for line in table_1.splitlines() if line.startswith("| queries ")]
    overall = [cell.strip() for cell in header.split("|")].index("overall")
    assert queries.split("|")[overall].strip() == f"{len(hard):,}"
    assert f"{'0' * 40}.story" in shown(executed, "Rejects")
    assert ">empty</td>" in shown(executed, "Rejects")
    assert shown(executed, "Articles").count("<table>") == 1
    _check_hard_triples(shown(executed, "Ten hard triples"), store, set(hard))
    assert NO_FILTER not in "".join(shown(executed, heading) for heading in PICTURES)


def test_annotators_are_shown_side_by_side(spark: SparkSession, run: Path, tmp_path: Path) -> None:
    out = run.parent
    compare_annotators.run(spark, settings_for(out, 'compare.annotators=[{name="spacy"}]'))
    store = Store(spark, str(run))
    before = files(run)
    executed = execute(ROOT / "notebooks" / "compare_annotators.ipynb", run, tmp_path)
    assert files(run) == before
    figures = (out / "report" / "annotators.md").read_text()
    assert "| spacy | stand-off | 3 | 0 |" in figures
    assert figures.strip() == shown(executed, "Figures").strip()
    rows = {r.article_id: r for r in store.read("annotator_comparisons").collect()}
    f1 = {a: 2 * r.common_links / (r.line_links + r.found_links) for a, r in rows.items()}
    least = min(f1, key=lambda a: f1[a])
    assert shown(executed, "Least agreement").index(least) < min(
        shown(executed, "Least agreement").index(a) for a in f1 if a != least
    )
    html = shown(executed, "An article under both")
    assert html.count("<h4>") == 2
    line = store.read("annotations").where(F.col("article_id") == least).collect()[0]
    marks = {(m.start, m.end) for side in (line, rows[least]) for m in side.mentions}
    assert html.count("<mark") >= len(marks)
    assert "on this side alone" in html


def _check_passage(html: str, kept: list[Row]) -> None:
    by_article = {i: [t for t in kept if t.article_id == i] for i in {t.article_id for t in kept}}
    most = min(by_article, key=lambda i: (-len(by_article[i]), i))
    first = min(by_article[most], key=lambda t: (t.sentence_start, t.placeholder))
    assert html.count(">@placeholder</mark>") == min(10, len(by_article[most]))
    before_it, after_it = first.query.split("@placeholder", 1)
    assert escape(before_it, quote=False) in html
    assert escape(after_it, quote=False) in html
    assert html.count("outline:") == len(first.answers)
    assert f">{escape(first.answers[0].text, quote=False)}</mark>" in html


def _check_hard_triples(html: str, store: Store, hard: set[str]) -> None:
    predictions = {p.query_id: p for p in store.read("predictions").collect()}
    blocks = html.split("<div ")[1:]
    assert len(blocks) == min(10, len(hard))
    triples = {t.query_id: t for t in store.read("triples").collect()}
    ids = [block.split("<p style='color:#777'>")[1].split(",")[0] for block in blocks]
    assert set(ids) <= hard
    articles = [triples[i].article_id for i in ids]
    assert len(set(articles)) == min(len(ids), len({triples[i].article_id for i in hard}))
    for query_id, block in zip(ids, blocks, strict=True):
        predicted, triple = predictions[query_id], triples[query_id]
        assert not predicted.exact_match
        assert f">{escape(predicted.text)}</span> (" in block
        assert "SAN&#x27;s answer" in block
        for answer in triple.answers:
            assert f">{escape(answer.text)}</b>" in block
        assert block.count(">@placeholder</mark>") == 1


def test_pictures_show_what_the_tables_hold(spark: SparkSession, run: Path) -> None:
    """Counted anew in Python, from the rows themselves."""
    store = Store(spark, str(run))
    triples, passages, verdicts = (store.read(name) for name in ("triples", "passages", "machine_filter"))
    hard = hard_triples(triples, verdicts)
    hard_ids = {t.article_id for t in hard.collect()}
    sizes = measures.passage_sizes(hard_passages(passages, hard), hard)
    assert {r.article_id: r.entities for r in sizes.collect()} == {
        p.article_id: len(p.entities) for p in passages.collect() if p.article_id in hard_ids
    }

    [axes] = plots.fallen_sentences(tables.fetch(measures.fallen_sentences(store.read("sentences")))).axes
    first = dict(zip((t.get_text() for t in axes.get_yticklabels()), _widths(axes, 0), strict=True))
    reasons = Counter(s.reason.replace("_", " ") for s in store.read("sentences").where("not keep").collect())
    assert {reason: n for reason, n in first.items() if n} == reasons

    evaluations = {(e.slice, e.value): e for e in store.read("evaluations").collect()}
    shares = tables.fetch(measures.answered_shares(verdicts, triples, passages))
    figure = plots.answered_shares(shares, reader="SAN")
    for axes, slice_ in zip(figure.axes, ("answers", "origin"), strict=False):
        bars = dict(zip((t.get_text() for t in axes.get_yticklabels()), _widths(axes, 0), strict=True))
        expected = {value: 100 * e.exact_match for (name, value), e in evaluations.items() if name == slice_}
        assert bars == pytest.approx(expected)

    kinds = tables.fetch(measures.answer_kinds(store.read("predictions")))
    [axes] = plots.answer_kinds(kinds, reader="SAN").axes
    by_kind = Counter(_kind(p) for p in store.read("predictions").collect())
    assert dict(zip((t.get_text() for t in axes.get_yticklabels()), _widths(axes, 0), strict=True)) == by_kind

    curves = store.read("learning_curves").collect()
    loss, _, _ = plots.learning_curves(tables.fetch(store.read("learning_curves"))).axes
    folds = {c.fold for c in curves}
    assert len(loss.lines) == len(folds) + 1
    means = [sum(c.loss for c in curves if c.epoch == e) / len(folds) for e in (1, 2)]
    assert list(loss.lines[-1].get_ydata()) == pytest.approx(means)


def _kind(prediction: Row) -> str:
    if prediction.exact_match:
        return measures.RIGHT
    if prediction.f1 > 0:
        return measures.SIMILAR
    return measures.OTHER_ENTITY if prediction.is_candidate else measures.NO_ENTITY


def _widths(axes, container):  # type: ignore[no-untyped-def]
    return [bar.get_width() for bar in axes.containers[container]]


def test_the_story_of_a_run_without_the_machine_filter_says_so(run: Path, tmp_path: Path) -> None:
    left = tmp_path / "tables"
    shutil.copytree(run, left, ignore=shutil.ignore_patterns(*OF_FILTER))
    own = tmp_path / "own"
    own.mkdir()
    executed = execute(ROOT / "notebooks" / "explore.ipynb", left, own)
    for heading in ("Learning curves", "What the reader solved", "Ten hard triples"):
        assert shown(executed, heading).startswith(NO_FILTER), heading
        assert pictures(executed, heading) == []
    assert "hard triples" not in shown(executed, "Funnel")
    assert len(pictures(executed, "Passages")) == 2
    assert "| queries " in shown(executed, "Statistics")
