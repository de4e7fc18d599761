#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The libtorch trainer: killed by SIGKILL and started again, it prints the
# losses of a run that was not killed. Attention sees neither other documents
# nor later tokens.
#
#   sh tests/examples/libtorch_train_test.sh LIBTORCH_TRAIN PONIENTE SOURCE
set -eu

if [ $# -eq 0 ]; then
  echo 'SKIPPED: libtorch_train was not built (libtorch-dev)'
  exit 77
fi
train=$1
tool=$2
examples=$3/examples
# shellcheck source=tests/examples/small_run.sh
. "$(dirname "$0")/small_run.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

# The run of docs/libtorch.md.
for name in fables recipes; do
  "$tool" pack "$examples/text/$name" --out $name --quiet
done
"$tool" pack "$examples/text/riddles.txt" --delimiter % --out riddles --quiet
sed 's/^seed = .*/&\nsteps = 120/' "$examples/mixture.toml" >run.toml

"$train" run.toml whole >whole.log
[ "$(grep -c '^step ' whole.log)" -eq 12 ] || fail 'not a line for 10 steps'
grep -q '^step 120 .* loss/fables .* loss/small/riddles ' whole.log ||
  fail "no loss of each source: $(cat whole.log)"
# 5.5 without training; 2.1 where this was written.
awk '/^step 120 / && $6 < 2.6 { learned = 1 } END { exit !learned }' whole.log ||
  fail "has not learned: $(tail -n 1 whole.log)"

kill_at 60 "$train" run.toml killed >killed.log
if grep -q '^step 120 ' killed.log; then fail 'was not killed half-way'; fi
"$train" run.toml killed >resumed.log
head -n 1 resumed.log | grep -q '^resumes at step [1-9]' || fail 'began anew'
# The steps after the last checkpoint are done twice, with the same losses.
grep -h '^step ' killed.log resumed.log | sort -u >both
sort whole.log | diff - both || fail 'the losses differ'

# expect_error WORDS ARGUMENT...: exit code 1, and a line that has the words.
expect_error() {
  words=$1
  shift
  code=0
  "$train" "$@" >out 2>err || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code instead of 1: $words"
  grep -q "^libtorch_train: .*$words" err || fail "no '$words': $(cat err)"
}
head -c 1000 whole >short
expect_error 'failed reading zip archive' run.toml short
sed 's/seed = 42/seed = 1/' run.toml >other.toml
expect_error 'seed 42 in the state, seed 1 here' other.toml whole

# loss_of NAME DOCUMENT...: the loss of samples that are these documents, of ids
# below 4. It is that of the model with which every run begins, because the
# learning rate is almost 0.
loss_of() {
  name=$1
  shift
  printf '{"tokens": [%s]}\n' "$@" >ids.jsonl
  "$tool" pack ids.jsonl --input-format tokens --vocab-size 4 \
    --tokenizer-name digits --out "$name" --quiet
  cat >"$name.toml" <<END
[data]
steps = 10
batch_size = 1
seq_len = $(echo "$@" | tr ',' ' ' | wc -w)
path = "$name"
[[data.stages]]
start_step = 0
lr_scale = 1e-30
END
  "$train" "$name.toml" "$name.ckpt" >"$name.log"
  awk '{ print $4 }' "$name.log"
}

# Two documents in a sample: the mean of their losses, whatever is beside them.
x='3,1,0,1,2,2'
y='2,3,1,0,2,0'
echo "$(loss_of xx $x $x) $(loss_of yy $y $y)" \
  "$(loss_of xy $x $y) $(loss_of yx $y $x)" | tee losses |
  awk 'function differ(a, b) { return a > b + 1e-5 || b > a + 1e-5 }
       NF != 4 || !differ($1, $2) { exit 1 }
       differ($3, ($1 + $2) / 2) || differ($4, $3) { exit 1 }' ||
  fail "a document changes the loss of another: $(cat losses)"

# Samples with one label each: the probabilities of all labels add up to 1,
# because the model does not see the label.
for label in 0 1 2 3; do loss_of "label$label" "3,$label"; done |
  tee losses |
  awk '{ sum += exp(-$1) } END { exit sum < 0.9999 || sum > 1.0001 }' ||
  fail "a token sees the token after it: $(cat losses)"
