// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "poniente/flat_mixture.h"
#include "poniente/task.h"
#include "poniente/token_source.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

DatasetPtr<TokenWindow> Declared(uint64_t tokens, uint64_t length = 4) {
  return DeclaredWindows("plan", tokens, length).value();
}

TEST(DeclaredWindowsTest, HasTheLengthOfAStoreOfAsManyTokens) {
  EXPECT_EQ(Declared(103)->CurrentLength(), 25u);
  EXPECT_EQ(Declared(3)->CurrentLength(), 0u);
  EXPECT_EQ(Declared(uint64_t{1} << 62, 1)->CurrentLength(), uint64_t{1} << 62);
  EXPECT_EQ(Declared(103)->item_tokens(), 4u);
  EXPECT_EQ(Declared(103)->vocabulary(), nullptr);
}

TEST(DeclaredWindowsTest, ReadingIsRefusedByName) {
  EXPECT_THAT(RunBlocking(Declared(103)->Get(24)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'plan' is only a number of tokens, 103")));
  EXPECT_THAT(RunBlocking(Declared(103)->Get(25)),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

TEST(DeclaredWindowsTest, LengthsOutOfRangeAreRefused) {
  for (const uint64_t length : {uint64_t{0}, uint64_t{UINT32_MAX}}) {
    EXPECT_THAT(
        DeclaredWindows("plan", 100, length),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("plan")));
  }
  EXPECT_THAT(DeclaredWindows("plan", 100, UINT32_MAX - 1), IsOk());
}

TEST(DeclaredWindowsTest, EqualSizesHaveEqualFingerprintsAndNoOthers) {
  EXPECT_EQ(Declared(103)->fingerprint(), Declared(103)->fingerprint());
  EXPECT_NE(Declared(103)->fingerprint(), Declared(104)->fingerprint());
  EXPECT_NE(Declared(103)->fingerprint(), Declared(103, 5)->fingerprint());
  EXPECT_NE(Declared(103)->fingerprint(),
            DeclaredWindows("plan", 103, 4, Vocabulary{"bytes", 257})
                .value()
                ->fingerprint());
}

TEST(DeclaredWindowsTest, TwoTokenizersAreNotMixedAndAnUnknownOneIs) {
  const auto mix = [](std::optional<Vocabulary> a,
                      std::optional<Vocabulary> b) {
    return FlatMixture<TokenWindow>::Create(
        {{"a", DeclaredWindows("a", 100, 4, a).value()},
         {"b", DeclaredWindows("b", 100, 4, b).value()}});
  };
  EXPECT_THAT(mix(Vocabulary{"x", 10}, std::nullopt), IsOk());
  EXPECT_THAT(mix(Vocabulary{"x", 10}, Vocabulary{"y", 10}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("'x'"), HasSubstr("'y'"))));
}

}  // namespace
}  // namespace poniente
