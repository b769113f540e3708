"""JSON lines and Parquet with articles."""

import gzip
import json
import random
from hashlib import sha1
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from udfs.sources.records import Record, read_jsonl, read_parquet, to_record

ID = "2ac7ec1e2f9c14f641b63b232600fe25f5a49b2b"
WAYBACK = (
    "http://web.archive.org/web/20111016030125id_/http://www.cnn.com:80/2011/10/13/opinion/iranianplotsamerican-hubris/"
)
PAGE = b"<!DOCTYPE html><html><head><title>Google Drive - Quota exceeded</title></head>" + b"<p>x</p>" * 250


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def jsonl(folder: Path, *lines: Any, name: str = "a.jsonl") -> list[Record]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return list(read_jsonl(str(folder / name)))


ARTICLE = {"id": ID, "url": None, "article": "Ann won.\nBo lost.", "highlights": "Ann wins\nBo loses"}
TEXT = b"Ann won.\n\nBo lost.\n\n@highlight\n\nAnn wins\n\n@highlight\n\nBo loses"


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json"])
def test_jsonl_gives_stories(tmp_path: Path, name: str) -> None:
    assert jsonl(tmp_path, ARTICLE, "", ARTICLE, name=name) == [Record(i, ID, None, TEXT) for i in ("1", "3")]


def test_jsonl_names_the_line_of_each_fault(tmp_path: Path) -> None:
    lines = [
        "{broken",
        ARTICLE,
        '{"id": 1',
        [1],
        {"id": "x", "text": "no article"},
        {**ARTICLE, "id": None},
        {**ARTICLE, "id": " ", "url": ""},
        {**ARTICLE, "article": 7},
        {**ARTICLE, "highlights": ["a", 1]},
        {**ARTICLE, "url": 3},
        {**ARTICLE, "id": {"x": 1}},
        '{"id": "x", "article": "\\ud800", "highlights": ""}',
    ]
    found = [(r.item, r.reject_reason) for r in jsonl(tmp_path, *lines)]
    malformed, nameless = "malformed_record", "no_identity"
    reasons = [malformed, None, malformed, malformed, malformed, nameless, nameless, *[malformed] * 5]
    assert found == [(str(n), reason) for n, reason in enumerate(reasons, start=1)]


def test_jsonl_null_ids_take_the_url(tmp_path: Path) -> None:
    (record,) = jsonl(tmp_path, {**ARTICLE, "id": None, "url": WAYBACK})
    assert (record.article_id, record.url) == (ID, WAYBACK)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([{"doc": "GUM", "sha1": ID}] * 50, "neither article nor highlights among its keys ['doc', 'sha1']"),
        (["{", '  "a": 1', "}"], "no JSON"),
        (["plain text"] * 500, "record 100 of the file"),
    ],
)
def test_jsonl_of_other_things_is_one_reject(tmp_path: Path, lines: list[Any], says: str) -> None:
    (record,) = jsonl(tmp_path, *lines)
    assert (record.item, record.reject_reason) == ("", "not_articles")
    assert says in str(record.reject_detail)


def test_empty_jsonl_is_a_reject(tmp_path: Path) -> None:
    assert [r.reject_reason for r in jsonl(tmp_path, "", "")] == ["empty"]


def test_truncated_jsonl_gz_keeps_the_lines_before_the_break(tmp_path: Path) -> None:
    noise = random.Random(1)
    lines = [json.dumps({**ARTICLE, "id": str(i), "article": f"Ann {noise.randbytes(1500).hex()}"}) for i in range(50)]
    whole = gzip.compress("\n".join(lines).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    *records, last = read_jsonl(str(tmp_path / "a.jsonl.gz"))
    assert len(records) >= 22
    assert all(r.reject_reason is None for r in records)
    assert (last.item, last.reject_reason) == ("", "unreadable_file")
    assert "after" in str(last.reject_detail)


@pytest.mark.parametrize(
    ("article", "highlights", "story"),
    [
        ("Ann\nwon.\n\nBo lost.", None, b"Ann\nwon.\n\nBo lost."),
        ("Ann won.\r\n\r\nBo lost.", [], b"Ann won.\n\nBo lost."),
        ("Ann won.\r\nBo lost.", "", b"Ann won.\n\nBo lost."),
        (["Ann won.", " ", "Bo\nlost."], ["x", None], b"Ann won.\n\nBo lost.\n\n@highlight\n\nx"),
        ("He wrote @highlight here.", "a\n\n\nb", b"He wrote @highlight here.\n\n@highlight\n\na\n\n@highlight\n\nb"),
        (None, "a", b"@highlight\n\na"),
    ],
)
def test_record_becomes_a_story(article: Any, highlights: Any, story: bytes) -> None:
    assert to_record("1", {"id": ID, "article": article, "highlights": highlights}, "a.jsonl").story == story


def test_parquet_gives_the_records_of_all_row_groups(tmp_path: Path) -> None:
    rows = [{**ARTICLE, "id": str(i), "highlights": ["Ann wins", "Bo loses"], "other": i} for i in range(700)]
    rows[3]["id"] = None
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=100)
    records = list(read_parquet(str(tmp_path / "a.parquet")))
    assert [r.item for r in records] == [str(i) for i in range(1, 701)]
    assert {r.story for r in records if not r.reject_reason} == {TEXT}
    assert [(r.item, r.reject_reason) for r in records if r.reject_reason] == [("4", "no_identity")]


def test_parquet_with_whole_numbers_as_ids(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [17], "article": ["Ann won."]}), tmp_path / "a.parquet")
    assert [r.article_id for r in read_parquet(str(tmp_path / "a.parquet"))] == [
        sha1(f"{tmp_path.name}/a.parquet#17".encode()).hexdigest()
    ]


def test_parquet_of_other_things_and_broken_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"article": pa.array([], pa.string())}), tmp_path / "b.parquet")
    write(tmp_path, {"c.parquet": PAGE})
    found = [[(r.item, r.reject_reason) for r in read_parquet(str(tmp_path / f"{n}.parquet"))] for n in "abc"]
    assert found == [[("", "not_articles")], [("", "empty")], [("", "unreadable_file")]]


def test_article_in_one_line_is_split_at_sentences() -> None:
    sentences = [f"Ann Ray said on day {n} that the harbour of Oslo was closed." for n in range(12)]
    record = to_record("1", {"id": ID, "article": " ".join(sentences), "highlights": "A bullet"}, "train.jsonl")
    assert record.story == "\n\n".join([*sentences, "@highlight", "A bullet"]).encode()
