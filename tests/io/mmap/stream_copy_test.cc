// SPDX-License-Identifier: Apache-2.0
#include "io/mmap/stream_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::TestSeed;

std::vector<std::byte> RandomBytes(size_t size) {
  std::mt19937_64 random(TestSeed(1));
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(StreamCopyTest, CopiesAllBytesAndNoOthers) {
  const std::vector<std::byte> source = RandomBytes(20'000);
  const std::byte untouched{0x55};
  std::vector<std::byte> target(source.size() + 256);
  for (const size_t size :
       {0, 1, 63, 64, 65, 127, 128, 191, 8191, 8192, 8194, 16'400}) {
    for (const size_t from : {0, 1, 17}) {
      for (const size_t to : {0, 1, 15, 16, 63, 64}) {
        for (const size_t next : {0, 100, 20'000}) {
          std::fill(target.begin(), target.end(), untouched);
          StreamCopy(std::span(source).subspan(from, size), target.data() + to,
                     std::span(source).first(next));
          FinishStreams();
          SCOPED_TRACE(::testing::Message()
                       << size << " bytes from " << from << " to " << to);
          EXPECT_TRUE(std::equal(source.begin() + from,
                                 source.begin() + from + size,
                                 target.begin() + to));
          EXPECT_EQ(std::count(target.begin(), target.begin() + to, untouched),
                    to);
          EXPECT_TRUE(std::all_of(target.begin() + to + size, target.end(),
                                  [=](std::byte b) { return b == untouched; }));
        }
      }
    }
  }
}

}  // namespace
}  // namespace poniente::internal
