"""What the tests of ingest share: files of all layouts, and a run up to the candidates."""

import io
import random
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from jobs.job_support.contracts import ARTICLES, INPUTS
from jobs.job_support.settings import Ingest, Source
from jobs.transforms.candidates import apply_verdicts, duplicate_verdicts
from jobs.transforms.inputs import Roots, find_roots, list_inputs, read_url_lists, work_list
from jobs.transforms.sources import read_inputs, reading_tasks

STORY = "Zoë Ray met Al-Din.\n\nRay left Paris.\n\n@highlight\n\nRay met Al-Din in Paris"
TOKENS = "0,3;5,2;9,2;13,1;15,0;16,2;19,0;22,2;26,3;31,4;36,0;39,0;40,8;51,2;55,2;59,1;61,0;62,2;66,1;69,4"
ENTITIES = "0,0,1;1,3,5;0,7,7;2,9,9;0,13,13;1,15,17;2,19,19"
WAYBACK = "http://web.archive.org/web/20150101000000id_/http://www.cnn.com:80/2015/01/01/x/"
PAGE = "<!DOCTYPE html><html><body>Quota exceeded</body></html>" * 40


def resolve_duplicates(
    candidates: DataFrame, *, articles: DataFrame, work: DataFrame, inputs: DataFrame | None = None
) -> DataFrame:
    table = nothing_read(candidates.sparkSession) if inputs is None else inputs
    verdicts = duplicate_verdicts(candidates, articles=articles, work=work, inputs=table)
    return apply_verdicts(candidates, verdicts, articles=articles)


def hexes(n: int) -> str:
    return f"{n:040x}"


def words(n: int, seed: int, edits: int = 0) -> str:
    """A text of ``n`` made-up words, ``edits`` of them replaced."""
    drawn = [f"w{random.Random(seed * 10_000 + i).randrange(10**6)}" for i in range(n)]
    for position in random.Random(seed).sample(range(n), edits):
        drawn[position] = f"edit{position}"
    return " ".join(drawn)


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def tgz(files: dict[str, str], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
    return out.getvalue()


def ingest_of(*sources: Path | Source, hermann: tuple[str, ...] = ()) -> Ingest:
    made = tuple(s if isinstance(s, Source) else Source(path=str(s)) for s in sources)
    return Ingest(near_identical=0.8, hermann_url_lists=hermann, sources=made)


@dataclass
class Read:
    """One run up to the candidates."""

    roots: Roots
    listed: DataFrame
    work: DataFrame
    urls: DataFrame
    candidates: DataFrame

    def rows(self) -> list[Row]:
        return sorted(self.candidates.collect(), key=lambda r: (r.source_path, r.source_item))

    def summary(self) -> dict[str, tuple[Any, ...]]:
        """Reject reason, origin, publisher and mentions by file name and item."""
        return {
            " ".join(filter(None, (Path(r.source_path).name, r.source_item))): (
                r.reject_reason,
                r.origin,
                r.publisher,
                None if r.stand_off is None else len(r.stand_off),
            )
            for r in self.rows()
        }


class Reader:
    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.cached: list[DataFrame] = []

    def __call__(self, ingest: Ingest, inputs: DataFrame | None = None, freed: DataFrame | None = None) -> Read:
        """Reads what is new against the table ``inputs``, and the paths ``freed``."""
        roots = find_roots(self.spark, ingest)
        listed = self.cache(list_inputs(self.spark, roots))
        table = nothing_read(self.spark) if inputs is None else inputs
        paths = self.spark.createDataFrame([], "path string") if freed is None else freed
        work = self.cache(work_list(listed, inputs=table, freed=paths, roots=roots))
        by_kind: dict[str, tuple[int, int]] = {}
        for row in work.collect():
            files, size = by_kind.get(row.kind, (0, 0))
            by_kind[row.kind] = files + 1, size + row["size"]
        urls = read_url_lists(self.spark, roots)
        candidates = self.cache(read_inputs(work, roots=roots, urls=urls, tasks=reading_tasks(by_kind)))
        return Read(roots, listed, work, urls, candidates)

    def cache(self, rows: DataFrame) -> DataFrame:
        self.cached.append(rows.cache())
        return rows


def nothing_read(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], INPUTS.schema)


def no_articles(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], ARTICLES.schema)
