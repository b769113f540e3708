"""Peak memory of this process, its JVM and its Python workers while a block runs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

SECONDS_BETWEEN_LOOKS = 0.5


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Yields a dictionary that is filled when the block ends: MiB of resident memory by kind of process.

    ``worker`` is the largest single Python worker. Shared pages count in each process.
    """
    peaks = {"driver_python_mib": 0.0, "jvm_mib": 0.0, "worker_mib": 0.0}
    stopped = threading.Event()

    def look() -> None:
        me = psutil.Process()
        while not stopped.is_set():
            _note(peaks, "driver_python_mib", me)
            for child in me.children(recursive=True):
                try:
                    name = child.name()
                except psutil.NoSuchProcess:
                    continue
                _note(peaks, "jvm_mib" if "java" in name else "worker_mib", child)
            time.sleep(SECONDS_BETWEEN_LOOKS)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        stopped.set()
        thread.join()
        for kind, peak in peaks.items():
            peaks[kind] = round(peak, 1)


def _note(peaks: dict[str, float], kind: str, process: psutil.Process) -> None:
    try:
        peaks[kind] = max(peaks[kind], process.memory_info().rss / 2**20)
    except psutil.NoSuchProcess:
        return
