"""Exports the kept triples as data set files in ReCoRD's form, and Table 1 of the paper for them.

Reads passages, triples, machine_filter; writes <release>/<name>.json with all triples, train.json, dev.json
and test.json with the hard ones, and <report>/table_1.md (of the hard ones, if there is a machine filter).
Imported splits go to files of their own, <name>_<split>.json. A file is read back and checked before it appears.
manifest.json says what the files were made from; those of the export before that are not made any more are deleted.

    spark-submit jobs/export_dataset.py --config conf/cluster.toml
"""

import json
import logging
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.hadoop_files import delete, read_text, size_of
from jobs.job_support.release_files import publish_text, publishing
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
MANIFEST = "manifest.json"
# Raise when the same tables and settings give other files.
VERSION = 3


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Writes the files, unless they are there and made from the tables as they are; returns the counts of queries.

    Raises:
        JobError: no triples; tables that don't fit together; a file that would not be valid.
    """
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "export")
    release = settings.paths.release
    # Imported data sets are exported as they are: they have been filtered and split.
    filtered = settings.filter.enabled and store.read("passages").where("origin = 'imported'").isEmpty()
    tables = ("passages", "triples", *(("machine_filter",) if filtered else ()))
    made_from = {name: store.state(name) for name in tables} | {"name": settings.export.name, "version": VERSION}
    before = _manifest(spark, release)
    if _is_current(spark, settings, before, made_from):
        return clock.finish(rows_in=0)
    if filtered:
        _check_filtered(store)
    queries = 0
    with publishing(spark, release) as made:
        for file in _files(store, settings.export.name, filtered=filtered):
            counts = export(file.passages, file.triples, made / f"{file.name}.json", has_answers=file.has_answers)
            log.info("%s.json: %s", file.name, ", ".join(f"{n:,} {what}" for what, n in counts.items()))
            queries += counts["queries"]
        sizes = {f.name: f.stat().st_size for f in sorted(made.iterdir())}
    publish_text(spark, settings.paths.report, TABLE_1, _table_1(store, filtered=filtered))
    _delete_others(spark, release, before, keep=sizes.keys())
    # Last and alone: whatever was broken off before it is done again.
    publish_text(spark, release, MANIFEST, json.dumps({"made_from": made_from, "bytes": sizes}, indent=1))
    return clock.finish(rows_in=queries, rows_out=queries)


def _check_filtered(store: Store) -> None:
    """A triple without a verdict would be neither hard nor answered, but missing."""
    verdicts, kept = store.read("machine_filter"), store.read("triples").where("keep")
    if n := kept.join(verdicts, on="query_id", how="left_anti").count():
        raise JobError(
            f"{n:,} kept triples have no verdict in machine_filter: run train_readers, score_queries and "
            "filter_triples first, or export all triples by --set filter.enabled=false"
        )


def _table_1(store: Store, *, filtered: bool) -> str:
    """Of the hard triples, if there is a machine filter."""
    passages, triples = store.read("passages"), store.read("triples")
    if filtered:
        triples = hard_triples(triples, store.read("machine_filter"))
        passages = hard_passages(passages, triples)
    return render_table_1([row.asDict() for row in dataset_statistics(passages, triples).collect()])


def _delete_others(spark: SparkSession, release: str, before: Mapping[str, Any], *, keep: Collection[str]) -> None:
    """The files of the export before that are not made any more, as of a split that is empty now.

    Those alone that are as it left them: what somebody else put there under their names stays.
    """
    for name, size in before.get("bytes", {}).items():
        if name not in keep and size_of(spark, f"{release}/{name}") == size:
            log.info("deleting %s, which belongs to the export before", name)
            delete(spark, f"{release}/{name}")


class _File(NamedTuple):
    name: str
    passages: DataFrame
    triples: DataFrame
    has_answers: bool = True


def _files(store: Store, export_name: str, *, filtered: bool) -> Iterator[_File]:
    """What to write: all triples, by imported split; then the hard ones by split."""
    passages, triples = store.read("passages"), store.read("triples")
    splits = [row.split for row in triples.where("keep").select("split").distinct().orderBy("split").collect()]
    if not splits:
        raise JobError("no kept triples, so there is nothing to export: run generate_triples, see the funnel")
    for split in splits:
        name = export_name if split is None else f"{export_name}_{split}"
        in_split = F.col("split").eqNullSafe(split)
        # The answers of a published test file are not published with it.
        yield _File(name, passages.where(in_split), triples.where(in_split), has_answers=split != "test")
    if not filtered:
        return
    hard = hard_triples(triples, store.read("machine_filter"))
    sizes = {row["split"]: row["count"] for row in hard.groupBy("split").count().collect()}
    for split in SPLITS:
        if split in sizes:
            of_split = hard.where(F.col("split") == split)
            yield _File(split, hard_passages(passages, of_split), of_split)
        elif sizes:
            log.info("no %s.json: none of the hard triples' articles is in this split", split)


def _manifest(spark: SparkSession, release: str) -> dict[str, Any]:
    """What the last export wrote, and what from; empty if there is none."""
    text = read_text(spark, f"{release}/{MANIFEST}")
    return dict(json.loads(text)) if text is not None else {}


def _is_current(
    spark: SparkSession, settings: Settings, manifest: Mapping[str, Any], made_from: Mapping[str, Any]
) -> bool:
    if manifest.get("made_from") != made_from or size_of(spark, f"{settings.paths.report}/{TABLE_1}") is None:
        return False
    return all(size_of(spark, f"{settings.paths.release}/{name}") == n for name, n in manifest["bytes"].items())


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
