// SPDX-License-Identifier: Apache-2.0
// Waits for the descriptor of a loader, as an event loop does; windows whose
// arrival the test decides.

#ifndef PONIENTE_TESTS_LOADER_READY_FD_H_
#define PONIENTE_TESTS_LOADER_READY_FD_H_

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "async/notifier.h"
#include "poniente/loader.h"
#include "tests/loader/open_loader.h"
#include "tests/support/status_matchers.h"
#include "util/mutex.h"

namespace poniente::testing {

// Milliseconds after which a wake-up counts as lost.
inline constexpr int kLost = 60'000;

// Of a loader of tokens or of items.
template <class AnyLoader>
int ReadyFdOf(AnyLoader& loader) {
  const absl::StatusOr<int> fd = loader.ReadyFd();
  EXPECT_THAT(fd, IsOk());
  return fd.value_or(-1);
}

// Whether the descriptor is readable within that time; by default, now.
inline bool IsReadable(int fd, int timeout_ms = 0) {
  pollfd watched = {.fd = fd, .events = POLLIN, .revents = 0};
  const int count = ::poll(&watched, 1, timeout_ms);
  EXPECT_GE(count, 0);
  EXPECT_EQ(watched.revents & ~POLLIN, 0);
  return count == 1;
}

// Expects that nothing is ready, whoever asks.
template <class AnyLoader>
void ExpectNothing(AnyLoader& loader, int fd) {
  EXPECT_FALSE(IsReadable(fd));
  EXPECT_FALSE(loader.TryNext().has_value());
  EXPECT_FALSE(IsReadable(fd));
}

// The step that the loader returns at once.
inline uint64_t TakeStep(Loader& loader) {
  const auto batch = loader.TryNext();
  if (!batch.has_value()) {
    ADD_FAILURE() << "no batch is ready";
    return UINT64_MAX;
  }
  EXPECT_THAT(*batch, IsOk());
  return batch->ok() ? (*batch)->step() : UINT64_MAX;
}

// The error that the loader returns at once in place of a batch.
inline absl::Status TakeError(Loader& loader) {
  const auto batch = loader.TryNext();
  if (!batch.has_value()) return absl::UnknownError("no batch is ready");
  return batch->status();
}

// Windows that can be had only once the test lets them come, in any order.
class GatedWindows final : public AsyncDataset<TokenWindow> {
 public:
  void Let(std::initializer_list<uint64_t> items) {
    {
      internal::MutexLock lock(&mu_);
      open_.insert(items.begin(), items.end());
    }
    opened_.NotifyAll();
  }

  std::string name() const override { return "gated"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(1000); }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    while (true) {
      const uint64_t seen = opened_.version();
      if (AreOpen(indices)) break;
      absl::Status waited = co_await opened_.WaitPast(seen);
      if (!waited.ok()) co_return waited;
    }
    std::vector<TokenWindow> windows;
    for (const Index index : indices) {
      windows.emplace_back(
          std::vector<uint32_t>(kSeqLen, static_cast<uint32_t>(index)));
    }
    co_return windows;
  }

 private:
  bool AreOpen(std::span<const Index> indices) const {
    internal::MutexLock lock(&mu_);
    for (const Index index : indices) {
      if (!open_.contains(index)) return false;
    }
    return true;
  }

  mutable internal::Notifier opened_;
  mutable internal::Mutex mu_;
  std::set<uint64_t> open_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_LOADER_READY_FD_H_
