"""What an operator sees when a submit can't work: one line that says what to type. No cluster is needed."""

from pathlib import Path

import pytest

from tests.cluster.standalone import SPARK_HOME, CleanProcesses
from tests.conftest import ROOT

SUBMIT = ROOT / "conf" / "submit.sh"


@pytest.fixture
def processes(tmp_path: Path) -> CleanProcesses:
    return CleanProcesses(tmp_path / "a folder")


def errors(output: str) -> list[str]:
    assert "Traceback" not in output
    return [line for line in output.splitlines() if line.startswith(("error: ", "submit: "))]


def test_submit_without_deltas_jars_says_what_to_add(processes: CleanProcesses) -> None:
    ended = processes.call(
        "no-jars", SPARK_HOME / "bin" / "spark-submit", "--master", "local[1]", "--conf", "spark.ui.enabled=false",
        ROOT / "jobs" / "generate_triples.py", "--config", ROOT / "conf" / "local.toml",
        f"--set=paths.tables={processes.folder}/tables",
        PYTHONPATH=str(ROOT),
    )  # fmt: skip
    assert ended.status == 1
    (error,) = errors(ended.output)
    assert "Delta's classes are not on the driver's class path" in error
    assert "--packages io.delta:delta-spark_4.2_2.13:4.4.0" in error
    assert not (processes.folder / "tables").exists()


def test_bad_setting_ends_with_status_1_and_leaves_the_checkout_alone(processes: CleanProcesses) -> None:
    before = checkout()
    # From another folder, whose own relative config goes before the checkout's.
    own = processes.folder / "elsewhere" / "conf"
    own.mkdir()
    (own / "base.toml").write_bytes((ROOT / "conf" / "base.toml").read_bytes())
    (own / "mine.toml").write_text('[export]\nnane = "x"\n')
    for config, message in (
        ("conf/mine.toml", "error: conf/mine.toml: unknown key 'export.nane'; did you mean 'export.name'?"),
        ("conf/local.toml", "error: --set generate.overlap=3: unknown key 'generate.overlap'"),
    ):
        ended = processes.call(
            "bad-setting", SUBMIT, "--master", "local[1]",
            "jobs/generate_triples.py", "--config", config, "--set=generate.overlap=3",
        )  # fmt: skip
        assert ended.status == 1
        (error,) = errors(ended.output)
        assert error.startswith(message)
    assert checkout() == before


def checkout() -> set[str]:
    """Files that a build could leave in the checkout."""
    places = ("*", "build/*", "conf/*", "jobs/*.py", "udfs/*.py", "*.egg-info/*")
    return {str(p.relative_to(ROOT)) for pattern in places for p in ROOT.glob(pattern)}


def test_submit_passes_options_and_arguments_on_as_they_are(processes: CleanProcesses) -> None:
    """A stand-in for spark-submit shows what it is given."""
    (processes.folder / "spark" / "bin").mkdir(parents=True)
    stand_in = processes.folder / "spark" / "bin" / "spark-submit"
    stand_in.write_text('#!/bin/sh\nfor part in "$@"; do echo "<$part>"; done\nexit 7\n')
    stand_in.chmod(0o755)
    ended = processes.call(
        "options", SUBMIT, "--conf", "spark.x=a  b", "--jars", "my own.jar", "--py-files", "own.zip",
        "--properties-file", "conf/spark_cpu.conf",
        "jobs/export_dataset.py", "--config=conf/local.toml", "--set", "export.name=two words",
        SPARK_HOME=str(processes.folder / "spark"),
    )  # fmt: skip
    assert ended.status == 7
    parts = [line[1:-1] for line in ended.output.splitlines()]
    job = parts.index(str(ROOT / "jobs" / "export_dataset.py"))
    options = dict(zip(parts[:job:2], parts[1:job:2], strict=True))
    assert options["--conf"] == "spark.x=a  b"
    assert options["--properties-file"] == str(ROOT / "conf" / "spark_cpu.conf")
    assert options["--py-files"].endswith("/record_spark.zip,own.zip")
    own_jar, *deltas = options["--jars"].split(",")
    assert own_jar == "my own.jar"
    assert any("delta-spark" in jar for jar in deltas)
    assert parts[job + 1 :] == [f"--config={ROOT}/conf/local.toml", "--set", "export.name=two words"]
    assert not Path(options["--py-files"].partition(",")[0]).exists(), "left behind"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--master", "local[1]"],
            "no job of this checkout among the arguments; name one of: jobs/annotate_articles.py",
        ),
        (["jobs/generate.py"], "no job of this checkout among the arguments; name one of: jobs/annotate_articles.py"),
        (["--master", "local[1]", "--jars"], "--jars needs a value"),
    ],
)
def test_wrong_call_says_how(processes: CleanProcesses, arguments: list[str], message: str) -> None:
    ended = processes.call("wrong", SUBMIT, *arguments)
    assert ended.status == 2
    (error,) = errors(ended.output)
    assert message in error
