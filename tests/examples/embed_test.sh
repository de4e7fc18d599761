#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library in a program of C, and in one of Python with numpy and without,
# gives the tokens that the trainer of C++ logs.
#
#   sh tests/examples/embed_test.sh PONIENTE TRAIN EMBED [PYTHON LIBRARY]
set -eu

tool=$1
train=$2
embed=$3
python=${4:-}
library=${5:-}
embed_py=$(cd "$(dirname "$0")/../.." && pwd)/examples/embed.py
# shellcheck source=tests/examples/small_run.sh
. "$(dirname "$0")/small_run.sh"

# step, "tokens", hash
hashes() { grep ' tokens ' "$1" | cut -d ' ' -f 1-3; }

expect_same() {
  [ -s "$1" ] || fail "$1 is empty"
  cmp "$1" "$2" || fail "$2 differs from $1: $(diff "$1" "$2" | head -n 5)"
}

make_small_run "$tool"
"$train" --config run.toml --log train.log >out
hashes train.log >expected
[ "$(wc -l <expected)" -eq 24 ] || fail 'the log has not 24 steps'

if [ -z "$python" ]; then
  # One step more than there are.
  "$embed" run.toml 25 >c.out
  hashes c.out >c.hashes
  expect_same expected c.hashes
  grep -q '^20 tokens [0-9a-f]* 8 x 16 [a-z]* lr 0.5 stage end$' c.out ||
    fail "no whole line of step 20: $(cat c.out)"
  grep -q '^resumed after 12 steps: the same$' c.out || fail 'did not resume'
  RANK=1 WORLD_SIZE=3 "$embed" run.toml 24 >out
  grep -q '^3 tokens [0-9a-f]* 3 x 16 ' out || fail "rank 1 of 3: $(cat out)"
  if "$embed" none.toml >out 2>err; then fail 'reads no file'; fi
  grep -q "^embed: NOT_FOUND: .*'none.toml'" err || fail "$(cat err)"
  exit 0
fi

"$embed" run.toml 24 >c.out
"$python" "$embed_py" --library "$library" --plain run.toml 24 >plain.out
expect_same c.out plain.out
export PONIENTE_LIBRARY="$library"
RANK=0 WORLD_SIZE=9 "$python" "$embed_py" --plain run.toml 4 >plain.none
grep -q '^0 tokens 0000000000000000 0 x 16 - ' plain.none ||
  fail "a rank without samples: $(cat plain.none)"
# A change in the middle: the steps before it stay, those after it differ. It
# holds from the next block on.
sed 's/^seed = 1$/&\nblock_size = 32/' run.toml >blocks.toml
"$embed" blocks.toml 24 >blocks.out
"$python" "$embed_py" --plain --steer 'weights "cats" 0.9 "numbers" 0.1' \
  blocks.toml 24 >steered.out
grep -q '^changed from step 12 on$' steered.out || fail "$(cat steered.out)"
hashes blocks.out | head -n 12 >before
hashes steered.out | head -n 12 >steered.before
expect_same before steered.before
hashes blocks.out | tail -n 12 >after
hashes steered.out | tail -n 12 >steered.after
if cmp -s after steered.after; then fail 'the change changed nothing'; fi
if "$python" "$embed_py" --plain --steer 'wieghts "cats" 1' blocks.toml 24 >out \
  2>err; then
  fail 'makes a change of an unknown kind'
fi
grep -q "^embed.py: .*'wieghts' is no kind of change" err || fail "$(cat err)"
if "$python" "$embed_py" none.toml >out 2>err; then fail 'reads no file'; fi
grep -q "^embed.py: .*'none.toml'" err || fail "$(cat err)"
if ! "$python" -c 'import numpy' 2>err; then
  echo "SKIPPED: arrays of numpy (python3-numpy): $(tail -n 1 err)"
  exit 77
fi
"$python" "$embed_py" run.toml 24 >numpy.out
expect_same c.out numpy.out
RANK=0 WORLD_SIZE=9 "$python" "$embed_py" run.toml 4 >numpy.none
expect_same plain.none numpy.none
