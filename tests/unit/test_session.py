"""What is checked at start-up, and said in words."""

import subprocess
from pathlib import Path

import pytest

from jobs.job_support import session
from jobs.job_support.session import SessionError, check_java, delta_jars


class Jvm:
    """A JVM whose class path has the Delta of this version, or none."""

    def __init__(self, version: str | None) -> None:
        self._version = version

    def __getattr__(self, name: str) -> object:
        version = self._version

        class Package:
            def VERSION(self) -> str:  # noqa: N802
                if version is None:
                    raise TypeError("'JavaPackage' object is not callable")
                return version

            def __getattr__(self, name: str) -> "Package":
                return Package()

        return Package()


class Session:
    def __init__(self, version: str | None, **conf: str) -> None:
        self.sparkContext = type("Context", (), {"_jvm": Jvm(version)})()
        self.conf = conf | {k: v for k, v in session._REQUIRED_CONF.items() if k not in conf}


def test_check_passes_for_the_pair_that_exists() -> None:
    session._check_delta(Session("4.4.0"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spark", "message"),
    [
        (Session(None), r"add --packages io.delta:delta-spark_4.2_2.13:4.4.0, or --jars"),
        (Session("4.3.0"), r"Delta's jar is 4.3.0 but Python's delta-spark is 4.4"),
        (Session("4.4.0", **{"spark.sql.extensions": ""}), r"spark.sql.extensions lacks io.delta"),
    ],
)
def test_check_says_what_to_type(spark: Session, message: str) -> None:
    with pytest.raises(SessionError, match=message):
        session._check_delta(spark)  # type: ignore[arg-type]


def test_check_names_a_pyspark_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "pyspark_version", "4.3.0")
    with pytest.raises(SessionError, match=r"pyspark is 4.3.0; delta-spark 4.4.0 needs 4.2"):
        session._check_delta(Session("4.4.0"))  # type: ignore[arg-type]


def test_java_is_checked_before_spark_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SessionError, match=r"no Java found: install one \(apt-get install openjdk-17-jre-headless\)"):
        check_java()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    with pytest.raises(SessionError, match=r"is not Java 17 or 21: .*11\.0\.2.*set JAVA_HOME"):
        check_java()


def test_jars_folder_without_jars_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match=r"spark.delta_jars: no .jar in"):
        session._jars_conf(str(tmp_path))


def test_delta_jars_leaves_out_what_spark_has(tmp_path: Path) -> None:
    names = ("io.delta_delta-spark_4.2_2.13-4.4.0.jar", "delta-storage-4.4.0.jar", "com.fasterxml.jackson.core.jar")
    for name in (*names, "io.unitycatalog_unitycatalog-client-0.6.0.jar"):
        (tmp_path / name).touch()
    assert [p.name for p in delta_jars(tmp_path)] == [
        "delta-storage-4.4.0.jar",
        "io.delta_delta-spark_4.2_2.13-4.4.0.jar",
        "io.unitycatalog_unitycatalog-client-0.6.0.jar",
    ]


def test_scripts_are_sound() -> None:
    root = Path(session.__file__).parents[2]
    for script in (root / "conf" / "set_up.sh", root / "conf" / "submit.sh", root / ".ci" / "run"):
        subprocess.run(["bash", "-n", str(script)], check=True)
