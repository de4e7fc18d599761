// SPDX-License-Identifier: Apache-2.0
#include "util/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "util/usable_cores.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxThreads = 64;
constexpr size_t kMaxForCores = 16;
constexpr size_t kTasksPerThread = 8;
// Threads claim up to this many tasks at once, to reduce contention.
constexpr size_t kMaxTogether = 16;

size_t ThreadsFor(size_t count) {
  const auto cores = size_t{UsableCores()};
  return std::max(std::min({cores, kMaxForCores, count}),
                  std::min(kMaxThreads, count / kTasksPerThread));
}

}  // namespace

void InParallel(size_t count, const std::function<void(size_t)>& each) {
  const size_t threads = ThreadsFor(count);
  const size_t together = std::clamp<size_t>(
      count / (16 * std::max(threads, kMaxForCores)), 1, kMaxTogether);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    while (true) {
      // Relaxed: joining the threads publishes what they did.
      const size_t begin = next.fetch_add(together, std::memory_order_relaxed);
      if (begin >= count) return;
      const size_t end = std::min(count, begin + together);
      for (size_t i = begin; i < end; ++i) each(i);
    }
  };
  std::mutex mu;
  std::exception_ptr thrown;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      next = count;
      const std::lock_guard lock(mu);
      if (thrown == nullptr) thrown = std::current_exception();
    }
  };
  std::vector<std::jthread> others;
  try {
    while (others.size() + 1 < threads) others.emplace_back(guarded);
  } catch (const std::exception&) {
    // Continues with fewer threads.
  }
  guarded();
  others.clear();  // joins them
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace poniente::internal
