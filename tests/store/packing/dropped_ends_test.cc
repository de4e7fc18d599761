// SPDX-License-Identifier: Apache-2.0
// Windows of packed documents without their end-of-document ids.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/packing.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::ByteOptions;
using testing::Documents;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

constexpr uint32_t kEnd = 256;

class DroppedEndsTest : public ::testing::Test {
 protected:
  DroppedEndsTest() : documents_(ProvenDocuments(Lengths(), 250)) {
    for (auto& document : documents_) document.ids.push_back(kEnd);
    documents_[7].ids.clear();  // empty: it has no end
    options_.end_of_document = EndOfDocument::kDrop;
  }

  // Among them a document of its end alone, ones that fill a window without
  // it, and ones that are longer.
  static std::vector<uint64_t> Lengths() {
    std::vector<uint64_t> lengths;
    for (uint64_t d = 0; d < 90; ++d) lengths.push_back(d * 7 % 40);
    lengths[3] = 0;
    lengths[4] = 16;
    lengths[5] = 15;
    lengths[6] = 32;
    return lengths;
  }

  std::shared_ptr<const TokenStore> Store(
      const TokenStoreWriterOptions& options = ByteOptions()) {
    const std::string path = folder_.path("store");
    EXPECT_THAT(WriteStore(path, documents_, options), IsOk());
    return *TokenStore::Open(path);
  }

  TempDir folder_;
  Documents documents_;
  PackingOptions options_;
};

TEST_F(DroppedEndsTest, WindowsHoldTheDocumentsWithoutTheirEnds) {
  const auto store = Store();
  uint64_t tokens = 0;
  uint64_t with_tokens = 0;
  for (const auto& document : documents_) {
    if (document.ids.size() > 1) tokens += document.ids.size() - 1;
    with_tokens += document.ids.size() > 1;
  }
  for (const uint32_t chunk : {0, 13}) {
    options_.chunk_documents = chunk;
    ASSERT_OK_AND_ASSIGN(const auto windows,
                         store->PackedWindows(16, options_));
    const PackingSummary& summary = PackedItemsOf(*windows)->packing_summary();
    EXPECT_EQ(summary.tokens, tokens);
    EXPECT_EQ(summary.documents, with_tokens);
    const PiecewiseItems& pieces = *PiecesOf(*windows);
    std::map<uint64_t, std::vector<uint32_t>> read;  // by token of the store
    std::map<uint64_t, std::vector<PieceOfItem>> uses;
    for (uint64_t w = 0; w < windows->length_now().readable; ++w) {
      ASSERT_OK_AND_ASSIGN(const auto parts, pieces.Pieces({w, 0}));
      ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows->GetBlocking(w));
      uint32_t at = 0;
      for (const ItemPiece& part : parts) {
        const uint32_t begin = at;
        at += static_cast<uint32_t>(part.end - part.begin);
        if (part.is_padding()) continue;
        for (uint64_t t = part.begin; t < part.end; ++t) {
          EXPECT_NE(window.tokens[begin + t - part.begin], kEnd);
        }
        uses[part.document].push_back({w, begin, part.begin, part.end});
        std::vector<uint32_t>& ids = read[part.document];
        ids.resize(documents_[part.document].ids.size() - 1);
        const uint64_t first = store->DocumentRange(part.document)->begin;
        std::copy_n(window.tokens.begin() + begin, part.end - part.begin,
                    ids.begin() + static_cast<ptrdiff_t>(part.begin - first));
        // The end is no label either.
        bool goes_on = false;
        EXPECT_THAT(pieces.FindGoesOn(part, /*may_read=*/true, &goes_on),
                    IsOkAndHolds(true));
        EXPECT_EQ(goes_on, part.end - first < ids.size());
      }
    }
    for (uint64_t d = 0; d < documents_.size(); ++d) {
      std::vector<uint32_t> expected = documents_[d].ids;
      if (!expected.empty()) expected.pop_back();
      EXPECT_EQ(read[d], expected) << d;
      std::sort(uses[d].begin(), uses[d].end(),
                [](const PieceOfItem& a, const PieceOfItem& b) {
                  return a.begin < b.begin;
                });
      EXPECT_THAT(pieces.ItemsIn(d, 0), IsOkAndHolds(uses[d])) << d;
    }
  }
}

TEST_F(DroppedEndsTest, OrdersWithAndWithoutEndsAreKeptSideBySide) {
  const auto store = Store();
  ASSERT_OK_AND_ASSIGN(const auto without, store->PackedWindows(16, options_));
  ASSERT_OK_AND_ASSIGN(const auto with, store->PackedWindows(16));
  EXPECT_NE(without->fingerprint(), with->fingerprint());
  EXPECT_EQ(PackedItemsOf(*with)->packing_summary().tokens,
            store->num_tokens());
  EXPECT_TRUE(
      std::filesystem::exists(store->path() + "/documents-by-length.bin"));
  EXPECT_TRUE(std::filesystem::exists(store->path() +
                                      "/documents-by-length-without-ends.bin"));
}

// A document that ends with another token is an error, wherever the order is
// kept.
TEST_F(DroppedEndsTest, EveryDocumentMustEndWithTheId) {
  documents_[20].ids.back() = 17;
  documents_[50].ids.pop_back();
  const auto store = Store();
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("document 20 of '" + store->path()),
                     HasSubstr("ends with 17"), HasSubstr("id 256"),
                     HasSubstr("keep them")));
  EXPECT_THAT(store->PackedWindows(16, options_), refused);
  options_.index_file = folder_.path("index");
  EXPECT_THAT(store->PackedWindows(16, options_), refused);
  options_.chunk_documents = 10;
  EXPECT_THAT(store->PackedWindows(16, options_), refused);
  EXPECT_FALSE(std::filesystem::exists(options_.index_file));
  // Of the selected documents alone.
  std::vector<uint64_t> chosen;
  for (uint64_t d = 0; d < 90; ++d) {
    if (d != 20 && d != 50) chosen.push_back(d);
  }
  ASSERT_OK_AND_ASSIGN(const Selection selection,
                       Selection::FromIndices(90, chosen));
  EXPECT_THAT(store->PackedWindows(16, options_, selection), IsOk());
  options_.chunk_documents = 0;
  options_.index_file = folder_.path("order");
  EXPECT_THAT(store->PackedWindows(16, options_, selection), IsOk());
}

TEST_F(DroppedEndsTest, ASourceWithoutAnIdIsRefused) {
  TokenStoreWriterOptions options = ByteOptions();
  options.end_of_document = std::nullopt;
  const auto store = Store(options);
  EXPECT_THAT(store->PackedWindows(16, options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(store->path()),
                             HasSubstr("no end-of-document id"))));
}

}  // namespace
}  // namespace poniente
