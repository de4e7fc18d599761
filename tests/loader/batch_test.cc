// SPDX-License-Identifier: Apache-2.0
#include "poniente/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

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

TEST(BatchMemoryTest, IsPageAlignedAndUsedAgainOnceTheBatchIsGone) {
  std::set<const void*> first, second;
  for (std::set<const void*>* seen : {&first, &second}) {
    std::vector<Batch> held;
    for (uint64_t i = 0; i < 5; ++i) {
      StepPlan plan;
      plan.seq_len = 1031;
      held.emplace_back(std::move(plan), 7, TokenType::kU16);
      const auto bytes = held.back().mutable_bytes();
      ASSERT_EQ(bytes.size(), 7 * 1031 * 2);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 4096, 0);
      std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(i));
      seen->insert(bytes.data());
    }
    EXPECT_EQ(seen->size(), 5);  // while they live, each has its own
    for (size_t i = 0; i < held.size(); ++i) {
      EXPECT_EQ(held[i].bytes().back(), static_cast<std::byte>(i));
    }
  }
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace poniente
