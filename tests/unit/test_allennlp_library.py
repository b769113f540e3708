"""AllenNLP is one package's secret: importing ours does not load it, and its stand-ins are gone after its import."""

import subprocess
import sys

import pytest

from udfs.annotators.allennlp import library
from udfs.annotators.allennlp.library import LibraryMissing, check_installed
from udfs.model_holder import device_of_task


def run_python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_holder_loads_neither_allennlp_nor_torch() -> None:
    run_python(
        "import sys, udfs.model_holder as h; assert h; assert not {'torch', 'allennlp', 'spacy'} & set(sys.modules)"
    )


def test_stand_ins_are_gone_after_the_import() -> None:
    try:
        check_installed()
    except LibraryMissing as missing:
        pytest.skip(str(missing))
    run_python(
        "import sys, importlib.util\n"
        "there = {n: importlib.util.find_spec(n) for n in ('torchvision', 'fairscale', 'termcolor', 'boto3')}\n"
        "from udfs.annotators.allennlp.library import _StandIn, import_allennlp\n"
        "import_allennlp()\n"
        "assert not [m for m in sys.modules.values() if isinstance(m, _StandIn)]\n"
        "assert {n: importlib.util.find_spec(n) for n in there} == there\n"
    )


def test_missing_or_other_version_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(LibraryMissing, match=r"allennlp is not installed\. Type: make setup-allennlp"):
        library.check_installed()
    monkeypatch.setattr(metadata, "version", lambda name: "2.9.0")
    with pytest.raises(LibraryMissing, match=r"allennlp is 2\.9\.0, not 2\.10\.1"):
        library.check_installed()


def test_cuda_is_the_card_that_spark_gave_to_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import TaskContext
    from pyspark.resource import ResourceInformation

    assert device_of_task("cuda") == "cuda"  # no task
    context = TaskContext()
    context._resources = {"gpu": ResourceInformation("gpu", ["3"])}
    monkeypatch.setattr(TaskContext, "_taskContext", context)
    assert [device_of_task(device) for device in ("cpu", "cuda:1", "cuda")] == ["cpu", "cuda:1", "cuda:3"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert device_of_task("cuda") == "cuda:1"
    context._resources = {}
    assert device_of_task("cuda") == "cuda"
