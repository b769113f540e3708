"""Reads and writes the Delta tables by their contracts.

Writes are MERGE by key: safe to retry, no commit where nothing changes, never a double row. A write
that breaks a contract fails with a message that names table and column.
"""

import json
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import or_
from pathlib import Path

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.job_support.contracts import CONTRACTS
from jobs.job_support.hadoop_files import delete, file_system
from jobs.job_support.settings import stage_hash
from jobs.job_support.table_contract import TableContract

log = logging.getLogger(__name__)

_INSERT, _UPDATE, _DELETE = "insert", "update", "delete"
# The longest that a training may take: its examples are kept so long.
LONGEST_TRAINING = timedelta(days=30)
_EXPIRY = "%Y%m%dT%H%M"
_METADATA_KEY = "spark.databricks.delta.commitInfo.userMetadata"


class ContractError(ValueError):
    """Rows, or a table, that break a contract; the message names table and column."""


@dataclass(frozen=True)
class Written:
    """Rows that one write inserted, updated and deleted; all zero: no commit was made."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def rows(self) -> int:
        return self.inserted + self.updated


class Store:
    """The tables under one folder or URI. ``stamp`` goes into the commit metadata of every write."""

    def __init__(self, spark: SparkSession, root: str, stamp: dict[str, str] | None = None) -> None:
        self.spark = spark
        self.root = root if ":/" in root else str(Path(root).resolve())
        self.stamp = stamp or {}
        self._ready: set[str] = set()

    def path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def read(self, name: str) -> DataFrame:
        """The table as it is now; created empty if it is not there."""
        self._ensure(name)
        return self.spark.read.format("delta").load(self.path(name))

    def clean_staging(self) -> None:
        """Deletes what runs that were killed left in staging: it holds texts, and nobody else would."""
        system, path = file_system(self.spark, self._staging())
        now = datetime.now(UTC).strftime(_EXPIRY)
        for status in system.listStatus(path) if system.exists(path) else ():
            expiry, dash, _ = str(status.getPath().getName()).partition("-")
            if dash and expiry < now:
                log.info("deleting %s, left by a run that did not end", status.getPath().toString())
                system.delete(status.getPath(), True)

    def _staging(self) -> str:
        return f"{self.root.rstrip('/')}/_staging"

    def version(self, name: str) -> int:
        """The table's latest version number."""
        self._ensure(name)
        history = self.spark.sql(f"DESCRIBE HISTORY delta.`{self.path(name)}` LIMIT 1")
        return int(history.select("version").collect()[0][0])

    def state(self, name: str) -> str:
        """The table's id and version: another one after every change, also of a table that was made anew."""
        version = self.version(name)
        detail = self.spark.sql(f"DESCRIBE DETAIL delta.`{self.path(name)}`")
        return f"{detail.select('id').collect()[0][0]}@{version}"

    def is_empty(self, name: str) -> bool:
        return self.read(name).isEmpty()

    @contextmanager
    def staged(self, rows: DataFrame) -> Iterator[DataFrame]:
        """Computes ``rows`` once, into files that are deleted at the end of the block.

        Not ``persist``: Spark drops cached rows when a table that they were read from is written, and
        computes them anew, from the table as it then is; and a lost executor would take them along.
        """
        with self.staging_folder() as path:
            rows.write.parquet(path)
            yield self.spark.read.schema(rows.schema).parquet(path)

    @contextmanager
    def staging_folder(self, keep: timedelta = timedelta(days=1)) -> Iterator[str]:
        """The path of a folder, not there yet, that is deleted at the end of the block.

        Args:
            keep: longer than the block may take: from then on other runs take the folder for one that a
                killed run left. Its name says when, since not all file systems know when a folder changed.
        """
        path = f"{self._staging()}/{(datetime.now(UTC) + keep).strftime(_EXPIRY)}-{uuid.uuid4().hex}"
        try:
            yield path
        finally:
            delete(self.spark, path)

    def merge(self, name: str, rows: DataFrame) -> Written:
        """Inserts and updates ``rows`` by the table's key; rows that are equal already are left alone."""
        return self._write_changes(name, self._checked(name, rows), None)

    def append_once(self, name: str, rows: DataFrame, token: str) -> None:
        """Appends ``rows`` unless an append with this token was made before: as safe to retry as ``merge``."""
        options = {"txnAppId": f"record-spark/{name}/{token}", "txnVersion": "1"}
        checked = self._checked(name, rows)
        with self._stamped(), self._explained(CONTRACTS[name]):
            checked.write.format("delta").mode("append").options(**options).save(self.path(name))

    def replace_slices(self, name: str, rows: DataFrame, slices: DataFrame) -> Written:
        """Makes ``rows`` the only rows of the given slices, in one commit.

        Args:
            rows: all rows that the slices shall have; evaluated more than once: pass them staged.
            slices: distinct values of one or more key columns, named as in the table; a slice without
                rows is emptied (its input was removed, or gives nothing any more).
        """
        return self._write_changes(name, self._checked(name, rows), slices)

    def _write_changes(self, name: str, rows: DataFrame, slices: DataFrame | None) -> Written:
        if self.is_empty(name):  # nothing to compare with; still a MERGE, since another run may fill it just now
            return self._merge(name, rows, {_INSERT}) if not rows.isEmpty() else Written()
        with self.staged(self._difference(name, rows, slices)) as changes:
            found = {r["_change"] for r in changes.select("_change").distinct().collect()}
            return self._merge(name, changes, found) if found else Written()

    def _difference(self, name: str, rows: DataFrame, slices: DataFrame | None) -> DataFrame:
        """The rows to insert, update and delete, marked in ``_change``.

        A MERGE of all rows would do, but it rewrites every file that holds a matched row, and makes a new
        version, also where no row changes.
        """
        contract = CONTRACTS[name]
        there = self.read(name)
        if slices is not None:
            there = there.join(slices, on=slices.columns, how="left_semi")
        how = "left" if slices is None else "full_outer"
        on = [F.col(f"s.{k}") == F.col(f"t.{k}") for k in contract.key]
        both = rows.alias("s").join(there.alias("t"), on=on, how=how)
        in_rows, in_table = (F.col(f"{side}.{contract.key[0]}").isNotNull() for side in "st")
        columns = contract.schema.names
        differs = reduce(or_, (~F.col(f"s.{c}").eqNullSafe(F.col(f"t.{c}")) for c in columns))
        change = F.when(~in_table, _INSERT).when(~in_rows, _DELETE).when(differs, _UPDATE)
        chosen = (F.when(in_rows, F.col(f"s.{c}")).otherwise(F.col(f"t.{c}")).alias(c) for c in columns)
        return both.select(*chosen, change.alias("_change")).where("_change is not null")

    def _merge(self, name: str, changes: DataFrame, found: set[str]) -> Written:
        """One MERGE with the clauses for the changes ``found``; inserts alone don't touch any file."""
        contract = CONTRACTS[name]
        columns = contract.schema.names
        on = " AND ".join(f"t.`{k}` = s.`{k}`" for k in contract.key)
        values = ", ".join(f"s.`{c}`" for c in columns)
        clauses = {
            _DELETE: f"WHEN MATCHED AND s._change = '{_DELETE}' THEN DELETE",
            _UPDATE: f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.`{c}` = s.`{c}`' for c in columns)}",
            _INSERT: f"WHEN NOT MATCHED THEN INSERT ({', '.join(f'`{c}`' for c in columns)}) VALUES ({values})",
        }
        view = f"changes_of_{name}"
        changes.createOrReplaceTempView(view)
        chosen = " ".join(clause for change, clause in clauses.items() if change in found)
        try:
            with self._stamped(), self._explained(contract):
                result = self.spark.sql(f"MERGE INTO delta.`{self.path(name)}` t USING {view} s ON {on} {chosen}")
                counts = result.collect()[0]
        finally:
            self.spark.catalog.dropTempView(view)
        written = Written(counts.num_inserted_rows, counts.num_updated_rows, counts.num_deleted_rows)
        log.debug("%s: %s", name, written)
        return written

    def _checked(self, name: str, rows: DataFrame) -> DataFrame:
        """``rows`` in the contract's order of columns, after checks of columns, types and unique keys."""
        contract = CONTRACTS[name]
        self._ensure(name)
        expected = {f.name: f.dataType for f in contract.schema}
        found = {f.name: f.dataType for f in rows.schema}
        for column, kind in expected.items():
            if column not in found:
                raise ContractError(f"{name}: column {column!r} is missing from the rows to write")
            if not _same_type(kind, found[column]):
                wrong, right = found[column].simpleString(), kind.simpleString()
                raise ContractError(f"{name}: column {column!r} is {wrong}, not {right}")
        extra = sorted(set(found) - set(expected))
        if extra:
            raise ContractError(f"{name}: the contract has no column {extra[0]!r}")
        self._check_keys(contract, rows)
        return rows.select(*contract.schema.names)

    def _check_keys(self, contract: TableContract, rows: DataFrame) -> None:
        """Delta enforces no keys. Hashes of keys are compared first: half the time of the keys themselves."""
        hashed = rows.select(F.xxhash64(*contract.key).alias("key")).groupBy("key").count()
        if hashed.where("count > 1").isEmpty():
            return
        double = rows.groupBy(*contract.key).count().where("count > 1").limit(1).collect()
        if double:
            key = {k: double[0][k] for k in contract.key}
            raise ContractError(f"{contract.name}: key {key} occurs {double[0]['count']} times in the rows to write")

    def _ensure(self, name: str) -> None:
        """Creates the table from its contract, or checks that the one there follows it."""
        if name in self._ready:
            return
        contract = CONTRACTS[name]
        path = self.path(name)
        if DeltaTable.isDeltaTable(self.spark, path):
            self._check_existing(contract)
        else:
            builder = (
                DeltaTable.createIfNotExists(self.spark)
                .location(path)
                .addColumns(contract.schema)
                .comment(contract.purpose)
                .property("delta.dataSkippingStatsColumns", ",".join(contract.statistics))
            )
            for check, condition in contract.checks.items():
                # As properties at creation: one commit for all instead of one each.
                builder = builder.property(f"delta.constraints.{check}", condition)
            builder.execute()
        self._ready.add(name)

    def _check_existing(self, contract: TableContract) -> None:
        found = {f.name: f.dataType for f in self.spark.read.format("delta").load(self.path(contract.name)).schema}
        for field in contract.schema:
            if field.name not in found or not _same_type(field.dataType, found[field.name]):
                raise ContractError(
                    f"{contract.name}: the table at {self.path(contract.name)} has no column {field.name!r} of type "
                    f"{field.dataType.simpleString()}: it was made by another version; write to a new paths.tables"
                )

    @contextmanager
    def _stamped(self) -> Iterator[None]:
        self.spark.conf.set(_METADATA_KEY, json.dumps(self.stamp, sort_keys=True))
        try:
            yield
        finally:
            self.spark.conf.unset(_METADATA_KEY)

    @contextmanager
    def _explained(self, contract: TableContract) -> Iterator[None]:
        """Delta's violations reach Python as bare Java errors: names table and column instead."""
        try:
            yield
        except (Py4JJavaError, PySparkException) as error:
            said = str(getattr(error, "java_exception", None) or error)
            for mark in ("[DELTA_NOT_NULL_CONSTRAINT_VIOLATED]", "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES]"):
                if mark in said:
                    start = said.index(mark) + len(mark)
                    detail = said[start : said.find("\tat ", start)].strip()
                    raise ContractError(f"{contract.name}: {detail}") from error
            raise


def table_hash(table: DataFrame) -> str:
    """A hash of all rows, whatever their order and files: equal tables, equal hashes."""
    row = F.xxhash64(*(F.to_json(F.struct(F.col(f"`{c}`"))) for c in sorted(table.columns)))
    sums = table.select(row.alias("h")).agg(F.count("*"), F.sum(F.col("h").cast("decimal(38,0)"))).collect()[0]
    return stage_hash(str(sums[0]), str(sums[1]))


def _same_type(expected: T.DataType, found: T.DataType) -> bool:
    """Equal but for nullability, which Delta checks row by row."""
    return _without_nullability(expected) == _without_nullability(found)


def _without_nullability(kind: T.DataType) -> T.DataType:
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_without_nullability(kind.elementType))
    if isinstance(kind, T.StructType):
        return T.StructType([T.StructField(f.name, _without_nullability(f.dataType)) for f in kind])
    return kind
