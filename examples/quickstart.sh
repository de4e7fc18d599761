#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a trained model, and the proof that a killed run
# resumes exactly:
#
#   sh examples/quickstart.sh          (as root, or as a user who may sudo)
#
# Everything it makes lies in build-quickstart/. A second run does only what is
# left to do; delete that folder to begin anew.
set -eu
export LC_ALL=C

cd "$(dirname "$0")/.."
config=examples/quickstart.toml
made=build-quickstart
text=$made/text
stores=$made/stores
page=$made/plan.html
runs=$made/runs
logs=$made/logs
tool=$made/poniente
trainer=$made/train

# shellcheck source=examples/quickstart_screen.sh
. examples/quickstart_screen.sh
# shellcheck source=examples/quickstart_text.sh
. examples/quickstart_text.sh
if ! mkdir -p "$text" "$stores" "$runs" "$logs" 2>/dev/null ||
  [ -n "$(find "$made" -type d ! -writable -print -quit 2>&1)" ]; then
  fail "cannot write to $PWD/$made: run this in a copy of the checkout that" \
    'is yours'
fi

# --- Packages ----------------------------------------------------------------

install_packages() {
  if ! command -v apt-get >/dev/null; then
    fail 'needs Debian 12: there is no apt-get here'
  fi
  if [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; then
    logged install sh cmake/install_packages.sh build
  else  # sudo may ask for a password
    shown install sh cmake/install_packages.sh build
  fi
  if [ -s "$log" ]; then
    sed -n 's/^== installing: /    installed /p' "$log" | wrap
  else
    say 'all are installed'
  fi
}

# --- Program -----------------------------------------------------------------

# configure ARGUMENT...: anew if the folder is another checkout's, or was made
# with other arguments.
configure() {
  stamp=$made/cmake.stamp
  wanted=$(pwd -P; printf '%s\n' "$@")
  if [ -e "$made/cmake/build.ninja" ]; then
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
      # Now rather than with the build: the build's plan depends on it.
      logged configure cmake --build "$made/cmake" --target build.ninja
      return
    fi
    say "$made/cmake is for another folder or other options: starts afresh"
  fi
  rm -rf "$made/cmake" "$stamp"
  logged configure cmake -S . -B "$made/cmake" "$@"
  echo "$wanted" >"$stamp"
}

# Of the build: how much of it is done, and how long it may take.
build_progress() {
  {
    echo "tick $waited $(wc -l <"$log")"
    # The arguments of the commands that run there; some are object files.
    find /proc/[0-9]*/cwd -lname "$(pwd -P)/$made/cmake" \
      -printf '%h/cmdline\n' 2>/dev/null | xargs -r cat 2>/dev/null |
      tr '\0' '\n' |
      grep -a '^[^/].*/CMakeFiles/.*\.\(o\|gch\)$' | sort -u
  } >>"$logs/build.seen"
  awk -v cores="$(nproc)" -f examples/build_progress.awk \
    "$logs/build.plan" "$log" "$logs/build.seen"
}

build() {
  configure -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DPONIENTE_BUILD_TESTS=OFF \
    -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$(pwd -P)/$made"
  cmake --build "$made/cmake" --target poniente_tool train -- -n |
    awk -v folder="$made/cmake" -f examples/build_progress.awk \
      >"$logs/build.plan"
  rm -f "$logs/build.seen"
  telling=build_progress
  logged build cmake --build "$made/cmake" --target poniente_tool train
  telling=last_line
  if grep -q 'no work to do' "$log"; then
    say 'is up to date'
  else
    say "made $tool and $trainer"
  fi
}

# --- Stores ------------------------------------------------------------------

# pack NAME WHAT INPUT OPTION...: makes a token store, unless it is there: one
# that was not finished is not.
pack() {
  name=$1
  what=$2
  store=$stores/$name
  shift 2
  if "$tool" inspect "$store" >/dev/null 2>&1; then
    was='is there'
  else
    logged "pack-$name" "$tool" pack "$@" --out "$store"
    was='packed'
  fi
  "$tool" inspect "$store" | awk -v name="$name" -v what="$what, $was" '
    $1 == "documents" { documents = $2 }
    $1 == "tokens" { tokens = $2 }
    END { printf "    %-12s%12s tokens%9s documents  %s\n",
          name, tokens, documents, what }'
}

pack_stores() {
  pack code 'Boost headers' /usr/include/boost --glob '*.hpp'
  pack dictionary 'GCIDE' "$text/dictionary" --delimiter %
  pack manuals 'man pages' "$text/manuals"
  pack fortunes 'fortunes' "$text/fortunes" --delimiter %
  pack words 'word list' "$text/words" --delimiter %
  pack policy 'handbook' "$text/policy" --delimiter %
  pack reference 'handbook' "$text/reference" --delimiter %
}

# --- Plan --------------------------------------------------------------------

# Shows the plan without those columns of its tables that the screen is too
# narrow for. Sets the run's steps, and where it is saved and killed.
plan() {
  logged plan "$tool" plan "$config" --html "$page"
  awk -v width="$(width)" '
    NF == 0 { cut = 0 }
    length($0) > width && /^  (stage|tokens of|samples of|packed) / {
      head = substr($0, 1, width + 2)
      if (head !~ /  $/) sub(/  +[^ ]+( [^ ]+)* ?$/, "", head)
      sub(/ +$/, "", head)
      cut = length(head)
    }
    { print cut ? substr($0, 1, cut) : $0 }' "$log" | wrap
  steps=$(sed -n '1s/.*: \([0-9,]*\) steps,.*/\1/p' "$log" | tr -d ,)
  if [ "${steps:-0}" -lt 12 ]; then
    fail "a run of ${steps:-0} steps is too short to be killed half-way:" \
      "set data.steps in $config to 12 or more"
  fi
  checkpoint_every=$((steps / 12))
  # Between two checkpoints, so that some steps are done twice.
  target=$((steps / 2 + checkpoint_every / 3))
}

# --- Runs --------------------------------------------------------------------

# The flags of one run: its checkpoint, from which it goes on if it is there,
# and its log. (No word of them has a space in it.)
flags() {
  echo "--config $config --checkpoint $runs/$1.checkpoint --log $runs/$1.log" \
    "--checkpoint_every $checkpoint_every"
}

# What decides a run: the configuration, the stores and the program.
inputs() {
  {
    cat "$config" "$trainer"
    for store in "$stores"/*; do "$tool" inspect "$store"; done |
      grep '^fingerprint'
  } | cksum
}

# is_done NAME: the run is complete and still the one that the inputs give.
is_done() {
  [ -e "$runs/$1.done" ] && [ "$(cat "$runs/$1.done")" = "$(inputs)" ]
}

uninterrupted_run() {
  if is_done uninterrupted; then
    say 'is there, and nothing that decides it has changed'
    return
  fi
  rm -f "$runs"/uninterrupted.*
  # shellcheck disable=SC2046  # several words
  shown uninterrupted "$trainer" $(flags uninterrupted)
  inputs >"$runs/uninterrupted.done"
}

lines() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }

killed_run() {
  if is_done resumed; then
    say 'is there, and nothing that decides it has changed'
    return
  fi
  rm -f "$runs"/resumed.* "$runs"/killed.*
  say "runs it again, to be killed about step $target of $steps"
  log=$logs/killed.log
  # shellcheck disable=SC2046
  "$trainer" $(flags resumed) >"$log" 2>&1 &
  background=$!
  while [ "$(lines "$runs/resumed.log")" -lt "$target" ]; do
    if ! kill -0 "$background" 2>/dev/null; then break; fi
    if [ -t 3 ]; then
      printf '\r    step %d of %d' "$(lines "$runs/resumed.log")" "$steps"
    fi
    sleep 0.1
  done
  kill -9 "$background" 2>/dev/null || true
  wait "$background" 2>/dev/null || true
  background=''
  if [ -t 3 ]; then printf '\r\033[K'; fi
  killed=$(lines "$runs/resumed.log")
  if [ "$killed" -lt "$target" ]; then exit 1; fi
  if [ "$killed" -ge "$steps" ]; then
    fail "the run ended before it was killed: raise data.steps in $config"
  fi
  cp "$runs/resumed.log" "$runs/killed.log"
  say "killed with SIGKILL after $killed of $steps steps"
  # shellcheck disable=SC2046
  shown resumed "$trainer" $(flags resumed)
  inputs >"$runs/resumed.done"
}

compare_runs() {
  one=$runs/uninterrupted.log
  two=$runs/resumed.log
  same=$(awk 'NR == FNR { line[$1] = $0; next } line[$1] == $0 { ++same }
    END { print same + 0 }' "$one" "$two")
  if ! cmp -s "$one" "$two"; then
    fail "the resumed run differs: $same of $steps steps are the same (diff \
$one $two; delete $runs to train again)"
  fi
  killed=$(lines "$runs/killed.log")
  resumed=$(sed -n 's/^resumes with step //p' "$logs/resumed.log")
  # The steps that were done twice, the first time before the kill.
  if ! head -n "$killed" "$one" | cmp -s - "$runs/killed.log"; then
    fail "the killed run differs (diff $one $runs/killed.log)"
  fi
  say "$same of $steps steps are the same, digit for digit"
}

# The plan's table as bars: what share of the tokens each source has.
picture() {
  awk -F '   *' -v width="$(width)" '
    $2 == "tokens of" {
      for (i = 1; i <= NF; ++i) if ($i == "share") column = i
      next
    }
    column && NF < column { exit }
    column {
      share = $column + 0
      bar = ""
      most = (width < 80 ? width : 80) - 34
      for (i = 0.5; i < share * most / 100; ++i) bar = bar "#"
      match($0, /^ */)
      printf "%-22.22s %6.2f %%  %s\n", substr($0, 1, RLENGTH) $2, share, bar
    }' "$logs/plan.log"
}

# What becomes of the documents, from the plan's table; nothing if they are not
# packed.
packing() {
  awk -F '   *' '
    function grouped(n) {
      if (n < 1000) return n
      return sprintf("%s,%03d", grouped(int(n / 1000)), n % 1000)
    }
    $2 == "packed" {
      for (i = 1; i <= NF; ++i) column[$i] = i
      next
    }
    column["packed"] && NF < column["dropped"] { exit }
    column["packed"] {
      gsub(",", "")
      padding = $column["padding"] + 0
      if (documents == 0 || padding < least) least = padding
      if (padding > most) most = padding
      documents += $column["documents"]
      cut += $column["split"] + $column["truncated"] + $column["dropped"]
    }
    END {
      if (documents == 0) exit
      print ""
      print ""
      printf "  A sample holds whole documents: %s of %s fit into one,\n",
        grouped(documents - cut), grouped(documents)
      print "  the others are cut. For each token, the model sees what comes " \
        "before it in its"
      printf "  document, nothing of those beside it. Padding takes %.2f to " \
        "%.2f %% of the\n  samples of a source.\n", least, most
    }' "$logs/plan.log"
}

last_screen() {
  times >"$logs/times"
  used=$(awk -f cmake/processor_seconds.awk "$logs/times")
  # "after 400 steps: loss L nats (B bits) per token, unigram entropy ..."
  result=$(tail -n 1 "$logs/uninterrupted.log")
  loss=$(echo "$result" | sed 's/.*: loss \(.*\) per token.*/\1/')
  entropy=$(echo "$result" | sed 's/.*entropy //')
  tokens=$("$tool" inspect "$stores/code" | sed -n 's/^tokens *//p')
  own=$PWD/$tool  # as a shell takes it
  case $own in *[!A-Za-z0-9_./-]*) own="'$own'" ;; esac
  cat <<END

------------------------------------------------------------------------------
The mixture: each source's share of the tokens of the run

$(picture)

  $PWD/$page
  shows the whole run in a browser: stages, weights, epochs, repeats, padding.

What just happened

  Seven token stores were made of real text (the largest has $tokens
  tokens) and mixed as examples/quickstart.toml says: code, a dictionary and
  manuals by weight, beside four small sources that share one shuffle.$(packing)

  A small language model was trained on the mixture, twice. After $steps steps
  its loss was $loss per byte; a model that knows
  only how often each byte occurs could reach $entropy.

  The second run was killed (SIGKILL) after step $killed of $steps, and resumed
  from its checkpoint at step $resumed. Its token hashes and its losses:

    $same of $steps steps are identical to the uninterrupted run's, digit for digit

What to try next

  $own inspect FILE
    says what a file or folder of your own tokens holds, of any known format
  $own pack FOLDER --out STORE
    makes a token store of your own text
  change a weight in $config, and run this again
  $tool plan $config
  $tool show $config --step 1 --text
  $tool inspect $stores/dictionary
  head -n 3 $runs/*.log
  read docs/tutorial.md: your own first mixture, step by step
  read examples/train_minimal.cc: a trainer to copy, and examples/train.cc: a
    larger one
  read README.md
------------------------------------------------------------------------------
Took $(($(date +%s) - began)) s, of processors ${used%.*} s. All files lie in $made/.
END
}

begin 'packages'
install_packages
begin 'program'
build
begin 'text'
gather_text
begin 'token stores'
pack_stores
begin 'plan of the mixture'
plan
begin 'training, uninterrupted'
uninterrupted_run
begin 'training, killed half-way and resumed'
killed_run
compare_runs
last_screen
