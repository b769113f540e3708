"""ReCoRD JSON and SuperGLUE JSONL: inclusive ends at the edge only, streams, and a strict reading back."""

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.record_json import (
    RecordFormatError,
    RecordPassage,
    RecordQuery,
    detect_format,
    parse_record,
    parse_superglue,
    passage_record,
    read_passages,
    read_record_json,
    read_superglue_jsonl,
    split_passage,
    write_record_json,
)
from udfs.record_validation import validate_record_json
from udfs.spans import Span

ARTICLE_ID = "2ac7ec1e2f9c14f641b63b232600fe25f5a49b2b"
TEXT = "Zoë Ray won in Oslo. 🎉 Ray wept.\n@highlight\nRay beat Bo Lin"


def spans_of(*surfaces: str, text: str = TEXT) -> tuple[Span, ...]:
    """All places of the surfaces in the text."""
    return tuple(Span(i, i + len(s)) for s in surfaces for i in range(len(text)) if text.startswith(s, i))


def make_passage(**changes: Any) -> RecordPassage:
    query = RecordQuery(f"{ARTICLE_ID}-aa-0", "@placeholder thanked the crowd.", spans_of("Bo Lin"))
    values = {
        "record_id": ARTICLE_ID,
        "publisher": "Daily Mail",
        "text": TEXT,
        "entities": (*spans_of("Bo Lin", "Oslo"), Span(0, 7)),
        "queries": (query,),
    }
    return RecordPassage(**(values | changes))


def element(edit: Callable[[dict[str, Any]], Any] = lambda e: None) -> dict[str, Any]:
    """A sound element of "data", edited."""
    made: dict[str, Any] = json.loads(json.dumps(passage_record(make_passage())))
    edit(made)
    return made


def test_passage_record_has_the_published_shape_with_inclusive_ends() -> None:
    start = TEXT.index("Bo Lin")
    assert passage_record(make_passage()) == {
        "id": ARTICLE_ID,
        "source": "Daily mail",
        "passage": {
            "text": TEXT,
            "entities": [{"start": 0, "end": 6}, {"start": 15, "end": 18}, {"start": start, "end": start + 5}],
        },
        "qas": [
            {
                "id": f"{ARTICLE_ID}-aa-0",
                "query": "@placeholder thanked the crowd.",
                "answers": [{"start": start, "end": start + 5, "text": "Bo Lin"}],
            }
        ],
    }


def test_passage_record_keeps_all_offsets_in_order_of_start() -> None:
    text = "Ray met Ray Lin. Ray left."
    entities = (Span(17, 20), Span(0, 3), Span(8, 15), Span(0, 3))
    record = passage_record(make_passage(text=text, entities=entities, queries=()))
    assert record["passage"]["entities"] == [
        {"start": 0, "end": 2},
        {"start": 8, "end": 14},
        {"start": 17, "end": 19},
    ]


@pytest.mark.parametrize(
    ("publisher", "source"), [("CNN", "CNN"), ("Daily Mail", "Daily mail"), ("The Star", "The Star"), (None, "")]
)
def test_publishers_go_to_the_published_spelling_and_back(publisher: str | None, source: str) -> None:
    record = passage_record(make_passage(publisher=publisher))
    assert record["source"] == source
    assert parse_record(record).publisher == publisher


@pytest.mark.parametrize("span", [Span(3, 3), Span(-1, 2), Span(0, len(TEXT) + 1)])
def test_passage_record_refuses_spans_outside_the_text(span: Span) -> None:
    with pytest.raises(RecordFormatError, match=f"record {ARTICLE_ID}: span"):
        passage_record(make_passage(entities=(span,)))


def test_split_passage_keeps_first_part_and_bullets_apart() -> None:
    assert split_passage("Ann won.\n@highlight\nBo lost\n@highlight\nCy left") == ("Ann won.", ["Bo lost", "Cy left"])
    assert split_passage("Ann @highlight won.") == ("Ann @highlight won.", [])


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.data())
def test_records_come_back_as_they_went(text: str, data: st.DataObject) -> None:
    span = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(lambda s: s[0] < s[1])
    entities = sorted({Span(*s) for s in data.draw(st.lists(span))})
    query = RecordQuery("q", "What @placeholder said.", tuple(entities[:2]))
    passage = make_passage(text=text, entities=tuple(entities), queries=(query,))
    stream = io.BytesIO()
    write_record_json(stream, [passage_record(passage)])
    assert parse_record(json.loads(stream.getvalue())["data"][0]) == passage


@pytest.mark.parametrize("name", ["r.json", "r.json.gz"])
def test_files_come_back_and_have_the_same_bytes_each_time(tmp_path: Path, name: str) -> None:
    in_order = spans_of("Zoë Ray", "Oslo", "Bo Lin")
    passages = [make_passage(entities=in_order), make_passage(record_id="b" * 40, entities=in_order, queries=())]
    path, again = tmp_path / name, tmp_path / "again" / name
    assert write_record_json(path, map(passage_record, passages)) == (2, 1)
    write_record_json(again, map(passage_record, passages))
    assert list(read_passages(path)) == passages
    assert path.read_bytes() == again.read_bytes()
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    assert json.loads(content) == {"version": "1.0", "data": [passage_record(p) for p in passages]}
    assert "Zoë" in content.decode("utf-8")
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == [name]


def test_a_failed_write_leaves_the_file_before_it(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_record_json(path, [element()])
    before = path.read_bytes()

    def failing() -> Any:
        yield element()
        raise RuntimeError("executor lost")

    with pytest.raises(RuntimeError, match="executor lost"):
        write_record_json(path, failing())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_surrogate_pair_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(RecordFormatError, match=r"record 'x'.*surrogates not allowed"):
        write_record_json(tmp_path / "r.json", [{"id": "x", "text": "\ud83c", "qas": []}])
    assert not list(tmp_path.iterdir())


def test_reading_is_a_stream(tmp_path: Path) -> None:
    """The first element of a file that never ends well is there before the rest is read."""
    path = tmp_path / "r.json"
    path.write_text('{"version": "1.0", "data": [' + json.dumps(element()) + ", " + " " * 300_000 + "oops")
    elements = read_record_json(path)
    assert next(elements) == element()
    with pytest.raises(RecordFormatError, match=r"r\.json: not JSON, or cut off"):
        next(elements)


SUPERGLUE = {
    "source": "Daily mail",
    "passage": passage_record(make_passage())["passage"],
    "qas": [{"query": "@placeholder wept.", "answers": [{"start": 0, "end": 6, "text": "Zoë Ray"}], "idx": 11}],
    "idx": 7,
}


def test_superglue_lines_are_read_with_and_without_answers(tmp_path: Path) -> None:
    test_line = SUPERGLUE | {"idx": 8, "qas": [{"query": "@placeholder wept.", "idx": 12}]}
    path = tmp_path / "val.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(json.dumps(e) for e in (SUPERGLUE, test_line)).encode()))
    assert list(read_superglue_jsonl(path)) == [SUPERGLUE, test_line]
    train, test = read_passages(path)
    assert (train.record_id, train.publisher) == ("7", "Daily Mail")
    assert train.queries == (RecordQuery("11", "@placeholder wept.", (Span(0, 7),)),)
    assert test.queries == (RecordQuery("12", "@placeholder wept.", ()),)
    assert [TEXT[s.start : s.end] for s in train.entities] == ["Zoë Ray", "Oslo", "Bo Lin"]


def test_the_format_is_told_by_content_not_name(tmp_path: Path) -> None:
    record, superglue = tmp_path / "a.jsonl", tmp_path / "b.json"
    record.write_text('{"data": [], "version": "1.0"}')
    superglue.write_text(json.dumps(SUPERGLUE))
    assert (detect_format(record), detect_format(superglue)) == ("record", "superglue")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<!DOCTYPE html><p>Quota exceeded", "not JSON, or cut off"),
        ('{"train": [1], "dev": 2}', r"neither ReCoRD v1.0 nor SuperGLUE: the first keys are \['train', 'dev'\]"),
        ("", "not JSON, or cut off"),
        ('{"version": "1.0"}', 'no "data"'),
        ('{"version": "1.0", "data": [{"id": "x"}]}', "record 'x': passage is missing"),
        (json.dumps(SUPERGLUE) + "\n{", "line 2 is not JSON"),
        (json.dumps(SUPERGLUE) + "\n[1]", r"line 2 is a list \(\[1\]\), not an object"),
        (json.dumps(SUPERGLUE | {"idx": "7"}), "record '7': idx is a str"),
    ],
)
def test_unusable_files_are_named_with_the_place(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(content)
    with pytest.raises(RecordFormatError, match=rf"in\.json: .*{message}"):
        list(read_passages(path))


def test_cut_off_gzip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.json.gz"
    write_record_json(path, [element()] * 500)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(RecordFormatError, match=r"r\.json\.gz: broken gzip.*fetch the file again"):
        list(read_record_json(path))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda e: e["passage"]["entities"][0].update(end=len(TEXT)), r"span \[0, \d+\] \(inclusive\) not inside"),
        (lambda e: e["qas"][0]["answers"][0].update(text="Bo"), "query .*: answer .* says 'Bo', the text there is"),
        (lambda e: e["qas"][0].update(query="Bo thanked them."), "no @placeholder in 'Bo thanked them.'"),
        (lambda e: e.update(qas=None), "qas is null, not a list"),
    ],
)
def test_parse_refuses_what_would_make_a_wrong_row(edit: Callable[[dict[str, Any]], Any], message: str) -> None:
    with pytest.raises(RecordFormatError, match=f"record '{ARTICLE_ID}'.*{message}"):
        parse_record(element(edit))
    with pytest.raises(RecordFormatError, match="a record: the element is a str"):
        parse_superglue("x")  # type: ignore[arg-type]


# --- validation


def test_a_sound_file_is_valid_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_record_json(path, [element()])
    report = validate_record_json(path)
    assert report.valid
    assert (report.records, report.queries, report.answers, report.entities) == (1, 1, 1, 3)
    assert str(report) == f"{path}: valid (1 records, 1 queries, 1 answers, 3 entities)"


def _entities(*spans: tuple[int, int]) -> Callable[[dict[str, Any]], None]:
    def edit(e: dict[str, Any]) -> None:
        e["passage"]["entities"] += [{"start": s, "end": t} for s, t in spans]

    return edit


def _reversed(e: dict[str, Any]) -> None:
    e["passage"]["entities"].reverse()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda e: e.pop("source"), "source is missing"),
        (lambda e: e.update(extra=1), r"the element has unknown keys \['extra'\]"),
        (lambda e: e["qas"][0].update(id=7), r"qas\[0\].id is a int \(7\), not a string"),
        (lambda e: e["passage"]["entities"][0].update(start=True), r"entities\[0\].start is a bool"),
        (lambda e: e["passage"]["entities"][0].update(start=0.5), r"entities\[0\].start is a float"),
        (_entities((70, 90)), r"entity: span \[70, 90\] \(inclusive\) not inside"),
        (_reversed, r"entities \[53, 58\] and \[15, 18\]: not in order of start"),
        (_entities((53, 58)), r"entities \[53, 58\] and \[53, 58\]: a duplicate"),
        (_entities((56, 58)), r"entities \[53, 58\] and \[56, 58\] overlap"),
        (lambda e: e["passage"].update(entities=[{"start": 25, "end": 58}]), "runs over a line break"),
        (lambda e: e["passage"]["entities"].pop(), "query .* is none of the passage's entities"),
        (lambda e: e["passage"].update(text=TEXT.replace("\n@highlight\n", "\n")), "the first part holds a line break"),
        (lambda e: e["passage"].update(text=TEXT + "\n@highlight\n"), "bullet 2 is empty"),
        (lambda e: e["passage"].update(text="\n@highlight\nBo"), "no text before the first bullet"),
        (lambda e: e["qas"][0].update(query="@placeholder saw @placeholder."), "@placeholder stands 2 times"),
        (lambda e: e["qas"][0].update(query="@placeholder\nwept."), "a line break in the query"),
        (lambda e: e["qas"][0].update(answers=[]), "query .*: no answers"),
        (lambda e: e["qas"][0]["answers"].append(e["qas"][0]["answers"][0]), "answers not in order of start, or rep"),
        (lambda e: e["qas"][0]["answers"][0].update(end=57), "says 'Bo Lin', the text there is 'Bo Li'"),
        (lambda e: e["qas"].append(e["qas"][0]), "query .*: the id is not unique"),
        (lambda e: e["qas"].clear(), "no queries"),
    ],
)
def test_validation_names_record_and_fault(tmp_path: Path, edit: Callable[[dict[str, Any]], Any], message: str) -> None:
    path = tmp_path / "r.json"
    write_record_json(path, [element(edit)])
    report = validate_record_json(path)
    assert not report.valid
    pattern = rf"record '{ARTICLE_ID}' \(number 1\).*{message}"
    assert any(re.search(pattern, e) for e in report.errors), report.errors


def test_half_open_ends_are_seen(tmp_path: Path) -> None:
    """The fault that this format invites: ends written exclusive."""

    def shift(e: dict[str, Any]) -> None:
        for span in (*e["passage"]["entities"], *e["qas"][0]["answers"]):
            span["end"] += 1

    path = tmp_path / "r.json"
    write_record_json(path, [element(shift)])
    assert validate_record_json(path).error_count >= 2


def test_answers_may_lack_in_test_files_only(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_record_json(path, [element(lambda e: e["qas"][0].update(answers=[]))])
    assert not validate_record_json(path).valid
    assert validate_record_json(path, answers_required=False).valid


def test_repeated_records_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_record_json(path, [element(), element(lambda e: e["qas"][0].update(id="other"))])
    assert [e.partition(": ")[2] for e in validate_record_json(path).errors] == ["the id is not unique"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"version": "2.0", "data": [%s]}', "version is '2.0', not '1.0'"),
        ('{"data": [%s]}', "version is None, not '1.0'"),
        ('{"version": "1.0", "data": []}', "no records"),
        ('{"version": "1.0"}', 'after 0 records: .*no "data"'),
        ('{"version": "1.0", "data": [%s, ', "after 1 records: .*cut off"),
        ('{"version": "1.0", "data": [7]}', r"record None \(number 1\): the element is a int"),
    ],
)
def test_validation_of_broken_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content.replace("%s", json.dumps(element())))
    (error,) = validate_record_json(path).errors
    assert re.search(message, error)


def test_messages_are_capped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_record_json(path, [element(_reversed)] * 9)
    report = validate_record_json(path, max_messages=3)
    assert len(report.errors) == 3
    assert report.error_count > 9
    assert str(report).endswith(f"and {report.error_count - 3} more")
