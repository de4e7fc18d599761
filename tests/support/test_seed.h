// SPDX-License-Identifier: Apache-2.0
// The seed of a random test: printed, and taken back from PONIENTE_TEST_SEED.

#ifndef PONIENTE_TESTS_SUPPORT_TEST_SEED_H_
#define PONIENTE_TESTS_SUPPORT_TEST_SEED_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace poniente::testing {

inline uint64_t TestSeed(uint64_t otherwise) {
  const char* given = std::getenv("PONIENTE_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 0) : otherwise;
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  std::printf("seed %llu (PONIENTE_TEST_SEED sets another)\n",
              static_cast<unsigned long long>(seed));
  return seed;
}

// How often a test repeats what is random.
inline int TestRounds(int otherwise) {
  const char* const given = std::getenv("PONIENTE_TEST_ROUNDS");
  return given == nullptr ? otherwise : std::atoi(given);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_TEST_SEED_H_
