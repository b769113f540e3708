"""A standalone Spark cluster on loopback whose processes know nothing of the checkout.

Every process starts with an empty environment but for what Spark needs, outside the checkout: the project's code
reaches an executor only if it is shipped.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SECONDS_TO_START = 90
SECONDS_TO_SUBMIT = 300
TAIL = 40  # lines of each log that a failure shows


class ClusterError(RuntimeError):
    """A process that did not start, or did not end in time; the message holds the end of its log."""


@dataclass(frozen=True)
class Submitted:
    """A spark-submit that ended."""

    status: int
    output: str


@dataclass
class CleanProcesses:
    """Starts processes in a folder with a clean environment, one log each; ``stop`` ends all and their children."""

    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("home", "elsewhere", "logs", "local"):
            (self.folder / name).mkdir(parents=True)

    @property
    def environment(self) -> dict[str, str]:
        java = {"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {}
        return {
            **java,
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SMALL_JVM,
            "SPARK_SUBMIT_OPTS": SMALL_JVM,
        }

    def log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def start(self, name: str, *command: str | Path, **more: str) -> subprocess.Popen[bytes]:
        with self.log(name).open("wb") as log:
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=self.folder / "elsewhere",
                env=self.environment | more,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def call(self, name: str, *command: str | Path, **more: str) -> Submitted:
        """Runs a command to its end.

        Raises:
            ClusterError: it took more than ``SECONDS_TO_SUBMIT``; it was killed.
        """
        process = self.start(name, *command, **more)
        try:
            status = process.wait(SECONDS_TO_SUBMIT)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"{name} ran for more than {SECONDS_TO_SUBMIT} s:\n{self.tail(name)}") from None
        finally:
            end_with_children(process)
        return Submitted(status, self.log(name).read_text(errors="replace"))

    def wait_for(self, process: subprocess.Popen[bytes], name: str, pattern: str, times: int = 1) -> str:
        """Waits until a process's log holds a pattern so many times; returns the first match's first group."""
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            found = re.findall(pattern, self.log(name).read_text(errors="replace"))
            if len(found) >= times:
                return str(found[0])
            if process.poll() is not None:
                raise ClusterError(f"{name} ended with status {process.returncode}:\n{self.tail(name)}")
            if time.monotonic() > deadline:
                raise ClusterError(f"{name}: no {pattern!r} in its log after {SECONDS_TO_START} s:\n{self.tail(name)}")
            time.sleep(0.2)

    def tail(self, name: str) -> str:
        return last_lines(self.log(name))

    def stop(self) -> None:
        for process in reversed(self.running):
            end_with_children(process)


@dataclass
class StandaloneCluster:
    """A master and ``workers`` workers of one core and 1 GiB each."""

    processes: CleanProcesses
    workers: int = 2
    url: str = ""

    def start(self) -> None:
        spark_class = SPARK_HOME / "bin" / "spark-class"
        ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        home = {"SPARK_HOME": str(SPARK_HOME)}
        master = self.processes.start("master", spark_class, "org.apache.spark.deploy.master.Master", *ports, **home)
        self.url = self.processes.wait_for(master, "master", r"Starting Spark master at (spark://[\d.]+:\d+)")
        for number in range(self.workers):
            self.processes.start(
                f"worker-{number}", spark_class, "org.apache.spark.deploy.worker.Worker", *ports,
                "--cores", "1", "--memory", "1g", "--work-dir", self.work_dir(number), self.url,
                **home,
            )  # fmt: skip
        self.processes.wait_for(master, "master", r"Registering worker (\S+) with 1 cores", times=self.workers)

    def work_dir(self, worker: int) -> Path:
        return self.processes.folder / f"work-{worker}"

    def spark_options(self, app: str) -> list[str]:
        """Options of spark-submit for an application of one small executor on each worker, and its event log."""
        events = self.events(app)
        events.mkdir()
        conf = {
            "spark.driver.memory": "768m",
            "spark.executor.memory": "640m",
            "spark.executor.cores": "1",
            "spark.executor.extraJavaOptions": SMALL_JVM,
            # No task starts before all executors are there, so that each gets some.
            "spark.cores.max": str(self.workers),
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        return ["--master", self.url, *(part for k, v in conf.items() for part in ("--conf", f"{k}={v}"))]

    def events(self, app: str) -> Path:
        return self.processes.folder / f"events-{app}"

    def tasks_by_executor(self, app: str) -> Counter[str]:
        """How many tasks ended well on each executor, from the application's event log."""
        (log,) = self.events(app).iterdir()
        events = map(json.loads, log.read_text().splitlines())
        return Counter(
            e["Task Info"]["Executor ID"]
            for e in events
            if e["Event"] == "SparkListenerTaskEnd" and e["Task End Reason"]["Reason"] == "Success"
        )

    def executors_by_worker(self) -> list[set[str]]:
        """For each worker the (application/executor) folders that it made."""
        return [
            {str(p.relative_to(self.work_dir(n))) for p in self.work_dir(n).glob("app-*/*") if p.is_dir()}
            for n in range(self.workers)
        ]

    def log_files(self) -> list[Path]:
        """Logs of the processes, and of the executors, which workers keep in their work folders."""
        of_executors = sorted(self.processes.folder.glob("work-*/app-*/*/stderr"), key=lambda p: p.stat().st_mtime)
        return [*sorted((self.processes.folder / "logs").iterdir()), *of_executors[-self.workers :]]


def last_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(lines[-TAIL:]) or "(empty)"


def end_with_children(process: subprocess.Popen[bytes]) -> None:
    """Ends a process with all that it started: asked first, killed after 5 seconds."""
    try:
        top = psutil.Process(process.pid)
        family = [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        process.wait()
        return
    for member in family:
        _signal(member, "terminate")
    _, left = psutil.wait_procs(family, timeout=5)
    for member in left:
        _signal(member, "kill")
    psutil.wait_procs(left, timeout=5)
    process.wait(5)


def _signal(process: psutil.Process, how: str) -> None:
    try:
        getattr(process, how)()
    except psutil.NoSuchProcess:
        return
