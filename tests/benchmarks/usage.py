"""CPU seconds and peak memory of this process, its JVM and its Python workers while a block runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

SECONDS_BETWEEN_LOOKS = 0.5


@dataclass
class Usage:
    """Filled when the block ends.

    ``cpu_seconds``: of all processes, unlike wall time the same on a busy machine. Of a process that ended in the
    meantime what it had used at the last look: Spark's daemon leaves its workers to the kernel, so they appear in
    no parent's times.
    ``peak_memory``: MiB of resident memory by kind of process, of the largest single one. Shared pages count in each.
    """

    cpu_seconds: float = 0.0
    peak_memory: dict[str, float] = field(
        default_factory=lambda: {"driver_python_mib": 0.0, "jvm_mib": 0.0, "worker_mib": 0.0}
    )


@contextmanager
def measured_usage() -> Iterator[Usage]:
    """Looks at all processes every half second."""
    usage, stopped = Usage(), threading.Event()
    seen: dict[tuple[int, float], float] = {}
    _look(usage, seen)
    before = dict(seen)

    def watch() -> None:
        while not stopped.wait(SECONDS_BETWEEN_LOOKS):
            _look(usage, seen)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield usage
    finally:
        stopped.set()
        thread.join()
        _look(usage, seen)
        usage.cpu_seconds = sum(seconds - before.get(process, 0.0) for process, seconds in seen.items())
        usage.peak_memory = {kind: round(peak, 1) for kind, peak in usage.peak_memory.items()}


def _look(usage: Usage, seen: dict[tuple[int, float], float]) -> None:
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times, name = process.cpu_times(), process.name()
            seen[process.pid, process.create_time()] = times.user + times.system
            kind = "driver_python_mib" if process == me else "jvm_mib" if "java" in name else "worker_mib"
            if kind == "worker_mib" and "python" not in name:
                continue  # a shell that the JVM starts has the JVM's memory until it is another program
            peak = process.memory_info().rss / 2**20
            usage.peak_memory[kind] = max(usage.peak_memory[kind], peak)
