// SPDX-License-Identifier: Apache-2.0
#include "util/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>
#include <thread>

#include "util/control_groups.h"

namespace poniente::internal {
namespace {

// Returns the processor time per period of elapsed time; 0 if it is not
// limited.
double QuotaOf(const ControlGroup& group) {
  double quota = 0;
  double period = 0;
  if (group.is_v1) {
    std::ifstream(group.folder + "/cpu.cfs_quota_us") >> quota;  // -1: no limit
    std::ifstream(group.folder + "/cpu.cfs_period_us") >> period;
  } else {
    std::ifstream(group.folder + "/cpu.max") >> quota >> period;  // or "max"
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

unsigned CoresOfThread() {
  cpu_set_t cores;
  // Fails if the kernel is built for more than 1024.
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    return static_cast<unsigned>(std::max(CPU_COUNT(&cores), 1));
  }
  return std::max(std::thread::hardware_concurrency(), 1u);
}

}  // namespace

unsigned UsableCores() {
  static const unsigned quota = CoresOfQuota();
  return std::min(CoresOfThread(), quota);
}

unsigned CoresOfQuota(const std::string& root) {
  unsigned cores = UINT_MAX;
  for (const ControlGroup& group : ControlGroupsOf("cpu", root)) {
    const double quota = QuotaOf(group);
    if (quota > 0 && quota < cores) {
      cores = static_cast<unsigned>(std::ceil(quota));
    }
  }
  return cores;
}

}  // namespace poniente::internal
