"""What a table's contract is, and the columns and checks that several tables share."""

from dataclasses import dataclass

from pyspark.sql import types as T

from udfs.return_types import TOKEN


@dataclass(frozen=True)
class TableContract:
    """One table. ``checks`` maps a constraint's name (starting with its column) to a SQL condition."""

    name: str
    purpose: str
    schema: T.StructType
    key: tuple[str, ...]
    checks: dict[str, str]
    written_by: str
    read_by: tuple[str, ...]
    # Columns whose minimum and maximum Delta may keep for skipping files: never text, since
    # statistics in the log would outlive a takedown.
    statistics: tuple[str, ...] = ("article_id",)


def column(name: str, kind: T.DataType, comment: str, *, null: bool = False) -> T.StructField:
    return T.StructField(name, kind, nullable=null, metadata={"comment": comment})


STRING, INT, LONG, BOOL, DOUBLE = T.StringType(), T.IntegerType(), T.LongType(), T.BooleanType(), T.DoubleType()
ARTICLE_ID = column("article_id", STRING, "SHA-1 of the URL as listed, or the story file's own name")
FOLD = column("fold", INT, "0-4: stable hash of article_id; all queries of a passage share it")
FINGERPRINT = column("fingerprint", STRING, "hash of input content, settings and model that made this row")
KEEP = column("keep", BOOL, "whether it goes on to the next stage")
TOKENS = T.ArrayType(TOKEN)


def reason(what: str) -> T.StructField:
    return column("reason", STRING, f"first failing condition of {what}; null where kept", null=True)


IDS_CHECK = {"article_id": "article_id rlike '^[0-9a-f]{40}$'"}
FOLD_CHECK = {"fold": "fold between 0 and 4"}
REASON_CHECK = {"reason": "keep = (reason is null)"}


def no_null(column: str) -> dict[str, str]:
    # Delta does not enforce containsNull = false, and it breaks MERGE.
    return {column: f"{column} is null or size(array_compact({column})) = size({column})"}
