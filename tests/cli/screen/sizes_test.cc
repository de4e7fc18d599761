// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace poniente::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(SizesTest, ComeInManyUnits) {
  EXPECT_THAT(ParseSizes("64KiB, 1 MiB,2GB,4096", 1, uint64_t{1} << 40),
              IsOkAndHolds(ElementsAre(65536, 1048576, 2000000000, 4096)));
}

TEST(SizesTest, OthersAreNamed) {
  for (const char* text : {"", "1,", "x", "1.5MiB", "-1", "1K", "0", "2TiB",
                           "20000000000000000000", "17000000TiB"}) {
    EXPECT_THAT(ParseSizes(text, 1, uint64_t{1} << 40),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("from 1 B to 1 TiB")))
        << text;
  }
}

TEST(SizesTest, AreSaidInTheUnitThatFits) {
  EXPECT_EQ(BinarySize(65536), "64 KiB");
  EXPECT_EQ(BinarySize(uint64_t{3} << 30), "3 GiB");
  EXPECT_EQ(BinarySize(512), "512 B");
  EXPECT_EQ(BinarySize(1000000), "1.0 MB");
}

}  // namespace
}  // namespace poniente::cli
