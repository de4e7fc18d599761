// SPDX-License-Identifier: Apache-2.0
#include "loader/widen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;

template <class To>
std::vector<To> Widened(const std::vector<uint8_t>& bytes, uint32_t from_bytes,
                        TokenType type, uint64_t* greatest) {
  // One byte in front, so that nothing is aligned.
  std::vector<std::byte> from(bytes.size() + 1);
  std::memcpy(from.data() + 1, bytes.data(), bytes.size());
  std::vector<To> to(bytes.size() / from_bytes);
  *greatest = Widen(std::span<const std::byte>(from).subspan(1), from_bytes,
                    type, std::as_writable_bytes(std::span(to)));
  return to;
}

TEST(WidenTest, KeepsIdsAtEveryWidthAndFindsTheGreatest) {
  uint64_t greatest = 0;
  EXPECT_THAT(Widened<uint32_t>({1, 255, 3}, 1, TokenType::kU32, &greatest),
              ElementsAre(1, 255, 3));
  EXPECT_EQ(greatest, 255u);
  EXPECT_THAT(
      Widened<int64_t>({0x01, 0x02, 0xff, 0xff}, 2, TokenType::kI64, &greatest),
      ElementsAre(0x0201, 0xffff));
  EXPECT_EQ(greatest, 0xffffu);
  EXPECT_THAT(Widened<uint16_t>({7, 0, 9, 0}, 2, TokenType::kU16, &greatest),
              ElementsAre(7, 9));
  EXPECT_THAT(Widened<uint32_t>({0xff, 0xff, 0xff, 0xff}, 4, TokenType::kU32,
                                &greatest),
              ElementsAre(0xffffffffu));
  EXPECT_EQ(greatest, 0xffffffffu);
  EXPECT_THAT(Widened<uint8_t>({1, 2}, 1, TokenType::kU8, &greatest),
              ElementsAre(1, 2));
}

TEST(WidenTest, CountsAroundTheVectorLengthAreWhole) {
  for (size_t count = 0; count < 200; ++count) {
    for (size_t at = 0; at < std::max<size_t>(count, 1); at += 7) {
      std::vector<uint16_t> ids(count, 3);
      if (count > 0) ids[at] = 60000;
      std::vector<uint32_t> wide(count + 1, 77);
      const uint64_t greatest =
          Widen(std::as_bytes(std::span(ids)), 2, TokenType::kU32,
                std::as_writable_bytes(std::span(wide)));
      ASSERT_EQ(greatest, count > 0 ? 60000u : 0u) << count << " at " << at;
      ASSERT_TRUE(std::equal(ids.begin(), ids.end(), wide.begin()));
      ASSERT_EQ(wide[count], 77u) << "written past the end";
    }
  }
}

TEST(WidenTest, TellsOfAnIdThatIsTooGreatForTheType) {
  uint64_t greatest = 0;
  Widened<uint8_t>({0x00, 0x01}, 2, TokenType::kU8, &greatest);
  EXPECT_EQ(greatest, 256u);
}

TEST(WidenTest, NarrowsIdsOfEightBytesAndTellsOfThoseThatDoNotFit) {
  uint64_t greatest = 0;
  EXPECT_THAT(
      Widened<uint32_t>({1, 2, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}, 8,
                        TokenType::kU32, &greatest),
      ElementsAre(513, 7));
  EXPECT_EQ(greatest, 513u);
  Widened<uint32_t>({1, 0, 0, 0, 1, 0, 0, 0}, 8, TokenType::kU32, &greatest);
  EXPECT_EQ(greatest, (uint64_t{1} << 32) + 1);
  Widened<int64_t>(std::vector<uint8_t>(8, 255), 8, TokenType::kI64, &greatest);
  EXPECT_EQ(greatest, UINT64_MAX);  // -1
}

TEST(WidenTest, WorksInPlaceWhereWidthsAreEqual) {
  std::vector<uint16_t> ids = {5, 6, 700};
  const auto bytes = std::as_writable_bytes(std::span(ids));
  EXPECT_EQ(Widen(bytes, 2, TokenType::kU16, bytes), 700u);
  EXPECT_THAT(ids, ElementsAre(5, 6, 700));
}

}  // namespace
}  // namespace poniente::internal
