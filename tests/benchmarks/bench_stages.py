"""Speed and memory of each stage on a generated corpus, beside the same work in one plain Python process.

    make bench ARTICLES=2000        prints JSON and writes it to build/bench/bench.json

``ratio`` is articles per second and core through Spark, divided by those of plain Python in the same run:
1 means that Spark costs nothing. Stages that ran for a few seconds only show Spark's start-up.
"""

import argparse
import contextlib
import json
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from jobs import annotate_articles, generate_triples, ingest_articles, tag_tokens
from jobs.job_support.run_metrics import Run
from jobs.job_support.session import open_session
from jobs.job_support.settings import Settings, load_settings
from jobs.job_support.store import Store
from jobs.transforms.token_tags import texts_to_tag
from tests.benchmarks import plain_python
from tests.benchmarks.memory import peak_memory
from tests.conftest import ROOT
from tests.corpus.generator import write_corpus

log = logging.getLogger(__name__)
TABLES = ("articles", "rejects", "inputs", "annotations", "sentences", "triples", "passages", "token_tags")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=2000, help="with stand-off")
    parser.add_argument(
        "--by-model", type=int, default=200, help="articles without stand-off, for the annotator; 0: none"
    )
    parser.add_argument("--corpus", type=Path, help="a generated corpus that is there already")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    shutil.rmtree(arguments.out, ignore_errors=True)
    corpus = arguments.corpus or arguments.out / "corpus"
    if not arguments.corpus:
        write_corpus(corpus, arguments.articles, seed=1)
    report = {"articles": arguments.articles, **measure(corpus, arguments.out, arguments.overrides)}
    if arguments.by_model:
        without = arguments.out / "corpus-without-stand-off"
        write_corpus(without, arguments.by_model, seed=2, stand_off=False)
        report["by_model"] = measure_by_model(without, arguments.out / "by-model", arguments.overrides)
    text = json.dumps(report, indent=1)
    (arguments.out / "bench.json").write_text(text + "\n")
    print(text)
    return 0


def measure(corpus: Path, out: Path, overrides: list[str]) -> dict[str, Any]:
    """Ingest, annotate and generate of a corpus with stand-off."""
    settings = _settings(corpus, out, overrides)
    with _session(settings) as spark:
        cores = spark.sparkContext.defaultParallelism
        stages = {
            stage: _timed(lambda s=stage, j=job: _run(spark, settings, s, j), cores)
            for stage, job in (
                ("ingest", ingest_articles),
                ("annotate_stand_off", annotate_articles),
                ("generate", generate_triples),
            )
        }
        tables = {name: _files(out / "tables" / name) for name in TABLES if (out / "tables" / name).exists()}
    plain = out / "plain"
    articles, annotations = plain / "articles.parquet", plain / "annotations.parquet"
    rules = settings.generate
    baseline: dict[str, Callable[[], int]] = {
        "ingest": lambda: plain_python.ingest(corpus, plain),
        "annotate_stand_off": lambda: plain_python.annotate_stand_off(articles, plain),
        "generate": lambda: plain_python.generate(articles, annotations, rules, plain),
    }
    return {"cores": cores, "stages": _beside(stages, baseline), "tables": tables}


def measure_by_model(corpus: Path, out: Path, overrides: list[str]) -> dict[str, Any]:
    """Annotation by the model, and tagging, of a corpus without stand-off."""
    settings = _settings(corpus, out, overrides)
    plain = out / "plain"
    with _session(settings) as spark:
        cores = spark.sparkContext.defaultParallelism
        ingest_articles.run(spark, settings)
        stages = {"annotate_by_model": _timed(lambda: _run(spark, settings, "annotate", annotate_articles), cores)}
        generate_triples.run(spark, settings)
        stages["tag"] = _timed(lambda: _run(spark, settings, "tag", tag_tokens), cores)
        store = Store(spark, settings.paths.tables)
        texts = texts_to_tag(store.read("passages"), store.read("sentences"), store.read("triples")).toPandas()
        store.read("articles").toPandas().drop(columns="stand_off").to_parquet(_made(plain) / "articles.parquet")
    texts.to_parquet(plain / "texts.parquet")
    model = settings.annotate.model
    baseline: dict[str, Callable[[], int]] = {
        "annotate_by_model": lambda: plain_python.annotate_by_model(plain / "articles.parquet", model, plain),
        "tag": lambda: plain_python.tag(plain / "texts.parquet", model, plain),
    }
    n = pq.ParquetFile(plain / "articles.parquet").metadata.num_rows
    return {"articles": n, "stages": _beside(stages, baseline, articles=n)}


def _settings(corpus: Path, out: Path, overrides: list[str]) -> Settings:
    paths = [f"paths.{name}={out / name}" for name in ("tables", "release", "report")]
    source = f'ingest.sources=[{{path="{corpus}"}}]'
    return load_settings(ROOT / "conf" / "local.toml", [*paths, source, *overrides])


@contextlib.contextmanager
def _session(settings: Settings) -> Any:
    spark = open_session(settings.spark, "bench")
    try:
        # The JVM's compiler is warm in a run of hours, which is what this short one stands for.
        with tempfile.TemporaryDirectory() as warm:
            write_corpus(Path(warm) / "corpus", 50)
            small = _settings(Path(warm) / "corpus", Path(warm), [])
            for job in (ingest_articles, annotate_articles, generate_triples):
                job.run(spark, small)
        yield spark
    finally:
        spark.stop()


def _run(spark: SparkSession, settings: Settings, stage: str, job: Any) -> int:
    counts = job.run(spark, settings, Run())
    log.info("%s: %s", stage, counts)
    return int(counts.rows_in)


def _timed(work: Callable[[], int], cores: int) -> dict[str, Any]:
    with peak_memory() as peak:
        start = time.perf_counter()
        n = work()
        seconds = time.perf_counter() - start
    return {
        "articles": n,
        "seconds": round(seconds, 2),
        "articles_per_second_and_core": round(n / seconds / cores, 2),
        "peak_memory": peak,
    }


def _beside(
    stages: dict[str, dict[str, Any]], baseline: dict[str, Callable[[], int]], articles: int | None = None
) -> dict[str, dict[str, Any]]:
    for stage, work in baseline.items():
        start = time.perf_counter()
        n = work()
        seconds = time.perf_counter() - start
        rate = (articles or n) / seconds
        row = stages[stage]
        row["plain_python"] = {"seconds": round(seconds, 2), "articles_per_second": round(rate, 2)}
        row["ratio"] = round(row["articles_per_second_and_core"] / rate, 3)
        log.info("%s: %s", stage, row)
    return stages


def _files(table: Path) -> dict[str, int]:
    files = [p for p in table.rglob("*.parquet") if "_delta_log" not in p.parts]
    return {"files": len(files), "bytes": sum(p.stat().st_size for p in files)}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
