#!/usr/bin/env bash
# Sets the project up in its own virtual environment (.venv), once: Java, Python packages, Delta's jars.
# Usage: conf/set_up.sh EXTRA[,EXTRA...]   (extras of pyproject.toml; what is there already is left alone)
set -euo pipefail
cd "$(dirname "$0")/.."
extras=${1:?extras of pyproject.toml, comma separated}
python=${PYTHON:-python3.11}
venv=.venv

say() { printf 'set-up: %s\n' "$*" >&2; }

as_root_install() {  # installs Debian packages where that is possible, else says what to type
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $* by apt-get"
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    else
        say "missing: $*. Type:  sudo apt-get update && sudo apt-get install -y $*   then run make again"
        exit 1
    fi
}

java_version() {  # major version of JAVA_HOME's java, or of the one on PATH; empty without
    local java=java
    [ -n "${JAVA_HOME:-}" ] && java=$JAVA_HOME/bin/java
    command -v "$java" >/dev/null 2>&1 || return 0
    "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1
}

version=$(java_version)
if [ "${version:-0}" -lt 17 ]; then
    if [ -n "${JAVA_HOME:-}" ]; then
        say "JAVA_HOME=$JAVA_HOME is Java ${version:-(none)}; Spark needs 17 or 21. Unset it, or point it to one of these."
        exit 1
    fi
    if apt-cache show openjdk-17-jre-headless >/dev/null 2>&1; then
        as_root_install openjdk-17-jre-headless
    else
        as_root_install openjdk-21-jre-headless
    fi
fi

command -v "$python" >/dev/null || as_root_install python3.11 python3.11-venv
"$python" -c 'import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || as_root_install python3.11-venv

wanted=$( (cat pyproject.toml conf/constraints.txt; echo "$extras") | sha256sum | cut -d' ' -f1)
if [ "$(cat "$venv/set-up-$extras" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

[ -x "$venv/bin/python" ] || { say "making $venv"; "$python" -m venv "$venv"; }
# The dependencies alone, not the project: its code is shipped with each submit, so a job
# that finds it by accident on one machine would fail on another.
"$venv/bin/python" - "$extras" > "$venv/requirements.txt" <<'PY'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
wanted = list(project["dependencies"])
for extra in sys.argv[1].split(","):
    wanted += project["optional-dependencies"][extra]
print("\n".join(wanted))
PY
say "installing Python packages ($extras): a few minutes, once"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c conf/constraints.txt -r "$venv/requirements.txt"
say "fetching Delta's jars by Spark, once"
if ! PYTHONPATH=. "$venv/bin/python" -m jobs.job_support.session > "$venv/delta-jars.log" 2>&1; then
    tail -40 "$venv/delta-jars.log" >&2
    say "Spark could not fetch Delta's jars (all it said: $venv/delta-jars.log); is Maven Central reachable?"
    exit 1
fi
echo "$wanted" > "$venv/set-up-$extras"
say "done"
