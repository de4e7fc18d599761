#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One checkpoint, two futures: trains a small model, then goes on from the same
# checkpoint under two last stages, which mix the sources and lower the learning
# rate in two ways. Up to the stage both runs are the same, digit for digit. A
# change of what lies before the checkpoint is refused.
#
#   sh examples/anneal_search.sh [TRAIN PONIENTE WORK]
#
# Takes the programs of examples/quickstart.sh, unless told of others, and makes
# its files anew in WORK, build-quickstart/anneal_search.
set -eu
export LC_ALL=C

source=$(cd "$(dirname "$0")/.." && pwd)
train=${1:-$source/build-quickstart/train}
tool=${2:-$source/build-quickstart/poniente}
work=${3:-$source/build-quickstart/anneal_search}
saved=100   # the step of the checkpoint
branch=120  # where the last stage begins
end=160

fail() {
  echo "anneal_search: $*" >&2
  exit 1
}

for program in "$train" "$tool"; do
  [ -x "$program" ] ||
    fail "there is no $program: run examples/quickstart.sh, or name another"
done
mkdir -p "$work"
cd "$work"
rm -rf prose code ./*.toml ./*.checkpoint ./*.log ./*.out

# --- The run up to the checkpoint --------------------------------------------

"$tool" pack "$source/docs" --glob '*.md' --out prose --quiet
"$tool" pack "$source/src" --glob '*.cc' --out code --quiet
# A block is served to its end, so a stage of which nothing is known yet should
# begin with one: after 8 * 120 samples 15 of 64 are complete.
cat >trunk.toml <<END
[data]
seed = 42
steps = $end
batch_size = 8
seq_len = 32
block_size = 64
[data.mixture]
prose = { weight = 0.5, path = "prose" }
code = { weight = 0.5, path = "code" }
END
echo "trains $saved steps of trunk.toml and saves a checkpoint"
"$train" --config trunk.toml --checkpoint trunk.checkpoint --log trunk.log \
  --steps "$saved" >trunk.out

# --- The futures -------------------------------------------------------------

# future NAME WEIGHTS LR_SCALE: goes on from a copy of the checkpoint.
future() {
  cp trunk.checkpoint "$1.checkpoint"
  cp trunk.log "$1.log"
  cat trunk.toml - >"$1.toml" <<END
[[data.stages]]
name = "$1"
start_step = $branch
weights = { $2 }
lr_scale = $3
END
  echo "goes on with $1.toml: from step $branch on $2, learning rate times $3"
  "$train" --config "$1.toml" --checkpoint "$1.checkpoint" --log "$1.log" \
    >"$1.out"
  grep -q "^resumes with step $saved$" "$1.out" || fail "$1 begins anew"
}

future writer 'prose = 0.9, code = 0.1' 0.3
future coder 'prose = 0.1, code = 0.9' 0.1

# What has been served cannot be edited.
sed 's/weight = 0.5, path = "prose"/weight = 0.7, path = "prose"/' \
  trunk.toml >past.toml
if "$train" --config past.toml --checkpoint trunk.checkpoint >past.out 2>&1
then fail 'goes on with other weights before the checkpoint'; fi
earliest=$(grep -o 'a stage may begin at step [0-9]* at the earliest' past.out) ||
  fail "past.toml: $(cat past.out)"
echo "past.toml, with other weights from the start, is refused: $earliest"

# --- What they have in common ------------------------------------------------

# Fields: step "tokens" HASH "loss" LOSS LOSS_IN_HEX, twice.
paste -d ' ' writer.log coder.log | awk -v branch="$branch" -v end="$end" '
  $1 < branch && ($3 != $9 || $6 != $12) { wrong = "differs already" }
  $1 >= branch && ($3 == $9 || $6 == $12) { wrong = "is the same still" }
  wrong != "" { print "step " $1 " " wrong; exit }
  { part = int($1 / 20); writer[part] += $5 / 20; coder[part] += $11 / 20 }
  END {
    if (wrong != "" || NR != end) exit 1
    print "\n                            loss in nats per token"
    print "       steps  the runs are   writer    coder"
    for (part = 0; part < end / 20; ++part) {
      printf "  %3d to %3d  %-12s %8.4f %8.4f\n", part * 20, part * 20 + 19,
        part * 20 < branch ? "the same" : "different", writer[part], coder[part]
    }
  }' || fail "expected two runs of $end steps that are the same up to $branch"
printf '\nThe checkpoint is of step %d; up to %d both runs have the same tokens
and the same losses, digit for digit. All files lie in %s.\n' \
  "$saved" $((branch - 1)) "$work"
