"""The Spark session with Delta, and what must be true of it, checked at start-up and said in words."""

import importlib.metadata
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pyspark import __version__ as pyspark_version
from pyspark.conf import SparkConf
from pyspark.sql import SparkSession

from jobs.job_support.settings import Spark

log = logging.getLogger(__name__)

# The one place for the pair of versions: delta-spark 4.4.0 is built for Spark 4.2 (Scala 2.13).
DELTA_VERSION = "4.4.0"
DELTA_PACKAGE = f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"
# Of what Delta's resolution brings, what Spark does not have itself.
_DELTA_JARS = re.compile(r"(io\.delta_)?delta-|(io\.unitycatalog_)?unitycatalog-")

_REQUIRED_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}


class SessionError(RuntimeError):
    """A session that can't do the work; the message says what to type."""


def set_up_jars_folder() -> Path:
    """Where set-up keeps Delta's jars: in the virtual environment, so that later starts need no network."""
    return Path(sys.prefix) / "delta-jars"


def open_session(spark: Spark, app_name: str) -> SparkSession:
    """Opens the session of the settings, or takes the one that is open; checks Delta.

    Under spark-submit its own options win: master, memory and jars are not touched.

    Raises:
        SessionError: no Java 17+, Delta's jars missing, or versions that do not fit together.
    """
    builder = SparkSession.builder.appName(app_name)
    conf = {**spark.conf, **_REQUIRED_CONF}
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted and SparkSession.getActiveSession() is None:
        check_java()
        _let_workers_follow_the_driver()
        conf |= _jars_conf(spark.delta_jars)
        _quieten(conf)
        if spark.master:
            builder = builder.master(spark.master)
    elif submitted:
        given = SparkConf()  # what spark-submit was given, by options and properties file
        conf = {k: v for k, v in conf.items() if k in _REQUIRED_CONF or not given.contains(k)}
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    _check_delta(session)
    return session


def _let_workers_follow_the_driver() -> None:
    """Python workers of a session that is not submitted run this interpreter and find this code."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    root = str(Path(__file__).parents[2])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if root not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, paths)])


def _quieten(conf: dict[str, str]) -> None:
    """Spark's log down to what matters, where the checkout's log4j2.properties is at hand."""
    log4j = Path(__file__).parents[2] / "conf" / "log4j2.properties"
    if log4j.exists():
        key = "spark.driver.extraJavaOptions"
        conf[key] = f"{conf.get(key, '')} -Dlog4j2.configurationFile={log4j.as_uri()}".strip()


def check_java() -> None:
    """Raises SessionError unless JAVA_HOME or PATH leads to a Java 17 or later that Spark can run on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not java or not Path(java).exists():
        raise SessionError("no Java found: install one (apt-get install openjdk-17-jre-headless) or set JAVA_HOME")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if not version or int(version.group(1)) < 17:
        raise SessionError(f"{java} is not Java 17 or 21: {said.splitlines()[:1]}; set JAVA_HOME to one that is")


def _jars_conf(folder: str) -> dict[str, str]:
    if folder:
        jars = sorted(str(p) for p in Path(folder).glob("*.jar"))
        if not jars:
            raise SessionError(f"spark.delta_jars: no .jar in {folder}; see README, 'Without a network'")
        return {"spark.jars": ",".join(jars)}
    set_up = delta_jars(set_up_jars_folder() / "jars")
    if set_up:
        return {"spark.jars": ",".join(map(str, set_up))}
    return {"spark.jars.packages": DELTA_PACKAGE}


def delta_jars(folder: Path) -> list[Path]:
    """The jars in ``folder`` that Delta needs beside Spark's own."""
    return sorted(p for p in folder.glob("*.jar") if _DELTA_JARS.match(p.name))


def _check_delta(session: SparkSession) -> None:
    jvm = session.sparkContext._jvm
    assert jvm is not None
    try:
        found = str(getattr(jvm, "io.delta.package$").__getattr__("MODULE$").VERSION())
    except Exception as error:
        raise SessionError(
            f"Delta's classes are not on the driver's class path ({type(error).__name__}). Under spark-submit add "
            f"--packages {DELTA_PACKAGE}, or --jars with a folder's jars, or use conf/submit.sh."
        ) from error
    python_side = importlib.metadata.version("delta-spark")
    if found.split(".")[:2] != python_side.split(".")[:2]:
        raise SessionError(f"Delta's jar is {found} but Python's delta-spark is {python_side}: use {DELTA_PACKAGE}")
    if pyspark_version.split(".")[:2] != ["4", "2"]:
        raise SessionError(f"pyspark is {pyspark_version}; delta-spark {DELTA_VERSION} needs 4.2")
    for key, value in _REQUIRED_CONF.items():
        if value not in str(session.conf.get(key, "")):
            raise SessionError(f"{key} lacks {value}: the open session was made without it; stop it and start again")


def fetch_jars() -> None:
    """Lets Spark's own resolver fetch Delta's jars into the virtual environment, once (make set-up calls it)."""
    folder = set_up_jars_folder()
    if delta_jars(folder / "jars"):
        return
    check_java()
    session = (
        SparkSession.builder.appName("fetch Delta's jars")
        .master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.jars.packages", DELTA_PACKAGE)
        .config("spark.jars.ivy", str(folder))
        .getOrCreate()
    )
    session.stop()
    if not delta_jars(folder / "jars"):
        raise SessionError(f"Spark resolved {DELTA_PACKAGE} but left no jar in {folder / 'jars'}")


if __name__ == "__main__":
    fetch_jars()
