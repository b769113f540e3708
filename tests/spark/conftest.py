"""One Spark session for all Spark tests, and tables in a folder of their own for each test."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.job_support.session import open_session
from jobs.job_support.settings import Paths, Settings, load_settings
from jobs.job_support.store import Store
from tests.conftest import ROOT
from tests.corpus.lay_out import lay_out, source_articles

# Tests run thousands of small queries: compiling them well takes longer than running them.
SMALL = [
    "spark.conf.spark.sql.shuffle.partitions=2",
    "spark.conf.spark.driver.memory=3g",
    "spark.conf.spark.sql.ui.retainedExecutions=5",
    "spark.conf.spark.driver.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
    "filter.enabled=false",  # tests of the machine filter turn it on: training takes its time
]
SIZES = ("word", "pos", "ner", "prealign", "lexicon", "context", "memory", "deep_attention", "self_attention")
# All that conf/local.toml sets, and smaller: with any environment's file the same reader.
TINY_READER = [
    "filter.enabled=true",
    "reader.training.epochs=2",
    "reader.training.learning_rate=0.005",
    "reader.san.dropout=0.1",
    *(f"reader.san.{name}_size=8" for name in SIZES),
]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session(load_settings(ROOT / "conf" / "local.toml", SMALL).spark, "tests")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def no_tables_of_other_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Delta keeps the state of each table that a session saw, with its query plans, for an hour: hundreds of tests'
    tables fill the heap, and the collector takes over. So do plans that Python's garbage still holds: with large
    libraries loaded it is seldom looked for."""
    yield
    if "spark" in request.fixturenames:
        gc.collect()
        request.getfixturevalue("spark")._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled corpus, laid out; don't write into it."""
    folder = tmp_path_factory.mktemp("corpus")
    lay_out(source_articles(), folder)
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose tables, release and report lie in the test's own folder; no sources."""
    return settings_for(tmp_path)


def settings_for(out: Path, *overrides: str) -> Settings:
    paths = [f"paths.{name}={out / name}" for name in Paths.model_fields]
    return load_settings(ROOT / "conf" / "local.toml", [*SMALL, *paths, *overrides])


@pytest.fixture
def store(spark: SparkSession, settings: Settings) -> Store:
    return Store(spark, settings.paths.tables)
