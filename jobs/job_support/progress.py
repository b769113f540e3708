"""Progress of a stage: done / total, rate, time left. One line on a terminal, log lines elsewhere."""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LOG_LINES = 15.0
SECONDS_BETWEEN_REDRAWS = 0.5


@contextmanager
def progress(
    spark: SparkSession, stage: str, total: int, unit: str = "articles", done: Callable[[], int] | None = None
) -> Iterator[Callable[[int], None]]:
    """Shows a stage's progress while its block runs.

    Yields a function for the UDFs to call with the number of rows done. It adds to a Spark accumulator,
    which reaches the driver as tasks end: the display moves task by task. A task that is retried counts twice.

    Args:
        done: asked instead, from a thread of its own, by a stage whose tasks are few and long.
    """
    accumulator = spark.sparkContext.accumulator(0)
    display = _Display(stage, total, unit, done or (lambda: accumulator.value))
    display.start()
    try:
        yield accumulator.add
    finally:
        display.stop()


def describe(done: int, total: int, unit: str, seconds: float) -> str:
    """For example ``412 / 1,200 articles, 18.3 a second, 43 s left``."""
    done = min(done, total)
    rate = done / seconds if seconds > 0 else 0.0
    left = f", {_duration((total - done) / rate)} left" if 0 < done < total else ""
    return f"{done:,} / {total:,} {unit}, {rate:,.1f} a second{left}"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class _Display:
    def __init__(self, stage: str, total: int, unit: str, value: Callable[[], int]) -> None:
        self._stage, self._total, self._unit, self._value = stage, total, unit, value
        self._terminal = sys.stderr.isatty()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"progress of {stage}", daemon=True)
        self._start = time.monotonic()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
        log.info("%s: %s", self._stage, self._text())

    def _text(self) -> str:
        return describe(self._value(), self._total, self._unit, time.monotonic() - self._start)

    def _watch(self) -> None:
        pause = SECONDS_BETWEEN_REDRAWS if self._terminal else SECONDS_BETWEEN_LOG_LINES
        while not self._stopped.wait(pause):
            if self._terminal:
                sys.stderr.write(f"\r\x1b[K{self._stage}: {self._text()}")
                sys.stderr.flush()
            elif self._value() < self._total:  # what follows, writing, has no progress of its own
                log.info("%s: %s", self._stage, self._text())
