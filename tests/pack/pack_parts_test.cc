// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::IsOk;
using testing::TestSeed;

std::vector<TextInput> Inputs(const std::vector<uint64_t>& sizes) {
  std::vector<TextInput> inputs;
  for (const uint64_t bytes : sizes) {
    TextInput input;
    input.name = std::to_string(inputs.size());
    input.bytes = bytes;
    input.is_regular = true;
    inputs.push_back(input);
  }
  return inputs;
}

// Bytes of each part; fails unless the parts hold all inputs in order.
std::vector<uint64_t> BytesOfParts(const std::vector<TextInput>& inputs,
                                   uint32_t parts) {
  std::vector<uint64_t> bytes;
  size_t next = 0;
  for (uint32_t part = 0; part < parts; ++part) {
    const auto chosen = InputsOfPart(inputs, {part, parts});
    EXPECT_THAT(chosen, IsOk());
    bytes.push_back(0);
    for (const TextInput& input : *chosen) {
      EXPECT_LT(next, inputs.size());
      EXPECT_EQ(input.name, inputs[next++].name);
      bytes.back() += input.bytes;
    }
  }
  EXPECT_EQ(next, inputs.size());
  return bytes;
}

TEST(InputsOfPartTest, EqualInputsAreDividedEvenly) {
  EXPECT_THAT(BytesOfParts(Inputs({5, 5, 5, 5, 5, 5}), 3),
              ::testing::ElementsAre(10, 10, 10));
  EXPECT_THAT(BytesOfParts(Inputs({1, 1, 8, 1, 1}), 2),
              ::testing::ElementsAre(2, 10));
  EXPECT_THAT(BytesOfParts(Inputs({7}), 3), ::testing::ElementsAre(0, 7, 0));
}

TEST(InputsOfPartTest, NoPartHasMoreThanItsShareAndHalfAnInputAtEachEnd) {
  std::mt19937_64 random(TestSeed(86));
  for (int i = 0; i < 200; ++i) {
    std::vector<uint64_t> sizes(random() % 40);
    uint64_t total = 0;
    for (uint64_t& size : sizes) total += size = random() % 1000;
    const uint32_t parts = 1 + static_cast<uint32_t>(random() % 9);
    for (const uint64_t bytes : BytesOfParts(Inputs(sizes), parts)) {
      EXPECT_LE(bytes, total / parts + 1 + 1000);
    }
  }
}

TEST(InputsOfPartTest, HugeAndEmptyInputsBelongToAPart) {
  const uint64_t huge = uint64_t{1} << 61;
  BytesOfParts(Inputs({huge, 0, huge, huge, 0}), 5);
  BytesOfParts(Inputs({0, 0, 0}), 2);
}

}  // namespace
}  // namespace poniente::internal
