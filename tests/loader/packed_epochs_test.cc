// SPDX-License-Identifier: Apache-2.0
// Epochs of packed sources, whose windows differ from epoch to epoch.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "poniente/loader.h"
#include "poniente/transforms.h"
#include "tests/loader/open_loader.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::TempDir;

TEST(PackedEpochsTest, FollowThePassesOverThePackedWindows) {
  const TempDir folder;
  ASSERT_THAT(testing::WriteStore(
                  folder.path("s"),
                  testing::ProvenDocuments(std::vector<uint64_t>(60, 7), 256)),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path("s")));
  ASSERT_OK_AND_ASSIGN(const auto packed, store->PackedWindows(kSeqLen));
  ASSERT_OK_AND_ASSIGN(const auto root, Repeat(packed));
  const uint64_t windows = *packed->CurrentLength();
  ASSERT_GE(windows, 20u);
  std::vector<std::string> lines;
  LoaderOptions options;
  options.log_sink = [&](std::string_view line) { lines.emplace_back(line); };
  const auto loader = Open(root, MakeSchedule(0, 2), options);
  for (uint64_t sample = 0; sample < 5 * windows; sample += 2) {
    ASSERT_THAT(loader->NextBlocking(), IsOk());
    EXPECT_EQ(loader->metrics().sources[0].epoch, (sample + 1) / windows);
    EXPECT_EQ(loader->metrics().sources[0].restarts, (sample + 1) / windows);
  }
  EXPECT_EQ(lines.size(), 4u);
}

}  // namespace
}  // namespace poniente
