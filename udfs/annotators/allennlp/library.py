"""Imports AllenNLP 2.10.1 beside libraries that are newer than it knows.

AllenNLP imports training and vision libraries, and cached-path the clients of cloud stores, that predicting
with a local archive never calls. Where they are not installed, empty stand-ins take their place while it is
imported, and are gone afterwards: nobody else takes them for the real ones.
"""

import importlib
import importlib.abc
import importlib.machinery
import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

VERSION = "2.10.1"
REMEDY = "make setup-allennlp (AllenNLP's own pins can't be solved: pip install allennlp does not work)"

_MODULES = ("allennlp.predictors", "allennlp.models.archival", "allennlp_models.coref", "allennlp_models.tagging")
_STAND_INS = ("torchvision", "fairscale", "tensorboardX", "termcolor", "boto3", "botocore", "google")


class LibraryMissing(ValueError):
    """AllenNLP is not installed, or another version of it; the message says what to do."""


class _AnyName(type):
    """Of a class whose every attribute is such a class: good for inheriting, naming types and catching, not for use."""

    def __getattr__(cls, name: str) -> Any:
        return _made_up(cls, name)


class _StandIn(ModuleType):
    """A module in which every name is a class."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        return _made_up(self, name)


def _made_up(owner: Any, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    made = _AnyName(name, (Exception,), {"__module__": "stand_in"})
    setattr(owner, name, made)
    return made


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last: an installed library is always taken before its stand-in."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in _STAND_INS:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


@contextmanager
def _stand_ins() -> Iterator[None]:
    finder = _StandInFinder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if isinstance(module, _StandIn)]:
            del sys.modules[name]


@cache
def import_allennlp(*more: str) -> None:
    """Imports AllenNLP with its models registered, and ``more`` modules; afterwards they import as any others.

    Raises:
        LibraryMissing: allennlp or allennlp-models is not there, or of another version.
    """
    check_installed()
    importlib.import_module("transformers")  # it looks for torchvision: it must not see a stand-in
    with _stand_ins(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*_MODULES, *more):
            importlib.import_module(name)
    for name in ("allennlp", "allennlp_models", "cached_path"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("allennlp.common.params").setLevel(logging.ERROR)  # it warns that jsonnet is not needed


def check_installed() -> None:
    """Raises LibraryMissing unless the two packages are there in the version that this one knows; imports nothing."""
    from importlib.metadata import PackageNotFoundError, version

    for package in ("allennlp", "allennlp-models"):
        try:
            found = version(package)
        except PackageNotFoundError as error:
            raise LibraryMissing(f"{package} is not installed. Type: {REMEDY}") from error
        if found != VERSION:
            raise LibraryMissing(f"{package} is {found}, not {VERSION}. Type: {REMEDY}")
