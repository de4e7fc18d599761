# SPDX-License-Identifier: Apache-2.0
# awk -f cmake/processor_seconds.awk FILE: the seconds that a shell's commands
# have had of processors, from what its `times` wrote to FILE. (Not through a
# pipe or $(...): those have times of their own.)
NR == 2 {
  split($1, user, /[ms]/)
  split($2, system_, /[ms]/)
  printf "%.2f", 60 * (user[1] + system_[1]) + user[2] + system_[2]
}
