"""Settings: TOML over base.toml, overrides, errors that name file, key and remedy."""

import re
import tomllib
from pathlib import Path

import pytest

from jobs.job_support.settings import SettingsError, Source, load_settings, stage_hash
from tests.conftest import ROOT
from udfs.cloze import ClozeRules

CONF = ROOT / "conf"
ENVIRONMENTS = sorted(p.name for p in CONF.glob("*.toml"))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_loads(name: str) -> None:
    assert load_settings(CONF / name).generate == ClozeRules(
        min_first_part_tokens=100, min_first_part_entities=4, min_sentence_tokens=10, overlap_ngram=3
    )


def test_environment_holds_only_differences_from_base() -> None:
    def leaves(values: dict, at: tuple[str, ...] = ()) -> dict:
        found = {}
        for key, value in values.items():
            found |= leaves(value, (*at, key)) if isinstance(value, dict) else {(*at, key): value}
        return found

    base = leaves(tomllib.loads((CONF / "base.toml").read_text()))
    for name in ENVIRONMENTS:
        if name != "base.toml":
            same = {k for k, v in leaves(tomllib.loads((CONF / name).read_text())).items() if base.get(k) == v}
            assert same <= {("spark", "master")}, name


def test_override_sets_typed_values_strings_and_sources() -> None:
    settings = load_settings(
        CONF / "local.toml",
        [
            "generate.min_sentence_tokens=12",
            "paths.tables=s3a://bucket/tables",
            'ingest.sources=[{path="news", origin="crawled"}]',
            "spark.conf.spark.sql.shuffle.partitions=7",
        ],
    )
    assert settings.generate.min_sentence_tokens == 12
    assert settings.paths.tables == "s3a://bucket/tables"
    assert settings.ingest.sources == (Source(path="news", origin="crawled"),)
    assert settings.spark.conf["spark.sql.shuffle.partitions"] == "7"


def test_local_paths_are_absolute_and_uris_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    paths = load_settings(CONF / "local.toml", ["paths.models=build/models/", "paths.tables=hdfs:///tables/"]).paths
    assert (paths.models, paths.tables) == (str(tmp_path / "build/models"), "hdfs:///tables")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("generate.min_sentence_token=12", "unknown key 'generate.min_sentence_token'; did you mean"),
        ("generate.min_sentence_tokens ", "write section.key=value"),
        ("generate.min_sentence_tokens=many", "generate.min_sentence_tokens: Input should be a valid integer"),
        ("generate.min_sentence_tokens=0", "generate.min_sentence_tokens must be at least 1"),
        ("annotate.max_failed_share=0.1", "did you mean 'limits.max_failed_share'?"),
        ("min_sentence_tokens=3", "did you mean 'generate.min_sentence_tokens'?"),
        ("annotate=3", "annotate is a section; set one of its keys"),
        ("limits.max_failed_share=2", "less than or equal to 1"),
        ('ingest.sources=[{path="x", orign="crawled"}]', "did you mean 'origin'?"),
        ('ingest.sources=[{path="x", origin="found"}]', "'auto', 'hermann' or 'crawled'"),
        # A trailing blank in a key is no other key that is ignored: it is cut off, as around "=" in TOML.
        ("delta.schema =true", "unknown key 'delta'"),
    ],
)  # fmt: skip
def test_error_names_key_and_remedy(override: str, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        load_settings(CONF / "local.toml", [override])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("generate.min_sentence_tokens", "many"),
        ("generate.min_sentence_tokens", "0"),
        ("ingest.sources", '[{path="x", origin="found"}]'),
        ("limits.max_failed_share", "2"),
        ("spark.master", "2"),
    ],
)
def test_error_in_an_override_names_the_override_and_not_the_file(key: str, value: str) -> None:
    overrides = [f"{key}={value}", "generate.overlap_ngram=4"]
    with pytest.raises(SettingsError, match=re.escape(f"--set {key}={value}: {key}")) as raised:
        load_settings(CONF / "local.toml", overrides)
    assert "local.toml" not in str(raised.value)
    assert "overlap_ngram" not in str(raised.value)


def test_error_names_the_last_override_of_a_key() -> None:
    with pytest.raises(SettingsError, match=r"^--set generate\.overlap_ngram=b: generate\.overlap_ngram: "):
        load_settings(CONF / "local.toml", ["generate.overlap_ngram=a", "generate.overlap_ngram=b"])


def test_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml: no such file; give --config"):
        load_settings(CONF / "nowhere.toml")
    (tmp_path / "base.toml").write_text("[paths\n")
    with pytest.raises(SettingsError, match=r"base\.toml: not TOML"):
        load_settings(tmp_path / "base.toml")
    (tmp_path / "base.toml").write_text((CONF / "base.toml").read_text())
    (tmp_path / "mine.toml").write_text("[generate]\nmin_sentence_toknes = 3\n")
    with pytest.raises(SettingsError, match=r"mine\.toml: unknown key 'generate.min_sentence_toknes'; did you mean"):
        load_settings(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_text("[generate]\nmin_sentence_tokens = 11\n")
    assert load_settings(tmp_path / "mine.toml").generate.min_sentence_tokens == 11
    (tmp_path / "mine.toml").write_text('[generate]\nmin_sentence_tokens = "11 words"\n')
    with pytest.raises(SettingsError, match=r"^\S*mine\.toml: generate\.min_sentence_tokens: Input should be"):
        load_settings(tmp_path / "mine.toml", ["generate.overlap_ngram=4"])


def test_stage_hash_depends_on_values_alone() -> None:
    rules = ClozeRules(min_first_part_tokens=100, min_first_part_entities=4, min_sentence_tokens=10, overlap_ngram=3)
    assert stage_hash(1, rules) == stage_hash(1, load_settings(CONF / "base.toml").generate)
    assert stage_hash(1, rules) != stage_hash(2, rules)
    assert stage_hash({"a": 1, "b": 2}) == stage_hash({"b": 2, "a": 1})
