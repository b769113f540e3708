"""Jobs submitted to a standalone cluster: executors run the shipped code, and make what a local run makes."""

import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs import annotate_articles, generate_triples, ingest_articles, run_pipeline
from jobs.job_support.contracts import CONTRACTS
from jobs.job_support.settings import Settings
from jobs.job_support.store import Store, table_hash
from tests.cluster.standalone import SPARK_HOME, StandaloneCluster
from tests.conftest import ROOT
from tests.corpus.lay_out import lay_out, source_articles
from tests.spark.conftest import TINY_READER, settings_for

pytestmark = pytest.mark.cluster

# Three jobs one by one; then the pipeline, which does what they left: the machine filter, and the files.
JOBS = (ingest_articles, annotate_articles, generate_triples, run_pipeline)
TABLES = tuple(CONTRACTS.keys() - {"run_metrics", "learning_curves"})  # these hold times
OWN_PATHS = {"reader_runs": ("path",)}
IMPORT_ON_EXECUTORS = """
from pyspark.sql import SparkSession

def names(_):
    import udfs.spans
    return udfs.spans.__name__

with SparkSession.builder.appName("probe").getOrCreate() as spark:
    print(spark.sparkContext.parallelize(range(2), 2).map(names).collect())
"""


def test_executors_lack_code_that_was_not_shipped(cluster: StandaloneCluster, tmp_path: Path) -> None:
    probe = tmp_path / "probe.py"
    probe.write_text(IMPORT_ON_EXECUTORS)
    ended = cluster.processes.call(
        "probe", SPARK_HOME / "bin" / "spark-submit",
        *cluster.spark_options("probe"), "--conf", "spark.task.maxFailures=1", probe,
    )  # fmt: skip
    assert ended.status == 1
    assert "ModuleNotFoundError: No module named 'udfs'" in ended.output


def test_submitted_jobs_make_the_tables_of_a_local_run(
    cluster: StandaloneCluster, spark: SparkSession, tmp_path: Path
) -> None:
    corpus = tmp_path / "corpus"
    bundled = source_articles()
    # spaCy annotates two on the workers, the others keep their stand-off.
    lay_out([*[a for a in bundled if a.standoff][:2], *[a for a in bundled if not a.standoff][:2]], corpus)
    (corpus / "cnn" / "stories" / f"{'0' * 40}.story").write_text("  \n")
    local = settings_for(tmp_path / "local", f'ingest.sources=[{{path="{corpus}"}}]', *TINY_READER)
    submitted = settings_for(tmp_path / "submitted")
    with ThreadPoolExecutor(1) as pool:  # meanwhile the local run: most of both is one driver's work
        on_cluster = pool.submit(submit_all, cluster, submitted, corpus)
        for job in JOBS:
            job.run(spark, local)
        on_cluster.result()

    tables = Store(spark, local.paths.tables), Store(spark, submitted.paths.tables)
    kept = [store.read("triples").where("keep").count() for store in tables]
    assert kept[0] > 0, "these articles give no triples: the comparison would show nothing"
    assert tables[1].read("machine_filter").count() == kept[1]
    hashes = [
        {name: table_hash(store.read(name).drop(*OWN_PATHS.get(name, ()))) for name in TABLES} for store in tables
    ]
    assert hashes[0] == hashes[1]
    annotators = tables[1].read("annotations").groupBy("annotator").count().collect()
    assert {r["annotator"]: r["count"] for r in annotators} == {"stand-off": 2, "spacy": 2}
    versions = {r["code_version"] for r in tables[1].read("run_metrics").collect()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert versions == {project["version"]}, "not the shipped wheel's version"


def submit_all(cluster: StandaloneCluster, settings: Settings, corpus: Path) -> None:
    for job in JOBS:
        submit(cluster, job.__name__.removeprefix("jobs."), settings, corpus)


def submit(cluster: StandaloneCluster, job: str, settings: Settings, corpus: Path) -> None:
    """Submits a job as an operator would, but for sizes; checks that both workers took part."""
    before = cluster.executors_by_worker()
    ended = cluster.processes.call(
        job, ROOT / "conf" / "submit.sh", *cluster.spark_options(job), "--properties-file", "conf/spark_cpu.conf",
        f"jobs/{job}.py", "--config", "conf/cluster.toml",
        *(f"--set=paths.{name}={path}" for name, path in settings.paths.model_dump().items()),
        f'--set=ingest.sources=[{{path="{corpus}"}}]',
        *(f"--set={override}" for override in TINY_READER),
        "--set=spark.conf.spark.sql.shuffle.partitions=2",
        "--set=spark.conf.spark.databricks.delta.snapshotPartitions=2",
    )  # fmt: skip
    assert ended.status == 0, f"{job} ended with status {ended.status}"
    tasks = cluster.tasks_by_executor(job)
    assert len(tasks) == cluster.workers, f"{job}: tasks by executor {dict(tasks)}"
    made = [after - old for after, old in zip(cluster.executors_by_worker(), before, strict=True)]
    assert all(len(folders) == 1 for folders in made), f"{job}: executors by worker {made}"
