# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the trainers: a folder of their own, and a run in it.

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# kill_at STEP COMMAND...: prints what the command prints, and ends it with
# SIGKILL as soon as it says that so many steps are done.
kill_at() {
  at=$1
  shift
  mkfifo lines
  "$@" >lines &
  pid=$!
  while read -r line; do
    echo "$line"
    case $line in "step $at "*) kill -KILL "$pid" ;; esac
  done <lines
  code=0
  wait "$pid" || code=$?
  [ "$code" -eq 137 ] || fail "ended with $code before it was killed"
}

# make_small_run PONIENTE: goes to a folder that is removed at the end, with two
# stores and run.toml of 24 steps, whose last stage begins with step 17.
make_small_run() {
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  cd "$dir" || exit 1
  awk 'BEGIN { for (i = 0; i < 4000; ++i) print "line", i, i * i % 97 }' >numbers
  awk 'BEGIN { for (i = 0; i < 900; ++i) print "the cat sat on mat", i }' >cats
  "$1" pack numbers --out stores/numbers --quiet
  "$1" pack cats --out stores/cats --quiet
  cat >run.toml <<'END'
[data]
seed = 1
steps = 24
batch_size = 8
seq_len = 16
[data.mixture]
numbers = { weight = 0.7, path = "stores/numbers" }
cats = { weight = 0.3, path = "stores/cats" }
[[data.stages]]
name = "end"
start_step = 17
lr_scale = 0.5
END
}
