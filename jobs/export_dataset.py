"""Exports the kept triples as data set files in ReCoRD's form, and Table 1 of the paper for them.

Reads passages, triples, machine_filter; writes <release>/<name>.json with all triples, train.json, dev.json
and test.json with the hard ones, and <report>/table_1.md (of the hard ones, if there is a machine filter).
Imported splits go to files of their own, <name>_<split>.json. A file is read back and checked before it appears.

    spark-submit jobs/export_dataset.py --config conf/cluster.toml
"""

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.release_files import delete_file, publishing, read_text_file, size_of
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings
from jobs.job_support.store import Store
from jobs.transforms.dataset import DatasetError, export_records, iter_records
from jobs.transforms.dataset_statistics import dataset_statistics, render_table_1
from jobs.transforms.machine_filter import SPLITS, hard_passages, hard_triples
from udfs.record_json import RecordFormatError, write_record_json
from udfs.record_validation import validate_record_json

log = logging.getLogger(__name__)

TABLE_1 = "table_1.md"
# Raise when the same tables give other files.
VERSION = 2


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Writes the files, unless they are there and made from the tables as they are; returns the counts of queries."""
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "export")
    tables = ("passages", "triples", *(("machine_filter",) if settings.filter.enabled else ()))
    made_from = {name: store.version(name) for name in tables} | {"version": VERSION}
    if _is_current(spark, settings, made_from):
        return clock.finish(rows_in=0)
    passages, triples = store.read("passages"), store.read("triples")
    queries = 0
    before = _manifest(spark, settings)
    with publishing(spark, settings.paths.release) as made:
        for file in _files(store, settings):
            counts = export(file.passages, file.triples, made / f"{file.name}.json", has_answers=file.has_answers)
            log.info("%s.json: %s", file.name, ", ".join(f"{n:,} {what}" for what, n in counts.items()))
            queries += counts["queries"]
        manifest = {"made_from": made_from, "bytes": {f.name: f.stat().st_size for f in sorted(made.iterdir())}}
        (made / _manifest_name(settings)).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    for name in before.get("bytes", {}).keys() - manifest["bytes"].keys():  # a split that is empty now, say
        log.info("deleting %s, which belongs to the export before", name)
        delete_file(spark, settings.paths.release, name)
    with publishing(spark, settings.paths.report) as made:
        if settings.filter.enabled and not store.is_empty("machine_filter"):
            triples = hard_triples(triples, store.read("machine_filter"))
            passages = hard_passages(passages, triples)
        table = render_table_1([row.asDict() for row in dataset_statistics(passages, triples).collect()])
        (made / TABLE_1).write_text(table, encoding="utf-8")
    return clock.finish(rows_in=queries, rows_out=queries)


class _File(NamedTuple):
    name: str
    passages: DataFrame
    triples: DataFrame
    has_answers: bool = True


def _files(store: Store, settings: Settings) -> Iterator[_File]:
    """What to write: all triples, by imported split; then the hard ones by split."""
    passages, triples = store.read("passages"), store.read("triples")
    splits = [row.split for row in triples.where("keep").select("split").distinct().orderBy("split").collect()]
    if not splits:
        raise JobError("no kept triples, so there is nothing to export: run generate_triples, see the funnel")
    for split in splits:
        name = settings.export.name if split is None else f"{settings.export.name}_{split}"
        in_split = F.col("split").eqNullSafe(split)
        # The answers of a published test file are not published with it.
        yield _File(name, passages.where(in_split), triples.where(in_split), has_answers=split != "test")
    if not settings.filter.enabled:
        return
    hard = hard_triples(triples, store.read("machine_filter"))
    sizes = {row["split"]: row["count"] for row in hard.groupBy("split").count().collect()}
    for split in SPLITS:
        if split in sizes:
            of_split = hard.where(F.col("split") == split)
            yield _File(split, hard_passages(passages, of_split), of_split)
        elif sizes:
            log.info("no %s.json: none of the hard triples' articles is in this split", split)


def _manifest_name(settings: Settings) -> str:
    return f"{settings.export.name}.manifest.json"


def _manifest(spark: SparkSession, settings: Settings) -> dict[str, Any]:
    """What the last export wrote, and what from; empty if there is none."""
    text = read_text_file(spark, settings.paths.release, _manifest_name(settings))
    return dict(json.loads(text)) if text is not None else {}


def _is_current(spark: SparkSession, settings: Settings, made_from: dict[str, int]) -> bool:
    manifest = _manifest(spark, settings)
    if not manifest or size_of(spark, settings.paths.report, TABLE_1) is None:
        return False
    sizes = {name: size_of(spark, settings.paths.release, name) for name in manifest["bytes"]}
    return bool(manifest == {"made_from": made_from, "bytes": sizes})


def export(passages: DataFrame, triples: DataFrame, path: Path, *, has_answers: bool = True) -> dict[str, int]:
    """Writes the kept triples to a local file, reads it back, and returns what it holds.

    Args:
        has_answers: False for an imported test split, whose answers are not published.

    Raises:
        JobError: tables that don't fit together, or a file that would not be valid. No file is left.
    """
    try:
        written = write_record_json(path, iter_records(export_records(passages, triples)))
    except (DatasetError, RecordFormatError) as error:
        raise JobError(f"nothing exported: {error}") from error
    kept = triples.where("keep").count()
    report = validate_record_json(path, answers_required=has_answers)
    if kept != written.queries:
        path.unlink()
        raise JobError(
            f"{kept - written.queries} of {kept} kept triples have no kept passage: tables passages and triples are "
            "of different runs; run generate_triples again"
        )
    if not report.valid:
        path.unlink()
        raise JobError(f"the exported file would not be valid: {report}")
    counts = ("records", "queries", "answers", "entities")
    return {count: getattr(report, count) for count in counts}


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
