#!/usr/bin/env bash
# Adds AllenNLP 2.10.1 to .venv, beside the core and without changing it. A second run does nothing.
# Its own pins (torch below 1.13, spaCy below 3.4, transformers below 4.21) can't be solved beside the core, and
# cached-path's ask for an older rich: these packages are installed without their dependencies, which are named here.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
own=(allennlp allennlp-models cached-path)
beside=(transformers scikit-learn scipy nltk h5py lmdb dill base58 more-itertools
    torch requests tqdm filelock packaging traitlets typer huggingface-hub)

say() { printf 'set-up: %s\n' "$*" >&2; }

[ -x "$python" ] || { say "no .venv: make demo, or make test, sets it up first"; exit 1; }
wanted=$(cat conf/constraints.txt conf/constraints-allennlp.txt "$0" | sha256sum | cut -d' ' -f1)
mark=.venv/set-up-allennlp
if [ "$(cat "$mark" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

say "installing AllenNLP and what it needs: some minutes, once"
core() { "$python" -m pip list --format=freeze --disable-pip-version-check | grep -iE '^(spacy|pyspark|numpy|pandas|pyarrow|torch)=='; }
before=$(core || true)
pip=("$python" -m pip install --quiet --disable-pip-version-check -c conf/constraints.txt -c conf/constraints-allennlp.txt)
# pip reports AllenNLP's own pins as broken, which they are meant to be: its lines are shown only where it fails.
if ! said=$({ "${pip[@]}" "${beside[@]}" && "${pip[@]}" --no-deps "${own[@]}"; } 2>&1); then
    say "pip could not install them:"
    printf '%s\n' "$said" >&2
    exit 1
fi
after=$(core)
missed=$(comm -23 <(sort <<< "$before") <(sort <<< "$after"))
[ -z "$missed" ] || { say "the core was changed, which must not be: before: $missed"; exit 1; }
PYTHONPATH=. "$python" -c 'from udfs.annotators.allennlp.library import import_allennlp; import_allennlp()'
echo "$wanted" > "$mark"
say "done"
