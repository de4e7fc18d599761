// SPDX-License-Identifier: Apache-2.0
// Windows of documents in an order: what is refused, and damaged files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "store/read/side_file.h"
#include "tests/store/read/ordered_store.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kInvalid;
using testing::OrderCase;
using testing::OrderedStore;
using testing::StatusIs;
using testing::WriteFile;

constexpr absl::StatusCode kLost = absl::StatusCode::kDataLoss;

TEST(OrderedWindowsErrorsTest, RefuseWhatDoesNotFit) {
  const OrderedStore ordered({{5, 5, 5}, {1, 3, 2}});
  const TokenStore& store = ordered.store();
  for (const uint64_t length : {uint64_t{0}, uint64_t{UINT32_MAX}}) {
    EXPECT_THAT(store.Windows(length, ordered.order()),
                StatusIs(kInvalid, HasSubstr("got " + std::to_string(length))));
  }
  const auto four = *ScoreOrder::FromScores(std::vector<float>(4));
  EXPECT_THAT(store.Windows(5, four),
              StatusIs(kInvalid, AllOf(HasSubstr("the order is of 4 items"),
                                       HasSubstr(store.path()),
                                       HasSubstr("has 3 documents"),
                                       HasSubstr("make the order anew"))));
  EXPECT_THAT(store.Windows(5, ordered.order(), *Selection::FromIndices(2, {})),
              StatusIs(kInvalid, HasSubstr("the selection is of 2 items")));
  EXPECT_THAT(ScoreOrder::FromScores(std::vector<float>{1, NAN, 2}),
              StatusIs(kInvalid, HasSubstr("score 1 of 3 is not a number")));
  const auto windows = *ordered.Windows(4);
  const auto out_of_range = [](const char* what) {
    return StatusIs(absl::StatusCode::kOutOfRange, HasSubstr(what));
  };
  EXPECT_THAT(windows->GetBlocking(3), out_of_range("3 items"));
  EXPECT_THAT(PiecesOf(*windows)->Pieces({.index = 3}),
              out_of_range("3 items"));
  const std::vector<Position> part = {{1, 0, 3, 2}};
  EXPECT_THAT(RunBlocking(windows->GetAt(part)),
              out_of_range("tokens 3 to 5 of item 1"));
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(3), out_of_range("document 3"));
}

// A name that keeps the documents file out of memory: damage is seen at once.
std::string LongFirstName() {
  return std::string(internal::SideFile::kMaxKeptBytes, 'n');
}

TEST(OrderedWindowsErrorsTest, ADamagedDocumentIndexIsDataLoss) {
  OrderCase four = {{5, 7, 9, 11}, {4, 1, 3, 2}};
  four.first_name = LongFirstName();
  const OrderedStore ordered(four);
  const std::string path = ordered.folder().path("documents-1.bin");
  const std::string whole = testing::ReadFile(path);
  const auto lost = StatusIs(kLost, HasSubstr(path));
  // Each byte of the ends: an error, or windows of tokens that exist.
  for (size_t at = 0; at < 32; ++at) {
    const auto windows = *ordered.Windows(4);
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x40);
    WriteFile(path, flipped);
    for (uint64_t w = 0; w < 8; ++w) {
      const auto window = windows->GetBlocking(w);
      if (window.ok()) {
        ASSERT_EQ(window->tokens.size(), 4u);
      } else {
        ASSERT_EQ(window.status().code(), kLost);
      }
    }
    (void)ordered.Windows(4);
    WriteFile(path, whole);
  }
  const TokenStoreOptions options{.io = {.verify = VerifyChecksums::kOff}};
  const auto store = *TokenStore::Open(ordered.folder().path(), options);
  const auto windows = *store->Windows(4, ordered.order());
  WriteFile(path, whole.substr(0, 7));
  EXPECT_THAT(windows->GetBlocking(0), lost);
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(2), lost);
  EXPECT_THAT(store->Windows(4, ordered.order()), lost);
}

// A document that ends elsewhere than when the lengths were added up.
TEST(OrderedWindowsErrorsTest, DocumentsThatChangedTheirLengthsAreDataLoss) {
  OrderCase four = {std::vector<uint64_t>(100, 7), {}};
  for (int d = 0; d < 100; ++d) four.scores.push_back(d * 37 % 100);
  four.first_name = LongFirstName();
  const OrderedStore ordered(four);
  const auto windows = *ordered.Windows(4);
  const std::string path = ordered.folder().path("documents-1.bin");
  std::string shorter = testing::ReadFile(path);
  shorter[0] = 3;  // the end of document 0
  WriteFile(path, shorter);
  int lost = 0;
  for (uint64_t w = 0; w < 175; ++w) {
    const auto window = windows->GetBlocking(w);
    if (window.ok()) continue;
    ++lost;
    EXPECT_THAT(window, StatusIs(kLost, HasSubstr("have other lengths")));
  }
  EXPECT_GT(lost, 0);
}

TEST(OrderedWindowsErrorsTest, AnOrderThatBreaksIsDataLoss) {
  OrderCase one;
  one.in_file = true;
  for (int d = 0; d < 5000; ++d) {
    one.lengths.push_back(3);
    one.scores.push_back(static_cast<float>(d * 37 % 5000));
  }
  const OrderedStore ordered(one);
  const auto windows = *ordered.Windows(10);
  ASSERT_EQ(::truncate(ordered.folder().path("order").c_str(), 4096), 0);
  const auto lost = StatusIs(
      kLost, AllOf(HasSubstr("order"), HasSubstr("make it again from the")));
  EXPECT_THAT(windows->GetBlocking(1400), lost);
  EXPECT_THAT(PiecesOf(*windows)->Pieces({.index = 0}), lost);
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(0), lost);
  EXPECT_THAT(ordered.Windows(10), lost);
}

}  // namespace
}  // namespace poniente
