"""Table 1 of the paper for any passages and triples: sizes, vocabularies, means per passage and query.

Tokens are whitespace tokens, which fits the paper best on 70 real rows (FORMATS.md, section 2): 21.4 per
query as in the paper (a Penn-Treebank tokenizer: 23.9), 164-168 per passage (184), the paper 169.3. The
marker @highlight is layout and does not count: it would add 4 per passage, which 70 rows can't tell
apart. @placeholder is one token. A vocabulary is the number of distinct tokens, case kept,
punctuation attached.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.story_text import HIGHLIGHT

SPLITS = ("train", "dev", "test", "overall")
MEASURES = {
    "queries": "queries",
    "passages": "unique passages",
    "passage_vocab": "passage vocab.",
    "query_vocab": "query vocab.",
    "tokens_per_passage": "tokens / passage",
    "entities_per_passage": "entities / passage",
    "tokens_per_query": "tokens / query",
}
# The paper's Table 1, in the order of SPLITS.
PAPER = {
    "queries": (100_730, 10_000, 10_000, 120_730),
    "passages": (65_709, 7_133, 7_279, 80_121),
    "passage_vocab": (352_491, 93_171, 94_386, 395_356),
    "query_vocab": (119_069, 30_844, 31_028, 134_397),
    "tokens_per_passage": (169.5, 168.6, 168.1, 169.3),
    "entities_per_passage": (17.8, 17.5, 17.3, 17.8),
    "tokens_per_query": (21.3, 22.1, 22.2, 21.4),
}
_NOTES = (
    "- The paper's figures are those of the finished data set, after machine and human filter.",
    "- Tokens: white space tokens, `@highlight` not counted, `@placeholder` one token.",
    "- Vocabulary: distinct tokens, case kept, punctuation attached; the paper does not say how it counted.",
)


def dataset_statistics(passages: DataFrame, triples: DataFrame) -> DataFrame:
    """The measures of Table 1 of the kept triples and their passages.

    One row for each split that occurs, and one for "overall": split, queries, passages,
    passage_vocab, query_vocab (long), tokens_per_passage, entities_per_passage, tokens_per_query.
    Without kept triples there are no rows.
    """
    queries = triples.where("keep")
    used = passages.where("keep").join(queries, on="article_id", how="left_semi")
    queries = queries.select(_splits(), whitespace_tokens("query").alias("tokens"))
    used = used.select(_splits(), F.size("entities").alias("entities"), whitespace_tokens("text").alias("tokens"))
    tokens = F.round(F.avg(F.size("tokens")), 1)
    parts = [
        queries.groupBy("split").agg(F.count("*").alias("queries"), tokens.alias("tokens_per_query")),
        used.groupBy("split").agg(
            F.count("*").alias("passages"),
            tokens.alias("tokens_per_passage"),
            F.round(F.avg("entities"), 1).alias("entities_per_passage"),
        ),
        _vocabulary(queries, "query_vocab"),
        _vocabulary(used, "passage_vocab"),
    ]
    joined = reduce(lambda left, right: left.join(right, on="split", how="inner"), parts)
    return joined.select("split", *MEASURES)


def _splits() -> Column:
    """A row counts twice: in its split, where it has one, and overall."""
    return F.explode(F.array_compact(F.array("split", F.lit(SPLITS[-1])))).alias("split")


def whitespace_tokens(column: str) -> Column:
    """Whitespace tokens as Python's str.split() gives them, without the marker of bullets."""
    # (?U): \s is Unicode's white space, to which Python adds the four ASCII separators.
    tokens = F.split(F.col(column), r"(?U)[\s\x1c-\x1f]+")
    return F.filter(tokens, lambda t: ~t.isin("", HIGHLIGHT))


def _vocabulary(texts: DataFrame, name: str) -> DataFrame:
    tokens = texts.select("split", F.explode("tokens").alias("token"))
    # First distinct, then counted: partial aggregation keeps the shuffle as small as the vocabulary.
    return tokens.distinct().groupBy("split").agg(F.count("*").alias(name))


def render_table_1(rows: Iterable[Mapping[str, Any]]) -> str:
    """Table 1 in Markdown: our columns, then the paper's. ``rows`` are those of ``dataset_statistics``."""
    ours = {row["split"]: row for row in rows}
    if unknown := ours.keys() - set(SPLITS):
        raise ValueError(f"splits {sorted(unknown)}: known are {', '.join(SPLITS)}")
    present = [split for split in SPLITS if split in ours]
    header = ["", *present, *(f"paper: {split}" for split in SPLITS)]
    lines = [header, ["---", *["---:"] * (len(header) - 1)]]
    for measure, label in MEASURES.items():
        figures = [*(ours[split][measure] for split in present), *PAPER[measure]]
        lines.append([label, *(f"{f:,.1f}" if isinstance(f, float) else f"{f:,}" for f in figures)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = []
    for label, *figures in lines:
        cells = [label.ljust(widths[0]), *(f.rjust(w) for f, w in zip(figures, widths[1:], strict=True))]
        table.append(f"| {' | '.join(cells)} |")
    return "\n".join(["# Table 1", "", *table, "", *_NOTES, ""])
