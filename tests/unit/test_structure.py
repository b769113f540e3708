"""The house's rules: imports point one way, pure modules stay pure, names in jobs/ shadow no library."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

MODULES = {
    ".".join(p.relative_to(ROOT).with_suffix("").parts): p
    for folder in ("jobs", "udfs")
    for p in (ROOT / folder).rglob("*.py")
    if p.name != "__init__.py"
}
PURE = """udfs.spans udfs.story_text udfs.cloze udfs.answer_match udfs.fold_of udfs.sentence_split udfs.article_urls
udfs.readers.configuration udfs.readers.examples udfs.sources.page_layouts
udfs.annotators.base udfs.annotators.stand_off udfs.annotators.name_linking udfs.annotators.name_forms
udfs.annotators.name_propagation udfs.annotators.name_spans udfs.annotators.name_types udfs.annotators.overlay
udfs.annotators.person_names udfs.annotators.untagged_names udfs.annotators.given_names
udfs.annotators.known_places udfs.annotators.allennlp.windows udfs.annotators.allennlp.naming
udfs.annotators.silver_types udfs.annotators.training_options""".split()


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            # "from jobs import ingest_articles" imports the module jobs.ingest_articles
            found |= {
                f"{node.module}.{a.name}" if node.module in ("jobs", "udfs") else str(node.module) for a in node.names
            }
    return found


def is_job(module: str) -> bool:
    return module.startswith("jobs.") and module.count(".") == 1


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_one_way(module: str) -> None:
    for imported in imports(MODULES[module]):
        if module.startswith("udfs."):
            assert not imported.startswith("jobs"), f"{module} imports {imported}: udfs know nothing of jobs"
        elif is_job(module) and module != "jobs.run_pipeline":
            assert not is_job(imported), f"{module} imports {imported}: jobs never import jobs"
        elif module.startswith("jobs.transforms."):
            assert not is_job(imported), f"{module} imports {imported}: transforms know no jobs"
        elif module.startswith("jobs.job_support."):
            assert not is_job(imported), f"{module} imports {imported}"
            assert not imported.startswith("jobs.transforms"), f"{module} imports {imported}"


@pytest.mark.parametrize("module", PURE)
def test_pure_modules_import_the_standard_library_only(module: str) -> None:
    for imported in imports(MODULES[module]):
        top = imported.partition(".")[0]
        assert top in sys.stdlib_module_names or imported in PURE, f"{module} imports {imported}"


def test_no_name_in_jobs_is_a_librarys() -> None:
    # spark-submit puts jobs/ itself first on the driver's path.
    for path in (ROOT / "jobs").iterdir():
        name = path.stem
        if name.startswith(("_", ".")):
            continue
        spec = importlib.util.find_spec(name)
        assert spec is None or str(spec.origin).startswith(str(ROOT / "jobs")), f"jobs/{path.name} shadows {spec}"


@pytest.mark.parametrize("module", sorted(m for m in MODULES if is_job(m)))
def test_every_job_has_main_run_and_says_how_to_run_it(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text())
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert {"main", "run"} <= functions
    assert f"spark-submit jobs/{module.partition('.')[2]}.py" in (ast.get_docstring(tree) or "")
