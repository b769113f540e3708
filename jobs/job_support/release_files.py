"""Puts finished files into a folder that may be local or any URI that Spark can write.

A file is made on the driver's disk first, and appears under its name whole or not at all.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession


@contextmanager
def publishing(spark: SparkSession, folder: str) -> Iterator[Path]:
    """Yields an empty local folder; what lies in it when the block ends well goes into ``folder``."""
    local = local_path(folder)
    if local is not None:
        local.mkdir(parents=True, exist_ok=True)
        # Beside the target, so that the last step is a rename.
        with tempfile.TemporaryDirectory(dir=local, prefix=".making-") as made:
            yield Path(made)
            for file in sorted(Path(made).iterdir()):
                file.replace(local / file.name)
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)
        for file in sorted(Path(made).iterdir()):
            copy_by_hadoop(spark, file, folder)


def read_text_file(spark: SparkSession, folder: str, name: str) -> str | None:
    """The content of a small file in ``folder``; None where it is not there."""
    if size_of(spark, folder, name) is None:
        return None
    return str(spark.read.text(f"{folder}/{name}", wholetext=True).collect()[0][0])


def size_of(spark: SparkSession, folder: str, name: str) -> int | None:
    """Bytes of a file in ``folder``; None where it is not there."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    target = jvm.org.apache.hadoop.fs.Path(f"{folder}/{name}")
    file_system = target.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    return int(file_system.getFileStatus(target).getLen()) if file_system.exists(target) else None


def delete_file(spark: SparkSession, folder: str, name: str) -> None:
    """Deletes a file in ``folder``; one that is not there is no error."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    target = jvm.org.apache.hadoop.fs.Path(f"{folder}/{name}")
    target.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).delete(target, False)


def local_path(folder: str) -> Path | None:
    """The folder as a local path; None where it is a URI of another file system."""
    scheme, colon, rest = folder.partition(":")
    if not colon or "/" in scheme:
        return Path(folder)
    return Path("/" + rest.lstrip("/")) if scheme == "file" else None


def copy_by_hadoop(spark: SparkSession, file: Path, folder: str) -> None:
    """Copies a local file into a folder of any file system that Spark's Hadoop client knows.

    Raises:
        OSError: the file system refused the last step, the rename.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path
    target, beside = path(f"{folder}/{file.name}"), path(f"{folder}/.{file.name}.tmp")
    file_system = target.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    file_system.copyFromLocalFile(False, True, path(file.absolute().as_uri()), beside)
    file_system.delete(target, False)
    if not file_system.rename(beside, target):
        raise OSError(f"{beside.toString()} could not be renamed to {target.toString()}")
