"""Reading sources: listing, identity, archives, records, and one article of its bytes."""

from hashlib import sha1
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from udfs.sources.arrow_batches import CANDIDATE_SCHEMA, MAX_ROWS, read_stories
from udfs.sources.articles import content_hash, make_candidate
from udfs.sources.files import MAX_STORY_BYTES, file_system_of, normal_path, read_small_file
from udfs.sources.identity import publisher_of, record_id, story_id
from udfs.sources.listing import Place, classify, files_of, look_at
from udfs.sources.outcomes import REJECT_REASONS, Candidate, RawArticle, SourceRules
from udfs.spans import Mention

ID = "2ac7ec1e2f9c14f641b63b232600fe25f5a49b2b"
WAYBACK = (
    "http://web.archive.org/web/20111016030125id_/http://www.cnn.com:80/2011/10/13/opinion/iranianplotsamerican-hubris/"
)
RULES = SourceRules("data", "auto", "auto", False)
PAGE = b"<!DOCTYPE html><html><head><title>Google Drive - Quota exceeded</title></head>" + b"<p>x</p>" * 250
STORY = "Zoë Ray met Al-Din.\n\nRay left Paris.\n\n@highlight\n\nRay met Al-Din in Paris"
TOKENS = b"0,3;5,2;9,2;13,1;15,0;16,2;19,0;22,2;26,3;31,4;36,0;39,0;40,8;51,2;55,2;59,1;61,0;62,2;66,1;69,4"
ENTITIES = b"0,0,1;1,3,5;0,7,7;2,9,9;0,13,13;1,15,17;2,19,19"


# --- listing


@pytest.mark.parametrize(
    ("relative", "role_and_unit"),
    [
        ("cnn/stories/a.story", ("story", "cnn/stories/a")),
        ("cnn/tokens/a.txt", ("tokens", "cnn/stories/a")),
        ("entities/a.txt", ("entities", "stories/a")),
        ("a.story", ("story", "a")),
        ("A.STORY", ("story", "A")),
        ("x/b.tar.gz", ("archive", "x/b.tar.gz")),
        ("b.tgz", ("archive", "b.tgz")),
        ("b.tar", ("archive", "b.tar")),
        ("c.jsonl", ("jsonl", "c.jsonl")),
        ("c.jsonl.gz", ("jsonl", "c.jsonl.gz")),
        ("c.json", ("jsonl", "c.json")),
        ("d/part-0.parquet", ("parquet", "d/part-0.parquet")),
        ("tokens/a.story", None),
        ("cnn/notes.txt", None),
        ("LICENSE", None),
        ("page.html", ("page", "page")),
        ("cnn/stories/a.htm", ("page", "cnn/stories/a")),
        ("cnn/downloads/a.HTML", ("page", "cnn/stories/a")),
        ("downloads/a.html", ("page", "stories/a")),
        ("downloads/2015/a.html", ("page", "downloads/2015/a")),
        ("tokens/a.html", None),
        ("cnn/gold/a.html", None),
        ("cnn/downloads/a.jsonl", None),
        ("cnn/downloads/2015/a.story", None),
        (".hidden.story", None),
        (".git/a.story", None),
        ("t/_delta_log/0.json", None),
        ("cnn/questions/training/a.story", None),
        ("cnn/downloads/a.story", None),
        ("cnn/gold/a.json", None),
    ],
)
def test_classify_knows_the_layouts(relative: str, role_and_unit: tuple[str, str] | None) -> None:
    assert classify(relative) == role_and_unit


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def listed(path: Path) -> list[tuple[str, str]]:
    return sorted((f.role, f.relative) for place in look_at(str(path)).places for f in files_of(place))


def test_look_at_finds_every_file_once_at_any_depth(tmp_path: Path) -> None:
    names = [
        "a.story",
        "cnn/b.story",
        "cnn/stories/c.story",
        "cnn/tokens/c.txt",
        "y/2024/01/02/d.story",
        "stories/e.story",
        "cnn/downloads/h.html",
        "downloads/2015/i.htm",
    ]
    write(tmp_path, {n: "x" for n in [*names, "cnn/gold/f.json", "downloads/g.story", "x_urls.txt", "README.txt"]})
    assert sorted(n for _, n in listed(tmp_path)) == sorted(names)
    root = look_at(str(tmp_path))
    assert root.url_lists == (f"{tmp_path}/x_urls.txt",)
    assert len({p.relative for p in root.places}) == len(root.places)


def test_look_at_takes_hermanns_lists_by_their_names(tmp_path: Path) -> None:
    write(tmp_path, {"wayback_test_urls.txt": WAYBACK, "test_urls.txt": WAYBACK, "stories/a.story": "x"})
    root = look_at(str(tmp_path))
    assert root.hermann_url_lists == (f"{tmp_path}/wayback_test_urls.txt",)
    assert len(root.url_lists) == 2


def test_look_at_a_stories_folder_brings_its_stand_off(tmp_path: Path) -> None:
    write(tmp_path, {f"{d}/a.{'story' if d == 'stories' else 'txt'}": "x" for d in ("stories", "tokens", "entities")})
    write(tmp_path, {"other/b.story": "x", "c.story": "x"})
    expected = [("entities", "entities/a.txt"), ("story", "stories/a.story"), ("tokens", "tokens/a.txt")]
    assert listed(tmp_path / "stories") == expected


def test_look_at_a_file_and_at_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": "{}"})
    assert look_at(f"{tmp_path}/a.jsonl").places == (Place(str(tmp_path), "a.jsonl", is_file=True),)
    assert listed(tmp_path / "a.jsonl") == [("jsonl", "a.jsonl")]
    assert look_at(f"{tmp_path}/b").places == ()


def test_normal_path_makes_local_paths_absolute_and_keeps_uris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert normal_path("a/../b/") == f"{tmp_path}/b"
    assert normal_path(f"file://{tmp_path}/a%20b/") == f"{tmp_path}/a b"
    assert normal_path("s3a://bucket/x/") == "s3://bucket/x"
    assert normal_path("hdfs://node:8020/x/") == "hdfs://node:8020/x"
    assert normal_path("a:b") == f"{tmp_path}/a:b"


def test_file_system_of_a_uri_opens_the_path_within_it(tmp_path: Path) -> None:
    write(tmp_path, {"a b.story": "Ann won."})
    file_system, inside = file_system_of(f"file://{tmp_path}/a b.story")
    assert file_system.open_input_stream(inside).read() == b"Ann won."
    assert read_small_file(f"file://{tmp_path}/a b.story") == b"Ann won."


# --- identity


def test_story_id_is_its_stem_or_the_sha1_of_its_path() -> None:
    assert story_id("/a", f"cnn/stories/{ID}.story") == story_id("/b", f"{ID.upper()}.story") == ID
    assert story_id("/news/a", "cnn/stories/aa.story") == sha1(b"a/cnn/stories/aa.story").hexdigest()
    assert story_id("a", f"{ID}0.story") == sha1(f"a/{ID}0.story".encode()).hexdigest()
    assert story_id("/news/x", "stories/1.story") != story_id("/news/y", "stories/1.story")


@pytest.mark.parametrize(
    ("identifier", "url", "expected"),
    [
        (ID, "http://a.com", ID),
        (ID.upper(), None, ID),
        (None, WAYBACK, ID),
        ("17", WAYBACK, ID),
        ("17", None, sha1(b"cnn/train.jsonl#17").hexdigest()),
        (" 17 ", "  ", sha1(b"cnn/train.jsonl#17").hexdigest()),
        (None, None, None),
        ("", " ", None),
    ],
)
def test_record_id(identifier: str | None, url: str | None, expected: str | None) -> None:
    assert record_id(identifier, url, "/news/cnn/train.jsonl") == expected


@pytest.mark.parametrize(
    ("name", "relative", "url", "publisher"),
    [
        ("data", "cnn/stories/a.story", None, "CNN"),
        ("data", "Daily_Mail/stories/a.story", None, "Daily Mail"),
        ("dailymail", "stories/a.story", None, "Daily Mail"),
        ("data", "cnn_stories.tgz/stories/a.story", None, "CNN"),
        ("cnn_dailymail", "train.parquet", None, None),
        ("cnn_dailymail", "dailymail/a.story", None, "Daily Mail"),
        ("cnnews", "a.story", None, None),
        ("data", "a.jsonl", "http://edition.cnn.com/x", "CNN"),
        ("data", "a.jsonl", "https://www.dailymail.co.uk/x", "Daily Mail"),
        ("data", "a.jsonl", "https://www.bbc.co.uk/x", "bbc.co.uk"),
        ("gum", "news/stories/a.story", "https://en.wikinews.org/x", "news"),
        ("news", "stories/a.story", None, "news"),
        ("data", "gum.tgz/stories/a.story", None, None),
        ("data", "a.story", None, None),
        ("gum", "news/downloads/a.html", None, "news"),
        ("data", "cnn/downloads/a.html", None, "CNN"),
    ],
)
def test_publisher_of(name: str, relative: str, url: str | None, publisher: str | None) -> None:
    assert publisher_of(SourceRules(name, "auto", "auto", False), relative, url) == publisher
    assert publisher_of(SourceRules(name, "auto", "The Herald", False), relative, url) == "The Herald"


# --- one article


def candidate(story: bytes, tokens: bytes | None = None, entities: bytes | None = None, **more: Any) -> Candidate:
    rules = more.pop("rules", RULES)
    raw = RawArticle(0, "/d/a.story", "", "s", "story", "a.story", ID, story=story, tokens=tokens, entities=entities)
    for name, value in more.items():
        setattr(raw, name, value)
    return make_candidate(raw, rules)


def surfaces(row: Candidate) -> list[str]:
    assert row.text is not None
    assert row.stand_off is not None
    return [row.text[m.start : m.end] for m in row.stand_off]


NAMES = ["Zoë Ray", "Al-Din", "Ray", "Paris", "Ray", "Al-Din", "Paris"]


def test_article_keeps_text_spans_stand_off_and_hashes() -> None:
    row = candidate(STORY.encode(), TOKENS, ENTITIES)
    assert (row.reject_reason, row.notes, row.text) == (None, [], STORY)
    assert [STORY[s:e] for s, e in row.paragraphs or ()] == ["Zoë Ray met Al-Din.", "Ray left Paris."]
    assert [STORY[s:e] for s, e in row.highlights or ()] == ["Ray met Al-Din in Paris"]
    assert surfaces(row) == NAMES
    assert row.origin == "hermann"
    assert row.content_hash == content_hash(STORY, row.stand_off)
    assert row.fold in range(5)
    assert len(row.shingle_hashes) == 64


def test_content_hash_sees_text_and_stand_off() -> None:
    some = [Mention(0, 3, 1)]
    hashes = [content_hash("Ray", so) for so in (None, [], some, [Mention(0, 3, 2)])] + [content_hash("ray", some)]
    assert len(set(hashes)) == 5


@pytest.mark.parametrize(
    ("story", "repair"),
    [
        (STORY.encode(), None),
        (STORY.encode() + b"\n", None),
        (b"\xef\xbb\xbf" + STORY.encode(), None),
        (STORY.encode("utf-16"), None),
        (STORY.encode("cp1252"), None),
        (STORY.replace("\n", "\r\n").encode(), "line_feeds"),
        (STORY.replace("\n", "\r\n").encode("utf-16"), "line_feeds"),
        (STORY.replace("\n", "\r").encode(), None),
        (b"\n\n" + STORY.encode(), "stripped"),
        (b"\r\n" + STORY.replace("\n", "\r\n").encode() + b"\r\n", "stripped_line_feeds"),
    ],
)
def test_stand_off_fits_a_story_that_was_copied_about(story: bytes, repair: str | None) -> None:
    row = candidate(story, TOKENS, ENTITIES)
    assert surfaces(row) == NAMES
    assert [n for n in row.notes if n.startswith("stand_off")] == ([f"stand_off_repaired:{repair}"] if repair else [])
    assert len(row.paragraphs or ()) == 2
    assert len(row.highlights or ()) == 1


def shifted(by: int) -> bytes:
    return ";".join(f"{int(s) + by},{n}" for s, n in (t.split(",") for t in TOKENS.decode().split(";"))).encode()


def test_stand_off_made_with_the_byte_order_mark_fits() -> None:
    row = candidate(b"\xef\xbb\xbf" + STORY.encode(), shifted(3), ENTITIES)
    assert surfaces(row) == NAMES
    assert row.text == STORY
    assert row.notes == ["decoded_by_mark:utf-8", "stand_off_repaired:byte_order_mark"]


def test_stand_off_whose_first_token_holds_the_byte_order_mark_fits() -> None:
    tokens = b"0,6;" + shifted(3).partition(b";")[2]
    assert surfaces(candidate(b"\xef\xbb\xbf" + STORY.encode(), tokens, ENTITIES)) == NAMES


def test_stand_off_over_single_bytes_or_characters_fits() -> None:
    # The story in windows-1252: there "Zoë" is three bytes.
    tokens = b"0,2;" + shifted(-1).partition(b";")[2]
    row = candidate(STORY.encode("cp1252"), tokens, ENTITIES)
    assert surfaces(row) == NAMES
    assert row.notes == ["decoded_as:windows-1252", "stand_off_repaired:characters"]


def test_stand_off_made_on_line_feeds_is_never_shifted() -> None:
    """Public report 7: offsets on another copy of the story gave a line break in place of "Bo"."""
    tokens = b"0,0;1,2;4,0;6,2;10,2;13,0;16,1;19,3;23,0"
    row = candidate(b"(CNN) Ann won.\r\n\r\nBo lost.", tokens, b"0,6,6")
    assert surfaces(row) == ["Bo"]
    assert [tuple(m)[:2] for m in row.stand_off or ()] == [(16, 18)]
    assert row.text == "(CNN) Ann won.\n\nBo lost."


def test_stand_off_of_another_story_is_left_out_with_a_note() -> None:
    row = candidate(b"Bo Lin lost.\n\n@highlight\n\nBo lost", TOKENS, ENTITIES)
    assert (row.reject_reason, row.stand_off, row.origin) == (None, None, "hermann")
    assert len(row.notes) == 1
    assert row.notes[0].startswith("stand_off_misaligned:")
    assert "20 tokens do not fit" in row.notes[0]


@pytest.mark.parametrize(
    ("tokens", "entities", "note"),
    [
        (TOKENS, None, "stand_off_incomplete:no entities"),
        (None, ENTITIES, "stand_off_incomplete:no tokens"),
        (b"", ENTITIES, "stand_off_misaligned:no tokens"),
        (b"\xff\xfe,1", ENTITIES, "stand_off_misaligned:tokens: entry 'ÿþ,1' is not numbers"),
    ],
)
def test_unusable_stand_off_is_left_out_with_a_note(tokens: bytes | None, entities: bytes | None, note: str) -> None:
    row = candidate(STORY.encode(), tokens, entities)
    assert (row.stand_off, row.notes, row.reject_reason) == (None, [note], None)


def test_dropped_mentions_are_counted() -> None:
    row = candidate(STORY.encode(), TOKENS, b"9,0,0;" + ENTITIES + b";5,5,7;5,99,99")
    assert row.notes == ["mentions_dropped:2"]
    assert surfaces(row) == ["Zoë", *NAMES]


@pytest.mark.parametrize(
    ("story", "reason"),
    [
        (b"", "empty"),
        (b"\n \n", "empty"),
        (b"Ann\x00won", "undecodable"),
        (PAGE, "error_page"),
        (b"@highlight\n\nAnn wins", "no_body"),
        (b"a" * (MAX_STORY_BYTES + 1), "unreadable_file"),
    ],
)
def test_unusable_story_is_a_reject(story: bytes, reason: str) -> None:
    row = candidate(story)
    assert row.reject_reason == reason
    assert row.reject_reason in REJECT_REASONS
    assert row.reject_detail
    assert (row.article_id, row.text, row.fold) == (ID, None, None)


def test_literal_marker_inside_a_line_is_text() -> None:
    row = candidate(b"He wrote @highlight twice.\n\n@highlight\n\nA marker")
    assert row.text is not None
    assert [row.text[s:e] for s, e in row.paragraphs or ()] == ["He wrote @highlight twice."]
    assert [row.text[s:e] for s, e in row.highlights or ()] == ["A marker"]


@pytest.mark.parametrize(
    ("origin", "tokens", "in_list", "expected"),
    [
        ("auto", None, False, "crawled"),
        ("auto", None, True, "hermann"),
        ("auto", TOKENS, False, "hermann"),
        ("crawled", TOKENS, True, "crawled"),
        ("hermann", None, False, "hermann"),
    ],
)
def test_origin(origin: str, tokens: bytes | None, in_list: bool, expected: str) -> None:
    rules = SourceRules("data", origin, "auto", False)
    assert candidate(STORY.encode(), tokens, rules=rules, in_hermann_list=in_list).origin == expected


def test_url_comes_from_the_record_or_the_list_and_its_absence_is_noted() -> None:
    rules = SourceRules("data", "auto", "auto", True)
    row = candidate(STORY.encode(), rules=rules, listed_url=WAYBACK)
    assert (row.url, row.notes) == (WAYBACK, [])
    assert row.url_key == "cnn.com/2011/10/13/opinion/iranianplotsamerican-hubris"
    assert candidate(STORY.encode(), rules=rules).notes == ["url_not_listed"]
    assert candidate(STORY.encode(), url="http://a.com/x").url_key == "a.com/x"


def test_every_gum_article_is_read_without_repair(shared: Path) -> None:
    for path in sorted((shared / "data" / "gum").glob("*/stories/*.story")):
        stand_off = [path.parents[1] / kind / f"{path.stem}.txt" for kind in ("tokens", "entities")]
        row = candidate(path.read_bytes(), *(p.read_bytes() for p in stand_off))
        assert (row.reject_reason, row.notes) == (None, [])
        # The same with the line ends of another system: the same names.
        copy = path.read_bytes().replace(b"\n", b"\r\n")
        assert surfaces(candidate(copy, *(p.read_bytes() for p in stand_off))) == surfaces(row)


# --- batches


def test_batches_are_bounded_and_keep_empty_lists_and_nulls_apart(tmp_path: Path) -> None:
    count = MAX_ROWS + 10
    write(tmp_path, {f"{i}.story": STORY if i else "Ann won." for i in range(count)})
    write(tmp_path, {"tokens.txt": TOKENS, "entities.txt": b""})
    names = ("source", "kind", "path", "relative", "article_id", "tokens_path", "entities_path")
    rows = [
        dict(zip(names, (0, "story", f"{tmp_path}/{i}.story", f"{i}.story", ID, None, None), strict=True))
        | {"listed_url": None, "in_hermann_list": False}
        for i in range(count)
    ]
    rows[1] |= {"tokens_path": f"{tmp_path}/tokens.txt", "entities_path": f"{tmp_path}/entities.txt"}
    rows[2]["path"] = f"{tmp_path}/gone.story"
    batches = list(read_stories(iter([pa.RecordBatch.from_pylist(rows)]), [RULES]))
    assert [b.num_rows for b in batches] == [MAX_ROWS, 10]
    found = pa.Table.from_batches(batches).to_pylist()
    assert pa.Table.from_batches(batches).schema == CANDIDATE_SCHEMA
    assert [r["highlights"] for r in found[:3]] == [[], [{"start": 50, "end": 73}], None]
    assert [r["stand_off"] for r in found[:3]] == [None, [], None]
    assert found[2]["reject_reason"] == "unreadable_file"
    assert "FileNotFoundError" in found[2]["reject_detail"]
    assert len(found[3]["shingle_hashes"]) == 64
