"""Rows that Spark staged as Parquet files, read one by one on an executor: never a whole set in memory."""

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileType

from udfs.sources.files import file_system_of, normal_path

_ROWS = 64


def staged_rows(folder: str) -> Iterator[dict[str, Any]]:
    """The rows of a folder's Parquet files, in order of file name and row; none where the folder is not there.

    Raises:
        OSError: the folder can't be read, or a file went while it was read.
    """
    file_system, path = file_system_of(normal_path(folder))
    files = (i.path for i in file_system.get_file_info(FileSelector(path, allow_not_found=True)) if _is_file(i.type))
    for name in sorted(f for f in files if f.endswith(".parquet")):
        with file_system.open_input_file(name) as file:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=_ROWS):
                yield from batch.to_pylist()


def _is_file(kind: FileType) -> bool:
    return bool(kind == FileType.File)
