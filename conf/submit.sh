#!/usr/bin/env bash
# Ships this project's code with a job and submits it.
#   conf/submit.sh jobs/annotate_articles.py --config conf/cluster.toml --set paths.tables=hdfs:///record/tables
# Options for spark-submit itself stand in SPARK_OPTIONS, for example
#   SPARK_OPTIONS="--master spark://<host>:7077 --properties-file conf/spark_cpu.conf"
set -euo pipefail
job=${1:?a job file, as jobs/ingest_articles.py}; shift
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
dist=$(mktemp -d); trap 'rm -rf "$dist"' EXIT
# A wheel in --py-files would import on the driver and fail on executors; the same file named .zip works.
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$dist" "$root"
for wheel in "$dist"/*.whl; do mv "$wheel" "$dist/record_spark.zip"; done
jars=$("$python" -c 'from jobs.job_support.session import delta_jars, set_up_jars_folder
print(",".join(map(str, delta_jars(set_up_jars_folder() / "jars"))))' 2>/dev/null || true)
if [ -n "$jars" ]; then delta=(--jars "$jars"); else delta=(--packages io.delta:delta-spark_4.2_2.13:4.4.0); fi
submit=${SPARK_HOME:+$SPARK_HOME/bin/spark-submit}
# shellcheck disable=SC2086  # SPARK_OPTIONS is meant to be split
PYSPARK_PYTHON=${PYSPARK_PYTHON:-$python} "${submit:-$(dirname "$python")/spark-submit}" \
    "${delta[@]}" --py-files "$dist/record_spark.zip" ${SPARK_OPTIONS:-} "$job" "$@"
