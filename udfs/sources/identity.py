"""Who an article is: its id, its publisher, and a signature of what was read."""

import re
from collections.abc import Iterator
from hashlib import sha1
from pathlib import PurePosixPath

from udfs.article_urls import article_id_of_url, host_of
from udfs.sources.listing import PAGE_FOLDER, classify
from udfs.sources.outcomes import RawArticle, SourceRules

_SHA1 = re.compile(r"[0-9a-f]{40}", re.IGNORECASE)
_PUBLISHER_IN_PATH = re.compile(r"(?<![a-z])(cnn|daily[ _-]?mail)(?![a-z])", re.IGNORECASE)
_PUBLISHER_OF_HOST = {"cnn.com": "CNN", "dailymail.co.uk": "Daily Mail", "dailymail.com": "Daily Mail"}


def story_id(root: str, relative: str) -> str:
    """Id of a ``.story`` or page: its stem where that is a SHA-1, else the SHA-1 of its path from the source's
    folder on.

    The folder's name is part of it: two sources may both hold ``stories/1.story``.
    """
    stem = PurePosixPath(relative).stem
    if _SHA1.fullmatch(stem):
        return stem.lower()
    return sha1(f"{PurePosixPath(root).name}/{relative}".encode("utf-8", "surrogatepass")).hexdigest()


def signature_of(raw: RawArticle) -> str:
    """SHA-1 of what was read for an article: its id, URL and bytes, or why there are none.

    Files that hold many articles change without most of them: what an article's row says of its origin
    must not change then.
    """
    digest = sha1()
    parts = (raw.article_id, raw.url, raw.story, raw.tokens, raw.entities, raw.reject_reason, raw.reject_detail)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"-" if content is None else b"%d:" % len(content))
        digest.update(content or b"")
    return digest.hexdigest()


def record_id(identifier: str | None, url: str | None, path: str) -> str | None:
    """Id of a record: its own where that is a SHA-1, else the SHA-1 of its URL; None without id and URL.

    Where it has an id alone, the SHA-1 of folder, file and id: two files may both number from 1.
    """
    identifier = (identifier or "").strip()
    if _SHA1.fullmatch(identifier):
        return identifier.lower()
    if url and url.strip():
        return article_id_of_url(url.strip())
    return article_id_of_url(f"{'/'.join(path.split('/')[-2:])}#{identifier}") if identifier else None


def publisher_of(rules: SourceRules, relative: str, url: str | None) -> str | None:
    """The publisher: the setting, else a known name in the path or the URL, else the folder that holds
    ``stories/`` or ``downloads/``, else the URL's host."""
    if rules.publisher != "auto":
        return rules.publisher
    parts = PurePosixPath(relative).parts
    for part in (*reversed(parts), rules.name):
        names = {"CNN" if n.lower() == "cnn" else "Daily Mail" for n in _PUBLISHER_IN_PATH.findall(part)}
        if len(names) == 1:  # "cnn_dailymail" names neither
            return names.pop()
    host = host_of(url)
    for name in _and_parents(host or ""):
        if name in _PUBLISHER_OF_HOST:
            return _PUBLISHER_OF_HOST[name]
    folders = ("", rules.name, *parts[:-1])
    if (
        folders[-1] in ("stories", PAGE_FOLDER) and folders[-2] and not classify(folders[-2])
    ):  # "gum.tgz" is no publisher
        return folders[-2]
    return host


def _and_parents(host: str) -> Iterator[str]:
    """``edition.cnn.com``, ``cnn.com``, ``com``."""
    while host:
        yield host
        host = host.partition(".")[2]
