"""Tables -> ReCoRD file -> tables: offsets, order, ids; Table 1 against hand-counted figures."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from jobs import export_dataset, import_dataset
from jobs.job_support.command_line import JobError
from jobs.job_support.contracts import PASSAGES, TRIPLES
from jobs.job_support.release_files import copy_by_hadoop, local_path, publishing
from jobs.job_support.settings import Export, Settings
from jobs.job_support.store import Store
from jobs.transforms.dataset import (
    DatasetError,
    article_id_of,
    chunks,
    export_records,
    iter_records,
    passages_from_records,
    query_id_of,
    survey_import,
    triples_from_records,
)
from tests.builders import article_id
from udfs.fold_of import fold_of
from udfs.record_json import RecordPassage, RecordQuery, passage_record, read_passages, write_record_json
from udfs.record_validation import validate_record_json
from udfs.spans import Span

TEXT = "Zoë Ray 🎉 met Bo Lin. Ray left.\n@highlight\nBo Lin wept"
ZOE, BO, RAY, BO_AGAIN = Span(0, 7), Span(14, 20), Span(22, 25), Span(43, 49)


def passage_row(n: int, **values: Any) -> dict[str, Any]:
    entities = [(*ZOE, 0, "PERSON"), (*BO, 1, "PERSON"), (*RAY, 0, "PERSON"), (*BO_AGAIN, 1, "PERSON")]
    row = {
        "article_id": article_id(n),
        "fold": fold_of(article_id(n)),
        "origin": "hermann",
        "publisher": "Daily Mail",
        "text": TEXT,
        "first_part_end": TEXT.index("\n"),
        "first_part_tokens": 8,
        "first_part_entities": 2,
        "entities": entities,
        "keep": True,
        "reason": None,
        "split": None,
        "fingerprint": "f",
    }
    return row | values


def triple_row(n: int, query: str, **values: Any) -> dict[str, Any]:
    placeholder = query.index("@placeholder")
    row = {
        "query_id": f"{article_id(n)}-{query[:5]}-{placeholder}",
        "article_id": article_id(n),
        "fold": fold_of(article_id(n)),
        "sentence_start": 100,
        "sentence_sha1": "s",
        "query": query,
        "placeholder": placeholder,
        "answer_surface": "Bo",
        "cluster": 1,
        "answers": [(*BO, "Bo Lin"), (*BO_AGAIN, "Bo Lin")],
        "overlaps": False,
        "keep": True,
        "reason": None,
        "split": None,
    }
    return row | values


def passages_of(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    return spark.createDataFrame([tuple(r[c] for c in PASSAGES.schema.names) for r in rows], PASSAGES.schema)


def triples_of(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    return spark.createDataFrame([tuple(r[c] for c in TRIPLES.schema.names) for r in rows], TRIPLES.schema)


# --- tables -> file


def test_export_nests_kept_queries_in_order_of_sentence_and_placeholder(spark: SparkSession) -> None:
    passages = passages_of(
        spark, passage_row(2), passage_row(1), passage_row(3), passage_row(4, keep=False, reason="few_entities")
    )
    triples = triples_of(
        spark,
        triple_row(1, "In a later one @placeholder sang.", sentence_start=900),
        triple_row(1, "Ann saw @placeholder there.", sentence_start=20),
        triple_row(1, "@placeholder was there.", sentence_start=20),
        triple_row(1, "It said @placeholder met.", keep=False, reason="ngram_overlap", overlaps=True),
        triple_row(2, "Two: @placeholder."),
        triple_row(3, "None: @placeholder.", keep=False, reason="ngram_overlap", overlaps=True),
    )
    records = list(iter_records(export_records(passages, triples)))
    assert [(r["id"], [q["query"] for q in r["qas"]]) for r in records] == [
        (
            article_id(1),
            ["@placeholder was there.", "Ann saw @placeholder there.", "In a later one @placeholder sang."],
        ),
        (article_id(2), ["Two: @placeholder."]),
    ]


def test_exported_records_have_inclusive_ends_and_code_point_offsets(spark: SparkSession) -> None:
    table = export_records(passages_of(spark, passage_row(1)), triples_of(spark, triple_row(1, "@placeholder wept.")))
    (record,) = iter_records(table)
    assert record["source"] == "Daily mail"
    assert record["passage"]["entities"] == [
        {"start": 0, "end": 6},
        {"start": 14, "end": 19},
        {"start": 22, "end": 24},
        {"start": 43, "end": 48},
    ]
    assert record["qas"][0]["answers"] == [
        {"start": 14, "end": 19, "text": "Bo Lin"},
        {"start": 43, "end": 48, "text": "Bo Lin"},
    ]


def test_export_does_not_depend_on_order_or_partitions(spark: SparkSession, tmp_path: Path) -> None:
    passages = passages_of(spark, *(passage_row(n) for n in range(1, 9)))
    triples = triples_of(
        spark, *(triple_row(n, q) for n in range(1, 9) for q in ("@placeholder won.", "So @placeholder."))
    )
    there, back = tmp_path / "a.json", tmp_path / "b.json"
    write_record_json(there, iter_records(export_records(passages.repartition(3), triples.repartition(2))))
    turned = (passages.orderBy("article_id", ascending=False), triples.orderBy("query_id", ascending=False))
    write_record_json(back, iter_records(export_records(*turned)))
    assert there.read_bytes() == back.read_bytes()
    assert validate_record_json(there).valid


def test_export_refuses_answers_that_are_not_in_the_passage(spark: SparkSession) -> None:
    moved = triple_row(1, "@placeholder wept.", answers=[(15, 21, "Bo Lin")])
    table = export_records(passages_of(spark, passage_row(1)), triples_of(spark, moved))
    with pytest.raises(DatasetError, match=r"answer 'Bo Lin' is not at \[15, 21\).*run generate_triples again"):
        list(iter_records(table))


# --- file -> tables


def record_passage(record_id: str = article_id(1), **values: Any) -> RecordPassage:
    query = RecordQuery(f"{record_id}-aa-0", "It was @placeholder 🎉.", (BO_AGAIN, BO))
    row = {
        "record_id": record_id,
        "publisher": "CNN",
        "text": TEXT,
        "entities": (BO_AGAIN, ZOE, BO, RAY),
        "queries": (query,),
    }
    return RecordPassage(**(row | values))


def test_imported_rows_follow_the_contracts(spark: SparkSession) -> None:
    passages = passages_from_records(spark, [record_passage()], name="record-1.0", split="dev")
    triples = triples_from_records(spark, [record_passage()], name="record-1.0", split="dev")
    assert (passages.schema, triples.schema) == (PASSAGES.schema, TRIPLES.schema)
    expected = passage_row(
        1,
        origin="imported",
        publisher="CNN",
        first_part_tokens=8,
        first_part_entities=3,  # strings: Zoë Ray, Bo Lin, Ray
        entities=[(*ZOE, 0, None), (*BO, 1, None), (*RAY, 2, None), (*BO_AGAIN, 1, None)],
        split="dev",
        fingerprint=passages.first()["fingerprint"],  # type: ignore[index]
    )
    assertDataFrameEqual(passages, passages_of(spark, expected), ignoreNullable=False, rtol=0)
    nothing = {"sentence_start": None, "sentence_sha1": None, "answer_surface": None, "cluster": None}
    row = triple_row(1, "It was @placeholder 🎉.", query_id=f"{article_id(1)}-aa-0", split="dev", **nothing)
    assertDataFrameEqual(triples, triples_of(spark, row), ignoreNullable=False, rtol=0)


def test_fingerprints_change_with_the_content_only(spark: SparkSession) -> None:
    def fingerprint(passage: RecordPassage) -> str:
        return str(passages_from_records(spark, [passage], name="n", split="dev").collect()[0].fingerprint)

    assert fingerprint(record_passage()) == fingerprint(record_passage())
    assert fingerprint(record_passage()) != fingerprint(record_passage(text=TEXT + "."))


def test_superglue_counters_become_unique_ids() -> None:
    query = RecordQuery("11", "@placeholder wept.", ())
    train = article_id_of(record_passage("7"), name="superglue", split="train")
    dev = article_id_of(record_passage("7"), name="superglue", split="dev")
    assert len({train, dev, article_id(7)}) == 3
    assert query_id_of(query, train) == f"{train}-11"
    assert article_id_of(record_passage(article_id(7)), name="x", split="dev") == article_id(7)
    assert query_id_of(RecordQuery(f"{train}-ab-3", "", ()), train) == f"{train}-ab-3"


def test_chunks_are_read_as_they_are_asked_for() -> None:
    passages = [record_passage(article_id(n)) for n in range(5)]
    read: list[RecordPassage] = []

    def stream() -> Iterator[RecordPassage]:
        for passage in passages:
            read.append(passage)
            yield passage

    parts = chunks(stream(), size=2)
    assert next(parts) == passages[:2]
    assert read == passages[:2]
    assert list(parts) == [passages[2:4], passages[4:]]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([record_passage(), record_passage(queries=())], "record id '0+1' stands for two records"),
        ([record_passage(queries=record_passage().queries * 2)], "query id '.*-aa-0' stands for two queries"),
        ([], "no records"),
        (
            [record_passage(entities=(ZOE, BO, RAY))],
            "record '0+1', query '0+1-aa-0': answer 'Bo Lin' at 43 is none of the passage's entities; add its span",
        ),
    ],
)
def test_survey_refuses_what_would_be_no_data_set(tmp_path: Path, records: list[RecordPassage], message: str) -> None:
    path = tmp_path / "r.json"
    write_record_json(path, map(passage_record, records))
    with pytest.raises(DatasetError, match=message):
        survey_import(path, name="n", split="dev")


# --- jobs


def test_export_job_writes_checked_files_and_table_1(spark: SparkSession, settings: Settings, store: Store) -> None:
    store.merge("passages", passages_of(spark, passage_row(1), passage_row(2)))
    store.merge("triples", triples_of(spark, triple_row(1, "@placeholder wept."), triple_row(2, "So @placeholder.")))
    counts = export_dataset.run(spark, settings)
    release, report = Path(settings.paths.release), Path(settings.paths.report)
    path = release / f"{settings.export.name}.json"
    first = path.read_bytes()
    assert (counts.rows_out, validate_record_json(path).queries) == (2, 2)
    assert [p.record_id for p in read_passages(path)] == [article_id(1), article_id(2)]
    assert "| queries" in (report / "table_1.md").read_text(encoding="utf-8")
    manifest = release / "manifest.json"
    assert {p.name for p in release.iterdir()} == {path.name, manifest.name}
    # Made from the tables as they are: nothing to do. Cut off or gone: made again, to the byte.
    assert export_dataset.run(spark, settings).rows_in == 0
    path.write_bytes(first[:-10])
    assert export_dataset.run(spark, settings).rows_in == 2
    assert path.read_bytes() == first
    (report / "table_1.md").unlink()
    assert export_dataset.run(spark, settings).rows_in == 2
    assert (report / "table_1.md").exists()


def test_export_follows_tables_that_were_made_anew(spark: SparkSession, settings: Settings, store: Store) -> None:
    for query in ("@placeholder wept.", "So @placeholder."):
        again = Store(spark, store.root)
        again.merge("passages", passages_of(spark, passage_row(1)))
        again.merge("triples", triples_of(spark, triple_row(1, query)))
        versions = {name: again.version(name) for name in ("passages", "triples")}
        assert export_dataset.run(spark, settings).rows_in == 1
        release = Path(settings.paths.release, f"{settings.export.name}.json")
        assert query in release.read_text(), f"the same versions {versions} of other tables"
        shutil.rmtree(store.root)


def test_export_that_broke_off_is_done_again_and_leaves_no_old_files(
    spark: SparkSession, settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.merge("passages", passages_of(spark, passage_row(1)))
    store.merge("triples", triples_of(spark, triple_row(1, "@placeholder wept.")))
    export_dataset.run(spark, settings)
    renamed = settings.model_copy(update={"export": Export(name="other")})
    release = Path(settings.paths.release)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("the machine died")

    for step in ("_table_1", "_delete_others"):
        monkeypatch.setattr(export_dataset, step, fail)
        with pytest.raises(OSError, match="the machine died"):
            export_dataset.run(spark, renamed)
        monkeypatch.undo()
    assert export_dataset.run(spark, renamed).rows_in == 1
    assert {p.name for p in release.iterdir()} == {"other.json", "manifest.json"}
    # A file under an old name that is not the export's is left alone.
    (release / "other.json").write_text("mine")
    assert export_dataset.run(spark, settings).rows_in == 1
    assert {p.name for p in release.iterdir()} == {f"{settings.export.name}.json", "other.json", "manifest.json"}


def test_export_job_refuses_what_would_not_be_valid(spark: SparkSession, settings: Settings, store: Store) -> None:
    with pytest.raises(JobError, match="no kept triples"):
        export_dataset.run(spark, settings)
    store.merge("passages", passages_of(spark, passage_row(1)))
    store.merge("triples", triples_of(spark, triple_row(1, "@placeholder wept."), triple_row(2, "So @placeholder.")))
    with pytest.raises(JobError, match="1 of 2 kept triples have no kept passage"):
        export_dataset.run(spark, settings)
    nested = [(*ZOE, 0, None), (4, 7, 0, None), (*BO, 1, None), (*BO_AGAIN, 1, None)]
    store.merge("passages", passages_of(spark, passage_row(1, entities=nested), passage_row(2)))
    with pytest.raises(JobError, match=rf"record '{article_id(1)}'.*\[0, 6\] and \[4, 6\] overlap"):
        export_dataset.run(spark, settings)
    assert not list(Path(settings.paths.release).iterdir())


def test_import_then_export_gives_the_file_back(
    spark: SparkSession, settings: Settings, store: Store, tmp_path: Path
) -> None:
    train, test = tmp_path / "train.json.gz", tmp_path / "test.jsonl"
    in_order = record_passage(entities=(ZOE, BO, RAY, BO_AGAIN))
    write_record_json(train, [passage_record(in_order), passage_record(record_passage(article_id(2)))])
    superglue = {"source": "CNN", "idx": 0, "qas": [{"query": "@placeholder.", "idx": 5}]}
    test.write_text(json.dumps(superglue | {"passage": passage_record(in_order)["passage"]}), encoding="utf-8")
    for path, split in ((train, "train"), (test, "test")):
        import_dataset.run(spark, settings, path=str(path), split=split, name="record")
    versions = [store.version(t) for t in ("passages", "triples")]
    again = import_dataset.run(spark, settings, path=str(train), split="train", name="record")
    assert not again.did_work
    assert [store.version(t) for t in ("passages", "triples")] == versions
    export_dataset.run(spark, settings)
    exported = Path(settings.paths.release) / f"{settings.export.name}_train.json"
    assert list(read_passages(exported)) == list(read_passages(train))
    (tested,) = read_passages(exported.with_name(f"{settings.export.name}_test.json"))
    assert [q.answers for q in tested.queries] == [()]


def test_importing_an_edited_record_replaces_its_queries(
    spark: SparkSession, settings: Settings, store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "dev.json"
    for query in ("Old @placeholder.", "New @placeholder."):
        changed = record_passage(queries=(RecordQuery(query[:3], query, (BO,)),))
        write_record_json(path, [passage_record(changed)])
        import_dataset.run(spark, settings, path=str(path), split="dev", name="record")
    assert [r.query for r in store.read("triples").collect()] == ["New @placeholder."]


def test_import_refuses_tables_of_generated_passages_and_records_of_another_split(
    spark: SparkSession, settings: Settings, store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "dev.json"
    write_record_json(path, [passage_record(record_passage())])
    import_dataset.run(spark, settings, path=str(path), split="dev", name="record")
    with pytest.raises(JobError, match=f"record {article_id(1)} of this file is already in split dev"):
        import_dataset.run(spark, settings, path=str(path), split="train", name="record")
    store.merge("passages", passages_of(spark, passage_row(9)))
    with pytest.raises(JobError, match=r"generate_triples made \(origin hermann\).*paths.tables="):
        import_dataset.run(spark, settings, path=str(path), split="dev", name="record")


def test_import_writes_nothing_of_a_file_that_breaks_off(
    spark: SparkSession, settings: Settings, store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "dev.json"
    write_record_json(path, [passage_record(record_passage(article_id(n))) for n in range(1, 40)])
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(JobError, match=r"nothing imported: .*dev\.json: not JSON, or cut off"):
        import_dataset.run(spark, settings, path=str(path), split="dev", name="record")
    with pytest.raises(JobError, match=r"--input .*absent\.json: no such file"):
        import_dataset.run(spark, settings, path=str(tmp_path / "absent.json"), split="dev", name="record")
    assert store.is_empty("passages")


# --- files of a release


def test_local_paths_are_told_from_uris() -> None:
    assert local_path("build/release") == Path("build/release")
    assert local_path("file:///a/b") == local_path("file:/a/b") == Path("/a/b")
    assert local_path("s3a://bucket/a") is None
    assert local_path("odd/a:b") == Path("odd/a:b")


def test_nothing_is_published_where_the_block_fails(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before")

    def fail_half_way() -> None:
        with publishing(spark, str(tmp_path)) as made:
            (made / "a.txt").write_text("after")
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        fail_half_way()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.txt", "before")]


def test_files_go_to_other_file_systems_by_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop's own view of the local disk stands for HDFS and the like."""
    made, folder = tmp_path / "r.json", tmp_path / "out"
    for content in ("first", "second"):
        made.write_text(content)
        copy_by_hadoop(spark, made, folder.as_uri())
    assert (folder / "r.json").read_text() == "second"
    assert not (folder / ".r.json.tmp").exists()
