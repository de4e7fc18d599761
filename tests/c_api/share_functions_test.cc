// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "poniente/poniente_c.h"
#include "tests/c_api/c_api_fixture.h"

namespace poniente::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kUnset = 77;

// Returns the micro-batches as (begin, end). The array has just the room that
// the header says is enough.
std::vector<std::pair<uint64_t, uint64_t>> MicroBatchRanges(
    const std::vector<uint64_t>& sizes, uint64_t budget, size_t at_least = 0) {
  const size_t room = std::max(sizes.size(), at_least);
  std::vector<poniente_micro_batch> made(room + 1,
                                         poniente_micro_batch{kUnset, kUnset});
  size_t count = 0;
  EXPECT_EQ(poniente_micro_batches(sizes.data(), sizes.size(), budget, at_least,
                                   made.data(), room, &count),
            PONIENTE_OK)
      << poniente_last_error();
  size_t counted = 0;
  EXPECT_EQ(poniente_micro_batches(sizes.data(), sizes.size(), budget, at_least,
                                   nullptr, 0, &counted),
            PONIENTE_OK)
      << poniente_last_error();
  EXPECT_EQ(counted, count);
  EXPECT_LE(count, room);
  count = std::min(count, room);
  EXPECT_EQ(made[count].begin, kUnset) << "behind the last one";
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (size_t i = 0; i < count; ++i) {
    ranges.emplace_back(made[i].begin, made[i].end);
  }
  return ranges;
}

TEST(CMicroBatchesTest, AreAsFewAsTheBudgetAllows) {
  EXPECT_THAT(MicroBatchRanges({5, 4, 3, 2, 1}, 15), ElementsAre(Pair(0, 5)));
  EXPECT_THAT(MicroBatchRanges({5, 4, 3, 2, 1}, 14),
              ElementsAre(Pair(0, 2), Pair(2, 5)));
  EXPECT_THAT(MicroBatchRanges({1, 100, 1, 1}, 10),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 4)))
      << "a sample above the budget";
}

TEST(CMicroBatchesTest, AreAtLeastAsManyAsWanted) {
  EXPECT_THAT(MicroBatchRanges({1, 1, 1, 1}, 100, 3),
              ElementsAre(Pair(0, 2), Pair(2, 3), Pair(3, 4)));
  EXPECT_THAT(MicroBatchRanges({1, 1}, 100, 4),
              ElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 2), Pair(2, 2)));
}

TEST(CMicroBatchesTest, MayHaveABudgetOfZeroAndNoSamples) {
  EXPECT_THAT(MicroBatchRanges({7, 7}, 0), ElementsAre(Pair(0, 1), Pair(1, 2)));
  EXPECT_THAT(MicroBatchRanges({}, 100), IsEmpty());
  EXPECT_THAT(MicroBatchRanges({}, 100, 2),
              ElementsAre(Pair(0, 0), Pair(0, 0)));
  size_t count = kUnset;
  ASSERT_DONE(poniente_micro_batches(nullptr, 0, 100, 0, nullptr, 0, &count));
  EXPECT_EQ(count, 0u);
}

TEST(CMicroBatchesTest, AreNotWrittenIntoAnArrayThatIsTooSmall) {
  const uint64_t sizes[] = {9, 9, 9};
  poniente_micro_batch made[2] = {{kUnset, kUnset}, {kUnset, kUnset}};
  size_t count = kUnset;
  EXPECT_ERROR(poniente_micro_batches(sizes, 3, 10, 0, made, 2, &count),
               INVALID_ARGUMENT, HasSubstr("has room for 2, there are 3"));
  EXPECT_ERROR(poniente_micro_batches(sizes, 3, 10, SIZE_MAX, made, 2, &count),
               INVALID_ARGUMENT, HasSubstr("has room for 2"));
  EXPECT_EQ(count, kUnset);
  EXPECT_EQ(made[0].begin, kUnset);
  ASSERT_DONE(poniente_micro_batches(sizes, 3, 100, 0, made, 2, &count));
  EXPECT_EQ(count, 1u) << "fits";
  ASSERT_DONE(
      poniente_micro_batches(sizes, 3, 10, SIZE_MAX, nullptr, 0, &count));
  EXPECT_EQ(count, SIZE_MAX) << "allocates nothing";
}

TEST(CMicroBatchesTest, NeedSizesAndACount) {
  const uint64_t sizes[] = {9};
  poniente_micro_batch made[1];
  size_t count = 0;
  EXPECT_ERROR(poniente_micro_batches(nullptr, 1, 10, 0, made, 1, &count),
               INVALID_ARGUMENT, HasSubstr("'sizes' must not be null"));
  EXPECT_ERROR(poniente_micro_batches(sizes, 1, 10, 0, made, 1, nullptr),
               INVALID_ARGUMENT, HasSubstr("'count' must not be null"));
}

// As docs/ranks.md does it, compared with the document of each token.
TEST_F(CApiTest, TheWorkOfSamplesFollowsFromCuSeqlens) {
  WriteDocuments(dir_.path("d"), 9, 3000);
  poniente_options options = Options();
  options.tensors = "document_ids,cu_seqlens,document_counts";
  const LoaderPtr loader =
      Open("[data]\nsteps = 3\nbatch_size = 6\nseq_len = 50\npath = 'd'\n",
           &options);
  const BatchPtr batch = Next(loader);
  const auto numbers = [&batch](const char* name) {
    poniente_tensor tensor = {};
    tensor.struct_size = sizeof tensor;
    EXPECT_EQ(poniente_batch_tensor(batch.get(), name, &tensor), PONIENTE_OK);
    EXPECT_EQ(tensor.dtype, PONIENTE_I32);
    return static_cast<const int32_t*>(tensor.host);
  };
  const int32_t* end = numbers("cu_seqlens");
  const int32_t* const counts = numbers("document_counts");
  const int32_t* const ids = numbers("document_ids");
  for (size_t i = 0; i < 6; ++i) {
    uint64_t work = 0;
    for (int32_t d = 0; d < counts[i]; ++d, ++end) {
      const auto length = static_cast<uint64_t>(end[1] - end[0]);
      work += length * length;
    }
    std::map<int32_t, uint64_t> lengths;
    for (size_t t = 0; t < 50; ++t) ++lengths[ids[i * 50 + t]];
    EXPECT_GT(lengths.size(), 1u);
    uint64_t expected = 0;
    for (const auto& [id, length] : lengths) expected += length * length;
    EXPECT_EQ(work, expected) << "sample " << i;
  }
}

}  // namespace
}  // namespace poniente::testing
