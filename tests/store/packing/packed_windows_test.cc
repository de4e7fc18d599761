// SPDX-License-Identifier: Apache-2.0
// Windows of packed documents, against the documents of the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
#include "poniente/token_store.h"
#include "tests/store/packing/packed_epochs.h"
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
using testing::PackedEpochs;
using testing::ProvenDocuments;
using testing::RandomPackedLengths;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

class PackedWindowsTest : public PackedEpochs {};

TEST_F(PackedWindowsTest, EveryDocumentIsThereInEachEpoch) {
  constexpr uint32_t kLength = 32;
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(300, kLength, random_);
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
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(100, kLength, random_);
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
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(200, kLength, random_);
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
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(120, kLength, random_);
  const auto joined = JoinedStores(lengths);
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
  const auto store = Store(RandomPackedLengths(60, 16, random_));
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
  const auto store = Store(RandomPackedLengths(400, 64, random_));
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
  const auto store = Store(RandomPackedLengths(60, 16, random_));
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
  const std::vector<uint64_t> lengths = RandomPackedLengths(200, 32, random_);
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
