"""The session of the Spark tests, for the tables that the notebooks read."""

from tests.spark.conftest import spark

__all__ = ["spark"]
