#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the controller of examples/adaptive_mixture.cc brings: trains its model
# on the four largest sources of the quickstart, with the controller and with
# fixed equal weights, once per seed.
#
#   sh bench/adaptive_mixture.sh ADAPTIVE_MIXTURE STORES [SEED...]
#
# ADAPTIVE_MIXTURE is the program, STORES the folder of token stores that
# examples/quickstart.sh makes: build-quickstart/stores. The seeds are 1 to 5
# unless told of others, two at least. Prints the loss of each source in the
# last 50 steps. Exits with 1 if that of the source that is hardest under fixed
# weights is not lower with the controller, by more than the larger of the two
# standard deviations. Takes 17 minutes of one core.
set -eu
export LC_ALL=C

fail() {
  echo "adaptive_mixture.sh: $*" >&2
  exit 2
}

if [ $# -lt 2 ]; then
  fail 'usage: sh bench/adaptive_mixture.sh ADAPTIVE_MIXTURE STORES [SEED...]'
fi
[ -x "$1" ] || fail "there is no program '$1'"
train=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
[ -d "$2" ] || fail "there is no folder '$2'"
stores=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- 1 2 3 4 5
[ $# -gt 1 ] || fail 'one seed has no standard deviation: name two at least'
sources='code dictionary manuals fortunes'
for source in $sources; do
  [ -e "$stores/$source" ] ||
    fail "there is no $stores/$source: run examples/quickstart.sh"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
ln -s "$stores" "$work/stores"  # a path that needs no quoting

# run SEED NAME [FLAG]: one run, in a folder of its own. Adds a line
# "SEED NAME SOURCE LOSS WEIGHT" for each source to `results`.
run() {
  seed=$1
  name=$2
  shift 2
  folder=$work/$seed-$name
  mkdir "$folder" || fail "the seed $seed is named twice"
  {
    # Changes hold from the next block on: here at once, or 8 steps later.
    cat <<END
[data]
seed = $seed
steps = 2000
batch_size = 8
seq_len = 128
journal = "run.journal"
block_size = 64
[data.mixture]
END
    for source in $sources; do
      echo "$source = { weight = 0.25, path = \"../stores/$source\" }"
    done
  } >"$folder/run.toml"
  "$train" "$folder/run.toml" "$folder" "$@" >"$folder/log" ||
    fail "the run of seed $seed, $name, failed"
  awk -v run="$seed $name" '
    $2 != "loss" || $3 !~ /^[0-9.]+$/ || $4 != "weight" { exit 1 }
    { print run, $1, $3, $5 }' "$folder/log" >>"$work/results" ||
    fail "no losses: $(cat "$folder/log")"
}

for seed; do
  run "$seed" fixed --fixed
  [ ! -e "$work/$seed-fixed/run.journal" ] || fail 'a fixed run has a journal'
  run "$seed" controller
  # The journal's first line is no change.
  changes=$(($(wc -l <"$work/$seed-controller/run.journal") - 1))
  echo "seed $seed: $changes changes"
done

# Fields: seed, "fixed" or "controller", source, loss, weight.
awk -v sources="$sources" -v seeds=$# '
  {
    key = $2 " " $3
    loss[key, ++count[key]] = $4
    sum[key] += $4
    weight[key] += $5
    if (count[key] == 1 || $4 < least[key]) least[key] = $4
    if (count[key] == 1 || $4 > most[key]) most[key] = $4
  }
  function mean(key) { return sum[key] / seeds }
  function deviation(key,  i, squares) {
    for (i = 1; i <= seeds; ++i) squares += (loss[key, i] - mean(key)) ^ 2
    return sqrt(squares / (seeds - 1))
  }
  END {
    split(sources, names, " ")
    print "\nloss in nats per byte: mean, standard deviation, least and most " \
      "of the seeds,\nand the mean weight at the end"
    for (i = 1; i in names; ++i) {
      for (fixed = 1; fixed >= 0; --fixed) {
        key = (fixed ? "fixed " : "controller ") names[i]
        if (count[key] != seeds) { print "no loss: " key; exit 2 }
        printf "  %-10s  %-10s  %.3f  %.3f  %.3f to %.3f  %.2f\n", names[i],
          fixed ? "fixed" : "controller", mean(key), deviation(key),
          least[key], most[key], weight[key] / seeds
      }
      if (i == 1 || mean("fixed " names[i]) > mean("fixed " hardest)) {
        hardest = names[i]
      }
    }
    a = "fixed " hardest
    b = "controller " hardest
    margin = mean(a) - mean(b)
    spread = deviation(a) > deviation(b) ? deviation(a) : deviation(b)
    held = margin > spread
    for (i = 1; i <= seeds; ++i) lower += loss[b, i] < loss[a, i]
    printf "\nhardest: %s, lower with the controller by %.3f (for %d of %d " \
      "seeds);\nthe larger standard deviation is %.3f: %s\n", hardest, margin,
      lower, seeds, spread, held ? "held" : "not held"
    exit !held
  }' "$work/results"
