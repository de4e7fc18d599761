// SPDX-License-Identifier: Apache-2.0
// What the kernel's threads do, one after the other.
#include "staging/widen_ids.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxIds = 300;

template <class From, class To>
struct Widths {
  using Stored = From;
  using Wide = To;
};

template <class T>
class WidenIdsTest : public ::testing::Test {
 protected:
  using Stored = typename T::Stored;
  using Wide = typename T::Wide;
  static constexpr Wide kUntouched = std::numeric_limits<Wide>::max();

  WidenIdsTest() {
    std::mt19937_64 random(testing::TestSeed(35));
    for (Stored& id : stored_) id = static_cast<Stored>(random());
    stored_[0] = std::numeric_limits<Stored>::max();
  }

  void Clear() {
    for (Wide& id : wide_) id = kUntouched;
  }

  alignas(16) Stored stored_[kMaxIds];
  alignas(16) Wide wide_[kMaxIds + 16];
};

using AllWidths =
    ::testing::Types<Widths<uint8_t, uint16_t>, Widths<uint8_t, uint32_t>,
                     Widths<uint8_t, uint64_t>, Widths<uint16_t, uint32_t>,
                     Widths<uint16_t, uint64_t>, Widths<uint32_t, uint64_t>>;
TYPED_TEST_SUITE(WidenIdsTest, AllWidths);

TYPED_TEST(WidenIdsTest, ThreadsTogetherWriteEveryIdAndNothingElse) {
  for (uint64_t count = 0; count <= kMaxIds; ++count) {
    for (const uint64_t threads : {1, 2, 3, 7, 32, 256, 1000}) {
      this->Clear();
      for (uint64_t thread = 0; thread < threads; ++thread) {
        WidenShare(this->stored_, count, thread, threads, this->wide_);
      }
      for (uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(this->wide_[i], this->stored_[i])
            << i << " of " << count << " by " << threads;
      }
      for (uint64_t i = count; i < std::size(this->wide_); ++i) {
        ASSERT_EQ(this->wide_[i], this->kUntouched)
            << i << ", behind " << count << " by " << threads;
      }
    }
  }
}

// On a GPU they run in any order, all at once: none may write another's.
TYPED_TEST(WidenIdsTest, NoTwoThreadsWriteTheSameId) {
  constexpr uint64_t kThreads = 7;
  for (const uint64_t count : {0, 1, 8, 63, 64, 65, 300}) {
    std::vector<int> written(count);
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      this->Clear();
      WidenShare(this->stored_, count, thread, kThreads, this->wide_);
      for (uint64_t i = 0; i < count; ++i) {
        written[i] += this->wide_[i] != this->kUntouched;
      }
    }
    EXPECT_EQ(written, std::vector<int>(count, 1));
  }
}

}  // namespace
}  // namespace poniente::internal
