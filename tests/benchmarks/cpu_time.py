"""CPU seconds of this process, its JVM and its Python workers: unlike wall time they don't grow on a busy machine."""

from contextlib import suppress

import psutil


def cpu_seconds_of_all() -> float:
    """User and system seconds so far of this process and of all below it, with those that ended and were reaped.

    A worker that ended counts in the daemon that forked it, so that the difference of two calls is what was used
    in between.
    """
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total
