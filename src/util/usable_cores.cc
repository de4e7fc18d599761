// SPDX-License-Identifier: Apache-2.0
#include "util/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace poniente::internal {

unsigned UsableCores() {
  cpu_set_t cores;
  // Fails if the kernel is built for more than 1024.
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0) {
    return static_cast<unsigned>(std::max(CPU_COUNT(&cores), 1));
  }
  return std::max(std::thread::hardware_concurrency(), 1u);
}

}  // namespace poniente::internal
