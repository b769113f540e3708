"""Puts finished files into a folder that may be local or any URI that Spark can write.

A file is made on the driver's disk first, and appears under its name whole or not at all.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.job_support.hadoop_files import file_system, read_text


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


def publish_text(spark: SparkSession, folder: str, name: str, text: str) -> bool:
    """Makes ``text`` the content of a file; returns whether it was another, or none."""
    if read_text(spark, f"{folder}/{name}") == text:
        return False
    with publishing(spark, folder) as made:
        (made / name).write_text(text, encoding="utf-8")
    return True


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
    system, target = file_system(spark, f"{folder}/{file.name}")
    beside = path(f"{folder}/.{file.name}.tmp")
    system.copyFromLocalFile(False, True, path(file.absolute().as_uri()), beside)
    system.delete(target, False)
    if not system.rename(beside, target):
        raise OSError(f"{beside.toString()} could not be renamed to {target.toString()}")
