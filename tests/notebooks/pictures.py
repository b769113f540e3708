"""The README's pictures, drawn from a run's tables as the notebook draws them.

    make pictures      after make demo; writes notebooks/pictures/
"""

import sys

from pyspark.sql import functions as F

from jobs.job_support.session import open_session
from jobs.job_support.settings import load_settings
from jobs.transforms.browse import measures, plots, tables
from jobs.transforms.funnel import funnel_rows
from tests.conftest import ROOT

READ = ("articles", "rejects", "annotations", "passages", "sentences", "triples", "machine_filter")


def main(root: str) -> None:
    settings = load_settings(ROOT / "conf" / "local.toml")
    spark = open_session(settings.spark, "pictures")
    of_run = {name: tables.open_table(spark, root, name) for name in READ}
    counts = {(r.stage, r.unit, r.outcome): r.rows for r in funnel_rows(*of_run.values()).collect()}
    reader = settings.reader.network
    curves = tables.open_table(spark, root, "learning_curves").where(F.col("reader") == reader)
    shares = measures.answered_shares(of_run["machine_filter"], of_run["triples"], of_run["passages"])
    figures = {
        "funnel": plots.funnel(counts),
        "learning_curves": plots.learning_curves(tables.fetch(curves)),
        "solved": plots.answered_shares(tables.fetch(shares), reader=reader.upper()),
    }
    folder = ROOT / "notebooks" / "pictures"
    folder.mkdir(exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=90, facecolor="white", metadata={"Software": None})
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
