// SPDX-License-Identifier: Apache-2.0
#include "util/crc32c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace poniente::internal {
namespace {

std::vector<std::byte> Bytes(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// The vectors of RFC 3720, section B.4.
TEST(Crc32cTest, MatchesTheVectorsOfRfc3720) {
  std::vector<std::byte> ascending(32);
  for (int i = 0; i < 32; ++i) ascending[i] = std::byte(i);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32)), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c(Bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32cTest, ExtendingEqualsChecksummingAtOnce) {
  const std::vector<std::byte> all = Bytes("levante, poniente, tramontana");
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    const std::span<const std::byte> bytes = all;
    EXPECT_EQ(ExtendCrc32c(Crc32c(bytes.first(cut)), bytes.subspan(cut)),
              Crc32c(bytes))
        << "cut at " << cut;
  }
}

TEST(Crc32cTest, CombiningEqualsChecksummingAtOnce) {
  std::vector<std::byte> all(70001);
  for (size_t i = 0; i < all.size(); ++i) all[i] = std::byte(i * 37 >> 3);
  const std::span<const std::byte> bytes = all;
  for (const size_t cut : {0, 1, 7, 4096, 65535, 65536, 70000, 70001}) {
    EXPECT_EQ(CombineCrc32c(Crc32c(bytes.first(cut)),
                            Crc32c(bytes.subspan(cut)), all.size() - cut),
              Crc32c(bytes))
        << "cut at " << cut;
  }
}

}  // namespace
}  // namespace poniente::internal
