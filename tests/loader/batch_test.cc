// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "loader/batch_access.h"
#include "tests/support/made_batch.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

StepPlan Plan(uint32_t seq_len) {
  StepPlan plan;
  plan.step = 7;
  plan.seq_len = seq_len;
  return plan;
}

using ::poniente::testing::IsOk;
using ::poniente::testing::MadeBatch;
using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;

TEST(BatchTest, RowsLieOneAfterTheOther) {
  Batch batch = MadeBatch(Plan(3), 2, TokenType::kU16);
  const uint16_t ids[] = {1, 2, 3, 4, 5, 6};
  ASSERT_EQ(internal::BatchAccess::Bytes(&batch, BatchTensor::kTokens).size(),
            sizeof(ids));
  std::memcpy(internal::BatchAccess::Bytes(&batch, BatchTensor::kTokens).data(),
              ids, sizeof(ids));
  EXPECT_EQ(batch.step(), 7u);
  EXPECT_EQ(batch.num_samples(), 2u);
  EXPECT_EQ(batch.tokens<uint16_t>().size(), 6u);
  EXPECT_EQ(batch.tokens<uint16_t>(1)[0], 4);
  const Batch moved = std::move(batch);
  EXPECT_EQ(moved.tokens<uint16_t>(0)[2], 3);
}

TEST(BatchDeathTest, AskingForAnotherTypeIsABugOfTheCaller) {
  Batch batch = MadeBatch(Plan(3), 2, TokenType::kU16);
  EXPECT_DEATH(batch.tokens<uint32_t>(), "ids are u16");
  EXPECT_DEATH(batch.tokens<int16_t>(), "ids are u16");
}

TEST(BatchTest, OnTheHostThereIsNothingToWaitFor) {
  const Batch batch = MadeBatch(Plan(3), 2, TokenType::kU16);
  EXPECT_EQ(batch.device(), Device());
  EXPECT_EQ(batch.device_bytes(), nullptr);
  EXPECT_THAT(batch.WaitUntilCopied(), IsOk());
  EXPECT_THAT(
      batch.WaitOn(nullptr),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("host")));
}

TEST(BatchTest, OneWithoutSamplesHasNoIds) {
  const Batch batch = MadeBatch(Plan(3), 0, TokenType::kU16);
  EXPECT_TRUE(batch.tokens<uint16_t>().empty());
}

}  // namespace
}  // namespace poniente
