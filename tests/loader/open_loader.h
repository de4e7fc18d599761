// SPDX-License-Identifier: Apache-2.0
// Loaders of small windows.

#ifndef PONIENTE_TESTS_LOADER_OPEN_LOADER_H_
#define PONIENTE_TESTS_LOADER_OPEN_LOADER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "poniente/loader.h"
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

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_LOADER_OPEN_LOADER_H_
