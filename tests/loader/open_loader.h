// SPDX-License-Identifier: Apache-2.0
// Loaders of small windows, and what they load.

#ifndef PONIENTE_TESTS_LOADER_OPEN_LOADER_H_
#define PONIENTE_TESTS_LOADER_OPEN_LOADER_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {

inline constexpr uint32_t kSeqLen = 16;

inline Schedule MakeSchedule(uint64_t steps, uint64_t batch_size) {
  ScheduleOptions options;
  options.steps = steps;
  options.batch_size = batch_size;
  options.seq_len = kSeqLen;
  return *Schedule::Create(options);
}

inline std::unique_ptr<Loader> Open(DatasetPtr<TokenWindow> dataset,
                                    Schedule schedule,
                                    LoaderOptions options = LoaderOptions()) {
  auto loader = Loader::Create(std::move(dataset), schedule, options);
  EXPECT_THAT(loader, IsOk());
  return *std::move(loader);
}

// 100 windows, of which number `item` cannot be had the first `times` times:
// Unavailable, with `message`.
inline DatasetPtr<TokenWindow> FlakyWindows(uint32_t item, int times,
                                            std::string message) {
  auto failures = std::make_shared<std::atomic<int>>(times);
  return Map<TokenWindow>(
      "flaky", CountingWindows(100, kSeqLen),
      [item, failures, message = std::move(message)](
          TokenWindow window) -> absl::StatusOr<TokenWindow> {
        if (window.tokens[0] == item * kSeqLen && failures->fetch_sub(1) > 0) {
          return absl::UnavailableError(message);
        }
        return window;
      });
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_LOADER_OPEN_LOADER_H_
