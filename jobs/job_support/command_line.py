"""What every job's ``main`` does: arguments, settings, session, run, and errors in words."""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from jobs.job_support.run_metrics import StageCounts
from jobs.job_support.session import SessionError, open_session
from jobs.job_support.settings import Settings, SettingsError, load_settings
from jobs.job_support.store import ContractError

log = logging.getLogger(__name__)


class JobError(RuntimeError):
    """A job that can't go on for a reason its user can mend; shown without a traceback."""


def run_job(
    run: Callable[[SparkSession, Settings, argparse.Namespace], object],
    description: str,
    argv: Sequence[str] | None = None,
    add_arguments: Callable[[argparse.ArgumentParser], None] | None = None,
    overrides_of: Callable[[argparse.Namespace], list[str]] = lambda _: [],
) -> int:
    """Parses ``--config`` and ``--set``, opens the session, calls ``run``; returns the exit status.

    ``overrides_of`` turns a job's own arguments into settings; ``--set`` wins over them.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True, metavar="TOML", help="conf/<environment>.toml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="a setting, as generate.min_sentence_tokens=12; may be repeated",
    )  # fmt: skip
    if add_arguments:
        add_arguments(parser)
    arguments = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", force=True)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        settings = load_settings(arguments.config, [*overrides_of(arguments), *arguments.overrides])
        spark = open_session(settings.spark, description.splitlines()[0])
        try:
            result = run(spark, settings, arguments)
        finally:
            spark.stop()
    except (SettingsError, SessionError, ContractError, JobError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if isinstance(result, StageCounts):
        log.info("%s", describe_counts(result))
    return 0


def describe_counts(counts: StageCounts) -> str:
    if not counts.did_work:
        return f"{counts.stage}: nothing to do"
    return (
        f"{counts.stage}: {counts.rows_in:,} in, {counts.rows_out:,} row{'' if counts.rows_out == 1 else 's'} written, "
        f"{counts.rejects:,} rejected, {counts.seconds:.1f} s"
    )
