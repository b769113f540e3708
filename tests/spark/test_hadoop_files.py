"""Paths as executors must have them, and small files through Spark's Hadoop client."""

from pathlib import Path

from pyspark.sql import SparkSession

from jobs.job_support.hadoop_files import delete, qualified, read_text, size_of
from udfs.sources.files import file_system_of, normal_path


def test_paths_come_whole_to_those_without_hadoops_settings(spark: SparkSession, tmp_path: Path) -> None:
    odd = tmp_path / "50% [a]#b é"
    odd.mkdir()
    (odd / "file").write_text("x")
    found = qualified(spark, str(odd))
    assert found == str(odd)
    system, inside = file_system_of(normal_path(found))
    with system.open_input_stream(f"{inside}/file") as stream:
        assert stream.read() == b"x"


def test_uri_without_name_node_gets_that_of_the_cluster(spark: SparkSession) -> None:
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    before = hadoop.get("fs.defaultFS")
    hadoop.set("fs.defaultFS", "hdfs://localhost:8020")  # nobody listens there: a path is made whole without asking
    try:
        assert qualified(spark, "hdfs:///record/models") == "hdfs://localhost:8020/record/models"
        assert qualified(spark, "/record/models") == "hdfs://localhost:8020/record/models"
        assert qualified(spark, "file:///record/models") == "/record/models"
    finally:
        hadoop.set("fs.defaultFS", before)


def test_small_files_are_read_whole_or_are_none(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a [1].txt"  # no glob
    path.write_text("é\nb\n", encoding="utf-8")
    assert (read_text(spark, str(path)), size_of(spark, str(path))) == ("é\nb\n", 5)
    delete(spark, str(path))
    delete(spark, str(path))
    assert (read_text(spark, str(path)), size_of(spark, str(path))) == (None, None)
