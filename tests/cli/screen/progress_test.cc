// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/progress.h"

#include <gtest/gtest.h>

namespace poniente::cli {
namespace {

constexpr uint64_t kMega = 1000000;

TEST(ProgressTest, CountsBytes) {
  EXPECT_EQ(ProgressLine("packing", ProgressUnit::kBytes, kMega, 4 * kMega,
                         0.25, 0.5, /*has_bar=*/false),
            "packing: 1.0 MB of 4.0 MB (25%), 2.0 MB/s");
  EXPECT_EQ(ProgressLine("packing", ProgressUnit::kBytes, kMega, 4 * kMega,
                         0.25, 0.5, /*has_bar=*/true),
            "packing [#####...............] 25%, 1.0 MB of 4.0 MB, 2.0 MB/s");
}

TEST(ProgressTest, CountsSteps) {
  EXPECT_EQ(ProgressLine("running", ProgressUnit::kSteps, 1500, 2000, 0.75, 10,
                         /*has_bar=*/false),
            "running: 1,500 of 2,000 steps (75%), 150.0 steps/s");
  // Time may be what ends it.
  EXPECT_EQ(ProgressLine("running", ProgressUnit::kSteps, 30, 0, 0.5, 10,
                         /*has_bar=*/true),
            "running [##########..........] 50%, 30 steps, 3.0 steps/s");
}

TEST(ProgressTest, AnUnknownTotalHasNoBar) {
  EXPECT_EQ(ProgressLine("packing", ProgressUnit::kBytes, kMega, 0, -1, 1,
                         /*has_bar=*/true),
            "packing: 1.0 MB, 1.0 MB/s");
}

TEST(ProgressTest, MoreThanAllIsAll) {
  EXPECT_EQ(ProgressLine("packing", ProgressUnit::kBytes, 3 * kMega, 2 * kMega,
                         1.5, 1, /*has_bar=*/true),
            "packing [####################] 100%, 3.0 MB of 2.0 MB, 3.0 MB/s");
}

}  // namespace
}  // namespace poniente::cli
