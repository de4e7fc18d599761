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
# Packages that hold the text; unpacked below $made, not installed.
text_packages='dict-gcide manpages manpages-dev fortunes fortunes-min
  wamerican debian-policy developers-reference'
checkpoint_every=50

mkdir -p "$text" "$stores" "$runs" "$logs"
exec 3>&1 4>&2  # the screen, wherever a step's output goes
began=$(date +%s)
step=0
step_name='' log='' ticker='' background='' explained=''

# --- How it speaks -----------------------------------------------------------

say() { printf '    %s\n' "$*" >&3; }

# begin NAME: the next of the numbered steps.
begin() {
  step=$((step + 1))
  step_name=$1
  printf '\n[%d/7] %s (%d s so far)\n' "$step" "$step_name" \
    $(($(date +%s) - began)) >&3
}

# One line that says why, and the end.
fail() {
  explained=yes
  stop_ticker
  printf 'quickstart: step %d, %s: %s\n' "$step" "$step_name" "$*" >&4
  exit 1
}

# What is told of a step while it lasts: its log's last line.
last_line() { tail -n 1 "$log" | tr -d '\r\033' | cut -c 1-66; }

# Of the build: how much of it is done, and how long it may take. A file of
# several sources takes as long as $heavy files of one.
heavy=6
build_work() {  # of what Ninja says in standard input
  awk -v heavy="$heavy" '/ Building CXX / { n += /\/Unity\// ? heavy : 1 }
    END { print n + 0 }'
}
build_progress() {
  if [ "$work" -eq 0 ]; then return; fi
  done=$(build_work <"$log")
  percent=$((100 * done / work))
  if [ "$percent" -ge 100 ]; then echo 'linking'; return; fi
  if [ "$percent" -lt 8 ]; then echo "$percent % compiled"; return; fi
  left=$(((waited * (work - done) / done + 5) / 10 * 10))
  if [ "$left" -lt 10 ]; then
    echo "$percent % compiled, a few seconds left"
  else
    echo "$percent % compiled, about $left s left"
  fi
}

# Shows the time and what `telling` prints, again and again: redrawn on a
# terminal, a new line now and then elsewhere.
telling=last_line
tick() {
  pause=15
  if [ -t 3 ]; then pause=1; fi
  waited=0
  # A sleep that outlives the ticker must not keep the screen's pipe open.
  while sleep "$pause" >/dev/null 2>&1 3>&- 4>&-; do
    waited=$((waited + pause))
    line="    $waited s: $($telling)"
    if [ -t 3 ]; then
      printf '\r\033[K%s' "$line" >&3
    else
      printf '%s\n' "$line" >&3
    fi
  done
}

stop_ticker() {
  if [ -z "$ticker" ]; then return; fi
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  ticker=''
  if [ -t 3 ]; then printf '\r\033[K' >&3; fi
}

# logged NAME COMMAND...: runs it with its output in a log file.
logged() {
  log=$logs/$1.log
  shift
  : >"$log"
  tick &
  ticker=$!
  "$@" >"$log" 2>&1
  stop_ticker
}

# shown NAME COMMAND...: the same, with the output on the screen, too.
shown() {
  log=$logs/$1.log
  shift
  rm -f "$log.failed"
  { "$@" 2>&1 || : >"$log.failed"; } | tee "$log"
  if [ -e "$log.failed" ]; then exit 1; fi
}

# Whatever ends the script early: one line that says where and why.
on_exit() {
  status=$?
  trap - EXIT
  stop_ticker
  if [ -n "$background" ]; then kill -9 "$background" 2>/dev/null || true; fi
  if [ "$status" -eq 0 ] || [ -n "$explained" ]; then exit "$status"; fi
  why=$(grep -m 1 -E '^E: |error: |CMake Error|^poniente: |^train: ' \
    "$log" 2>/dev/null || tail -n 1 "$log" 2>/dev/null) || true
  printf 'quickstart: step %d, %s, failed: %s (all of it: %s)\n' \
    "$step" "$step_name" "${why:-exit status $status}" "${log:-no log}" >&4
  exit "$status"
}
on_signal() {
  explained=yes
  printf '\nquickstart: interrupted in step %d, %s; run it again to go on\n' \
    "$step" "$step_name" >&4
  exit 130
}
trap on_exit EXIT
trap on_signal INT TERM HUP

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
    say "$(sed -n 's/^== installing: /installed /p' "$log")"
  else
    say 'all are installed'
  fi
}

# --- Program -----------------------------------------------------------------

build() {
  if [ ! -e "$made/cmake/build.ninja" ]; then
    logged configure cmake -S . -B "$made/cmake" -G Ninja \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 \
      -DPONIENTE_BUILD_TESTS=OFF -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$PWD/$made"
  fi
  work=$(cmake --build "$made/cmake" --target poniente_tool train -- -n |
    build_work)
  telling=build_progress
  logged build cmake --build "$made/cmake" --target poniente_tool train
  telling=last_line
  if grep -q 'no work to do' "$log"; then
    say 'is up to date'
  else
    say "made $tool and $trainer"
  fi
}

# --- Text --------------------------------------------------------------------

update_lists() {
  if [ "$(id -u)" -eq 0 ]; then apt-get update; else sudo apt-get update; fi
}

download() (
  cd "$made/packages"
  # Without package lists, or with old ones, the second attempt succeeds.
  # shellcheck disable=SC2086  # one word per package
  apt-get download $text_packages ||
    { update_lists && apt-get download $text_packages; }
)

unpack() {
  for package in "$made/packages"/*.deb; do
    dpkg-deb -x "$package" "$made/packages/root"
  done
  share=$made/packages/root/usr/share
  rm -rf "$text.new"
  mkdir -p "$text.new/manuals" "$text.new/fortunes" "$text.new/policy" \
    "$text.new/reference"
  # An entry of the dictionary begins in the first column after a blank line.
  gzip -dc <"$share/dictd/gcide.dict.dz" |
    awk 'blank && /^[^ \t]/ { print "%" } { print; blank = /^$/ }' \
      >"$text.new/dictionary"
  find "$share/man" -type f -path '*/man[1-8]/*.gz' \
    -exec cp -t "$text.new/manuals" {} +
  find "$share/games/fortunes" -type f ! -name '*.dat' \
    -exec cp -t "$text.new/fortunes" {} +
  cp "$share/dict/american-english" "$text.new/words"
  cp "$share"/doc/debian-policy/*.txt.gz "$text.new/policy"
  cp "$share"/developers-reference/*.txt.gz "$text.new/reference"
  find "$text.new" -name '*.gz' -exec gzip -d {} +
  rm -rf "$text" "$made/packages"
  mv "$text.new" "$text"
}

gather_text() {
  if [ -d "$text/reference" ]; then
    say 'is there'
    return
  fi
  rm -rf "$made/packages"
  mkdir -p "$made/packages"
  logged download download
  logged unpack unpack
  say "from $(printf '%s' "$text_packages" | tr -s '\n ' ' ')"
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
  pack words 'word list' "$text/words"
  pack policy 'handbook' "$text/policy"
  pack reference 'handbook' "$text/reference"
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
  total=$(lines "$runs/uninterrupted.log")
  # Between two checkpoints, so that some steps are done twice.
  target=$((total / 2 + checkpoint_every / 3))
  say "runs it again, to be killed about step $target of $total"
  log=$logs/killed.log
  # shellcheck disable=SC2046
  "$trainer" $(flags resumed) >"$log" 2>&1 &
  background=$!
  while [ "$(lines "$runs/resumed.log")" -lt "$target" ]; do
    if ! kill -0 "$background" 2>/dev/null; then exit 1; fi
    if [ -t 3 ]; then
      printf '\r    step %d of %d' "$(lines "$runs/resumed.log")" "$total"
    fi
    sleep 0.1
  done
  kill -9 "$background"
  wait "$background" 2>/dev/null || true
  background=''
  if [ -t 3 ]; then printf '\r\033[K'; fi
  cp "$runs/resumed.log" "$runs/killed.log"
  say "killed with SIGKILL after $(lines "$runs/killed.log") of $total steps"
  # shellcheck disable=SC2046
  shown resumed "$trainer" $(flags resumed)
  inputs >"$runs/resumed.done"
}

compare_runs() {
  one=$runs/uninterrupted.log
  two=$runs/resumed.log
  total=$(lines "$one")
  same=$(awk 'NR == FNR { line[$1] = $0; next } line[$1] == $0 { ++same }
    END { print same + 0 }' "$one" "$two")
  if ! cmp -s "$one" "$two"; then
    fail "the resumed run differs: $same of $total steps are the same (diff \
$one $two; delete $runs to train again)"
  fi
  killed=$(lines "$runs/killed.log")
  resumed=$(sed -n 's/^resumes with step //p' "$logs/resumed.log")
  # The steps that were done twice, the first time before the kill.
  if ! head -n "$killed" "$one" | cmp -s - "$runs/killed.log"; then
    fail "the killed run differs (diff $one $runs/killed.log)"
  fi
  say "$same of $total steps are the same, digit for digit"
}

# The plan's table as bars: what share of the tokens each source has.
picture() {
  awk -F '   *' '
    $2 == "tokens of" {
      for (i = 1; i <= NF; ++i) if ($i == "share") column = i
      next
    }
    column && NF < column { exit }
    column {
      share = $column + 0
      bar = ""
      for (i = 0.5; i < share / 2; ++i) bar = bar "#"
      match($0, /^ */)
      printf "%-22s %6.2f %%  %s\n", substr($0, 1, RLENGTH) $2, share, bar
    }' "$logs/plan.log"
}

last_screen() {
  times >"$logs/times"
  used=$(awk -f cmake/processor_seconds.awk "$logs/times")
  # "after 600 steps: loss L nats (B bits) per token, unigram entropy ..."
  result=$(tail -n 1 "$logs/uninterrupted.log")
  steps=$(echo "$result" | sed 's/^after \(.*\): loss .*/\1/')
  loss=$(echo "$result" | sed 's/.*: loss \(.*\) per token.*/\1/')
  entropy=$(echo "$result" | sed 's/.*entropy //')
  tokens=$("$tool" inspect "$stores/code" | sed -n 's/^tokens *//p')
  cat <<END

------------------------------------------------------------------------------
The mixture: each source's share of the tokens of the run

$(picture)

  $PWD/$page
  shows the whole run in a browser: stages, weights, epochs, repeats.

What just happened

  Seven token stores were made of real text (the largest has $tokens
  tokens) and mixed as examples/quickstart.toml says: code, a dictionary and
  manuals by weight, beside four small sources that share one shuffle.

  A small language model was trained on the mixture, twice. After $steps
  its loss was $loss per byte; a model that knows
  only how often each byte occurs could reach $entropy.

  The second run was killed (SIGKILL) after step $killed of $total, and resumed
  from its checkpoint at step $resumed. Its token hashes and its losses:

    $same of $total steps are identical to the uninterrupted run's, digit for digit

What to try next

  change a weight in $config, and run this again
  $tool plan $config
  $tool inspect $stores/dictionary
  head -n 3 $one $two
  read examples/train.cc: a training program
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
shown plan "$tool" plan "$config" --html "$page"
begin 'training, uninterrupted'
uninterrupted_run
begin 'training, killed half-way and resumed'
killed_run
compare_runs
last_screen
