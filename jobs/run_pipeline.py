"""Runs all stages in one session: ingest, annotate, generate, tag; train, score, filter; the funnel; export, evaluate.

Each stage does what is missing and says so where nothing is. The jobs are the same that spark-submit runs
one by one.

    spark-submit jobs/run_pipeline.py --config conf/local.toml --corpus news/ --out build/news
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs import (
    annotate_articles,
    evaluate_readers,
    export_dataset,
    filter_triples,
    generate_triples,
    ingest_articles,
    score_queries,
    tag_tokens,
    train_readers,
)
from jobs.job_support.command_line import JobError, describe_counts, run_job
from jobs.job_support.release_files import publishing
from jobs.job_support.run_metrics import Run, StageCounts
from jobs.job_support.settings import Paths, Settings
from jobs.job_support.store import Store
from jobs.transforms.funnel import funnel_rows, render_funnel, unaccounted

log = logging.getLogger(__name__)

TO_TRIPLES = (ingest_articles, annotate_articles, generate_triples, tag_tokens)
MACHINE_FILTER = (train_readers, score_queries, filter_triples)


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> list[StageCounts]:
    """Runs the stages in order; writes and shows the funnel; returns the counts of each stage."""
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    store.clean_staging()
    started = time.monotonic()
    counts = [_run_stage(stage, spark, settings, run_info) for stage in TO_TRIPLES]
    # Without triples the later stages fail; the funnel says why there are none.
    filtered = settings.filter.enabled and not store.read("triples").where("keep").isEmpty()
    if filtered:
        counts += [_run_stage(stage, spark, settings, run_info) for stage in MACHINE_FILTER]
    text = _funnel(store, settings, renew=any(c.did_work for c in counts))
    print(f"\n{text}\n", flush=True)
    counts.append(_run_stage(export_dataset, spark, settings, run_info))
    if filtered:
        counts.append(_run_stage(evaluate_readers, spark, settings, run_info))
    seconds = time.monotonic() - started
    if any(c.did_work for c in counts):
        print(f"Done in {seconds:.0f} s.")
    else:
        print(f"Nothing to do: everything is up to date ({seconds:.0f} s).")
    for name, path in settings.paths.model_dump().items():
        print(f"  {name:<8} {path}")
    return counts


def _run_stage(stage: Any, spark: SparkSession, settings: Settings, run_info: Run) -> StageCounts:
    counts: StageCounts = stage.run(spark, settings, run_info)
    log.info("%s", describe_counts(counts))
    return counts


def _funnel(store: Store, settings: Settings, *, renew: bool) -> str:
    if renew or store.is_empty("funnel"):
        names = ["articles", "rejects", "annotations", "passages", "sentences", "triples"]
        names += ["machine_filter"] if settings.filter.enabled else []
        rows = funnel_rows(*(store.read(name) for name in names))
        with store.staged(rows) as staged:
            store.replace_slices("funnel", staged, store.read("funnel").select("stage").distinct())
    counts = {(r["stage"], r["unit"], r["outcome"]): r["rows"] for r in store.read("funnel").collect()}
    missing = unaccounted(counts)
    if missing:
        raise JobError(f"counts don't add up: {'; '.join(missing)}. Run again; if it stays, please report it")
    text = render_funnel(counts)
    if renew:
        with publishing(store.spark, settings.paths.report) as made:
            (made / "funnel.txt").write_text(text + "\n", encoding="utf-8")
    return text


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", metavar="PATH", help="folder, archive or file: replaces ingest.sources")
    parser.add_argument("--out", metavar="FOLDER", help="where tables/, release/ and report/ go: replaces paths.*")


def overrides_of(arguments: argparse.Namespace) -> list[str]:
    """The settings that ``--corpus`` and ``--out`` stand for."""
    overrides = []
    if arguments.corpus:
        path = arguments.corpus.replace("\\", "\\\\").replace('"', '\\"')
        overrides.append(f'ingest.sources=[{{path="{path}"}}]')
    if arguments.out:
        out = arguments.out if ":/" in arguments.out else str(Path(arguments.out).resolve())
        overrides += [f"paths.{name}={out}/{name}" for name in Paths.model_fields]
    return overrides


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv, _add_arguments, overrides_of)


if __name__ == "__main__":
    sys.exit(main())
