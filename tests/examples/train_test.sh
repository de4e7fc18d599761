#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The trainer of the quickstart: resumes exactly, refuses what does not fit, and
# keeps documents of a sample apart.
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

# loss_of NAME SEQ_LEN DOCUMENT...: the loss of one sample of these documents,
# and the entropy of what is predicted. All begin with the same model.
loss_of() {
  name=$1
  seq_len=$2
  shift 2
  printf '{"tokens": [%s]}\n' "$@" >ids.jsonl
  "$tool" pack ids.jsonl --input-format tokens --vocab-size 16 \
    --tokenizer-name digits --out "$name" --quiet
  cat >"$name.toml" <<END
[data]
steps = 1
batch_size = 1
seq_len = $seq_len
path = "$name"
pack_documents = true
END
  "$train" --config "$name.toml" --log "$name.log" >"$name.out"
  echo "$(cut -d ' ' -f 5 "$name.log")" \
    "$(sed -n 's/^after.* entropy \([0-9.]*\) .*/\1/p' "$name.out")"
}

# Two documents in a sample and padding behind them: the mean over what each
# has to predict, 5 and 3 tokens. Padding, here of id 0, is not predicted, so
# the entropy of eight different ids is 3 bits.
x='9,1,2,3,4,5'
y='9,6,7,8'
echo "$(loss_of x 6 $x) $(loss_of y 4 $y) $(loss_of xy 17 $x $y)" \
  "$(loss_of yx 10 $y $x)" | tee losses |
  awk 'function differ(a, b) { return a > b + 1e-6 || b > a + 1e-6 }
       NF != 8 || !differ($1, $3) || differ($5, (5 * $1 + 3 * $3) / 8) ||
       differ($7, $5) || $6 != "2.079" || $8 != "2.079" { exit 1 }' ||
  fail "a document or padding changes the loss: $(cat losses)"

# The context ends at documents in samples that are cut end to end, too, unless
# the configuration says otherwise.
sed -i '/^pack_documents/d' yx.toml
"$train" --config yx.toml --log cut.log >out
[ "$(cut -d ' ' -f 5 cut.log)" = "$(cut -d ' ' -f 5 yx.log)" ] ||
  fail "the context of a cut sample: $(cat cut.log yx.log)"
printf '[runtime]\nattention_across_documents = true\n' >>yx.toml
"$train" --config yx.toml --log across.log >out
[ "$(cut -d ' ' -f 5 cut.log)" != "$(cut -d ' ' -f 5 across.log)" ] ||
  fail 'the context ends at documents although it should not'
