// SPDX-License-Identifier: Apache-2.0
// PiecewiseItems::FindEnds(): what the ends of pieces are, beside where the
// documents of a store lie.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
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

using testing::IsOk;
using testing::TempDir;

constexpr uint32_t kWindowTokens = 10;

class PieceEndsTest : public ::testing::Test {
 protected:
  // Each document ends with 256, which the store states if `has_end`.
  std::shared_ptr<const TokenStore> Store(bool has_end) {
    testing::Documents documents =
        testing::ProvenDocuments({4, 0, 30, 9, 10, 1, 3, 3, 7, 12, 25, 2}, 256);
    for (testing::TextDocument& document : documents) {
      if (!document.ids.empty()) document.ids.back() = 256;
    }
    TokenStoreWriterOptions options = testing::ByteOptions();
    if (!has_end) options.end_of_document.reset();
    const std::string path = folder_.path(has_end ? "ends" : "no ends");
    EXPECT_THAT(testing::WriteStore(path, documents, options), IsOk());
    return *TokenStore::Open(path);
  }

  // Returns how many pieces are whole and how many end with the id.
  struct Counts {
    int whole = 0, cut = 0, with_id = 0;
  };
  static Counts Check(const TokenSource& source,
                      const DatasetPtr<TokenWindow>& items,
                      uint32_t end_tokens) {
    Counts counts;
    const PiecewiseItems& leaf = *PiecesOf(*items);
    for (uint64_t item = 0; item < items->length_now().readable; ++item) {
      const auto pieces = leaf.Pieces({.index = item});
      EXPECT_THAT(pieces, IsOk());
      for (const ItemPiece& piece : *pieces) {
        if (piece.is_padding()) continue;
        const TokenRange document = *source.DocumentRange(piece.document);
        PieceEnds ends;
        const auto found = leaf.FindEnds(piece, /*may_read=*/true, &ends);
        EXPECT_THAT(found, IsOk());
        EXPECT_TRUE(*found);
        EXPECT_EQ(ends.is_whole, piece.begin == document.begin &&
                                     piece.end + end_tokens == document.end);
        EXPECT_EQ(ends.ends_with_id, source.end_of_document().has_value() &&
                                         piece.end == document.end);
        EXPECT_FALSE(ends.begins_with_id);
        (ends.is_whole ? counts.whole : counts.cut) += 1;
        counts.with_id += ends.ends_with_id ? 1 : 0;
      }
    }
    return counts;
  }

  const TempDir folder_;
};

TEST_F(PieceEndsTest, OfAllKindsOfItems) {
  for (const bool has_end : {true, false}) {
    const auto store = Store(has_end);
    const Counts plain = Check(*store, *store->Windows(kWindowTokens), 0);
    EXPECT_GT(plain.whole, 2);
    EXPECT_GT(plain.cut, 5);
    EXPECT_EQ(plain.with_id > 0, has_end);
    const Counts packed =
        Check(*store, *store->PackedWindows(kWindowTokens), 0);
    EXPECT_EQ(packed.whole, 8);
    EXPECT_GT(packed.cut, 5);
    const Counts selected = Check(
        *store,
        *store->Windows(kWindowTokens,
                        *Selection::ByHash(store->num_documents(), 0.8, 2)),
        0);
    EXPECT_GT(selected.whole + selected.cut, 5);
    const Counts documents = Check(*store, store->Documents(), 0);
    EXPECT_EQ(documents.whole, 11);
    EXPECT_EQ(documents.cut, 0);
  }
}

// Documents without their ends are whole, but do not end with the id.
TEST_F(PieceEndsTest, OfDocumentsWithoutTheirEnds) {
  const auto store = Store(true);
  const Counts packed =
      Check(*store,
            *store->PackedWindows(kWindowTokens,
                                  {.end_of_document = EndOfDocument::kDrop}),
            1);
  EXPECT_EQ(packed.whole, 7);
  EXPECT_GT(packed.cut, 5);
  EXPECT_EQ(packed.with_id, 0);
}

}  // namespace
}  // namespace poniente
