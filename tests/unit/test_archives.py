"""Tar archives of stories: streams, breaks, and files that are no archives."""

import gzip
import io
import random
import tarfile

import pytest

from udfs.sources.archives import BadArchive, Member, members_of
from udfs.sources.files import MAX_STORY_BYTES

PAGE = b"<!DOCTYPE html><html><head><title>Google Drive - Quota exceeded</title></head>" + b"<p>x</p>" * 250


def tar(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def opened(content: bytes) -> tuple[list[Member], str | None, str]:
    members: list[Member] = []
    try:
        for member in members_of(io.BytesIO(content)):
            members.append(member)
    except BadArchive as error:
        return members, error.reason, error.detail
    return members, None, ""


def many(n: int) -> dict[str, bytes]:
    noise = random.Random(1)
    return {f"cnn/stories/{i}.story": f"Story {i} {noise.randbytes(3_000).hex()}".encode() for i in range(n)}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_archive_gives_stories_stand_off_and_pages_as_they_come(mode: str) -> None:
    files = {
        "./cnn/stories/a.story": b"A",
        "cnn/tokens/a.txt": b"0,0",
        "cnn/downloads/a.html": b"P",
        "cnn/x.png": b"-",
        "cnn/stories/._a.story": b"-",
    }
    members, reason, _ = opened(tar(files, mode))
    assert reason is None
    assert members == [
        Member("story", "cnn/stories/a", "cnn/stories/a.story", b"A"),
        Member("tokens", "cnn/stories/a", "cnn/tokens/a.txt", b"0,0"),
        Member("page", "cnn/stories/a", "cnn/downloads/a.html", b"P"),
    ]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.77, 0.93])
def test_truncated_archive_keeps_what_came_before_the_break(mode: str, share: float) -> None:
    files = many(40)
    whole = tar(files, mode)
    members, reason, detail = opened(whole[: int(len(whole) * share)])
    assert reason == "broken_archive"
    # At most the story in which the archive breaks, and the one that the compressor had not finished, are lost.
    assert len(members) >= 40 * share - 3
    assert f"after {len(members)} articles" in detail
    assert all(files[m.name] == m.content for m in members)


def test_archive_cut_between_two_members_is_seen() -> None:
    whole = tar({"a.story": b"A" * 512, "b.story": b"B" * 512}, "w")
    members, reason, detail = opened(whole[:1024])
    assert ([m.name for m in members], reason) == (["a.story"], "broken_archive")
    assert "cut off" in detail


def test_archive_cut_in_a_header_is_seen() -> None:
    whole = tar({"a.story": b"A" * 512, "b.story": b"B" * 512}, "w")
    assert opened(whole[:1300])[1] == "broken_archive"


def test_archive_with_a_damaged_header_is_seen() -> None:
    whole = bytearray(tar({"a.story": b"A" * 512, "b.story": b"B" * 512}, "w"))
    whole[1024:1200] = b"\xff" * 176
    members, reason, detail = opened(bytes(whole))
    assert ([m.name for m in members], reason) == (["a.story"], "broken_archive")
    assert "damaged header at byte 1024" in detail


def test_archive_with_a_wrong_checksum_is_seen() -> None:
    whole = bytearray(tar(many(3)))
    whole[-8] ^= 1
    members, reason, _ = opened(bytes(whole))
    assert (len(members), reason) == (3, "broken_archive")


@pytest.mark.parametrize(
    ("content", "reason", "says"),
    [
        (PAGE, "not_an_archive", "an HTML or XML page"),
        (b"\xef\xbb\xbf\n<html>", "not_an_archive", "an HTML or XML page"),
        (b"just some text", "not_an_archive", "no tar archive"),
        (gzip.compress(PAGE), "not_an_archive", "no tar archive"),
        (b"\x1f\x8b\x08broken", "not_an_archive", "no tar archive"),
        (b"", "empty", "0 bytes"),
        (tar({"README": b"x"}), "not_articles", "1 files"),
        (tar({"tokens/a.txt": b"0,0"}), "not_articles", "none of them a .story or .html"),
        (tar({}), "not_articles", "0 files"),
    ],
)
def test_file_that_is_no_archive_of_stories_names_its_fault(content: bytes, reason: str, says: str) -> None:
    _, found, detail = opened(content)
    assert found == reason
    assert says in detail


def test_archive_of_pages_alone_is_sound() -> None:
    members, reason, _ = opened(tar({"a.html": b"<html>"}))
    assert ([m.role for m in members], reason) == (["page"], None)


def test_archive_takes_a_story_larger_than_any_only_up_to_the_limit() -> None:
    members, reason, _ = opened(tar({"a.story": b"a" * (MAX_STORY_BYTES + 999), "b.story": b"b"}))
    assert ([len(m.content) for m in members], reason) == ([MAX_STORY_BYTES + 1, 1], None)
