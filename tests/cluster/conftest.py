"""A standalone cluster for the tests here; when one fails, the ends of all logs are shown."""

from collections.abc import Generator, Iterator

import pytest

from tests.cluster.standalone import CleanProcesses, StandaloneCluster, last_lines
from tests.spark.conftest import spark

__all__ = ["spark"]  # the session of the local runs, a fixture


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    processes = CleanProcesses(tmp_path_factory.mktemp("cluster") / "processes")
    cluster = StandaloneCluster(processes)
    try:
        cluster.start()
        yield cluster
    finally:
        processes.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    found = getattr(item, "funcargs", {}).get("cluster")
    if report.failed and isinstance(found, StandaloneCluster):
        report.sections += [(str(log), last_lines(log)) for log in found.log_files()]
    return report
