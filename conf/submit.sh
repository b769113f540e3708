#!/usr/bin/env bash
# Submits a job with this project's code and Delta's jars; works from any folder.
#   conf/submit.sh [OPTIONS OF spark-submit] JOB [ARGUMENTS OF THE JOB]
#   conf/submit.sh --master spark://<host>:7077 --properties-file conf/spark_cpu.conf \
#       jobs/annotate_articles.py --config conf/cluster.toml --set paths.tables=hdfs:///news/tables
# JOB, --config and --properties-file are looked for in the current folder, then in the checkout.
#   PYTHON           builds the code's archive and runs the driver (.venv of the checkout)
#   PYSPARK_PYTHON   runs on executors (the same path); it needs the project's dependencies, not its code
#   SPARK_HOME       a Spark 4.2 installation (the one inside pyspark)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fail() { printf 'submit: %s\n' "$*" >&2; exit 2; }

resolve() {  # a path as the caller means it
    if [ ! -e "$1" ] && [ -e "$root/$1" ]; then printf '%s' "$root/$1"; else printf '%s' "$1"; fi
}

is_job() {
    local path; path=$(resolve "$1")
    [[ $path == *.py && -f $path && $(cd "$(dirname "$path")" && pwd -P) == $(cd "$root/jobs" && pwd -P) ]]
}

options=() arguments=() job='' code='' jars='' packages=''
while [ $# -gt 0 ] && [ -z "$job" ]; do
    if is_job "$1"; then job=$(resolve "$1"); shift; continue; fi
    case $1 in
        --py-files | --jars | --packages | --properties-file) [ $# -gt 1 ] || fail "$1 needs a value" ;;
    esac
    case $1 in  # spark-submit takes the last of each of the first three: ours and the caller's go into one
        --py-files) code=,$2; shift 2 ;;
        --jars) jars=$2; shift 2 ;;
        --packages) packages=$2; shift 2 ;;
        --properties-file) options+=("$1" "$(resolve "$2")"); shift 2 ;;
        *) options+=("$1"); shift ;;
    esac
done
[ -n "$job" ] || fail "no job of this checkout among the arguments; name one of: $(cd "$root" && ls jobs/[a-z]*_*.py | tr '\n' ' ')
        options of spark-submit stand before it, the job's own arguments after it"
while [ $# -gt 0 ]; do
    case $1 in
        --config=*) arguments+=("--config=$(resolve "${1#--config=}")") ;;
        --config) arguments+=("$1"); if [ $# -gt 1 ]; then arguments+=("$(resolve "$2")"); shift; fi ;;
        *) arguments+=("$1") ;;
    esac
    shift
done

python=${PYTHON:-$root/.venv/bin/python}
command -v "$python" >/dev/null || fail "no $python: run 'make demo' once, or set PYTHON"
found=$(PYTHONPATH=$root "$python" - "$root" <<'PY'
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

missing = [m for m in ("pip", "setuptools", "pyspark", "delta", "pydantic") if importlib.util.find_spec(m) is None]
if missing:
    sys.exit(f"submit: {sys.executable} lacks {', '.join(missing)}: run 'make demo' once, or set PYTHON")
import pyspark

from jobs.job_support.session import DELTA_PACKAGE, delta_jars, set_up_jars_folder

setuptools = importlib.metadata.version("setuptools")
if int(setuptools.partition(".")[0]) < 77:
    sys.exit(f"submit: setuptools {setuptools} is too old: {sys.executable} -m pip install 'setuptools>=77'")
print(Path(pyspark.__file__).parent)
print((Path(sys.argv[1]) / "conf" / "log4j2.properties").as_uri())
print(DELTA_PACKAGE)
print(",".join(map(str, delta_jars(set_up_jars_folder() / "jars"))))
PY
) || exit 2
{ read -r spark_home; read -r log4j; read -r delta_package; read -r delta_jars || true; } <<< "$found"
spark_home=${SPARK_HOME:-$spark_home}

# A copy is built: setuptools would leave build/ in the checkout, and take what an older build left there.
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
for name in jobs udfs pyproject.toml README.md LICENSE; do
    if [ -e "$root/$name" ]; then cp -R "$root/$name" "$work/source/"; fi
done
"$python" -m pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation \
    --wheel-dir "$work" "$work/source"
# A wheel in --py-files would import on the driver and fail on executors; the same file named .zip works.
mv "$work"/*.whl "$work/record_spark.zip"
options+=(--py-files "$work/record_spark.zip$code")

if [[ $jars,$packages != *delta-spark* ]]; then  # the caller may bring Delta himself
    if [ -n "$delta_jars" ]; then jars=${jars:+$jars,}$delta_jars; else packages=${packages:+$packages,}$delta_package; fi
fi
if [ -n "$jars" ]; then options+=(--jars "$jars"); fi
if [ -n "$packages" ]; then options+=(--packages "$packages"); fi

export PYSPARK_DRIVER_PYTHON=${PYSPARK_DRIVER_PYTHON:-$python} PYSPARK_PYTHON=${PYSPARK_PYTHON:-$python}
# The driver's Java in client mode: not by --driver-java-options, which would take the place of the caller's.
export SPARK_SUBMIT_OPTS="-Dlog4j2.configurationFile=$log4j ${SPARK_SUBMIT_OPTS:-}"
"$spark_home/bin/spark-submit" "${options[@]}" "$job" ${arguments[@]+"${arguments[@]}"}
