// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "poniente/open_token_source.h"
#include "tests/formats/arrow_files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::ArrowWriter;
using ::testing::HasSubstr;
using testing::Integers;
using testing::ListOf;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;

// As trainers that mask prompts save their rows.
TEST(ArrowMaskTest, ASecondColumnIsALossMask) {
  TempDir dir;
  std::mt19937_64 random(testing::TestSeed(6));
  ArrowWriter writer;
  writer.Schema({ListOf("input_ids", Integers("item", 32, true)),
                 ListOf("labels", Integers("item", 64, true))});
  std::vector<uint32_t> expected_ids;
  std::vector<uint8_t> expected;
  for (int batch = 0; batch < 5; ++batch) {
    std::vector<int32_t> ends = {0};
    std::vector<int32_t> ids;
    std::vector<int64_t> labels;
    for (int row = 0; row < 4; ++row) {
      for (uint64_t left = random() % 30; left > 0; --left) {
        ids.push_back(static_cast<int32_t>(random() % 1000));
        expected.push_back(random() % 2);
        labels.push_back(expected.back() != 0 ? ids.back() : -100);
        expected_ids.push_back(static_cast<uint32_t>(ids.back()));
      }
      ends.push_back(static_cast<int32_t>(ids.size()));
    }
    const auto n = static_cast<int64_t>(ids.size());
    writer.Batch(
        {4,
         {{4, 0}, {n, 0}, {4, 0}, {n, 0}},
         {"", testing::LittleEndian(ends), "", testing::LittleEndian(ids), "",
          testing::LittleEndian(ends), "", testing::LittleEndian(labels)}});
  }
  WriteFile(dir.path("rows.arrow"), writer.End().bytes);
  TokenSourceOptions options;
  options.loss_mask.emplace().column = "labels";
  options.loss_mask->no_loss = -100;
  ASSERT_OK_AND_ASSIGN(const auto source,
                       OpenTokenSource(dir.path("rows.arrow"), options));
  ASSERT_OK_AND_ASSIGN(const auto ids,
                       RunBlocking(source->ReadTokens(0, expected_ids.size())));
  EXPECT_EQ(ids, expected_ids);
  ASSERT_OK_AND_ASSIGN(const auto mask,
                       RunBlocking(source->ReadLossMask(0, expected.size())));
  EXPECT_EQ(mask, expected);
  ASSERT_OK_AND_ASSIGN(const auto part,
                       RunBlocking(source->ReadLossMask(37, 100)));
  EXPECT_EQ(part, std::vector<uint8_t>(expected.begin() + 37,
                                       expected.begin() + 137));
  options.loss_mask->column = "loss";
  EXPECT_THAT(OpenTokenSource(dir.path("rows.arrow"), options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("the loss mask '"),
                             HasSubstr("there is no column 'loss'"))));
}

}  // namespace
}  // namespace poniente
