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
from jobs.job_support.release_files import publish_text
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
    counts += [_run_stage(stage, spark, settings, run_info) for stage in _filter_stages(store, settings)]
    print(f"\n{_funnel(store, settings)}\n", flush=True)
    counts.append(_run_stage(export_dataset, spark, settings, run_info))
    if settings.filter.enabled:
        counts.append(_run_stage(evaluate_readers, spark, settings, run_info))
    seconds = time.monotonic() - started
    if any(c.did_work for c in counts):
        print(f"Done in {seconds:.0f} s.")
    else:
        print(f"Nothing to do: everything is up to date ({seconds:.0f} s).")
    for name, path in settings.paths.model_dump().items():
        print(f"  {name:<8} {path}")
    return counts


def _filter_stages(store: Store, settings: Settings) -> Sequence[Any]:
    if not settings.filter.enabled:
        return ()
    if not store.read("triples").where("keep").isEmpty():
        return MACHINE_FILTER
    # Nothing to train on: the funnel says why there are no triples. Verdicts on those that there were must go.
    return () if store.is_empty("machine_filter") else (score_queries, filter_triples)


def _run_stage(stage: Any, spark: SparkSession, settings: Settings, run_info: Run) -> StageCounts:
    counts: StageCounts = stage.run(spark, settings, run_info)
    log.info("%s", describe_counts(counts))
    return counts


def _funnel(store: Store, settings: Settings) -> str:
    """Counted anew each time: a stage may have been run by itself, or have broken off after its tables."""
    names = ["articles", "rejects", "annotations", "passages", "sentences", "triples"]
    names += ["machine_filter"] if settings.filter.enabled else []
    with store.staged(funnel_rows(*(store.read(name) for name in names))) as rows:
        counts = {(r["stage"], r["unit"], r["outcome"]): r["rows"] for r in rows.collect()}
        if missing := unaccounted(counts):
            raise JobError(f"counts don't add up: {'; '.join(missing)}. Run again; if it stays, please report it")
        stages = store.read("funnel").select("stage").unionByName(rows.select("stage")).distinct()
        store.replace_slices("funnel", rows, stages)
    text = render_funnel(counts)
    publish_text(store.spark, settings.paths.report, "funnel.txt", text + "\n")
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
