"""Reads and writes the Delta tables by their contracts.

Writes are MERGE by key: safe to retry, no commit where nothing changes, never a double row. A write
that breaks a contract fails with a message that names table and column.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from jobs.job_support.contracts import CONTRACTS, TableContract
from jobs.job_support.settings import stage_hash

log = logging.getLogger(__name__)

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
        self.root = root if ":/" in root else str(Path(root).absolute())
        self.stamp = stamp or {}
        self._ready: set[str] = set()

    def path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def read(self, name: str) -> DataFrame:
        """The table as it is now; created empty if it is not there."""
        self._ensure(name)
        return self.spark.read.format("delta").load(self.path(name))

    def version(self, name: str) -> int:
        """The table's latest version number."""
        self._ensure(name)
        history = self.spark.sql(f"DESCRIBE HISTORY delta.`{self.path(name)}` LIMIT 1")
        return int(history.select("version").collect()[0][0])

    def is_empty(self, name: str) -> bool:
        return self.read(name).isEmpty()

    def merge(self, name: str, rows: DataFrame) -> Written:
        """Inserts and updates ``rows`` by the table's key; rows that are equal already are left alone."""
        return self._merge(name, self._checked(name, rows).withColumn("_gone", F.lit(False)))

    def replace_slices(self, name: str, rows: DataFrame, slices: DataFrame) -> Written:
        """Makes ``rows`` the only rows of the given slices, in one commit.

        Args:
            rows: all rows that the slices shall have; evaluated more than once: pass them cached.
            slices: distinct values of one or more key columns, named as in the table; a slice without
                rows is emptied (its input was removed, or gives nothing any more).
        """
        contract = CONTRACTS[name]
        checked = self._checked(name, rows)
        gone = (
            self.read(name)
            .join(F.broadcast(slices), on=slices.columns, how="left_semi")
            .select(*contract.key)
            .join(checked.select(*contract.key), on=list(contract.key), how="left_anti")
        )
        new = checked.withColumn("_gone", F.lit(False))
        old = gone.withColumn("_gone", F.lit(True))
        return self._merge(name, new.unionByName(old, allowMissingColumns=True))

    def _merge(self, name: str, source: DataFrame) -> Written:
        contract = CONTRACTS[name]
        columns = contract.schema.names
        on = " AND ".join(f"t.`{k}` = s.`{k}`" for k in contract.key)
        others = [c for c in columns if c not in contract.key]
        changed = " OR ".join(f"NOT (t.`{c}` <=> s.`{c}`)" for c in others)
        names = ", ".join(f"`{c}`" for c in columns)
        values = ", ".join(f"s.`{c}`" for c in columns)
        view = f"merge_into_{name}"
        source.createOrReplaceTempView(view)
        statement = f"""
            MERGE INTO delta.`{self.path(name)}` t USING {view} s ON {on}
            WHEN MATCHED AND s._gone THEN DELETE
            WHEN MATCHED AND ({changed}) THEN UPDATE SET {", ".join(f"t.`{c}` = s.`{c}`" for c in others)}
            WHEN NOT MATCHED AND NOT s._gone THEN INSERT ({names}) VALUES ({values})"""
        try:
            with self._stamped(), self._explained(contract):
                result = self.spark.sql(statement).collect()[0]
        finally:
            self.spark.catalog.dropTempView(view)
        written = Written(result.num_inserted_rows, result.num_updated_rows, result.num_deleted_rows)
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
                raise ContractError(f"{name}: column {column!r} is {found[column].simpleString()}, not {kind.simpleString()}")
        extra = sorted(set(found) - set(expected))
        if extra:
            raise ContractError(f"{name}: the contract has no column {extra[0]!r}")
        double = rows.groupBy(*contract.key).count().where("count > 1").limit(1).collect()
        if double:
            key = {k: double[0][k] for k in contract.key}
            raise ContractError(f"{name}: key {key} occurs {double[0]['count']} times in the rows to write")
        return rows.select(*contract.schema.names)

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
                .property("delta.autoOptimize.optimizeWrite", "true")
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


@contextmanager
def cached(rows: DataFrame) -> Iterator[DataFrame]:
    """Keeps the rows of a stage on disk while they are written to several tables."""
    kept = rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield kept
    finally:
        kept.unpersist()


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
