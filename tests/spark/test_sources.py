"""Listing and reading on Spark: from folders, archives and records to candidates."""

import io
import json
import os
import random
import shutil
import tarfile
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.job_support.contracts import ARTICLES, REJECTS
from jobs.job_support.settings import SettingsError, Source
from jobs.transforms.candidates import accepted, check_yield, rejected, yield_by_source
from jobs.transforms.inputs import find_roots
from jobs.transforms.sources import CANDIDATES, reading_tasks, unmatched_urls
from tests.spark.reading import (
    ENTITIES,
    PAGE,
    STORY,
    TOKENS,
    WAYBACK,
    Read,
    Reader,
    hexes,
    ingest_of,
    no_articles,
    resolve_duplicates,
    tgz,
    write,
)
from udfs.article_urls import article_id_of_url


@pytest.fixture
def read(spark: SparkSession) -> Iterator[Reader]:
    reader = Reader(spark)
    yield reader
    for rows in reader.cached:
        rows.unpersist()


def test_candidates_have_the_columns_of_articles() -> None:
    found = {f.name: f.dataType.simpleString() for f in CANDIDATES}
    wanted = {f.name: f.dataType.simpleString() for f in ARTICLES.schema}
    assert wanted.items() <= found.items()
    assert found.keys() - wanted.keys() == {"source", "reject_reason", "reject_detail"}


def test_every_layout_is_read_in_one_run(read: Reader, tmp_path: Path) -> None:
    record = {
        "id": hexes(5),
        "article": "Ann won.\nBo lost.",
        "highlights": "Ann wins",
        "url": "http://www.bbc.co.uk/x",
    }
    write(
        tmp_path,
        {
            f"cnn/stories/{hexes(1)}.story": STORY,
            f"cnn/tokens/{hexes(1)}.txt": TOKENS,
            f"cnn/entities/{hexes(1)}.txt": ENTITIES,
            f"cnn/stories/{hexes(2)}.story": STORY,
            f"cnn/tokens/{hexes(9)}.txt": TOKENS,
            f"cnn/downloads/{hexes(1)}.html": PAGE,
            "flat/plain.story": "Bo Lin lost.",
            "flat/empty.story": "\n",
            "flat/page.story": PAGE,
            "more/dm.tgz": tgz(
                {
                    f"dailymail/tokens/{hexes(3)}.txt": TOKENS,
                    f"dailymail/stories/{hexes(3)}.story": STORY,
                    f"dailymail/entities/{hexes(3)}.txt": ENTITIES,
                    f"dailymail/stories/{hexes(4)}.story": "Cy Fox left.",
                    "dailymail/stories/none.story": "@highlight\n\nOnly this",
                }
            ),
            "more/quota.tgz": PAGE,
            "records.jsonl": "\n".join([json.dumps(record), "{oops", json.dumps({**record, "id": None, "url": None})]),
            "meta.jsonl": "\n".join(json.dumps({"doc": n}) for n in range(300)),
            "LICENSE": "free",
        },
    )
    found = read(ingest_of(tmp_path))
    assert found.summary() == {
        f"{hexes(1)}.story": (None, "hermann", "CNN", 7),
        f"{hexes(2)}.story": (None, "crawled", "CNN", None),
        f"{hexes(9)}.txt": ("stand_off_without_story", None, None, None),
        "plain.story": (None, "crawled", None, None),
        "empty.story": ("empty", None, None, None),
        "page.story": ("error_page", None, None, None),
        f"dm.tgz dailymail/stories/{hexes(3)}.story": (None, "hermann", "Daily Mail", 7),
        f"dm.tgz dailymail/stories/{hexes(4)}.story": (None, "crawled", "Daily Mail", None),
        "dm.tgz dailymail/stories/none.story": ("no_body", None, None, None),
        "quota.tgz": ("not_an_archive", None, None, None),
        "records.jsonl 1": (None, "crawled", "bbc.co.uk", None),
        "records.jsonl 2": ("malformed_record", None, None, None),
        "records.jsonl 3": ("no_identity", None, None, None),
        "meta.jsonl": ("not_articles", None, None, None),
    }
    ids = {r.source_item or Path(r.source_path).name: r.article_id for r in found.rows()}
    assert ids["plain.story"] == sha1(f"{tmp_path.name}/flat/plain.story".encode()).hexdigest()
    assert ids["1"] == hexes(5)
    for row in found.rows():
        if row.stand_off:
            names = [row.text[m.start : m.end] for m in row.stand_off]
            assert names == ["Zoë Ray", "Al-Din", "Ray", "Paris", "Ray", "Al-Din", "Paris"]


def test_page_without_its_story_is_read_from_folder_and_archive(read: Reader, tmp_path: Path) -> None:
    one, other, third = (hexes(n) for n in (1, 2, 3))
    write(
        tmp_path,
        {
            f"cnn/stories/{one}.story": STORY,
            f"cnn/downloads/{one}.html": PAGE,
            f"cnn/downloads/{other}.html": PAGE,
            f"cnn/tokens/{other}.txt": TOKENS,
            "cnn/front.htm": PAGE,
            "more.tgz": tgz(
                {
                    f"dm/downloads/{one}.html": PAGE,
                    f"dm/stories/{one}.story": STORY,
                    f"dm/downloads/{third}.html": PAGE,
                }
            ),
        },
    )
    found = read(ingest_of(tmp_path))
    rows = {
        " ".join(filter(None, (r.source_path.removeprefix(f"{tmp_path}/"), r.source_item))): r for r in found.rows()
    }
    assert {name: (r.format, r.article_id) for name, r in rows.items()} == {
        f"cnn/stories/{one}.story": ("story", one),
        f"cnn/downloads/{other}.html": ("html", other),
        "cnn/front.htm": ("html", sha1(f"{tmp_path.name}/cnn/front.htm".encode()).hexdigest()),
        f"more.tgz dm/stories/{one}.story": ("story", one),
        f"more.tgz dm/downloads/{third}.html": ("html", third),
    }
    inputs = {Path(r.path).name: (r.kind, r.page_path, r.tokens_path) for r in found.listed.collect()}
    assert inputs == {
        f"{one}.story": ("story", f"{tmp_path}/cnn/downloads/{one}.html", None),
        f"{other}.html": ("page", f"{tmp_path}/cnn/downloads/{other}.html", f"{tmp_path}/cnn/tokens/{other}.txt"),
        "front.htm": ("page", f"{tmp_path}/cnn/front.htm", None),
        "more.tgz": ("archive", None, None),
    }


def test_articles_and_rejects_fit_their_contracts(read: Reader, tmp_path: Path) -> None:
    write(tmp_path, {"a.story": STORY, "b.story": "", "c.tgz": PAGE})
    found = read(ingest_of(tmp_path))
    articles, rejects = accepted(found.candidates), rejected(found.candidates)
    assert (articles.columns, rejects.columns) == (ARTICLES.schema.names, REJECTS.schema.names)
    strict = articles.sparkSession.createDataFrame(articles.collect(), ARTICLES.schema)
    assert strict.count() == 1
    strict = rejects.sparkSession.createDataFrame(rejects.collect(), REJECTS.schema)
    assert {(Path(r.input).name, r.item, r.reason) for r in strict.collect()} == {
        ("b.story", "", "empty"),
        ("c.tgz", "", "not_an_archive"),
    }


def test_two_sources_give_a_row_each(read: Reader, tmp_path: Path) -> None:
    """Public report 1: of two corpora the second was never read, and the run ended well."""
    write(
        tmp_path,
        {
            "cnn/stories/aa.story": "Ann Ray won.\n\n@highlight\n\nAnn Ray won in Oslo",
            "dailymail/stories/bb.story": "Bo Lin lost.\n\n@highlight\n\nBo Lin lost in Rome",
        },
    )
    apart = read(ingest_of(tmp_path / "cnn", tmp_path / "dailymail")).rows()
    assert [(r.source, r.publisher) for r in apart] == [(0, "CNN"), (1, "Daily Mail")]
    archives = tmp_path / "archives"
    archives.mkdir()
    for name in ("cnn", "dailymail"):
        with tarfile.open(archives / f"{name}_stories.tgz", "w:gz") as archive:
            archive.add(tmp_path / name, arcname=name)
    both = ingest_of(*(archives / f"{name}_stories.tgz" for name in ("cnn", "dailymail")))
    assert [(r.source, r.publisher) for r in read(both).rows()] == [(0, "CNN"), (1, "Daily Mail")]


def check(found: Read, articles: DataFrame, rejects: DataFrame) -> None:
    check_yield(yield_by_source(found.listed, articles=articles, rejects=rejects).collect(), roots=found.roots)


def test_source_that_gives_no_article_is_an_error(read: Reader, tmp_path: Path) -> None:
    """Public reports 1 and 15: nothing read, a page in place of an archive, and yet a run that ended well."""
    write(tmp_path, {"good/a.story": STORY, "bad/cnn_stories.tgz": PAGE, "none/README": "x"})
    found = read(ingest_of(tmp_path / "good", tmp_path / "bad"))
    with pytest.raises(SettingsError, match=r"ingest.sources\[1\].path \(.*/bad\): none of 1 inputs gave an article"):
        check(found, accepted(found.candidates), rejected(found.candidates))
    (reject,) = rejected(found.candidates).collect()
    assert reject.input == f"{tmp_path}/bad/cnn_stories.tgz"
    assert "an HTML or XML page" in reject.detail
    found = read(ingest_of(tmp_path / "good", tmp_path / "none"))
    with pytest.raises(SettingsError, match=r"ingest.sources\[1\].path \(.*/none\): no .story, .html, archive"):
        check(found, accepted(found.candidates), rejected(found.candidates))


def test_source_whose_articles_stand_elsewhere_too_is_no_error(
    read: Reader, spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, {f"one/{hexes(1)}.story": STORY, f"two/{hexes(1)}.story": STORY})
    found = read(ingest_of(tmp_path / "one", tmp_path / "two"))
    resolved = resolve_duplicates(found.candidates, articles=no_articles(spark), work=found.work)
    assert {r.reason for r in rejected(resolved).collect()} == {"duplicate_article"}
    check(found, accepted(resolved), rejected(resolved))


def test_missing_paths_name_their_setting(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"a.story": STORY})
    with pytest.raises(SettingsError, match=r"ingest.sources\[1\].path: no such file or folder: .*/nowhere"):
        find_roots(spark, ingest_of(tmp_path, tmp_path / "nowhere"))
    with_list = Source(path=str(tmp_path), url_lists=(str(tmp_path / "urls.txt"),))
    with pytest.raises(SettingsError, match=r"ingest.sources\[0\].url_lists\[0\]: no such file"):
        find_roots(spark, ingest_of(with_list))
    with pytest.raises(SettingsError, match=r"ingest.hermann_url_lists\[0\]: a folder"):
        find_roots(spark, ingest_of(tmp_path, hermann=(str(tmp_path),)))
    with pytest.raises(SettingsError, match=r"ingest\.sources is empty"):
        find_roots(spark, ingest_of())


def test_url_lists_join_on_the_exact_string(read: Reader, tmp_path: Path) -> None:
    """Public report 8: ids are the SHA-1 of the archive's URL, not of the page's own."""
    listed, bare = article_id_of_url(WAYBACK), article_id_of_url("http://www.cnn.com/2015/01/01/x/")
    write(
        tmp_path,
        {
            f"a/stories/{listed}.story": STORY,
            f"a/stories/{bare}.story": STORY,
            "a/my_urls.txt": f"{WAYBACK}\nhttp://gone.com/\n",
            "b.jsonl": json.dumps({"id": listed, "article": "Ann won."}),
            "c.tgz": tgz({f"{listed}.story": STORY}),
        },
    )
    found = read(ingest_of(tmp_path / "a", tmp_path / "b.jsonl", tmp_path / "c.tgz"))
    rows = {(r.source, r.article_id): (r.url, r.url_key, r.origin, r.notes) for r in found.rows()}
    hit: tuple[Any, ...] = (WAYBACK, "cnn.com/2015/01/01/x", "crawled", [])
    assert rows == {
        (0, listed): hit,
        (0, bare): (None, None, "crawled", ["url_not_listed"]),
        (1, listed): hit,
        (2, listed): hit,
    }
    missing = unmatched_urls(found.urls, articles=found.candidates).collect()
    assert [r.listed_url for r in missing] == ["http://gone.com/"]


@pytest.mark.parametrize("how", ["setting", "name"])
def test_hermann_lists_decide_the_origin(read: Reader, tmp_path: Path, how: str) -> None:
    name = "list.txt" if how == "setting" else "a/wayback_test_urls.txt"
    listed = article_id_of_url(WAYBACK)
    write(tmp_path, {f"a/{listed}.story": STORY, f"a/{hexes(1)}.story": STORY, name: WAYBACK})
    lists = (str(tmp_path / name),) if how == "setting" else ()
    rows = read(ingest_of(tmp_path / "a", hermann=lists)).rows()
    assert {r.article_id: r.origin for r in rows} == {listed: "hermann", hexes(1): "crawled"}


def test_only_new_and_changed_inputs_are_read(read: Reader, tmp_path: Path) -> None:
    corpus = {f"cnn/stories/{hexes(n)}.story": STORY for n in range(4)}
    write(tmp_path, {**corpus, f"cnn/tokens/{hexes(0)}.txt": TOKENS, "bad.story": "", "r.jsonl": "{"})
    ingest = ingest_of(tmp_path)
    first = read(ingest)
    assert first.work.count() == 6
    assert read(ingest, first.work).work.count() == 0
    # An edit of stand-off is an edit of its story.
    write(tmp_path, {f"cnn/stories/{hexes(9)}.story": STORY, f"cnn/entities/{hexes(0)}.txt": ENTITIES})
    os.utime(tmp_path / "bad.story", ns=(1, 1))
    work = read(ingest, first.work).work.collect()
    assert sorted(Path(r.path).name for r in work) == [f"{hexes(0)}.story", f"{hexes(9)}.story", "bad.story"]
    (edited,) = (r for r in work if hexes(0) in r.path)
    old = next(r for r in first.listed.collect() if hexes(0) in r.path)
    assert edited.signature > old.signature  # a later change sorts after an earlier one
    assert edited.entities_path == f"{tmp_path}/cnn/entities/{hexes(0)}.txt"


def test_file_under_two_sources_is_one_input_of_the_first(read: Reader, tmp_path: Path) -> None:
    write(tmp_path, {"sub/a.story": STORY, "b.story": STORY})
    rows = read(ingest_of(tmp_path / "sub", tmp_path)).listed.collect()
    assert sorted((Path(r.path).name, r.source) for r in rows) == [("a.story", 0), ("b.story", 1)]


def test_file_that_vanishes_after_listing_costs_only_itself(read: Reader, tmp_path: Path) -> None:
    write(tmp_path, {"a.story": STORY, "b.story": STORY, "c.tgz": tgz({"x.story": STORY}), "d.jsonl": "{}"})
    found = read(ingest_of(tmp_path))
    found.candidates.unpersist()
    for name in ("a.story", "c.tgz", "d.jsonl"):
        (tmp_path / name).unlink()
    reasons = {k: v[0] for k, v in found.summary().items()}
    gone = "unreadable_file"
    assert reasons == {"a.story": gone, "b.story": None, "c.tgz": gone, "d.jsonl": gone}


def test_truncated_archive_keeps_its_articles_and_names_the_file(read: Reader, tmp_path: Path) -> None:
    noise = random.Random(1)
    whole = tgz({f"{hexes(n)}.story": f"{n} {noise.randbytes(2_000).hex()}" for n in range(60)})
    write(tmp_path, {"cut.tgz": whole[: len(whole) // 2]})
    rows = read(ingest_of(tmp_path)).rows()
    assert [(r.source_item, r.reject_reason) for r in rows if r.reject_reason] == [("", "broken_archive")]
    assert len(rows) > 25


def test_last_of_the_members_with_one_name_counts(read: Reader, tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for content in (b"Old text.", b"New text."):
            info = tarfile.TarInfo("a.story")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    write(tmp_path, {"a.tar": out.getvalue()})
    assert [r.text for r in read(ingest_of(tmp_path)).rows()] == ["New text."]


def test_archive_and_folder_give_the_same_articles(read: Reader, tmp_path: Path, shared: Path) -> None:
    gum = tmp_path / "gum"
    shutil.copytree(shared / "data" / "gum", gum)
    with tarfile.open(tmp_path / "gum.tgz", "w:gz") as archive:
        archive.add(gum, arcname=".")
    columns = ["article_id", "text", "stand_off", "paragraphs", "highlights", "content_hash", "origin", "publisher"]
    found = []
    for source in (gum, tmp_path / "gum.tgz"):
        made = Source(path=str(source), url_lists=(str(gum / "urls.txt"),))
        found.append(
            sorted(accepted(read(ingest_of(made)).candidates).select(*columns, "url", "shingle_hashes").collect())
        )
    assert len(found[0]) == 54
    assert found[0] == found[1]
    assert {r.publisher for r in found[0]} == {"academic", "bio", "court", "interview", "news", "voyage"}
    assert all(article_id_of_url(r.url) == r.article_id for r in found[0])


@pytest.mark.parametrize(
    ("by_kind", "tasks"),
    [
        ({}, 1),
        ({"story": (1, 10)}, 1),
        ({"story": (1_001, 10)}, 3),
        ({"story": (400, 10), "page": (400, 10), "stand_off": (1, 10)}, 2),
        ({"archive": (4, 10**9)}, 4),
        ({"jsonl": (1, 5_000_001), "parquet": (1, 1)}, 3),
    ],
)
def test_reading_tasks(by_kind: dict[str, tuple[int, int]], tasks: int) -> None:
    assert reading_tasks(by_kind) == tasks
