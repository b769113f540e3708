# make help lists the commands. demo and test each do all the set-up by themselves, once.
SHELL := /bin/bash
PYTHON := .venv/bin/python
export PYTHONPATH := $(CURDIR)

CORPUS ?= build/corpus
OUT ?= build/demo

.DEFAULT_GOAL := help

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

demo: set-up-demo  ## articles to hard triples on the bundled corpus; or CORPUS=<folder> OUT=<folder>
	@if [ "$(CORPUS)" = build/corpus ]; then $(PYTHON) -m tests.corpus.lay_out build/corpus; fi
	@$(PYTHON) jobs/run_pipeline.py --config conf/local.toml --out "$(OUT)" --corpus "$(CORPUS)"

test: set-up-test  ## all tests
	@$(PYTHON) -m pytest

lint: set-up-test  ## ruff and mypy
	@$(PYTHON) -m ruff check jobs udfs tests
	@$(PYTHON) -m ruff format --check jobs udfs tests
	@$(PYTHON) -m mypy

bench: set-up-test  ## speed and memory of each stage beside plain Python, as JSON; ARTICLES=2000 LAST=import
	@$(PYTHON) -m tests.benchmarks.bench_stages --articles $(or $(ARTICLES),2000) --last $(or $(LAST),import)

bench-annotators: set-up-test  ## quality, speed and memory of the annotators; GOLD=<folder> SCORER=<file>
	@$(PYTHON) -m tests.benchmarks.bench_annotators $(if $(GOLD),--gold "$(GOLD)") $(if $(SCORER),--scorer "$(SCORER)")

bench-annotate: set-up-test  ## the annotator's speed in Spark and its memory; ARTICLES=200 DOCUMENTS=5000
	@$(PYTHON) -m tests.benchmarks.bench_annotate_speed --articles $(or $(ARTICLES),200) --documents $(or $(DOCUMENTS),5000)

setup-allennlp: set-up-demo  ## the paper's annotators, AllenNLP 2.10.1, into .venv (optional)
	@conf/set_up_allennlp.sh

notebook: set-up-test  ## open the notebooks on the demo's tables
	@$(PYTHON) -c 'import jupyterlab' 2>/dev/null || { echo "JupyterLab is missing. Type:  .venv/bin/pip install jupyterlab" >&2; exit 1; }
	@cd notebooks && RECORD_SPARK_TABLES="$(abspath $(OUT))/tables" ../$(PYTHON) -m jupyterlab

pictures: set-up-test  ## draw the README's pictures from the demo's tables
	@$(PYTHON) -m tests.notebooks.pictures "$(OUT)/tables"

tables-doc: set-up-demo  ## the tables with all their columns, from the contracts
	@$(PYTHON) -m jobs.job_support.contracts

set-up-demo:
	@conf/set_up.sh english,submit,train

set-up-test:
	@conf/set_up.sh english,submit,train,notebooks,dev

constraints: set-up-test  ## write conf/constraints.txt from what is installed
	@(head -1 conf/constraints.txt; $(PYTHON) -m pip freeze --all | grep -vE '^(pip)==|^-e|@' | grep -vxFf conf/constraints-allennlp.txt) > build/constraints.txt && mv build/constraints.txt conf/constraints.txt

clean:  ## remove what was built; keeps .venv
	rm -rf build dist spark-warehouse .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: help demo test lint bench bench-annotators bench-annotate notebook pictures tables-doc set-up-demo set-up-test setup-allennlp constraints clean
