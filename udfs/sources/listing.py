"""Finding inputs in folders: which files belong to an article, and when they changed.

Layout of the public script: ``<folder>/stories/X.story`` with ``<folder>/tokens/X.txt``,
``<folder>/entities/X.txt`` and ``<folder>/downloads/X.html``, the page that the story was made from. Stories
without stand-off, pages, archives and record files may lie anywhere.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from udfs.sources.files import file_system_of

# Kind of input by the end of its name; a further format is a further line.
KINDS = (
    ("story", re.compile(r"\.story$", re.IGNORECASE)),
    ("page", re.compile(r"\.html?$", re.IGNORECASE)),
    ("archive", re.compile(r"\.(tar|tar\.gz|tgz)$", re.IGNORECASE)),
    ("jsonl", re.compile(r"\.(jsonl|json|ndjson)(\.gz)?$", re.IGNORECASE)),
    ("parquet", re.compile(r"\.parquet$", re.IGNORECASE)),
)
STAND_OFF_FOLDERS = ("tokens", "entities")
STORY_FOLDERS = ("stories", *STAND_OFF_FOLDERS)
PAGE_FOLDER = "downloads"
# Folders of the layouts that hold no input: finished questions, gold annotation.
IGNORED_FOLDERS = frozenset({"questions", "gold"})
_URL_LIST = re.compile(r".*urls\.txt$", re.IGNORECASE)
_HERMANN_URL_LIST = re.compile(r"wayback_(training|validation|test)_urls\.txt$")


@dataclass(frozen=True)
class Place:
    """A folder, or a single file, that one task lists. ``relative`` is the path below ``root``."""

    root: str
    relative: str
    recursive: bool = False
    is_file: bool = False


@dataclass(frozen=True)
class Found:
    """A file that belongs to an input. ``unit`` is the same for a story, its stand-off and its page."""

    role: str
    unit: str
    relative: str
    size: int
    modified_ns: int


@dataclass(frozen=True)
class Root:
    """What stands at a source's path. ``places`` is empty where there is nothing."""

    places: tuple[Place, ...]
    url_lists: tuple[str, ...] = ()
    hermann_url_lists: tuple[str, ...] = ()


def classify(relative: str) -> tuple[str, str] | None:
    """Role and unit of a file by its path within the source (or archive); None for what is no input.

    Examples: ``cnn/stories/a.story`` is ``("story", "cnn/stories/a")``, and so is what belongs to it:
    ``cnn/tokens/a.txt`` is ``("tokens", "cnn/stories/a")``, ``cnn/downloads/a.html`` ``("page", "cnn/stories/a")``.
    """
    *folders, name = relative.split("/")
    if name.startswith(".") or any(_is_ignored(f) for f in folders):
        return None
    parent = folders[-1] if folders else ""
    beside = [*folders[:-1], "stories"]
    if parent in STAND_OFF_FOLDERS:
        return (parent, "/".join([*beside, name[: -len(".txt")]])) if name.endswith(".txt") else None
    for kind, pattern in KINDS:
        if not (end := pattern.search(name)):
            continue
        if kind != "page" and PAGE_FOLDER in folders:
            return None
        if kind not in ("story", "page"):
            return kind, relative
        return kind, "/".join([*(beside if parent == PAGE_FOLDER else folders), name[: -len(end.group())]])
    return None


def _is_ignored(folder: str) -> bool:
    # A leading underscore is Spark's mark for folders that hold no data (_delta_log, _temporary).
    return folder.startswith((".", "_")) or folder in IGNORED_FOLDERS


def look_at(path: str) -> Root:
    """What stands at a source's path, looked at two levels deep so that large folders are listed by tasks of
    their own. A path that ends in ``stories`` is read with its sibling folders of stand-off, without the pages."""
    file_system, inside = file_system_of(path)
    kind = file_system.get_file_info(inside).type
    if kind == FileType.NotFound:
        return Root(())
    if kind == FileType.File:
        folder, _, name = path.rpartition("/")
        return Root((Place(folder, name, is_file=True),))
    if posixpath.basename(path) == "stories":
        root = posixpath.dirname(path)
        top = [e for e in _entries(root) if e.base_name in STORY_FOLDERS or e.type == FileType.File]
        places = [Place(root, e.base_name, recursive=True) for e in top if e.type == FileType.Directory]
    else:
        root, top = path, _entries(path)
        places = [Place(root, "")]
        for entry in top:
            if entry.type == FileType.Directory and not _is_ignored(entry.base_name):
                places += _places_below(root, entry.base_name)
    lists = sorted(e.base_name for e in top if e.type == FileType.File and _URL_LIST.match(e.base_name))
    return Root(
        tuple(places),
        tuple(f"{root}/{name}" for name in lists),
        tuple(f"{root}/{name}" for name in lists if _HERMANN_URL_LIST.match(name)),
    )


def _places_below(root: str, folder: str) -> Iterator[Place]:
    if folder in (*STORY_FOLDERS, PAGE_FOLDER):
        yield Place(root, folder, recursive=True)
        return
    yield Place(root, folder)
    for entry in _entries(f"{root}/{folder}"):
        if entry.type == FileType.Directory and not _is_ignored(entry.base_name):
            yield Place(root, f"{folder}/{entry.base_name}", recursive=True)


def _entries(path: str) -> list[FileInfo]:
    file_system, inside = file_system_of(path)
    entries = file_system.get_file_info(FileSelector(inside))
    return sorted(entries, key=lambda e: e.base_name)


def files_of(place: Place) -> Iterator[Found]:
    """The files of a place that belong to inputs, in order of path."""
    file_system, top = file_system_of(f"{place.root}/{place.relative}" if place.relative else place.root)
    for path, info in _listed(file_system, top, place):
        if info.type == FileType.File and (known := classify(path)):
            yield Found(*known, path, info.size or 0, info.mtime_ns or 0)


def _listed(file_system: FileSystem, top: str, place: Place) -> Iterator[tuple[str, FileInfo]]:
    if place.is_file:
        yield place.relative, file_system.get_file_info(top)
        return
    prefix = f"{place.relative}/" if place.relative else ""
    infos = file_system.get_file_info(FileSelector(top, recursive=place.recursive))
    for info in sorted(infos, key=lambda i: i.path):
        yield prefix + info.path[len(top.rstrip("/")) + 1 :], info
