"""Libraries that only some stages need: asked for before a stage starts, so that a user reads what to type."""

from jobs.job_support.command_line import JobError


def require_torch() -> None:
    """Raises JobError with what to type unless PyTorch is there, on the driver at least."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise JobError(
            "the machine filter needs PyTorch, on driver and executors: pip install 'record-spark[train]'; or end the "
            "line at triples by --set filter.enabled=false"
        ) from error
