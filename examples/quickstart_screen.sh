# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# How quickstart.sh tells what it does. Needs $logs, a folder for each command's
# output.
: "${logs:?}"
exec 3>&1 4>&2  # the screen, wherever a step's output goes
began=$(date +%s)
step=0
step_name='' log='' ticker='' background='' explained=''

say() { printf '    %s\n' "$*" >&3; }

# The columns of the screen.
width() {
  columns=$(stty size <&3 2>/dev/null | cut -d ' ' -f 2)
  if [ "${columns:-0}" -gt 0 ]; then echo "$columns"; else echo 80; fi
}

wrap() { stdbuf -oL fold -s -w "$(width)"; }

# begin NAME: the next of the numbered steps.
begin() {
  step=$((step + 1))
  step_name=$1
  printf '\n[%d/7] %s (%d s so far)\n' "$step" "$step_name" \
    $(($(date +%s) - began)) >&3
}

# Says why, and ends.
fail() {
  explained=yes
  stop_ticker
  echo "quickstart: ${step_name:+step $step, $step_name: }$*" | wrap >&4
  exit 1
}

# What is told of a step while it lasts: its log's last line.
last_line() { tail -n 1 "$log" | tr -d '\r\033'; }

# Shows the time and what `telling` prints, again and again: redrawn on a
# terminal, a new line now and then elsewhere.
telling=last_line
tick() {
  waited=0
  # A sleep that outlives the ticker must not keep the screen's pipe open.
  while sleep 1 >/dev/null 2>&1 3>&- 4>&-; do
    waited=$((waited + 1))
    line=$(printf '    %d s: %s' "$waited" "$($telling)" |
      cut -c "1-$(($(width) - 1))")
    if [ -t 3 ]; then
      printf '\r\033[K%s' "$line" >&3
    elif [ $((waited % 15)) -eq 0 ]; then
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
  { "$@" 2>&1 || : >"$log.failed"; } | tee "$log" | wrap
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
  echo "quickstart: step $step, $step_name, failed:" \
    "${why:-exit status $status} (all of it: ${log:-no log})" | wrap >&4
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
