# SPDX-License-Identifier: Apache-2.0
# Estimates how long a build with Ninja still takes. First
#   ninja -n | awk -v folder=BUILD_FOLDER -f build_progress.awk >PLAN
# gives each command the seconds that one core needs for it. Then
#   awk -v cores=N -f build_progress.awk PLAN NINJA_OUTPUT SEEN
# prints the estimate. SEEN has one group of lines per look at the build:
#   tick SECONDS LINES        seconds since the start, lines of NINJA_OUTPUT
#   OUTPUT                    of each compiler that runs

# Returns the command's name: its object file, or all of Ninja's description.
function name_of(line) {
  sub(/^\[[0-9]+\/[0-9]+\] (Building CXX object )?/, "", line)
  return line
}

function bytes_of(file,    line, bytes) {
  while ((getline line <file) > 0) bytes += length(line) + 1
  close(file)
  return bytes
}

# 3.5 s to read headers and 0.15 s per 1000 bytes of sources: fitted to a build
# with g++ 12. How fast this machine is, relative to that, is measured later.
function seconds_of(name,    source, line, part, bytes) {
  if (name ~ /\.gch$/) return 11.6
  if (name ~ /^Compiling /) return 5
  if (name !~ /\.o$/) return 0.2
  source = name
  sub(/\.o$/, "", source)
  if (name ~ /\/Unity\//) {
    source = folder "/" source
    while ((getline line <source) > 0)
      if (split(line, part, "\"") == 3) bytes += bytes_of(part[2])
    close(source)
  } else {
    sub(/CMakeFiles\/[^\/]*\//, "", source)
    bytes = bytes_of(source)
  }
  return 3.5 + bytes * 0.15 / 1000
}

function least(a, b) { return a < b ? a : b }

# Returns the seconds until all commands have ended, if `slots` of them run at a
# time in the plan's order. The precompiled header comes before the others.
function seconds_left(slots,    i, k, name, left, late, first, busy, longest,
                      header_left) {
  for (i = 1; i <= commands; ++i) {
    name = order[i]
    if (name in done) continue
    left = weight[name] / speed - spent[name]
    # One that takes longer than its weight says is not about to end.
    late = 0.2 * spent[name]
    if (left < late) left = late
    if (name == header) { header_left = left; continue }
    first = 1
    for (k = 2; k <= slots; ++k) if (busy[k] + 0 < busy[first] + 0) first = k
    busy[first] += left
    if (busy[first] > longest) longest = busy[first]
  }
  return header_left + longest
}

# Sets `speed`, the seconds of the weights that pass in a second: from commands
# that have ended, and from those that run longer than the last speed explains.
# 20 s more count as if the speed were 1, so that a few commands do not decide.
function measure_speed(    name, weights, times) {
  weights = times = 20
  for (name in spent) {
    if (!(name in done) && spent[name] * speed < weight[name]) continue
    if (spent[name] == 0) continue  # none of the looks saw it
    weights += weight[name]
    times += spent[name]
  }
  speed = weights / times
}

# Takes one look into the estimate.
function look(    passed, name, running, share, percent, rounded) {
  passed = now - before
  if (passed <= 0) return
  before = now
  while (taken < lines) done[finished[++taken]]
  for (name in runs) ++running
  # A core's seconds for each command. One that is new, or has ended, ran for a
  # part of the time between the looks.
  share = passed * (running > cores ? cores / running : 1)
  for (name in ran) if (!(name in runs)) spent[name] += share / 2
  for (name in runs) spent[name] += name in ran ? share : share / 2
  split("", ran)
  for (name in runs) ran[name]
  measure_speed()
  ready = header == "" || header in done
  if (!ready) settled = now + 4
  # Fewer compilers than cores, once all may run: something limits them.
  if (ready && running > most) most = running
  # 8 % more: commands that have not ended tend to be the slower ones.
  left = 1.08 * seconds_left(most ? least(cores, most) : cores)
  # Follows the estimate slowly, and even more slowly upwards.
  if (now < settled) shown = left
  else {
    shown -= passed
    shown += (left - shown) * (1 - (left > shown ? 0.96 : 0.9) ^ passed)
  }
  if (shown < 1) shown = 1
  percent = int(100 * now / (now + shown))
  if (percent > most_percent && now >= settled) most_percent = percent
  rounded = int((shown + 5) / 10) * 10
  if (told == "" || now < settled || rounded < told || shown > told + 9)
    told = rounded
}

function tell(    i) {
  for (i = 1; i <= commands; ++i)
    if (order[i] ~ /\.(o|gch)$/ && !(order[i] in done)) break
  if (i > commands) print "linking"
  else if (now < settled) print "compiling"
  else if (told < 10) print most_percent " % done, a few seconds left"
  else print most_percent " % done, about " told " s left"
}

BEGIN { speed = 1; settled = 4 }
folder != "" {
  if (/^\[/) print seconds_of(name_of($0)), name_of($0)
  next
}
FILENAME == ARGV[1] {
  order[++commands] = substr($0, index($0, " ") + 1)
  weight[order[commands]] = $1
  if (order[commands] ~ /\.gch$/) header = order[commands]
}
FILENAME == ARGV[2] { finished[FNR] = name_of($0) }
FILENAME == ARGV[3] && $1 == "tick" {
  look()
  now = $2
  lines = $3
  split("", runs)
  next
}
FILENAME == ARGV[3] && $0 in weight { runs[$0] }
END {
  if (folder != "" || !commands) exit
  look()
  tell()
}
