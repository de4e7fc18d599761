#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The data-parallel trainer on any number of processes reads the tokens of the
# trainer on one, and finds its losses, digit for digit.
#
#   sh tests/examples/mpi_train_test.sh MPIRUN MPI_TRAIN TRAIN PONIENTE
set -eu

if [ $# -eq 0 ]; then
  echo 'SKIPPED: no MPI was found (libopenmpi-dev, openmpi-bin)'
  exit 77
fi
mpirun=$1
mpi_train=$2
train=$3
tool=$4
# shellcheck source=tests/examples/small_run.sh
. "$(dirname "$0")/small_run.sh"
# Open MPI of versions 4 and 5: as root, and on fewer cores than processes.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# What MPI itself leaves behind is not looked for.
export LSAN_OPTIONS=detect_leaks=0

# on RANKS FLAG...
on() {
  ranks=$1
  shift
  "$mpirun" -n "$ranks" "$mpi_train" "$@" >out 2>err ||
    fail "on $ranks ranks: $(cat out err)"
}

# The logs have a hash of each step's tokens, and the loss to the last bit.
expect_same() {
  cmp "$1" "$2" || fail "$2 differs from $1: $(diff "$1" "$2" | head -n 5)"
}

make_small_run "$tool"

"$train" --config run.toml --log one >out
tail -n 1 out >one.summary
on 4 --config run.toml --log four
expect_same one four
tail -n 1 out | cmp one.summary - || fail 'the summary on 4 ranks differs'
on 3 --config run.toml --log three # 2, 3 and 3 samples
expect_same one three

# Begun on 4 ranks, gone on with on 2, then on 3, ended on one without MPI.
for part in '4 10' '2 15' '3 20'; do
  on "${part% *}" --config run.toml --checkpoint c --log elastic \
    --steps "${part#* }"
done
grep -q '^resumes with step 15$' out || fail 'does not resume at its checkpoint'
"$train" --config run.toml --checkpoint c --log elastic >out
grep -q '^resumes with step 20$' out || fail 'train does not resume'
expect_same one elastic

# Changed on 3 ranks while it goes on; then the journal makes the same run.
sed -e 's/^seq_len = .*/seq_len = 16\njournal = "run.journal"\nblock_size = 16/' \
  run.toml >steered.toml
"$train" --config steered.toml --log unchanged >/dev/null
echo 'weights "cats" 0.9 "numbers" 0.1 why "test"' >change
on 3 --config steered.toml --log steered --changes change
grep -q '^changes with step 2$' out || fail "no change: $(cat out)"
if [ -e change ] || [ ! -e change.done ]; then fail 'the change was not taken'; fi
if cmp -s unchanged steered; then fail 'the change changes nothing'; fi
"$train" --config steered.toml --log known >/dev/null
expect_same steered known
echo 'add "more" { weight = 0.5, path = "stores/cats", take = 9 }' >change
on 2 --config steered.toml --log grown --changes change
grep -q "source 'more' is added" out || fail "nothing was added: $(cat out)"
if cmp -s steered grown; then fail 'what was added changes nothing'; fi
on 3 --config steered.toml --log opened
expect_same grown opened
cp run.journal grown.journal
echo 'weights "cat" 0.9' >change
on 2 --config steered.toml --log again --changes change
[ -e change.refused ] || fail 'a component that does not exist was accepted'
grep -q "did you mean 'cats'" err || fail "no word of it: $(cat err)"
expect_same grown again
cmp -s run.journal grown.journal || fail 'a refused change is in the journal'

# Fewer samples than ranks, and a last batch of one: some ranks have none.
cat >short.toml <<'END_OF_TOML'
[data]
batch_size = 2
seq_len = 16
take = 13
path = "stores/cats"
END_OF_TOML
"$train" --config short.toml --log short >out
[ "$(wc -l <short)" -eq 7 ] || fail "not 7 steps: $(cat short)"
on 3 --config short.toml --log short.three
expect_same short short.three

# Packed documents of 1 to 13 tokens: samples differ in how many tokens they
# have to predict, and have padding.
awk 'BEGIN {
  for (i = 0; i < 90; ++i) {
    line = "1"
    for (j = i * 7 % 13; j > 0; --j) line = line ", " (i + j) % 16
    print "{\"tokens\": [" line "]}"
  }
}' >ids.jsonl
"$tool" pack ids.jsonl --input-format tokens --vocab-size 16 \
  --tokenizer-name digits --out stores/ids --quiet
cat >packed.toml <<'END_OF_TOML'
[data]
batch_size = 4
seq_len = 16
pack_documents = true
steps = 12
path = "stores/ids"
END_OF_TOML
"$train" --config packed.toml --log packed >out
[ "$(wc -l <packed)" -eq 12 ] || fail "not 12 steps: $(cat packed)"
on 3 --config packed.toml --log packed.three
expect_same packed packed.three

# By itself it is one process.
"$mpi_train" --config run.toml --log alone >out 2>err || fail "$(cat err)"
expect_same one alone

# Ranks that do not read the same data.
sed 's/seed = 1/seed = 2/' run.toml >other.toml
if "$mpirun" -n 1 "$mpi_train" --config run.toml : \
  -n 1 "$mpi_train" --config other.toml >out 2>err; then
  fail 'trains one model on two runs'
fi
grep -q 'ranks disagree: .* fingerprints from' err ||
  fail "expected a disagreement, got: $(cat err)"

# A launcher that MPI does not know of.
if RANK=1 WORLD_SIZE=2 "$mpi_train" --config run.toml >out 2>err; then
  fail 'trains on one of two shares'
fi
grep -q 'rank 1 of 2 by the environment (torchrun), 0 of 1 by MPI' err ||
  fail "expected the two numbers, got: $(cat err)"
