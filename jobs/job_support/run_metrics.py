"""Who ran what and when: the stamp in every commit, and a row of run_metrics per stage that did work."""

import importlib.metadata
import subprocess
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from jobs.job_support.contracts import RUN_METRICS
from jobs.job_support.store import Store


def code_version() -> str:
    """The version of the wheel that runs, or of a checkout its commit ("checkout" without git)."""
    try:
        return importlib.metadata.version("record-spark")
    except importlib.metadata.PackageNotFoundError:
        pass  # not installed: the code of a checkout, which the commit names
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return "checkout"
    command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"checkout {said.stdout.strip()}" if said.returncode == 0 else "checkout"


@dataclass
class Run:
    """One command; all of its stages share the id."""

    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    version: str = field(default_factory=code_version)

    def stamp(self) -> dict[str, str]:
        return {"run_id": self.run_id, "code_version": self.version}


@dataclass(frozen=True)
class StageCounts:
    """What a stage found and made. ``rows_in`` = articles on its work list; 0: nothing to do."""

    stage: str
    rows_in: int
    rows_out: int = 0
    rejects: int = 0
    seconds: float = 0.0

    @property
    def did_work(self) -> bool:
        return self.rows_in > 0


class StageClock:
    """Times a stage and records it, if it did work, in run_metrics."""

    def __init__(self, store: Store, run: Run, stage: str) -> None:
        self._store, self._run, self._stage = store, run, stage
        self._started_at = datetime.now(UTC)
        self._start = time.monotonic()

    def finish(self, *, rows_in: int, rows_out: int = 0, rejects: int = 0) -> StageCounts:
        seconds = time.monotonic() - self._start
        counts = StageCounts(self._stage, rows_in, rows_out, rejects, seconds)
        if counts.did_work:
            row = (
                self._run.run_id, self._stage, self._run.version, self._started_at,
                seconds, rows_in, rows_out, rejects,
            )  # fmt: skip
            rows = self._store.spark.createDataFrame([row], RUN_METRICS.schema)
            self._store.append_once("run_metrics", rows, f"{self._run.run_id}/{self._stage}")
        return counts
