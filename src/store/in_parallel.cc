// SPDX-License-Identifier: Apache-2.0
#include "store/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxThreads = 16;
// Of many, so many are taken at once, so that threads seldom meet.
constexpr size_t kMaxTogether = 16;
constexpr size_t kMaxErrors = 100;

}  // namespace

void InParallel(size_t count, const std::function<void(size_t)>& each) {
  const size_t threads =
      std::min({static_cast<size_t>(std::thread::hardware_concurrency()),
                kMaxThreads, count});
  const size_t together =
      std::clamp<size_t>(count / (16 * kMaxThreads), 1, kMaxTogether);
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
    // Fewer threads do the same.
  }
  guarded();
  others.clear();  // joins them
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

absl::Status JoinErrors(std::span<const absl::Status> statuses) {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string text;
  size_t errors = 0;
  for (const absl::Status& status : statuses) {
    if (status.ok()) continue;
    if (errors == 0) code = status.code();
    if (errors < kMaxErrors) {
      absl::StrAppend(&text, errors == 0 ? "" : "\n", status.message());
    }
    ++errors;
  }
  if (errors > kMaxErrors) {
    absl::StrAppend(&text, "\nand ", errors - kMaxErrors, " more like these");
  }
  return absl::Status(code, text);
}

}  // namespace poniente::internal
