"""The rules on Arrow batches: an article that fails costs only itself, and spans of another text are seen."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from tests.builders import article_id, make_article
from udfs.cloze import ClozeRules
from udfs.cloze_queries import CLOZE_INPUT, CLOZE_OUTPUT, PASSED, cloze_row, make_cloze_batches
from udfs.sentence_split import split_sentences
from udfs.spans import Span

RULES = ClozeRules(min_first_part_tokens=5, min_first_part_entities=4, min_sentence_tokens=4, overlap_ngram=3)
BODY = (
    "[Ann Ray|ann] of [Oslo|oslo] met [Bo Lin|bo] for [Fox Film|fox] today.\n\n"
    "Later that week [Ray|ann] called for help.\n\n@highlight\n\n[Ray|ann] meets [Lin|bo]"
)


def annotated(n: int, **values: Any) -> dict[str, Any]:
    article = make_article(BODY, n)
    sentences = split_sentences(article["text"], [Span(**p) for p in article["paragraphs"]])
    row = article | {
        "sentences": [s._asdict() for s in sentences],
        "mentions": [m | {"type": None} for m in article["stand_off"]],
        "fingerprint": f"f{n}",
    }
    return {name: row[name] for name in (*PASSED, *CLOZE_INPUT)} | values


def test_article_that_fails_costs_only_itself() -> None:
    outside = [{"start": 5, "end": 900, "cluster": 0, "type": None}]
    without_end = [{"start": 0, "end": None, "cluster": 0, "type": None}]
    rows = [annotated(1), annotated(2, mentions=outside), annotated(3), annotated(4, mentions=without_end)]
    done: list[int] = []
    (made,) = make_cloze_batches(RULES, done.append)(iter([pa.RecordBatch.from_pylist(rows)]))
    assert made.schema == to_arrow_schema(CLOZE_OUTPUT)
    assert done == [4]
    found = made.to_pylist()
    assert [(r["article_id"], r["fingerprint"]) for r in found] == [(article_id(n), f"f{n}") for n in (1, 2, 3, 4)]
    assert [(r["error"] or "").partition(":")[0] for r in found] == ["", "ValueError", "", "TypeError"]
    for good in (found[0], found[2]):
        assert [q["query"] for q in good["queries"]] == ["Later that week @placeholder called for help."]
    for bad in (found[1], found[3]):
        assert (bad["passage"], bad["sentences"], bad["queries"]) == (None, None, None)


@pytest.mark.parametrize("column", ["paragraphs", "highlights", "sentences", "mentions"])
@pytest.mark.parametrize("span", [(-1, 4), (7, 6), (0, 100_000)])
def test_spans_of_another_text_are_an_error(column: str, span: tuple[int, int]) -> None:
    row = annotated(1)
    row[column] = [*row[column], {"start": span[0], "end": span[1], "cluster": 0, "type": None}]
    with pytest.raises(ValueError, match=rf"{column[:-1]} \[{span[0]}, {span[1]}\) is not inside the article's \d+ ch"):
        cloze_row(*(row[name] for name in CLOZE_INPUT), rules=RULES)
