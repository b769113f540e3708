"""The settings: frozen pydantic models filled from TOML (conf/), with errors that name the nearest key.

Defaults stand in one place, conf/base.toml: the models have none.
"""

import difflib
import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from udfs.annotators.training_options import RUN_ONLY as NER_RUN_ONLY
from udfs.annotators.training_options import NerTrainingOptions
from udfs.cloze import ClozeRules
from udfs.fold_of import N_FOLDS
from udfs.readers.configuration import RUN_ONLY, SanConfig, TrainingOptions


class SettingsError(ValueError):
    """A setting that can't be used; the message names file, key and remedy."""


_SPARK_CONF = "spark.conf."


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[int, Field(gt=0)]


class Paths(_Section):
    """Where tables and files lie; local paths absolute, since executors work in folders of their own."""

    tables: str
    models: str
    release: str
    report: str

    @field_validator("*")
    @classmethod
    def _absolute(cls, path: str) -> str:
        return path.rstrip("/") if ":/" in path else str(Path(path).resolve())


class Source(_Section):
    """Where articles come from; see conf/base.toml."""

    path: str
    origin: Literal["auto", "hermann", "crawled"] = "auto"
    publisher: str = "auto"
    url_lists: tuple[str, ...] = ()


class Ingest(_Section):
    near_identical: Share
    hermann_url_lists: tuple[str, ...]
    sources: tuple[Source, ...]


AnnotatorName = Literal["spacy", "allennlp", "spacy+allennlp"]


class Annotate(_Section):
    annotator: AnnotatorName
    model: str
    ner_archive: str
    ner_sha256: str
    coreference_archive: str
    coreference_sha256: str
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:\d+)?)$")]
    half_precision: bool
    window_tokens: Annotated[int, Field(ge=128)]
    articles_per_task: Positive

    @field_validator("ner_archive", "coreference_archive")
    @classmethod
    def _absolute(cls, path: str) -> str:
        return path if not path or ":/" in path else str(Path(path).resolve())


class TrainAnnotators(_Section):
    """How train_annotators makes an annotator of the stand-off articles; ``annotator`` names the section used."""

    annotator: Literal["spacy"]
    held_out_fold: Annotated[int, Field(ge=0, lt=N_FOLDS)]
    held_out_articles: Positive
    training_round: Positive
    spacy: NerTrainingOptions

    def training_values(self) -> dict[str, Any]:
        """All that decides what a trained annotator is, but for the base pipeline's content."""
        return self.model_dump(exclude={"spacy": {*NER_RUN_ONLY, "base_model"}})


class Compared(_Section):
    """An annotator to compare with the line's: what it has other than [annotate]."""

    name: Annotated[str, Field(pattern=r"^[\w.+-]+$")]
    annotator: AnnotatorName | None = None
    model: str | None = None
    ner_archive: str | None = None
    ner_sha256: str | None = None
    coreference_archive: str | None = None
    coreference_sha256: str | None = None

    def annotate(self, line: Annotate) -> Annotate:
        """The settings of this annotator."""
        return line.model_copy(update=self.model_dump(exclude={"name"}, exclude_none=True))


class Compare(_Section):
    articles: Positive
    annotators: tuple[Compared, ...]


class Reader(_Section):
    """The reader that the machine filter asks."""

    network: Literal["san"]
    word_vectors: str
    training_round: Positive
    san: SanConfig
    training: TrainingOptions

    def training_values(self) -> dict[str, Any]:
        """All that decides what a trained reader is, but for the content of the word vectors: not where, nor with
        how many threads, it is trained."""
        values = self.model_dump(exclude={"word_vectors": True, "training": set(RUN_ONLY)})
        assert "seed" in values["training"]
        return values


class MachineFilter(_Section):
    enabled: bool
    answers: Literal["spans", "candidates"]
    queries_per_task: Positive


class Splits(_Section):
    hermann_held_out: Share
    dev_share: Share


class Limits(_Section):
    max_failed_share: Share


class Export(_Section):
    name: str


class Spark(_Section):
    master: str
    delta_jars: str
    conf: dict[str, str]


class Settings(_Section):
    """All settings of a run. ``stage_hash`` of a section is part of the fingerprints of what it made."""

    paths: Paths
    ingest: Ingest
    annotate: Annotate
    train_annotators: TrainAnnotators
    compare: Compare
    generate: ClozeRules
    reader: Reader
    filter: MachineFilter
    splits: Splits
    limits: Limits
    export: Export
    spark: Spark

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        bad = [k for k, v in asdict(self.generate).items() if v < 1]
        if bad:
            raise ValueError(f"generate.{bad[0]} must be at least 1")
        names = [c.name for c in self.compare.annotators]
        if len(set(names)) < len(names):
            raise ValueError("compare.annotators has two of one name")
        return self


def load_settings(path: str | Path, overrides: Sequence[str] = ()) -> Settings:
    """Reads an environment's TOML over the base.toml beside it, then ``section.key=value`` overrides.

    Raises:
        SettingsError: a missing or broken file, an unknown key (the nearest known one is named), a bad value.
    """
    path = Path(path)
    base = path.with_name("base.toml")
    values = _read(base)
    if path.name != base.name:
        _merge(values, _read(path), [], str(path))
    for override in overrides:
        key, equals, raw = override.partition("=")
        if not equals:
            raise SettingsError(f"--set {override}: write section.key=value")
        _merge(values, _nest(key.strip(), raw), [], f"--set {override}")
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise SettingsError(_explain(error, path, overrides)) from error


def stage_hash(*parts: Any) -> str:
    """A short stable hash of settings, digests and versions: order of keys and spelling of TOML don't matter."""
    plain = [p.model_dump() if isinstance(p, BaseModel) else asdict(p) if _is_dataclass_value(p) else p for p in parts]
    return hashlib.sha1(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def _is_dataclass_value(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(f"{path}: no such file; give --config conf/<environment>.toml") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error


def _nest(key: str, raw: str) -> dict[str, Any]:
    if key.startswith(_SPARK_CONF):  # Spark's own keys hold dots, and its values are strings
        return {"spark": {"conf": {key.removeprefix(_SPARK_CONF): raw}}}
    nested: Any = _parse_value(raw)
    for part in reversed(key.split(".")):
        nested = {part: nested}
    return dict(nested)


def _parse_value(raw: str) -> Any:
    try:
        return tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        return raw


def _merge(into: dict[str, Any], values: dict[str, Any], at: list[str], where: str) -> None:
    free = at == ["spark", "conf"]
    for key, value in values.items():
        name = ".".join([*at, key])
        if key not in into and not free:
            near = difflib.get_close_matches(key, into, n=1, cutoff=0.5) or _anywhere(key)
            hint = f"; did you mean {'.'.join([*at, near[0]]) if near[0] in into else near[0]!r}?" if near else ""
            raise SettingsError(f"{where}: unknown key {name!r}{hint} Known here: {', '.join(sorted(into))}")
        if isinstance(into.get(key), dict) and isinstance(value, dict):
            _merge(into[key], value, [*at, key], where)
        elif isinstance(into.get(key), dict):
            raise SettingsError(f"{where}: {name} is a section; set one of its keys: {', '.join(sorted(into[key]))}")
        else:
            into[key] = value


def _anywhere(key: str) -> list[str]:
    known = [
        f"{section}.{name}"
        for section, field in Settings.model_fields.items()
        for name in getattr(field.annotation, "model_fields", getattr(field.annotation, "__dataclass_fields__", {}))
    ]
    return [k for k in known if k.split(".")[1] == key] or difflib.get_close_matches(key, known, n=1, cutoff=0.5)


def _explain(error: ValidationError, path: Path, overrides: Sequence[str]) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(map(str, problem["loc"]))
        if not key:  # a rule of our own: its message begins with the key, and the input would be all settings
            said = problem["msg"].removeprefix("Value error, ")
            lines.append(f"{_origin(said.split()[0], path, overrides)}: {said}")
            continue
        hint = ""
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(str(problem["loc"][-1]), Source.model_fields, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else ""
        where = _origin(key, path, overrides)
        lines.append(f"{where}: {key}: {problem['msg']} (got {problem['input']!r}){hint}")
    return "\n".join(lines)


def _origin(key: str, path: Path, overrides: Sequence[str]) -> str:
    """What set a key: the last override of it, or of what it is part of; else the file."""
    of_key = [o for o in overrides if f"{key}.".startswith(f"{o.partition('=')[0].strip()}.")]
    return f"--set {of_key[-1]}" if of_key else str(path)
