"""Work in a process of its own, so that its memory is that of the work alone."""

import multiprocessing
import resource
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def in_fresh_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """What ``work`` returns; it must be importable, and its arguments and result picklable.

    Raises:
        Exception: what ``work`` raised.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def peak_mib() -> float:
    """The most resident memory that this process has had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
