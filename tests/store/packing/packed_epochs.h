// SPDX-License-Identifier: Apache-2.0
// What every epoch of packed windows must hold.

#ifndef PONIENTE_TESTS_STORE_PACKING_PACKED_EPOCHS_H_
#define PONIENTE_TESTS_STORE_PACKING_PACKED_EPOCHS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "poniente/async_dataset.h"
#include "poniente/catalog.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {

inline constexpr uint32_t kPaddingId = 256;  // end_of_document of the stores

inline std::vector<uint64_t> RandomPackedLengths(size_t documents,
                                                 uint32_t window,
                                                 std::mt19937_64& random) {
  const uint64_t edges[] = {0, 1, window - 1, window, window + 1, 10 * window};
  std::vector<uint64_t> lengths(documents);
  for (uint64_t& length : lengths) {
    length = random() % 5 == 0 ? edges[random() % std::size(edges)]
                               : random() % (2 * window);
  }
  return lengths;
}

// A folder of stores, and the law that every epoch of packed windows must keep.
class PackedEpochs : public ::testing::Test {
 protected:
  std::shared_ptr<const TokenStore> Store(
      const std::vector<uint64_t>& lengths) {
    documents_ = ProvenDocuments(lengths, 256);
    const std::string path = folder_.path(std::to_string(stores_++));
    EXPECT_THAT(WriteStore(path, documents_), IsOk());
    return *TokenStore::Open(path);
  }

  // Three stores with a third of the documents each, as one.
  std::shared_ptr<const TokenSource> JoinedStores(
      const std::vector<uint64_t>& lengths) {
    documents_ = ProvenDocuments(lengths, 256);
    const auto part = static_cast<ptrdiff_t>(lengths.size() / 3);
    for (ptrdiff_t i = 0; i < 3; ++i) {
      const Documents documents(documents_.begin() + i * part,
                                documents_.begin() + (i + 1) * part);
      EXPECT_THAT(
          WriteStore(folder_.path("parts/" + std::to_string(i)), documents),
          IsOk());
    }
    EXPECT_THAT(StoreCatalog::Write(folder_.path("parts")), IsOk());
    const auto catalog = StoreCatalog::Open(folder_.path("parts"));
    EXPECT_THAT(catalog, IsOk());
    return *catalog->OpenJoined();
  }

  // Every window of an epoch: its tokens are those of its pieces, and padding;
  // every piece is found; every token that `kept` tells is in one piece.
  void ExpectEpoch(const TokenSource& source,
                   const AsyncDataset<TokenWindow>& windows, uint32_t length,
                   uint64_t epoch,
                   const std::function<uint64_t(uint64_t)>& kept) const {
    const PiecewiseItems& pieces = *PiecesOf(windows);
    const uint64_t count = windows.length_now().readable;
    std::map<uint64_t, std::vector<PieceOfItem>> uses;
    std::vector<Position> positions;
    for (uint64_t w = 0; w < count; ++w) positions.push_back({w, epoch});
    ASSERT_OK_AND_ASSIGN(const std::vector<TokenWindow> items,
                         RunBlocking(windows.GetAt(positions)));
    for (uint64_t w = 0; w < count; ++w) {
      const std::vector<uint32_t>& tokens = items[w].tokens;
      ASSERT_EQ(tokens.size(), length);
      ASSERT_OK_AND_ASSIGN(const auto parts, pieces.Pieces({w, epoch}));
      uint32_t at = 0;
      for (const ItemPiece& part : parts) {
        ASSERT_LT(part.begin, part.end);
        for (uint64_t t = part.begin; t < part.end; ++t, ++at) {
          if (part.is_padding()) {
            ASSERT_EQ(tokens[at], kPaddingId);
            continue;
          }
          ASSERT_OK_AND_ASSIGN(const TokenRange range,
                               source.DocumentRange(part.document));
          ASSERT_LT(t - range.begin, range.size());
          ASSERT_EQ(tokens[at], documents_[part.document].ids[t - range.begin]);
        }
        if (part.is_padding()) continue;
        uses[part.document].push_back(
            {w, at - static_cast<uint32_t>(part.end - part.begin), part.begin,
             part.end});
      }
      ASSERT_EQ(at, length);
      ASSERT_TRUE(pieces.HasPiecesInMemory({w, epoch}));
    }
    for (uint64_t d = 0; d < documents_.size(); ++d) {
      std::vector<PieceOfItem>& used = uses[d];
      std::sort(used.begin(), used.end(),
                [](const PieceOfItem& a, const PieceOfItem& b) {
                  return a.begin < b.begin;
                });
      ASSERT_THAT(pieces.ItemsIn(d, epoch), IsOkAndHolds(used)) << d;
      uint64_t tokens = 0;
      for (size_t i = 0; i < used.size(); ++i) {
        tokens += used[i].end - used[i].begin;
        if (i > 0) {
          ASSERT_EQ(used[i].begin, used[i - 1].end);
        }
      }
      ASSERT_EQ(tokens, kept(d)) << d;
    }
  }

  TempDir folder_;
  int stores_ = 0;
  Documents documents_;
  std::mt19937_64 random_{TestSeed(5)};
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_STORE_PACKING_PACKED_EPOCHS_H_
