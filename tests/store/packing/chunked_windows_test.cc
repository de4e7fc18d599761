// SPDX-License-Identifier: Apache-2.0
// Windows of documents that are packed by chunks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/packing.h"
#include "poniente/token_store.h"
#include "tests/store/packing/packed_epochs.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Documents;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::PackedEpochs;
using testing::ProvenDocuments;
using testing::RandomPackedLengths;
using testing::StatusIs;
using testing::WriteStore;

// The pieces of all windows of an epoch, without padding and with the tokens'
// places in their documents: (document, begin, end).
using WindowPieces = std::vector<std::array<uint64_t, 3>>;

class ChunkedWindowsTest : public PackedEpochs {
 protected:
  static std::vector<WindowPieces> AllWindows(
      const TokenSource& source, const AsyncDataset<TokenWindow>& windows,
      uint64_t epoch) {
    std::vector<WindowPieces> all;
    for (uint64_t w = 0; w < windows.length_now().readable; ++w) {
      const auto pieces = PiecesOf(windows)->Pieces({w, epoch});
      EXPECT_THAT(pieces, IsOk());
      WindowPieces& each = all.emplace_back();
      for (const ItemPiece& piece : *pieces) {
        if (piece.is_padding()) continue;
        const uint64_t first = source.DocumentRange(piece.document)->begin;
        each.push_back(
            {piece.document, piece.begin - first, piece.end - first});
      }
    }
    return all;
  }
};

TEST_F(ChunkedWindowsTest, EveryDocumentIsThereInEachEpoch) {
  constexpr uint32_t kLength = 32;
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(300, kLength, random_);
  const auto store = Store(lengths);
  for (const auto& [chunk, together] :
       {std::pair(1u, 1u), std::pair(7u, 3u), std::pair(40u, 8u),
        std::pair(100u, 1u), std::pair(1000u, 2u)}) {
    SCOPED_TRACE(chunk);
    PackingOptions options;
    options.chunk_documents = chunk;
    options.shuffle_chunks = together;
    options.align = 4;
    ASSERT_OK_AND_ASSIGN(const auto windows,
                         store->PackedWindows(kLength, options));
    for (const uint64_t epoch : {0, 1, 7}) {
      ExpectEpoch(*store, *windows, kLength, epoch,
                  [&](uint64_t d) { return lengths[d]; });
    }
    EXPECT_TRUE(windows->has_order());
    const PackingSummary& summary = PackedItemsOf(*windows)->packing_summary();
    EXPECT_EQ(summary.chunks, (300 + chunk - 1) / chunk);
    EXPECT_EQ(summary.windows, windows->length_now().readable);
    EXPECT_EQ(summary.window_tokens, kLength);
    EXPECT_EQ(summary.tokens, store->num_tokens());
    EXPECT_EQ(summary.placed_tokens, store->num_tokens());
    EXPECT_EQ(summary.documents,
              300 - std::count(lengths.begin(), lengths.end(), 0));
    EXPECT_EQ(summary.split_documents,
              std::count_if(lengths.begin(), lengths.end(),
                            [](uint64_t n) { return n > kLength; }));
  }
}

// Chunks are packed as if each were a source of its own.
TEST_F(ChunkedWindowsTest, WithoutShuffleTheyAreTheChunksOneAfterTheOther) {
  constexpr uint32_t kLength = 24;
  constexpr uint64_t kChunk = 17;
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(100, kLength, random_);
  PackingOptions options;
  options.shuffle = false;
  options.overlap = 1;
  options.max_documents = 4;
  std::vector<WindowPieces> expected;
  uint32_t most = 0;
  for (uint64_t first = 0; first < 100; first += kChunk) {
    const auto store =
        Store({lengths.begin() + static_cast<ptrdiff_t>(first),
               lengths.begin() + static_cast<ptrdiff_t>(
                                     std::min<uint64_t>(100, first + kChunk))});
    const auto windows = *store->PackedWindows(kLength, options);
    most =
        std::max(most, PackedItemsOf(*windows)->packing_summary().max_pieces);
    for (WindowPieces& window : AllWindows(*store, *windows, 0)) {
      for (auto& piece : window) piece[0] += first;
      expected.push_back(std::move(window));
    }
  }
  options.chunk_documents = kChunk;
  const auto store = Store(lengths);
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       store->PackedWindows(kLength, options));
  EXPECT_EQ(AllWindows(*store, *windows, 0), expected);
  EXPECT_EQ(AllWindows(*store, *windows, 5), expected);
  EXPECT_EQ(PackedItemsOf(*windows)->packing_summary().max_pieces, most);
  // A mixture must not shuffle them: it would need another chunk for each.
  EXPECT_TRUE(windows->has_order());
  EXPECT_FALSE(PiecesOf(*windows)->changes_with_epoch());
  EXPECT_EQ(windows->WithSeed(3), windows);
}

// At any time, no more than `shuffle_chunks` chunks have windows both behind
// and ahead.
TEST_F(ChunkedWindowsTest, ReadsStayInsideOfAFewChunks) {
  constexpr uint64_t kChunk = 20;
  constexpr uint64_t kTogether = 3;
  const auto store = Store(RandomPackedLengths(400, 32, random_));
  PackingOptions options;
  options.chunk_documents = kChunk;
  options.shuffle_chunks = kTogether;
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(32, options));
  for (const uint64_t epoch : {0, 1}) {
    const auto all = AllWindows(*store, *windows, epoch);
    std::map<uint64_t, uint64_t> left;  // windows of each chunk
    std::vector<uint64_t> chunk_of;
    for (const WindowPieces& window : all) {
      chunk_of.push_back(window[0][0] / kChunk);
      for (const auto& piece : window) {
        ASSERT_EQ(piece[0] / kChunk, chunk_of.back());
      }
      ++left[chunk_of.back()];
    }
    ASSERT_EQ(left.size(), 20);
    std::set<uint64_t> open;
    size_t most = 0;
    for (const uint64_t chunk : chunk_of) {
      open.insert(chunk);
      most = std::max(most, open.size());
      if (--left[chunk] == 0) open.erase(chunk);
    }
    EXPECT_EQ(most, kTogether);
  }
}

TEST_F(ChunkedWindowsTest, SeedsAndEpochsAndOptionsGiveOtherOrders) {
  const auto store = Store(RandomPackedLengths(400, 64, random_));
  PackingOptions options;
  options.chunk_documents = 100;
  options.shuffle_chunks = 2;
  ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(64, options));
  const auto sets = [&](const DatasetPtr<TokenWindow>& dataset,
                        uint64_t epoch) {
    std::set<WindowPieces> all;
    for (WindowPieces& each : AllWindows(*store, *dataset, epoch)) {
      std::sort(each.begin(), each.end());
      if (each.size() > 2) all.insert(std::move(each));
    }
    return all;
  };
  const auto first = sets(windows, 0);
  for (const auto& other : {sets(windows, 1), sets(windows->WithSeed(1), 0)}) {
    size_t again = 0;
    for (const WindowPieces& each : other) again += first.count(each);
    EXPECT_LT(again, first.size() / 2);
  }
  EXPECT_EQ(AllWindows(*store, *windows, 3),
            AllWindows(*store, **store->PackedWindows(64, options), 3));
  std::set<uint64_t> fingerprints = {
      windows->fingerprint(), windows->WithSeed(1)->fingerprint(),
      (*store->PackedWindows(64))->fingerprint()};
  options.shuffle_chunks = 3;
  fingerprints.insert((*store->PackedWindows(64, options))->fingerprint());
  options.chunk_documents = 101;
  fingerprints.insert((*store->PackedWindows(64, options))->fingerprint());
  EXPECT_EQ(fingerprints.size(), 5);
}

TEST_F(ChunkedWindowsTest, SelectedDocuments) {
  constexpr uint32_t kLength = 32;
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(200, kLength, random_);
  const auto store = Store(lengths);
  std::vector<uint64_t> chosen;
  for (uint64_t d = 0; d < lengths.size(); ++d) {
    // Nothing of the chunks from 60 to 89.
    if (random_() % 3 == 0 && (d < 60 || d >= 90)) chosen.push_back(d);
  }
  ASSERT_OK_AND_ASSIGN(const Selection selection,
                       Selection::FromIndices(lengths.size(), chosen));
  PackingOptions options;
  options.chunk_documents = 15;
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       store->PackedWindows(kLength, options, selection));
  ExpectEpoch(*store, *windows, kLength, 2, [&](uint64_t d) {
    return selection.Contains(d) ? lengths[d] : 0;
  });
  EXPECT_NE((*store->PackedWindows(kLength, options))->fingerprint(),
            windows->fingerprint());
  ASSERT_OK_AND_ASSIGN(const Selection other, Selection::FromIndices(7, {}));
  EXPECT_THAT(store->PackedWindows(kLength, options, other),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("7 items"), HasSubstr("200"))));
}

TEST_F(ChunkedWindowsTest, SeveralStoresAsOne) {
  constexpr uint32_t kLength = 32;
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(120, kLength, random_);
  const auto joined = JoinedStores(lengths);
  PackingOptions options;
  options.chunk_documents = 25;  // chunks over two stores, too
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       joined->PackedWindows(kLength, options));
  ExpectEpoch(*joined, *windows, kLength, 0,
              [&](uint64_t d) { return lengths[d]; });
}

TEST_F(ChunkedWindowsTest, LongDocuments) {
  constexpr uint32_t kLength = 24;
  const std::vector<uint64_t> lengths =
      RandomPackedLengths(100, kLength, random_);
  const auto store = Store(lengths);
  PackingOptions options;
  options.chunk_documents = 30;
  options.long_documents = LongDocuments::kTruncateLeft;
  ASSERT_OK_AND_ASSIGN(const auto truncated,
                       store->PackedWindows(kLength, options));
  ExpectEpoch(*store, *truncated, kLength, 1, [&](uint64_t d) {
    return std::min<uint64_t>(lengths[d], kLength);
  });
  options.long_documents = LongDocuments::kDrop;
  ASSERT_OK_AND_ASSIGN(const auto dropped,
                       store->PackedWindows(kLength, options));
  ExpectEpoch(*store, *dropped, kLength, 1, [&](uint64_t d) {
    return lengths[d] > kLength ? 0 : lengths[d];
  });
  const PackingSummary& summary = PackedItemsOf(*dropped)->packing_summary();
  EXPECT_EQ(summary.dropped_tokens + summary.placed_tokens,
            store->num_tokens());
  options.long_documents = LongDocuments::kRefuse;
  EXPECT_THAT(
      store->PackedWindows(kLength, options),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr(store->path()), HasSubstr("documents 0 to 29"),
                     HasSubstr("longer than a window"), HasSubstr("; so with "),
                     ::testing::Not(HasSubstr("\n")))));
}

TEST_F(ChunkedWindowsTest, NothingButEmptyDocuments) {
  PackingOptions options;
  options.chunk_documents = 2;
  for (const size_t documents : {0, 3}) {
    const auto store = Store(std::vector<uint64_t>(documents));
    ASSERT_OK_AND_ASSIGN(const auto windows, store->PackedWindows(16, options));
    EXPECT_EQ(windows->length_now(), LengthState::Final(0));
    if (documents == 0) continue;
    EXPECT_THAT(PiecesOf(*windows)->ItemsOf(1),
                IsOkAndHolds(::testing::IsEmpty()));
  }
}

// The windows of the chunks that were complete are the same, whatever is added
// at the end.
TEST_F(ChunkedWindowsTest, AStoreThatGrewKeepsItsChunks) {
  constexpr uint64_t kChunk = 30;
  const std::vector<uint64_t> lengths = RandomPackedLengths(200, 32, random_);
  PackingOptions options;
  options.chunk_documents = kChunk;
  // Windows of the chunks before document 90.
  const auto old_windows = [&](const std::vector<uint64_t>& all,
                               uint64_t epoch) {
    const auto store = Store(all);
    const auto windows = (*store->PackedWindows(32, options))->WithSeed(42);
    std::set<WindowPieces> found;
    for (WindowPieces& each : AllWindows(*store, *windows, epoch)) {
      if (each[0][0] < 3 * kChunk) found.insert(std::move(each));
    }
    return found;
  };
  const std::vector<uint64_t> before(lengths.begin(), lengths.begin() + 100);
  for (const uint64_t epoch : {0, 4}) {
    EXPECT_EQ(old_windows(before, epoch), old_windows(lengths, epoch));
  }
}

TEST_F(ChunkedWindowsTest, GoldenOrder) {
  const auto store = Store(
      {5, 16, 3, 0, 40, 7, 7, 9, 2, 11, 4, 1, 17, 6, 3, 8, 13, 5, 10, 32});
  PackingOptions options;
  options.chunk_documents = 7;
  options.shuffle_chunks = 2;
  ASSERT_OK_AND_ASSIGN(const auto made, store->PackedWindows(16, options));
  const auto windows = made->WithSeed(42);
  const auto text = [&](uint64_t epoch) {
    std::string all;
    for (const WindowPieces& window : AllWindows(*store, *windows, epoch)) {
      for (const auto& [document, begin, end] : window) {
        all += std::to_string(document) + ":" + std::to_string(begin) + "-" +
               std::to_string(end) + " ";
      }
      all += "/ ";
    }
    return all;
  };
  EXPECT_EQ(
      text(0),
      "8:0-2 / 12:0-16 / 1:0-16 / 11:0-1 13:0-6 7:0-9 / 2:0-3 6:0-7 "
      "0:0-5 / 4:0-16 / 5:0-7 4:32-40 / 4:16-32 / 12:16-17 9:0-11 10:0-4 "
      "/ 15:0-8 / 19:16-32 / 16:0-13 14:0-3 / 17:0-5 18:0-10 / 19:0-16 / ");
  EXPECT_EQ(
      text(1),
      "2:0-3 0:0-5 5:0-7 / 15:0-8 / 1:0-16 / 4:32-40 6:0-7 / 4:16-32 / "
      "19:16-32 / 19:0-16 / 18:0-10 17:0-5 / 16:0-13 14:0-3 / 4:0-16 / "
      "12:0-16 / 8:0-2 / 9:0-11 12:16-17 10:0-4 / 13:0-6 7:0-9 11:0-1 / ");
}

}  // namespace
}  // namespace poniente
