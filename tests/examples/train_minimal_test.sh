#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The trainer to copy: killed by SIGKILL and started again it prints the losses
# of a run that was not; what does not fit is an error.
#
#   sh tests/examples/train_minimal_test.sh TRAIN_MINIMAL PONIENTE
set -eu

train=$1
# shellcheck source=tests/examples/small_run.sh
. "$(dirname "$0")/small_run.sh"
make_small_run "$2"
sed -i -e 's/^steps = .*/steps = 1520/' -e 's/^start_step = .*/start_step = 700/' \
  run.toml

"$train" run.toml whole >whole.log
[ "$(grep -c '^step ' whole.log)" -eq 30 ] || fail 'not a line for 50 steps'
tail -n 1 whole.log | grep -q '^done, loss ' || fail 'no last line'

kill_at 300 "$train" run.toml killed >killed.log
if grep -q '^done' killed.log; then fail 'was not killed half-way'; fi
"$train" run.toml killed >resumed.log
head -n 1 resumed.log | grep -q '^resumes at step [1-9]' || fail 'began anew'
# The steps after the last checkpoint are done twice, with the same losses.
grep -h '^step ' killed.log resumed.log | sort -u >both
grep '^step ' whole.log | sort | cmp - both || fail 'the losses differ'
[ "$(tail -n 1 whole.log)" = "$(tail -n 1 resumed.log)" ] ||
  fail 'the last lines differ'
cmp whole killed || fail 'the last checkpoints differ'

# A complete run has nothing left to do.
"$train" run.toml whole >again.log
printf 'resumes at step 1520\n%s\n' "$(tail -n 1 whole.log)" |
  cmp - again.log || fail 'a complete run went on'

# expect_error WORDS ARGUMENT...: exit code 1, and a line that has the words.
expect_error() {
  words=$1
  shift
  code=0
  "$train" "$@" >out 2>err || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code instead of 1: $words"
  grep -q "^train_minimal: .*$words" err || fail "no '$words': $(cat err)"
}
expect_error 'none.toml' none.toml new
expect_error 'cannot create none/new.tmp: No such file' run.toml none/new
head -c 1000 killed >short
expect_error "not that of a loader's state" run.toml short
sed -i 's/seed = 1/seed = 2/' run.toml
expect_error 'seed 1 in the state, seed 2 here' run.toml killed
cmp whole killed || fail 'a refused run changed its checkpoint'
