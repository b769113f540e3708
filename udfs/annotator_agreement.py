"""How far two annotations of one article agree: on its named mentions, and on which of them are one entity.

The counts are those of the usual measures: with the line's annotation as gold, ``common / found`` is precision,
``common / line`` recall. Summed over articles, they give micro averages.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from udfs.spans import Mention, Span


class Agreement(NamedTuple):
    """Counts of one article. A link is a pair of mentions in one cluster; both mentions must be common for it to be."""

    line_mentions: int
    found_mentions: int
    common_mentions: int
    line_links: int
    found_links: int
    common_links: int


def agreement(line: Iterable[Mention], found: Iterable[Mention]) -> Agreement:
    """Mentions are the same where both ends are; types don't count, since stand-off has none."""
    of_line, of_found = _clusters(line), _clusters(found)
    line_links, found_links = set(_links(of_line)), set(_links(of_found))
    return Agreement(
        len(of_line),
        len(of_found),
        len(of_line.keys() & of_found.keys()),
        len(line_links),
        len(found_links),
        len(line_links & found_links),
    )


def _clusters(mentions: Iterable[Mention]) -> dict[Span, int]:
    """The cluster of each span; of two mentions of one span the first counts."""
    found: dict[Span, int] = {}
    for mention in mentions:
        found.setdefault(Span(mention.start, mention.end), mention.cluster)
    return found


def _links(clusters: dict[Span, int]) -> Iterator[tuple[Span, Span]]:
    by_cluster: defaultdict[int, list[Span]] = defaultdict(list)
    for span in sorted(clusters):
        by_cluster[clusters[span]].append(span)
    for spans in by_cluster.values():
        yield from combinations(spans, 2)


COUNTS = T.StructType([T.StructField(name, T.LongType()) for name in Agreement._fields])
COMPARED = T.StructType([T.StructField("article_id", T.StringType()), *COUNTS.fields])


def agreement_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For ``mapInArrow``: article_id and two columns of mentions, ``line`` and ``found``, in; ``COMPARED`` out."""
    schema = to_arrow_schema(COMPARED)
    for batch in batches:
        rows = (
            {"article_id": row["article_id"], **agreement(_mentions(row["line"]), _mentions(row["found"]))._asdict()}
            for row in batch.to_pylist()
        )
        yield pa.RecordBatch.from_pylist(list(rows), schema=schema)


def _mentions(rows: Iterable[dict[str, Any]]) -> list[Mention]:
    return [Mention(**row) for row in rows]
