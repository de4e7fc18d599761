// SPDX-License-Identifier: Apache-2.0
// Windows of packed documents, against the documents of the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "poniente/catalog.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Documents;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

constexpr uint32_t kPaddingId = 256;  // end_of_document of the stores

std::vector<uint64_t> RandomLengths(size_t documents, uint32_t window,
                                    std::mt19937_64& random) {
  const uint64_t edges[] = {0, 1, window - 1, window, window + 1, 10 * window};
  std::vector<uint64_t> lengths(documents);
  for (uint64_t& length : lengths) {
    length = random() % 5 == 0 ? edges[random() % std::size(edges)]
                               : random() % (2 * window);
  }
  return lengths;
}

class PackedWindowsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const TokenStore> Store(
      const std::vector<uint64_t>& lengths) {
    documents_ = ProvenDocuments(lengths, 256);
    const std::string path = folder_.path(std::to_string(stores_++));
    EXPECT_THAT(WriteStore(path, documents_), IsOk());
    return *TokenStore::Open(path);
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
  std::mt19937_64 random_{poniente::testing::TestSeed(5)};
};

TEST_F(PackedWindowsTest, EveryDocumentIsThereInEachEpoch) {
  constexpr uint32_t kLength = 32;
  const std::vector<uint64_t> lengths = RandomLengths(300, kLength, random_);
  const auto store = Store(lengths);
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(kLength));
  for (const uint64_t epoch : {0, 1, 7}) {
    ExpectEpoch(*store, *windows, kLength, epoch,
                [&](uint64_t d) { return lengths[d]; });
  }
  EXPECT_TRUE(windows->has_order());
  EXPECT_EQ(windows->item_tokens(), kLength);
  const PackingSummary& summary = PackedItemsOf(*windows)->packing_summary();
  EXPECT_EQ(summary.windows, windows->length_now().readable);
  EXPECT_EQ(summary.tokens, store->num_tokens());
  EXPECT_EQ(summary.placed_tokens, store->num_tokens());
}

TEST_F(PackedWindowsTest, PoliciesForLongDocuments) {
  constexpr uint32_t kLength = 24;
  const std::vector<uint64_t> lengths = RandomLengths(100, kLength, random_);
  const auto store = Store(lengths);
  PackingOptions options;
  options.align = 4;
  options.max_documents = 3;
  for (const LongDocuments policy :
       {LongDocuments::kTruncate, LongDocuments::kTruncateLeft}) {
    options.long_documents = policy;
    ASSERT_OK_AND_ASSIGN(const auto windows,
                         store->PackedWindows(kLength, options));
    ExpectEpoch(*store, *windows, kLength, 1, [&](uint64_t d) {
      return std::min<uint64_t>(lengths[d], kLength);
    });
  }
  options.long_documents = LongDocuments::kDrop;
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       store->PackedWindows(kLength, options));
  ExpectEpoch(*store, *windows, kLength, 1, [&](uint64_t d) {
    return lengths[d] > kLength ? 0 : lengths[d];
  });
  options.long_documents = LongDocuments::kRefuse;
  EXPECT_THAT(store->PackedWindows(kLength, options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(store->path()),
                             HasSubstr("longer than a window"))));
}

TEST_F(PackedWindowsTest, SelectedDocuments) {
  constexpr uint32_t kLength = 32;
  const std::vector<uint64_t> lengths = RandomLengths(200, kLength, random_);
  const auto store = Store(lengths);
  std::vector<uint64_t> chosen;
  for (uint64_t d = 0; d < lengths.size(); ++d) {
    if (random_() % 3 == 0) chosen.push_back(d);
  }
  ASSERT_OK_AND_ASSIGN(const Selection selection,
                       Selection::FromIndices(lengths.size(), chosen));
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       store->PackedWindows(kLength, {}, selection));
  ExpectEpoch(*store, *windows, kLength, 2, [&](uint64_t d) {
    return selection.Contains(d) ? lengths[d] : 0;
  });
  ASSERT_OK_AND_ASSIGN(const auto all, store->PackedWindows(kLength));
  EXPECT_NE(all->fingerprint(), windows->fingerprint());
  ASSERT_OK_AND_ASSIGN(const Selection other, Selection::FromIndices(7, {}));
  EXPECT_THAT(store->PackedWindows(kLength, {}, other),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("7 items"), HasSubstr("200"))));
}

TEST_F(PackedWindowsTest, SeveralStoresAsOne) {
  constexpr uint32_t kLength = 32;
  const std::vector<uint64_t> lengths = RandomLengths(120, kLength, random_);
  documents_ = ProvenDocuments(lengths, 256);
  for (int part = 0; part < 3; ++part) {
    const Documents documents(documents_.begin() + part * 40,
                              documents_.begin() + (part + 1) * 40);
    EXPECT_THAT(
        WriteStore(folder_.path("parts/" + std::to_string(part)), documents),
        IsOk());
  }
  ASSERT_THAT(StoreCatalog::Write(folder_.path("parts")), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto catalog,
                       StoreCatalog::Open(folder_.path("parts")));
  ASSERT_OK_AND_ASSIGN(const auto joined, catalog.OpenJoined());
  ASSERT_EQ(joined->num_documents(), 120);
  ASSERT_OK_AND_ASSIGN(const auto windows, joined->PackedWindows(kLength));
  ExpectEpoch(*joined, *windows, kLength, 0,
              [&](uint64_t d) { return lengths[d]; });
}

TEST_F(PackedWindowsTest, NothingButEmptyDocuments) {
  const auto store = Store({0, 0, 0});
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(16));
  EXPECT_EQ(windows->length_now(), LengthState::Final(0));
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(1), IsOkAndHolds(IsEmpty()));
}

TEST_F(PackedWindowsTest, WithoutShuffleEveryEpochIsTheSame) {
  const auto store = Store(RandomLengths(60, 16, random_));
  PackingOptions options;
  options.shuffle = false;
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(16, options));
  const PiecewiseItems& pieces = *PiecesOf(*windows->WithSeed(3));
  EXPECT_FALSE(windows->has_order());
  EXPECT_FALSE(pieces.changes_with_epoch());
  EXPECT_EQ(windows->WithSeed(3), windows);
  for (uint64_t w = 0; w < windows->length_now().readable; ++w) {
    EXPECT_EQ(*pieces.Pieces({w, 0}), *pieces.Pieces({w, 9}));
  }
}

TEST_F(PackedWindowsTest, SeedsAndEpochsSeatDocumentsAnew) {
  const auto store = Store(RandomLengths(400, 64, random_));
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(64));
  const auto other = windows->WithSeed(1);
  EXPECT_NE(other->fingerprint(), windows->fingerprint());
  EXPECT_EQ(other->WithSeed(0)->fingerprint(), windows->fingerprint());
  // Which documents are together in a window.
  const auto groups = [](const AsyncDataset<TokenWindow>& dataset,
                         uint64_t epoch) {
    std::set<std::set<uint64_t>> all;
    for (uint64_t w = 0; w < dataset.length_now().readable; ++w) {
      std::set<uint64_t> together;
      const auto pieces = PiecesOf(dataset)->Pieces({w, epoch});
      for (const ItemPiece& piece : *pieces) together.insert(piece.document);
      if (together.size() > 2) all.insert(together);
    }
    return all;
  };
  const auto first = groups(*windows, 0);
  size_t again = 0;
  for (const auto& group : groups(*windows, 1)) again += first.count(group);
  for (const auto& group : groups(*other, 0)) again += first.count(group);
  EXPECT_LT(again, first.size() / 2);
}

TEST_F(PackedWindowsTest, WindowsCannotBeCut) {
  const auto store = Store(RandomLengths(60, 16, random_));
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(16));
  const std::vector<Position> whole = {{0, 0, 0, 16}};
  EXPECT_THAT(RunBlocking(windows->GetAt(whole)), IsOk());
  const std::vector<Position> half = {{0, 0, 8, 8}};
  EXPECT_THAT(RunBlocking(windows->GetAt(half)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tokens 8 to 16"), HasSubstr("cut"))));
  EXPECT_THAT(windows->GetBlocking(1'000'000),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("1000000")));
}

// Below a mixture, windows are not shuffled again: its draws are the node's own
// order.
TEST_F(PackedWindowsTest, BelowMixtures) {
  const std::vector<uint64_t> lengths = RandomLengths(200, 32, random_);
  const auto store = Store(lengths);
  ASSERT_OK_AND_ASSIGN(const auto packed, store->PackedWindows(32));
  ASSERT_OK_AND_ASSIGN(const auto plain, store->Windows(32));
  ASSERT_OK_AND_ASSIGN(
      const auto mixture,
      MixtureDataset<TokenWindow>::Create(
          {{"packed", packed, 0.5}, {"plain", plain, 0.5}}, {.seed = 8}));
  const DatasetTree tree(*mixture);
  const uint64_t count = packed->length_now().readable;
  std::vector<Position> positions;
  // A whole block, of several epochs.
  for (uint64_t i = 0; i < 2048; ++i) positions.push_back({i, 0});
  std::vector<LeafPosition> items(positions.size());
  ASSERT_THAT(tree.Resolve(positions, items), IsOk());
  std::map<uint64_t, std::set<uint64_t>> seen;  // epoch -> windows
  const auto leaf = static_cast<uint32_t>(
      std::find_if(tree.leaves().begin(), tree.leaves().end(),
                   [](const TreeLeaf& each) { return each.path == "packed"; }) -
      tree.leaves().begin());
  for (const LeafPosition& item : items) {
    if (item.leaf != leaf) continue;
    EXPECT_TRUE(seen[item.position.epoch].insert(item.position.index).second);
  }
  for (auto& [e, w] : seen)
    printf("epoch %lu: %zu of %lu\n", e, w.size(), count);
  EXPECT_GE(seen.size(), 3);
  EXPECT_EQ(seen[0].size(), count);
  EXPECT_EQ(seen[1].size(), count);
  const DatasetNode& node = *tree.leaves()[leaf].node;
  EXPECT_NE(node.fingerprint(), packed->fingerprint());  // its own seed

  ASSERT_OK_AND_ASSIGN(const auto flat,
                       FlatMixture<TokenWindow>::Create(
                           {{"a", packed}, {"b", plain}}, {.seed = 8}));
  EXPECT_EQ(flat->length_now().readable, count + plain->length_now().readable);
  EXPECT_THAT(flat->GetBlocking(count), IsOk());
}

// Which token a window holds is pinned: a change here changes runs.
TEST_F(PackedWindowsTest, GoldenOrder) {
  const auto store = Store(
      {5, 16, 3, 0, 40, 7, 7, 9, 2, 11, 4, 1, 17, 6, 3, 8, 13, 5, 10, 32});
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(16));
  const auto seeded = windows->WithSeed(42);
  std::string text;
  for (uint64_t w = 0; w < 5; ++w) {
    const auto pieces = PiecesOf(*seeded)->Pieces({w, 1});
    for (const ItemPiece& piece : *pieces) {
      if (piece.is_padding()) continue;
      text += std::to_string(piece.document) + ":" +
              std::to_string(piece.end - piece.begin) + " ";
    }
    text += "/ ";
  }
  // The first windows of epoch 1 in docs/packing.md.
  EXPECT_EQ(text, "16:13 2:3 / 13:6 18:10 / 5:7 7:9 / 4:16 / 17:5 14:3 4:8 / ");
  EXPECT_EQ(windows->length_now().readable, 13);
}

}  // namespace
}  // namespace poniente
