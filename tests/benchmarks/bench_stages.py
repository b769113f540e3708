"""Speed and memory of each stage on a generated corpus, beside the same work in one plain Python process.

    make bench ARTICLES=2000        prints JSON and writes it to build/bench/bench.json

``ratio`` is items per second and core through Spark, divided by those of plain Python in the same run: 1 means that
Spark costs nothing. ``ratio_cpu`` is the same in CPU seconds an item, of all of Spark's processes: unlike wall time
they don't depend on what else the machine does. Stages that ran for a few seconds only show Spark's start-up.

The corpus is a mix as the paper's: 148,000 articles with stand-off, 22,000 without. ``annotate`` is measured on it,
and in two details on either part alone.
"""

import argparse
import json
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs import (
    annotate_articles,
    export_dataset,
    generate_triples,
    import_dataset,
    ingest_articles,
    tag_tokens,
)
from jobs.job_support.run_metrics import StageCounts
from jobs.job_support.session import open_session
from jobs.job_support.settings import Paths, Settings, load_settings
from tests.benchmarks import plain_python
from tests.benchmarks.usage import measured_usage
from tests.conftest import ROOT
from tests.corpus.generator import write_corpus

log = logging.getLogger(__name__)
TABLES = ("articles", "rejects", "inputs", "annotations", "sentences", "triples", "passages", "token_tags")
# The parts of a corpus, each a folder; the paper's articles have stand-off where the public script gives it.
WITH, WITHOUT = "stand-off", "without-stand-off"
SHARE_WITHOUT = 22_000 / 170_000
LINE = ("ingest", "annotate", "generate", "tag", "export", "import")


@dataclass(frozen=True)
class Measured:
    """What some work did and used. ``cpu_seconds``: of all processes that took part."""

    n: int
    seconds: float
    cpu_seconds: float

    def __add__(self, other: "Measured") -> "Measured":
        seconds, cpu_seconds = self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds
        return Measured(self.n + other.n, seconds, cpu_seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=2000)
    parser.add_argument(
        "--without-stand-off", type=float, default=SHARE_WITHOUT, metavar="SHARE",
        help="of the articles, which the model annotates (default: the paper's, %(default).2f)",
    )  # fmt: skip
    parser.add_argument(
        "--warm-up", type=int, default=300, metavar="ARTICLES",
        help="that go through all stages before, since the JVM compiles what it runs often (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--last", choices=LINE, default=LINE[-1],
        help="the last stage to run: large corpora take long to tag (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    out = arguments.out
    shutil.rmtree(out, ignore_errors=True)
    parts = write_parts(out / "corpus", arguments.articles, arguments.without_stand_off)
    settings = _settings(out / "mix", parts, arguments.overrides)
    spark = open_session(settings.spark, "bench")
    try:
        cores = spark.sparkContext.defaultParallelism
        if arguments.warm_up:
            with tempfile.TemporaryDirectory() as warm:
                small = write_parts(Path(warm) / "corpus", arguments.warm_up, arguments.without_stand_off, seed=7)
                run_stages(spark, small, Path(warm), arguments.overrides, arguments.last)
        stages = run_stages(spark, parts, out, arguments.overrides, arguments.last)
    finally:
        spark.stop()
    baseline = run_plain_python(parts, settings, out / "plain", arguments.last)
    report = {
        "articles": arguments.articles,
        "without_stand_off": round(arguments.without_stand_off, 3),
        "warm_up": arguments.warm_up,
        "cores": cores,
        "stages": {name: _beside(stages[name], baseline[name], cores) for name in stages},
        "tables": {name: files for name in TABLES if (files := _files(out / "mix" / "tables" / name))["files"]},
    }
    text = json.dumps(report, indent=1)
    (out / "bench.json").write_text(text + "\n")
    print(text)
    return 0


def write_parts(corpus: Path, articles: int, share_without: float, *, seed: int = 1) -> dict[str, Path]:
    """Generates the parts of a corpus, each in its folder; an empty part is left out."""
    without = round(articles * share_without)
    sizes = {WITH: articles - without, WITHOUT: without}
    parts = {name: corpus / name for name, size in sizes.items() if size}
    for number, (name, folder) in enumerate(parts.items()):
        write_corpus(folder, sizes[name], seed=2 * seed + number, stand_off=name == WITH)
    return parts


def run_stages(
    spark: SparkSession, parts: dict[str, Path], out: Path, overrides: list[str], last: str
) -> dict[str, tuple[Measured, dict[str, float]]]:
    """The stages up to ``last`` through Spark: what each did and used, and its peak memory."""
    mix, imported = _settings(out / "mix", parts, overrides), _settings(out / "imported", {}, overrides)
    file = Path(mix.paths.release) / f"{mix.export.name}.json"
    works: dict[str, Callable[[], StageCounts]] = {
        "ingest": lambda: ingest_articles.run(spark, mix),
        "annotate": lambda: annotate_articles.run(spark, mix),
        "generate": lambda: generate_triples.run(spark, mix),
        "tag": lambda: tag_tokens.run(spark, mix),
        "export": lambda: export_dataset.run(spark, mix),
        "import": lambda: import_dataset.run(spark, imported, path=str(file), split="dev", name="bench"),
    }
    stages = {name: _timed(name, works[name]) for name in _up_to(last)}
    for name, part in (("annotate_stand_off", WITH), ("annotate_by_model", WITHOUT)):
        if part in parts and "annotate" in stages:
            alone = _settings(out / part, {part: parts[part]}, overrides)
            ingest_articles.run(spark, alone)
            stages[name] = _timed(name, lambda s=alone: annotate_articles.run(spark, s))
    return stages


def _up_to(last: str) -> tuple[str, ...]:
    return LINE[: LINE.index(last) + 1]


def run_plain_python(parts: dict[str, Path], settings: Settings, out: Path, last: str) -> dict[str, Measured]:
    """The same work in this process; the model is loaded before, as by workers that are warm."""
    model, rules = settings.annotate.model, settings.generate
    plain_python.warm_up(model)
    works: dict[str, Callable[[], int]] = {
        "ingest": lambda: plain_python.ingest(list(parts.values()), out),
        "annotate_stand_off": lambda: plain_python.annotate_stand_off(out),
        "annotate_by_model": lambda: plain_python.annotate_by_model(out, model),
        "generate": lambda: plain_python.generate(out, rules),
        "tag": lambda: plain_python.tag(out, model),
        "export": lambda: plain_python.export(out),
        "import": lambda: plain_python.import_record(out / "record.json", out),
    }
    found = {}
    for name, work in works.items():
        if not name.startswith(_up_to(last)):
            continue
        start, cpu = time.perf_counter(), time.process_time()
        n = work()
        found[name] = Measured(n, time.perf_counter() - start, time.process_time() - cpu)
        log.info("plain Python: %s: %s", name, found[name])
    if "annotate_stand_off" in found:
        found["annotate"] = found["annotate_stand_off"] + found["annotate_by_model"]
    return found


def _settings(out: Path, parts: dict[str, Path], overrides: list[str]) -> Settings:
    paths = [f"paths.{name}={out / name}" for name in Paths.model_fields] + ["filter.enabled=false"]
    sources = ", ".join(f'{{path="{folder}"}}' for folder in parts.values())
    return load_settings(ROOT / "conf" / "local.toml", [*paths, f"ingest.sources=[{sources}]", *overrides])


def _timed(name: str, work: Callable[[], StageCounts]) -> tuple[Measured, dict[str, float]]:
    start = time.perf_counter()
    with measured_usage() as usage:
        counts = work()
        seconds = time.perf_counter() - start
    log.info("%s: %s", name, counts)
    return Measured(counts.rows_in, seconds, usage.cpu_seconds), usage.peak_memory


def _beside(stage: tuple[Measured, dict[str, float]], plain: Measured, cores: int) -> dict[str, Any]:
    used, peak = stage
    rate, plain_rate = used.n / used.seconds / cores, plain.n / plain.seconds
    return {
        "n": used.n,
        "seconds": round(used.seconds, 2),
        "cpu_seconds": round(used.cpu_seconds, 2),
        "per_second_and_core": round(rate, 2),
        "peak_memory": peak,
        "plain_python": {
            "n": plain.n,
            "seconds": round(plain.seconds, 2),
            "cpu_seconds": round(plain.cpu_seconds, 2),
            "per_second": round(plain_rate, 2),
        },
        "ratio": round(rate / plain_rate, 3),
        "ratio_cpu": round(plain.cpu_seconds / plain.n / (used.cpu_seconds / used.n), 3),
    }


def _files(table: Path) -> dict[str, int]:
    files = [p for p in table.rglob("*.parquet") if "_delta_log" not in p.parts]
    return {"files": len(files), "bytes": sum(p.stat().st_size for p in files)}


if __name__ == "__main__":
    sys.exit(main())
