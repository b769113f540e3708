"""The annotators' bench on one gold article whose figures are computed by hand."""

import json
from pathlib import Path

import pytest

from tests.benchmarks import bench_annotators
from tests.benchmarks.annotation_scores import (
    GoldError,
    bundled_gold,
    load_scorer,
    read_gold,
    scores,
    sentence_end_f1,
    system_rows,
)
from udfs.annotators.base import Annotation
from udfs.spans import Mention, Span

TEXT = "Ann Ray met Bo Zed in Oslo. Ray left Monday."
ANN_RAY, BO_ZED, OSLO, RAY, MONDAY = (0, 7), (12, 18), (22, 26), (28, 31), (37, 43)
ENDS = (27, 44)


def gold_document() -> dict:
    named = [(ANN_RAY, "person", "ann"), (BO_ZED, "person", "bo"), (OSLO, "place", "oslo"), (RAY, "person", "ann")]
    words = [(0, 3), (4, 7), (8, 11), (12, 15), (16, 18), (19, 21), (22, 26), (28, 31), (32, 36), (37, 43)]
    tokens = [[start, end, "PROPN" if TEXT[start].isupper() else "X"] for start, end in words]
    mentions = [
        {
            "start": span[0], "end": span[1], "name": list(span), "type": type_, "ent": entity, "named": True,
            "optional": False, "xpos": "NNP", "core": [t[:2] for t in tokens if span[0] <= t[0] < span[1]],
            "core_x": [],
        }
        for span, type_, entity in named
    ]  # fmt: skip
    sentences = [[0, ENDS[0]], [28, ENDS[1]]]
    return {"id": "a", "text": TEXT, "tokens": tokens, "mentions": mentions, "sents": sentences}


# Oslo is missed, Monday is no name and stands with Ann Ray, Bo Zed has a wrong type, one sentence ends wrongly.
ANNOTATION = Annotation(
    sentences=(Span(0, 20), Span(21, ENDS[0])),
    tokens=(),
    mentions=(
        Mention(*ANN_RAY, 0, "PERSON"),
        Mention(*BO_ZED, 1, "ORG"),
        Mention(*RAY, 0, "PERSON"),
        Mention(*MONDAY, 0, "ORG"),
    ),
)


def test_scores_of_a_hand_made_article(shared: Path) -> None:
    scorer = load_scorer(shared / "tools" / "score_annotations.py")
    documents = [gold_document()]
    found = scores(scorer, documents, system_rows(documents, [ANNOTATION]))
    assert found["ner"] == pytest.approx((3 / 4, 3 / 4, 3 / 4))  # 3 of 4 found, 3 of 4 right
    assert found["typed"] == pytest.approx((2 / 4, 2 / 4, 2 / 4))
    assert found["link"] == pytest.approx((1 / 3, 1, 1 / 2))  # 3 pairs given, one of them right, and one in the gold
    assert found["hard"] == pytest.approx((1, 1))  # that one's names differ
    precision, recall = (2 / 3 + 2 / 3 + 1) / 3, 3 / 4
    assert found["b3"] == pytest.approx((precision, recall, 2 * precision * recall / (precision + recall)))
    assert found["gold_pairs"] == 1


def test_baseline_of_the_scorer_ignores_the_clusters_given(shared: Path) -> None:
    scorer = load_scorer(shared / "tools" / "score_annotations.py")
    documents = [gold_document()]
    rows = system_rows(documents, [ANNOTATION])
    assert scores(scorer, documents, rows, "exact")["link"] == pytest.approx((0, 0, 0))
    assert scores(scorer, documents, rows, "name")["link"] == pytest.approx((1, 1, 1))


def test_sentence_ends_are_pooled_and_absent_without_gold() -> None:
    document = gold_document()
    assert sentence_end_f1([document], [ANNOTATION.sentences]) == pytest.approx(1 / 2)
    without = {**document, "sents": []}
    assert sentence_end_f1([document, without], [ANNOTATION.sentences] * 2) == pytest.approx(1 / 2)
    assert sentence_end_f1([without], [ANNOTATION.sentences]) is None


def test_table_shows_what_was_measured() -> None:
    half = (1 / 2, 1 / 2, 1 / 2)
    quality = {"ner": half, "typed": half, "link": (1 / 3, 1, 1 / 2), "hard": (1, 1), "b3": half, "gold": "news"}
    costs = {"sentence_ends": 0.98765, "documents_per_cpu_second": 8.06, "peak_mib": 321.4}
    rows = [{**quality, **costs, "system": "spacy"}, {**quality, "system": "baseline: x"}]
    lines = bench_annotators.table(rows).splitlines()
    assert lines[2] == (
        "| news | spacy | 0.500 / 0.500 / 0.500 | 0.500 | 0.333 / 1.000 / 0.500 | 1.000 / 1.000 | 0.500 | 0.988 | 8.1 |"
        " 321 |"
    )
    assert lines[3].endswith("| 0.500 |  |  |  |")
    assert len({line.count("|") for line in lines}) == 1


def test_bundled_articles_score_fully_against_themselves(shared: Path) -> None:
    scorer = load_scorer(shared / "tools" / "score_annotations.py")
    documents = bundled_gold()
    assert len(documents) == 36
    types = {"person": "PERSON", "place": "GPE", "organization": "ORG"}
    rows = []
    for document in documents:
        entities = {m["ent"]: n for n, m in enumerate(document["mentions"])}
        ner = [[m["start"], m["end"], types.get(m["type"], "EVENT"), entities[m["ent"]]] for m in document["mentions"]]
        rows.append({"id": document["id"], "ner": ner})
    found = scores(scorer, documents, rows)
    assert found["ner"][2] > 0.995
    assert found["link"][2] > 0.98


def test_absent_or_malformed_gold_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(GoldError, match=r"no gold in .*absent: .*--gold.*RECORD_SPARK_SHARED"):
        read_gold(tmp_path / "absent")
    document = gold_document()
    del document["mentions"]
    (tmp_path / "news.json").write_text(json.dumps([gold_document(), document]))
    with pytest.raises(GoldError, match=r"news\.json: document 1 lacks mentions"):
        read_gold(tmp_path)
    (tmp_path / "news.json").write_text("{}")
    with pytest.raises(GoldError, match=r"news\.json: a list of documents"):
        read_gold(tmp_path)
    with pytest.raises(GoldError, match=r"no scorer .*--scorer"):
        load_scorer(tmp_path / "none.py")


def test_bench_measures_an_annotator_and_passes_over_absent_ones(shared: Path, tmp_path: Path, capsys) -> None:
    gold = tmp_path / "gold"
    gold.mkdir()
    (gold / "tiny.json").write_text(json.dumps([gold_document()]))
    out = tmp_path / "out" / "annotators.json"
    scorer = str(shared / "tools" / "score_annotations.py")
    arguments = ["--gold", str(gold), "--out", str(out), "--scorer", scorer, "--back-end", "spacy=en_core_web_sm"]
    assert bench_annotators.main([*arguments, "--back-end", "nobody=x", "--without-bundled"]) == 0
    printed = capsys.readouterr()
    assert "nobody: not measured: no annotator 'nobody'" in printed.err
    systems = json.loads(out.read_text())["systems"]
    assert [s["system"].split(":")[0] for s in systems] == ["spacy", "baseline", "baseline", "baseline"]
    assert systems[0]["sentence_ends"] == 1.0
    assert systems[0]["documents_per_cpu_second"] > 0
    assert systems[0]["peak_mib"] > 50
    assert printed.out.count("| tiny |") == 4


def test_bench_without_gold_says_so(tmp_path: Path, capsys) -> None:
    assert bench_annotators.main(["--gold", str(tmp_path), "--scorer", __file__]) == 2
    assert "no gold in" in capsys.readouterr().err
