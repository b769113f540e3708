"""Files by path or URI on the driver, through Spark's own Hadoop client."""

from typing import Any

from pyspark.sql import SparkSession


def file_system(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """The Hadoop file system of a path, and the path as Hadoop's."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
    return hadoop_path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), hadoop_path


def qualified(spark: SparkSession, path: str) -> str:
    """A path as executors must have it, which open it without Hadoop's settings.

    Local paths come absolute, and URIs with the name node that the cluster's settings give: ``hdfs:///models``
    as ``hdfs://namenode:8020/models``.
    """
    system, hadoop_path = file_system(spark, path)
    whole = system.makeQualified(hadoop_path)
    uri = whole.toUri()
    return str(uri.getPath()) if uri.getScheme() == "file" else str(whole.toString())


def delete(spark: SparkSession, path: str) -> None:
    """Deletes a file, or a folder with all in it; one that is not there is no error."""
    system, hadoop_path = file_system(spark, path)
    system.delete(hadoop_path, True)


def size_of(spark: SparkSession, path: str) -> int | None:
    """Bytes of a file; None where it is not there."""
    system, hadoop_path = file_system(spark, path)
    return int(system.getFileStatus(hadoop_path).getLen()) if system.exists(hadoop_path) else None


def read_text(spark: SparkSession, path: str) -> str | None:
    """The content of a small file in UTF-8; None where it is not there."""
    system, hadoop_path = file_system(spark, path)
    if not system.exists(hadoop_path):
        return None
    stream = system.open(hadoop_path)
    try:
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()
