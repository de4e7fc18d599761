// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch.h"

#include <gtest/gtest.h>

#include <cstring>

namespace poniente {
namespace {

StepPlan Plan(uint32_t seq_len) {
  StepPlan plan;
  plan.step = 7;
  plan.seq_len = seq_len;
  return plan;
}

TEST(BatchTest, RowsLieOneAfterTheOther) {
  Batch batch(Plan(3), 2, TokenType::kU16);
  const uint16_t ids[] = {1, 2, 3, 4, 5, 6};
  ASSERT_EQ(batch.mutable_bytes().size(), sizeof(ids));
  std::memcpy(batch.mutable_bytes().data(), ids, sizeof(ids));
  EXPECT_EQ(batch.step(), 7u);
  EXPECT_EQ(batch.num_samples(), 2u);
  EXPECT_EQ(batch.tokens<uint16_t>().size(), 6u);
  EXPECT_EQ(batch.tokens<uint16_t>(1)[0], 4);
  const Batch moved = std::move(batch);
  EXPECT_EQ(moved.tokens<uint16_t>(0)[2], 3);
}

TEST(BatchDeathTest, AskingForAnotherTypeIsABugOfTheCaller) {
  Batch batch(Plan(3), 2, TokenType::kU16);
  EXPECT_DEATH(batch.tokens<uint32_t>(), "ids are u16");
  EXPECT_DEATH(batch.tokens<int16_t>(), "ids are u16");
}

}  // namespace
}  // namespace poniente
