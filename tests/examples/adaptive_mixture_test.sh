#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run that chooses its own weights: ended in the middle and started again on
# other ranks, it makes the same changes and has the same losses.
#
#   sh tests/examples/adaptive_mixture_test.sh ADAPTIVE_MIXTURE PONIENTE
set -eu

train=$1
# shellcheck source=tests/examples/small_run.sh
. "$(dirname "$0")/small_run.sh"
make_small_run "$2"
sed -i -e 's/^steps = .*/steps = 600\njournal = "run.journal"\nblock_size = 64/' \
  -e 's/^start_step = .*/start_step = 500/' run.toml
mkdir whole killed fixed

"$train" run.toml whole >whole.log
mv run.journal whole.journal
[ "$(wc -l <whole.journal)" -ge 11 ] || fail 'fewer than 10 changes'
grep -q ' weights "cats" .* why "losses up to step 50" crc ' whole.journal ||
  fail 'no change at step 50'

# Ended behind step 230, on 3 ranks; its checkpoint is that of step 200, but
# the change of step 200 is written before it.
"$train" run.toml killed --ranks 3 --stop-at 230 >/dev/null
"$train" run.toml killed --ranks 8 --stop-at 420 >/dev/null
"$train" run.toml killed --ranks 2 >killed.log
head -n 1 killed.log | grep -qx 'resumes at step 400' || fail 'began anew'
cmp whole.journal run.journal || fail 'the journals differ'
sed 1d killed.log | cmp whole.log - || fail 'the losses differ'

# The changes move weight to what is hard: under fixed weights that is
# "numbers", which ends better with the changes.
rm run.journal
"$train" run.toml fixed --fixed >fixed.log
[ ! -e run.journal ] || fail 'a fixed run made a journal'
loss() { sed -n "s/^$2  loss \([0-9.]*\) .*/\1/p" "$1"; }
# is_below A B: both are losses, and A is less than B.
is_below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(0 < a && a < b) }'; }
cats=$(loss fixed.log cats)
numbers=$(loss fixed.log numbers)
is_below "$cats" "$numbers" ||
  fail "fixed weights: cats end with '$cats', numbers with '$numbers'"
changed=$(loss whole.log numbers)
is_below "$changed" "$numbers" ||
  fail "numbers end with '$changed', under fixed weights with '$numbers'"

# The tool sees the changes.
cp whole.journal run.journal
"$2" show run.toml --step 300 >shown || fail 'show failed'
rm run.journal
"$2" show run.toml --step 300 >unsteered
"$2" show run.toml --step 300 --journal whole.journal >steered
cmp shown steered || fail '--journal shows another run'
if cmp -s shown unsteered; then fail 'the journal changes nothing'; fi
code=0
"$2" show run.toml --step 300 --journal none 2>err || code=$?
[ "$code" -ne 0 ] || fail 'a missing journal was accepted'
grep -q "there is no file 'none'" err || fail "no word of it: $(cat err)"
