// SPDX-License-Identifier: Apache-2.0
// Where the windows of Arrow files lie, against what was written.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/range_source.h"
#include "poniente/packing.h"
#include "tests/formats/arrow_files.h"
#include "tests/formats/arrow_rows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::ArrowOfRows;
using testing::EndToEnd;
using testing::OpenArrowRows;
using testing::RandomRows;
using testing::ReadFile;
using testing::Rows;
using testing::TempDir;
using testing::WriteFile;

// The ids of type Id in these ranges of the files.
template <class Id>
std::vector<uint32_t> IdsIn(const std::vector<std::string>& files,
                            const std::vector<FileRange>& ranges) {
  std::vector<uint32_t> ids;
  for (const FileRange& range : ranges) {
    EXPECT_GT(range.bytes, 0u);
    EXPECT_LE(range.offset + range.bytes, files.at(range.file).size());
    for (uint64_t at = 0; at < range.bytes; at += sizeof(Id)) {
      Id id = 0;
      std::memcpy(&id, files[range.file].data() + range.offset + at,
                  sizeof(id));
      ids.push_back(static_cast<uint32_t>(id));
    }
  }
  return ids;
}

std::vector<uint32_t> SliceOfIds(const std::vector<uint32_t>& ids,
                                 uint64_t begin, uint64_t end) {
  return {ids.begin() + static_cast<ptrdiff_t>(begin),
          ids.begin() + static_cast<ptrdiff_t>(end)};
}

// Writes a folder of two files; returns the files and the ids of both.
struct ArrowFolder {
  explicit ArrowFolder(size_t per_batch, uint64_t seed) {
    std::mt19937_64 random(testing::TestSeed(seed));
    for (int i = 0; i < 2; ++i) {
      const Rows rows = RandomRows(60, 60000, &random);
      files.push_back(ArrowOfRows<uint16_t>(rows, per_batch));
      WriteFile(dir.path(absl::StrCat(i, ".arrow")), files.back());
      const std::vector<uint32_t> more = EndToEnd(rows);
      ids.insert(ids.end(), more.begin(), more.end());
      shard_ends.push_back(ids.size());
    }
    WriteFile(dir.path("state.json"),
              R"({"_data_files": [{"filename": "0.arrow"},
                                  {"filename": "1.arrow"}]})");
  }

  const TempDir dir;
  std::vector<std::string> files;
  std::vector<uint32_t> ids;
  std::vector<uint64_t> shard_ends;
};

TEST(ArrowRangesTest, AWindowOverBatchesHasARangeInEach) {
  const TempDir dir;
  const Rows rows = {{1, 2, 3}, {4}, {}, {5, 6, 7, 8}};
  const std::string bytes = ArrowOfRows<int32_t>(rows, 1);
  WriteFile(dir.path("a.arrow"), bytes);
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenArrowRows(dir.path("a.arrow"), false));
  EXPECT_TRUE(source->arrays().empty());
  EXPECT_TRUE(source->has_file_ranges());
  ASSERT_OK_AND_ASSIGN(const auto windows, source->Windows(4));
  const RangeSource* const ranges = windows->ranges();
  ASSERT_NE(ranges, nullptr);
  EXPECT_TRUE(ranges->items_are_split());
  EXPECT_EQ(ranges->width_bytes(), 4u);
  EXPECT_EQ(ranges->item_length(), 4u);
  EXPECT_EQ(ranges->id_limit(), uint64_t{1} << 31);
  EXPECT_FALSE(ranges->ids_are_checked());
  std::vector<FileRange> located;
  ranges->LocateAll(0, 1, 3, &located);
  ASSERT_EQ(located.size(), 2u);
  EXPECT_EQ(located[0].bytes, 8u);
  EXPECT_EQ(located[1].bytes, 4u);
  EXPECT_EQ(IdsIn<int32_t>({bytes}, located), (std::vector<uint32_t>{2, 3, 4}));
  located.clear();
  ranges->LocateAll(1, 0, 4, &located);
  EXPECT_EQ(located.size(), 1u);
}

TEST(ArrowRangesTest, RangesHoldTheTokensOfAnyPartOfAWindow) {
  for (const size_t per_batch : {1, 2, 7, 1000}) {
    const ArrowFolder folder(per_batch, per_batch);
    ASSERT_OK_AND_ASSIGN(const auto source,
                         OpenArrowRows(folder.dir.path(), false));
    std::mt19937_64 random(testing::TestSeed(9));
    for (const bool across : {true, false}) {
      ASSERT_OK_AND_ASSIGN(const auto windows,
                           source->Windows(33, {1, across, false}));
      const RangeSource* const ranges = windows->ranges();
      ASSERT_NE(ranges, nullptr);
      uint64_t window = 0;
      uint64_t begin = 0;
      for (const uint64_t shard_end : folder.shard_ends) {
        const uint64_t end = across ? folder.ids.size() : shard_end;
        for (; begin + 33 <= end; begin += 32, ++window) {
          const auto from = static_cast<uint32_t>(random() % 33);
          const auto count = static_cast<uint32_t>(1 + random() % (33 - from));
          std::vector<FileRange> located;
          ranges->LocateAll(window, from, count, &located);
          ASSERT_EQ(IdsIn<uint16_t>(folder.files, located),
                    SliceOfIds(folder.ids, begin + from, begin + from + count))
              << window;
          located.clear();
          ranges->LocateTokens(begin, begin + 33, &located);
          ASSERT_EQ(IdsIn<uint16_t>(folder.files, located),
                    SliceOfIds(folder.ids, begin, begin + 33));
        }
        begin = across ? begin : shard_end;
      }
      EXPECT_EQ(windows->CurrentLength(), window);
    }
  }
}

TEST(ArrowRangesTest, PackedWindowsHaveThem) {
  const ArrowFolder folder(3, 21);
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenArrowRows(folder.dir.path(), false));
  ASSERT_OK_AND_ASSIGN(const auto windows, source->PackedWindows(64));
  const RangeSource* const ranges = windows->ranges();
  ASSERT_NE(ranges, nullptr);
  std::vector<FileRange> located;
  ranges->LocateTokens(0, folder.ids.size(), &located);
  EXPECT_EQ(IdsIn<uint16_t>(folder.files, located), folder.ids);
}

TEST(ArrowRangesTest, WindowsHaveNoneIfThereIsATailOrLocatingReads) {
  const ArrowFolder folder(3, 22);
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenArrowRows(folder.dir.path(), false));
  // A tail that is shorter is no item of a loader.
  uint64_t length = 7;
  while (folder.ids.size() % length == 0) ++length;
  ASSERT_OK_AND_ASSIGN(const auto tail,
                       source->Windows(length, {0, true, true}));
  EXPECT_EQ(tail->ranges(), nullptr);
  ASSERT_OK_AND_ASSIGN(const auto slow, OpenArrowRows(folder.dir.path(), true));
  EXPECT_FALSE(slow->has_file_ranges());
  EXPECT_EQ(slow->fingerprint(), source->fingerprint());
  ASSERT_OK_AND_ASSIGN(const auto reading, slow->Windows(length));
  EXPECT_EQ(reading->ranges(), nullptr);
  ASSERT_OK_AND_ASSIGN(const auto packed, slow->PackedWindows(64));
  EXPECT_EQ(packed->ranges(), nullptr);
}

}  // namespace
}  // namespace poniente::internal
