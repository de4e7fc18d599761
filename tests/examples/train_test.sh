#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The trainer of the quickstart: resumes exactly, and refuses what does not fit.
#
#   sh tests/examples/train_test.sh TRAIN PONIENTE
set -eu

train=$1
tool=$2
# shellcheck source=tests/examples/small_run.sh
. "$(dirname "$0")/small_run.sh"

# expect_error WORDS COMMAND...: it fails with one line that has the words.
expect_error() {
  words=$1
  shift
  if "$@" >out 2>err; then fail "no error with: $words"; fi
  [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
  grep -q -e "$words" err || fail "expected '$words', got: $(cat err)"
}

make_small_run "$tool"

"$train" --config run.toml --log whole.log >whole.out
[ "$(wc -l <whole.log)" -eq 24 ] || fail 'not a line for each step'
grep -q "stage 'end' begins, learning rate times 0.5" whole.out ||
  fail 'the stage is not announced'

# Killed in step 14: three steps and a torn line after the checkpoint.
run() {
  "$train" --config run.toml --checkpoint c --checkpoint_every 5 --log log "$@"
}
run --steps 10 >out
sed -n '11,13p' whole.log | sed 's/loss/lost/' >>log
printf '13 tok' >>log
run >out
grep -q '^resumes with step 10$' out || fail 'does not resume at its checkpoint'
cmp whole.log log || fail 'the resumed run differs'
[ "$(tail -n 1 whole.out)" = "$(tail -n 1 out)" ] || fail 'the summary differs'

# A complete run has nothing left to do.
run >out
cmp whole.log log || fail 'a complete run was changed'

cp c whole.c
head -c 1000 whole.c >c
expect_error "checkpoint 'c' has been cut short" run
echo text >c
expect_error 'was not written by this program' run
cp whole.c c
sed -i 's/seed = 1/seed = 2/' run.toml
expect_error 'belongs to other data: .*seed 1 in the state, seed 2 here' run
sed -i 's/stores.cats/stores\/dogs/' run.toml
expect_error 'run.toml:8:.*stores/dogs' run
expect_error 'usage: train --config FILE' "$train"
cmp whole.log log || fail 'a refused run changed the log'
