"""Contract of the table of trained annotators."""

from pyspark.sql import types as T

from jobs.job_support.table_contract import DOUBLE, FINGERPRINT, INT, LONG, STRING, TableContract, column, no_null
from udfs.annotator_examples import LEFT_OUT_MENTIONS
from udfs.annotator_training import EVALUATION

ANNOTATOR_RUNS = TableContract(
    name="annotator_runs",
    purpose="Annotators trained on the stand-off articles, each with its learning curve beside the base's scores.",
    schema=T.StructType(
        [
            column("annotator", STRING, "kind, as annotate.annotator names it"),
            column("path", STRING, "folder of the trained pipeline, below paths.models: what annotate.model takes"),
            column("digest", STRING, "hash of the pipeline's files: equal for equal training"),
            column("base_model", STRING, "name and version of the pipeline that training began with"),
            column("held_out_fold", INT, "the fold whose articles were not trained on"),
            column("articles", LONG, "articles trained on"),
            column("mentions", LONG, "their mentions trained on"),
            column("left_out", T.ArrayType(LEFT_OUT_MENTIONS), "mentions that can't be trained on, by reason"),
            column("held_out_articles", LONG, "articles of the held-out fold that the scores are of"),
            column("steps", INT, "steps trained, as of the last evaluation"),
            column("best_step", INT, "the step whose network is kept: of the best F1"),
            column("precision", DOUBLE, "of the kept network's names, exact spans whatever the type, 0 to 1"),
            column("recall", DOUBLE, "of the held-out articles' mentions, 0 to 1"),
            column("f1", DOUBLE, "of precision and recall, 0 to 1"),
            column("base_f1", DOUBLE, "the same of the pipeline that training began with"),
            column("curve", T.ArrayType(EVALUATION), "each evaluation: step, loss of a word since the last, scores"),
            column("seconds", DOUBLE, "wall time of the training task"),
            FINGERPRINT,
        ]
    ),
    key=("annotator", "fingerprint"),
    checks={**no_null("left_out"), **no_null("curve"), "held_out_fold": "held_out_fold between 0 and 4"},
    written_by="train_annotators",
    read_by=("train_annotators",),
    statistics=("annotator",),
)
