// SPDX-License-Identifier: Apache-2.0
// The stores of a catalogue as one source, against one store of all documents.

#include "store/catalog/joined_stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/catalog.h"
#include "poniente/extend/piecewise_items.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::Documents;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProvenDocuments;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

class JoinedStoresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Documents all =
        ProvenDocuments({100, 0, 7, 3000, 1, 0, 0, 512, 90, 4096, 5}, 250);
    ASSERT_THAT(WriteStore(folder_.path("one"), all), IsOk());
    // Parts of some, of none, and of empty documents alone.
    size_t next = 0;
    int number = 0;
    for (const size_t count : {3, 0, 2, 2, 4}) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(next);
      const Documents part(begin, begin + static_cast<ptrdiff_t>(count));
      ASSERT_THAT(WriteStore(PartPath(number++), part), IsOk());
      next += count;
    }
    ASSERT_EQ(next, all.size());
    ASSERT_OK_AND_ASSIGN(one_, TokenStore::Open(folder_.path("one")));
    ASSERT_OK_AND_ASSIGN(joined_, Join());
  }

  std::string PartPath(int number) const {
    return folder_.path(absl::StrCat("parts/part-", number));
  }
  absl::StatusOr<std::shared_ptr<const TokenSource>> Join() {
    const auto written = StoreCatalog::Write(folder_.path("parts"));
    if (!written.ok()) return written.status();
    const auto catalog = StoreCatalog::Open(folder_.path("parts"));
    if (!catalog.ok()) return catalog.status();
    return catalog->OpenJoined();
  }

  const TempDir folder_;
  std::shared_ptr<const TokenStore> one_;
  std::shared_ptr<const TokenSource> joined_;
};

TEST_F(JoinedStoresTest, HoldsWhatOneStoreOfAllHolds) {
  EXPECT_EQ(joined_->num_tokens(), one_->num_tokens());
  EXPECT_EQ(joined_->num_documents(), one_->num_documents());
  EXPECT_EQ(joined_->num_shards(), 5u);
  EXPECT_EQ(*joined_->known_vocabulary(), one_->vocabulary());
  EXPECT_EQ(joined_->end_of_document(), one_->end_of_document());
  EXPECT_EQ(joined_->stored_type(), one_->stored_type());
  EXPECT_TRUE(joined_->ids_are_checked());
  const uint64_t tokens = one_->num_tokens();
  EXPECT_EQ(*RunBlocking(joined_->ReadTokens(0, tokens)),
            *RunBlocking(one_->ReadTokens(0, tokens)));
  const uint64_t documents = one_->num_documents();
  for (uint64_t d = 0; d < documents; ++d) {
    EXPECT_EQ(*joined_->DocumentRange(d), *one_->DocumentRange(d)) << d;
    EXPECT_EQ(*joined_->DocumentName(d), *one_->DocumentName(d)) << d;
    for (uint64_t count = 0; d + count <= documents; ++count) {
      EXPECT_EQ(*joined_->DocumentBounds(d, count),
                *one_->DocumentBounds(d, count))
          << d << ' ' << count;
    }
  }
  EXPECT_EQ(*joined_->DocumentBounds(documents, 0),
            *one_->DocumentBounds(documents, 0));
  std::mt19937_64 random(testing::TestSeed(91));
  for (int i = 0; i < 300; ++i) {
    const uint64_t a = random() % (tokens + 1);
    const uint64_t b = random() % (tokens + 1);
    EXPECT_EQ(*joined_->DocumentPieces(std::min(a, b), std::max(a, b)),
              *one_->DocumentPieces(std::min(a, b), std::max(a, b)));
    if (a == tokens) continue;
    EXPECT_EQ(*joined_->DocumentAt(a), *one_->DocumentAt(a));
  }
}

TEST_F(JoinedStoresTest, GivesTheWindowsOfOneStore) {
  for (const uint64_t length : {1, 64, 700}) {
    ASSERT_OK_AND_ASSIGN(const auto windows, joined_->Windows(length));
    ASSERT_OK_AND_ASSIGN(const auto expected, one_->Windows(length));
    ASSERT_EQ(windows->CurrentLength(), expected->CurrentLength());
    std::vector<Index> all;
    for (Index i = 0; i < *expected->CurrentLength(); ++i) all.push_back(i);
    EXPECT_EQ(*windows->GetBatchBlocking(all),
              *expected->GetBatchBlocking(all));
    for (uint64_t d = 0; d < one_->num_documents(); ++d) {
      EXPECT_EQ(*PiecesOf(*windows)->ItemsOf(d),
                *PiecesOf(*expected)->ItemsOf(d));
    }
  }
}

TEST_F(JoinedStoresTest, WhatIsNotThereIsOutOfRange) {
  const uint64_t tokens = joined_->num_tokens();
  const uint64_t documents = joined_->num_documents();
  const auto out_of_range =
      StatusIs(absl::StatusCode::kOutOfRange, HasSubstr(folder_.path("parts")));
  EXPECT_THAT(joined_->DocumentRange(documents).status(), out_of_range);
  EXPECT_THAT(joined_->DocumentName(documents).status(), out_of_range);
  EXPECT_THAT(joined_->DocumentBounds(documents, 1).status(), out_of_range);
  EXPECT_THAT(joined_->DocumentBounds(1, documents).status(), out_of_range);
  EXPECT_THAT(joined_->DocumentAt(tokens).status(), out_of_range);
  EXPECT_THAT(joined_->DocumentPieces(0, tokens + 1).status(), out_of_range);
  EXPECT_THAT(RunBlocking(joined_->ReadTokens(tokens, 1)).status(),
              out_of_range);
}

TEST_F(JoinedStoresTest, StoresThatDifferAreRefused) {
  TokenStoreWriterOptions other = testing::ByteOptions();
  other.vocabulary.tokenizer = "other";
  ASSERT_THAT(WriteStore(PartPath(7), ProvenDocuments({5}, 250), other),
              IsOk());
  EXPECT_THAT(Join().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("differ in their tokenizer")));
  other = testing::ByteOptions();
  other.end_of_document.reset();
  ASSERT_THAT(WriteStore(PartPath(7), ProvenDocuments({5}, 250), other),
              IsOk());
  EXPECT_THAT(Join().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("differ in their end-of-document id")));
}

}  // namespace
}  // namespace poniente
