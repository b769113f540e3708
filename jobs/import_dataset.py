"""Imports a split of ReCoRD v1.0 (JSON) or of SuperGLUE's ReCoRD (JSONL), .gz or not.

Writes triples, passages (origin imported), in tables of their own: not where articles are made into
passages. The whole file is checked before anything is written. Importing a file again changes
nothing; records that a later file lacks stay.

    spark-submit jobs/import_dataset.py --config conf/cluster.toml --set paths.tables=... \\
        --input train.json --split train --name record-1.0
"""

import argparse
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.job_support.command_line import JobError, run_job
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings
from jobs.job_support.store import Store
from jobs.transforms.dataset import (
    DatasetError,
    chunks,
    passages_from_records,
    survey_import,
    triples_from_records,
)
from udfs.record_json import RecordFormatError, read_passages

SPLITS = ("train", "dev", "test")


def run(
    spark: SparkSession, settings: Settings, *, path: str, split: str, name: str, run_info: Run | None = None
) -> StageCounts:
    """Imports one file on the driver's disk, a chunk of records at a time; returns the counts of passages."""
    if not Path(path).is_file():
        raise JobError(f"--input {path}: no such file")
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "import")
    try:
        survey = survey_import(path, name=name, split=split)
    except (OSError, DatasetError, RecordFormatError) as error:
        raise JobError(f"nothing imported: {error}") from error
    ids = spark.createDataFrame([(i,) for i in survey.article_ids], "article_id string")
    _refuse_clashes(store.read("passages"), ids, split, settings.paths.tables)
    rows_in = rows_out = 0
    for chunk in chunks(read_passages(path)):
        rows = passages_from_records(spark, chunk, name=name, split=split)
        done = store.read("passages").select("article_id", "fingerprint")
        with store.staged(rows.join(done, on=["article_id", "fingerprint"], how="left_anti")) as passages:
            if n := passages.count():
                todo = passages.select("article_id")
                triples = triples_from_records(spark, chunk, name=name, split=split)
                # A record that lost queries loses their rows; the passage comes last: it marks the record as done.
                store.replace_slices("triples", triples.join(todo, on="article_id", how="left_semi"), todo)
                rows_out += store.merge("passages", passages).rows
                rows_in += n
    return clock.finish(rows_in=rows_in, rows_out=rows_out)


def _refuse_clashes(passages: DataFrame, ids: DataFrame, split: str, tables: str) -> None:
    """Imported data stay apart from generated, and each record in one split."""
    generated = passages.where("origin != 'imported'").select("origin").limit(1).collect()
    if generated:
        raise JobError(
            f"the tables in {tables} hold passages that generate_triples made (origin {generated[0].origin}); "
            "import into tables of their own: --set paths.tables=<another folder>"
        )
    elsewhere = passages.join(F.broadcast(ids), on="article_id", how="left_semi").where(F.col("split") != split)
    clash = elsewhere.select("article_id", "split").limit(1).collect()
    if clash:
        raise JobError(
            f"record {clash[0].article_id} of this file is already in split {clash[0].split}: a record in two splits "
            "leaks; is --split right? Else import into other tables"
        )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--input", required=True, metavar="FILE", help="ReCoRD JSON or SuperGLUE JSONL, .gz or not")
    parser.add_argument("--split", required=True, choices=SPLITS)
    parser.add_argument("--name", required=True, help="the data set's name, as record-1.0: part of ids made here")


def main(argv: list[str] | None = None) -> int:
    return run_job(
        lambda spark, settings, a: run(spark, settings, path=a.input, split=a.split, name=a.name),
        __doc__,
        argv,
        _add_arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
