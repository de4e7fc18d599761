#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need, builds, and runs every test through ctest.
#   sh tests/run.sh [BUILD_FOLDER [CMAKE_ARGUMENT...]]
# Root or sudo is needed only if a package is missing. Environment:
#   PONIENTE_TEST_REGEX   run the tests whose names match (ctest -R)
set -eu

case ${1:-} in
  -h | --help)
    # The comment above, without the licence.
    sed -n '3,/^set /s/^# \{0,1\}//p' "$0"
    exit 0 ;;
  -*)
    echo "tests/run.sh: unknown option: $1 (--help prints the usage)" >&2
    exit 2 ;;
esac
cd "$(dirname "$0")/.."

step="start"
log=""
times_file=$(mktemp)
finish() {
  code=$?
  times >"$times_file"
  used=$(awk -f cmake/processor_seconds.awk "$times_file")
  echo "== $(($(date +%s) - began)) s, of processors ${used%.*} s"
  rm -f "$times_file"
  [ "$code" -eq 0 ] && return
  [ -n "$log" ] && [ -f "$log" ] && tail -n 40 "$log" >&2
  echo "tests/run.sh: failed: $step${log:+ (all of it: $log)}" >&2
}
began=$(date +%s)
trap finish EXIT

step="installing packages"
sh cmake/install_packages.sh build test
sh cmake/install_packages.sh libuv ||
  echo "== no libuv: the test of examples/libuv_loop will be skipped"
sh cmake/install_packages.sh mpi ||
  echo "== no MPI: the test of examples/mpi_train will be skipped"

build=${1:-build-tests}
[ $# -gt 0 ] && shift
mkdir -p "$build"
step="configuring in $build"
log="$build/configure.log"
echo "== $step"
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DPONIENTE_WERROR=ON "$@" \
  > "$log" 2>&1
step="building in $build"
log="$build/build.log"
echo "== $step (about 8 minutes on 2 cores, the first time)"
ninja -C "$build" > "$log" 2>&1
step="testing in $build"
log=""
echo "== $step"
# What is freed is overwritten: whoever still uses it is seen.
MALLOC_PERTURB_=${MALLOC_PERTURB_:-165} \
  ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" \
  ${PONIENTE_TEST_REGEX:+-R "$PONIENTE_TEST_REGEX"} --no-tests=error
