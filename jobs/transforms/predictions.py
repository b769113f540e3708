"""From examples to predictions."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.job_support.reader_contracts import PREDICTIONS
from udfs.reader_predictions import PREDICTED


def predict_queries(examples: DataFrame, *, reader: str, prediction_batches: Any) -> DataFrame:
    """Rows of ``predictions``: one for each query of ``examples``, whose rows are in order of fold in each task."""
    return (
        examples.mapInArrow(prediction_batches, PREDICTED)
        .withColumn("reader", F.lit(reader))
        .select(*PREDICTIONS.schema.names)
    )
