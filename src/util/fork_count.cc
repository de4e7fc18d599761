// SPDX-License-Identifier: Apache-2.0
#include "util/fork_count.h"

#include <pthread.h>

#include <atomic>

namespace poniente::internal {
namespace {

// All accesses are relaxed: it changes only in a new child, which has one
// thread.
std::atomic<int> forks = 0;

void OnChild() { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

int ForkCount() {
  static const bool installed =
      ::pthread_atfork(nullptr, nullptr, OnChild) == 0;
  (void)installed;
  return forks.load(std::memory_order_relaxed);
}

}  // namespace poniente::internal
