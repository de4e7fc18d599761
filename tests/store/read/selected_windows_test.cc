// SPDX-License-Identifier: Apache-2.0
// Windows of selected documents, against slices of a plain list.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_store.h"
#include "store/read/selected_tokens.h"
#include "store/read/side_file.h"
#include "tests/store/read/joined_windows.h"
#include "tests/store/small_stores.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::_;
using ::testing::AllOf;
using testing::Documents;
using ::testing::ElementsAre;
using testing::ExpectJoinedWindows;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::JoinedToken;
using testing::ProvenDocuments;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;
using testing::WriteStore;

using testing::kInvalid;

// A name that keeps the documents file out of memory: damage is seen at once.
const std::string& LongName() {
  static const auto* name =
      new std::string(internal::SideFile::kMaxKeptBytes, 'n');
  return *name;
}

// A store, a selection of its documents, and the concatenation token by token.
class Selected {
 public:
  Selected(const std::vector<uint64_t>& lengths,
           const std::vector<bool>& chosen,
           const std::string& first_name = "first") {
    Documents documents = ProvenDocuments(lengths, 257);
    documents[0].name = first_name;
    EXPECT_THAT(WriteStore(folder_.path(), documents), IsOk());
    TokenStoreOptions options;
    // What is left to notice damage with; verified_reads_test.cc has the rest.
    options.io.verify = VerifyChecksums::kOff;
    store_ = *TokenStore::Open(folder_.path(), options);
    std::vector<uint64_t> items;
    uint64_t place = 0;
    for (uint64_t d = 0; d < documents.size(); ++d) {
      if (chosen[d]) items.push_back(d);
      for (const uint32_t id : documents[d].ids) {
        if (chosen[d]) tokens_.push_back({id, d, place});
        ++place;
      }
    }
    selection_ = *Selection::FromIndices(documents.size(), items);
  }

  void ExpectAll(uint64_t length) const {
    ASSERT_OK_AND_ASSIGN(const auto windows,
                         store_->Windows(length, selection_));
    ExpectJoinedWindows(*store_, *windows, tokens_, length);
  }

  const TempDir& folder() const { return folder_; }
  const TokenStore& store() const { return *store_; }
  const Selection& selection() const { return selection_; }

 private:
  const TempDir folder_;
  std::shared_ptr<const TokenStore> store_;
  Selection selection_;
  std::vector<JoinedToken> tokens_;
};

TEST(SelectedWindowsTest, EverySubsetOfAFewDocuments) {
  const std::vector<uint64_t> lengths = {3, 0, 5, 1, 0, 4};
  for (uint32_t subset = 0; subset < 64; ++subset) {
    std::vector<bool> chosen(6);
    for (int d = 0; d < 6; ++d) chosen[d] = (subset >> d & 1) != 0;
    const Selected selected(lengths, chosen);
    for (const uint64_t length : {1, 2, 3, 7, 13, 14}) {
      selected.ExpectAll(length);
    }
  }
}

TEST(SelectedWindowsTest, ManyDocumentsOfAllDensities) {
  std::mt19937_64 random(testing::TestSeed(81));
  for (const uint64_t one_in : {1, 2, 30, 700}) {
    std::vector<uint64_t> lengths(3000);
    std::vector<bool> chosen(lengths.size());
    for (size_t d = 0; d < lengths.size(); ++d) {
      lengths[d] = random() % 4 == 0 ? 0 : random() % 9;
      chosen[d] = random() % one_in == 0;
    }
    const Selected selected(lengths, chosen);
    for (const uint64_t length : {5, 64}) selected.ExpectAll(length);
  }
}

TEST(SelectedWindowsTest, ClustersGapsAndLongRunsOfEmptyDocuments) {
  std::vector<uint64_t> lengths(5000, 2);
  std::vector<bool> chosen(5000);
  for (size_t d = 0; d < 5000; ++d) {
    if (d / 700 % 2 == 0) chosen[d] = true;
    if (d / 500 == 3) lengths[d] = 0;
  }
  chosen[999] = chosen[4999] = true;
  const Selected selected(lengths, chosen);
  for (const uint64_t length : {3, 100}) selected.ExpectAll(length);
}

TEST(SelectedWindowsTest, AllDocumentsGiveTheWindowsOfTheStore) {
  const Selected all({100, 0, 57, 1000}, {true, true, true, true});
  const auto windows = *all.store().Windows(31);
  const auto selected = *all.store().Windows(31, all.selection());
  std::vector<Index> indices(*windows->CurrentLength());
  std::iota(indices.begin(), indices.end(), 0u);
  EXPECT_EQ(*windows->GetBatchBlocking(indices),
            *selected->GetBatchBlocking(indices));
  EXPECT_EQ(selected->vocabulary()->tokenizer, "bytes");
  EXPECT_EQ(selected->name(), all.folder().path());
}

// The selection of all documents finds pieces in another way.
void ExpectPiecesOfAll(const std::vector<uint64_t>& lengths, uint64_t length) {
  const Selected all(lengths, std::vector<bool>(lengths.size(), true));
  const auto windows = *all.store().Windows(length);
  const auto selected = *all.store().Windows(length, all.selection());
  const PiecewiseItems& pieces = *PiecesOf(*windows);
  const PiecewiseItems& expected = *PiecesOf(*selected);
  std::mt19937_64 random(length);
  for (uint64_t w = 0; w < *windows->CurrentLength(); ++w) {
    ASSERT_EQ(*pieces.Pieces({.index = w}), *expected.Pieces({.index = w}));
    const auto begin = static_cast<uint32_t>(random() % length);
    const auto part = static_cast<uint32_t>(random() % (length - begin + 1));
    const Position cut = {w, 1, begin, part};
    ASSERT_EQ(*pieces.Pieces(cut), *expected.Pieces(cut));
  }
  for (uint64_t d = 0; d < lengths.size(); ++d) {
    ASSERT_EQ(*pieces.ItemsOf(d), *expected.ItemsOf(d)) << d;
  }
}

TEST(WindowsTest, SayWhichDocumentsTheyHold) {
  for (const uint64_t length : {1, 7, 31, 2000}) {
    ExpectPiecesOfAll({100, 0, 57, 1000, 0, 0, 3000, 1}, length);
  }
  std::vector<uint64_t> lengths(3000);
  std::mt19937_64 random(testing::TestSeed(82));
  for (uint64_t& one : lengths) one = random() % 3 == 0 ? 0 : random() % 20;
  for (size_t d = 900; d < 2100; ++d) lengths[d] = d % 400 == 0 ? 1 : 0;
  for (const uint64_t length : {3, 100, 9000}) {
    ExpectPiecesOfAll(lengths, length);
  }
}

TEST(WindowsTest, AnItemOrDocumentThatIsNotThereIsOutOfRange) {
  const Selected all({5, 5}, {true, true});
  const auto windows = *all.store().Windows(4);
  const PiecewiseItems& pieces = *PiecesOf(*windows);
  const auto out_of_range = StatusIs(absl::StatusCode::kOutOfRange, _);
  EXPECT_THAT(pieces.Pieces({.index = 2}), out_of_range);
  EXPECT_THAT(pieces.Pieces({0, 0, 3, 2}), out_of_range);
  EXPECT_THAT(pieces.ItemsOf(2), out_of_range);
  EXPECT_THAT(all.store().DocumentPieces(3, 11), out_of_range);
  EXPECT_THAT(all.store().DocumentPieces(4, 3), out_of_range);
  EXPECT_THAT(all.store().DocumentPieces(10, 10), IsOkAndHolds(IsEmpty()));
}

TEST(DocumentsTest, AreOnePieceEach) {
  const Selected all({5, 0, 7}, {true, true, true});
  const auto documents = all.store().Documents();
  const PiecewiseItems& pieces = *PiecesOf(*documents);
  EXPECT_THAT(pieces.Pieces({.index = 2}),
              IsOkAndHolds(ElementsAre(ItemPiece{2, 5, 12})));
  EXPECT_THAT(pieces.Pieces({2, 0, 3, 2}),
              IsOkAndHolds(ElementsAre(ItemPiece{2, 8, 10})));
  EXPECT_THAT(pieces.Pieces({.index = 1}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(pieces.ItemsOf(2),
              IsOkAndHolds(ElementsAre(PieceOfItem{2, 0, 5, 12})));
  EXPECT_THAT(pieces.ItemsOf(1), IsOkAndHolds(IsEmpty()));
}

TEST(SelectedWindowsTest, DocumentsThatFollowEachOtherAreOneRead) {
  const Selected selected({50, 50, 50, 50, 50},
                          {true, true, false, true, true});
  const auto windows = *selected.store().Windows(200, selected.selection());
  const auto requests = [&selected] {
    return selected.store().reader().counters().Total().requests;
  };
  const uint64_t before = requests();
  ASSERT_THAT(windows->GetBlocking(0), IsOk());
  EXPECT_EQ(requests(), before + 2);
}

// A loader that waits for them blames the disk.
TEST(SelectedWindowsTest, ReadFilesThoughTheyHaveNoRanges) {
  const Selected all({10, 20, 30}, {true, false, true});
  const auto windows = *all.store().Windows(4, all.selection());
  EXPECT_EQ(windows->ranges(), nullptr);
  EXPECT_TRUE(windows->reads_files());
  const auto documents = all.store().Documents();
  EXPECT_EQ(documents->ranges(), nullptr);
  EXPECT_TRUE(documents->reads_files());
}

TEST(SelectedWindowsTest, MemoryIsAFractionOfABitPerDocument) {
  // Half of the documents: a sample for each 128 of them.
  std::vector<bool> chosen(20'000);
  for (size_t d = 0; d < chosen.size(); d += 2) chosen[d] = true;
  const Selected selected(std::vector<uint64_t>(chosen.size(), 1), chosen);
  const auto tokens =
      internal::SelectedTokens::Create(selected.store(), selected.selection());
  ASSERT_THAT(tokens, IsOk());
  EXPECT_LE(tokens->memory_bytes() * 8, chosen.size() / 4 + 128);
  EXPECT_EQ(tokens->total(), 10'000u);
}

TEST(SelectedWindowsTest, RefusesWhatDoesNotFit) {
  const Selected selected({5, 5, 5}, {true, false, true});
  for (const uint64_t length : {uint64_t{0}, uint64_t{UINT32_MAX}}) {
    EXPECT_THAT(selected.store().Windows(length, selected.selection()),
                StatusIs(kInvalid, HasSubstr("got " + std::to_string(length))));
  }
  EXPECT_THAT(selected.store().Windows(5, *Selection::FromIndices(4, {})),
              StatusIs(kInvalid, AllOf(HasSubstr("selection is of 4 items"),
                                       HasSubstr("has 3 documents"))));
  const auto windows = *selected.store().Windows(4, selected.selection());
  EXPECT_THAT(windows->GetBlocking(2),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("2 items")));
  const std::vector<Position> part = {{1, 0, 3, 2}};
  EXPECT_THAT(RunBlocking(windows->GetAt(part)),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("tokens 3 to 5 of item 1")));
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(3),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("document 3")));
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(1), IsOkAndHolds(IsEmpty()));
}

TEST(SelectedWindowsTest, TheFingerprintFollowsStoreSelectionAndLength) {
  const Selected a({5, 5, 5}, {true, false, true});
  const Selected b({5, 5, 4}, {true, false, true});
  const Selected c({5, 5, 5}, {true, true, true});
  const auto print = [](const Selected& selected, uint64_t length) {
    return (*selected.store().Windows(length, selected.selection()))
        ->fingerprint();
  };
  EXPECT_EQ(print(a, 4), print(a, 4));
  EXPECT_NE(print(a, 4), print(a, 3));
  EXPECT_NE(print(a, 4), print(b, 4));
  EXPECT_NE(print(a, 4), print(c, 4));
  EXPECT_NE(print(c, 4), (*c.store().Windows(4))->fingerprint());
}

TEST(SelectedWindowsTest, ADamagedDocumentIndexIsDataLoss) {
  const Selected selected({5, 7, 9, 11}, {true, false, true, true}, LongName());
  const std::string path = selected.folder().path("documents-1.bin");
  const std::string whole = testing::ReadFile(path);
  ASSERT_FALSE(whole.empty());
  const auto windows = *selected.store().Windows(4, selected.selection());
  const auto lost = StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path));
  // Each byte of the ends: an error, or windows of tokens that exist.
  for (size_t at = 0; at < 32; ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x40);
    WriteFile(path, flipped);
    for (uint64_t w = 0; w < 6; ++w) {
      const auto window = windows->GetBlocking(w);
      if (window.ok()) {
        ASSERT_EQ(window->tokens.size(), 4u);
      } else {
        ASSERT_EQ(window.status().code(), absl::StatusCode::kDataLoss);
      }
    }
    (void)selected.store().Windows(4, selected.selection());
  }
  // Document 0 ends earlier: the selected ones are fewer tokens than they were.
  std::string shorter = whole;
  shorter[0] = 3;
  WriteFile(path, shorter);
  EXPECT_THAT(windows->GetBlocking(5),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("shorter")));
  WriteFile(path, whole.substr(0, 7));
  EXPECT_THAT(windows->GetBlocking(0), lost);
  EXPECT_THAT(PiecesOf(*windows)->ItemsOf(2), lost);
  EXPECT_THAT(selected.store().Windows(4, selected.selection()), lost);
}

TEST(DocumentBoundsTest, NeverLieOutsideOfTheStore) {
  const Selected selected({5, 7, 9, 11}, {true, true, true, true}, LongName());
  const std::string path = selected.folder().path("documents-1.bin");
  const std::string whole = testing::ReadFile(path);
  for (size_t at = 0; at < 32; ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x80);
    WriteFile(path, flipped);
    for (uint64_t first = 0; first < 4; ++first) {
      for (uint64_t count = 1; count <= 4 - first; ++count) {
        const auto bounds = selected.store().DocumentBounds(first, count);
        if (!bounds.ok()) continue;
        ASSERT_TRUE(std::is_sorted(bounds->begin(), bounds->end()));
        ASSERT_LE(bounds->back(), 32u);
      }
    }
  }
}

TEST(DocumentPiecesTest, OfADamagedIndexLieInTheStoreOrAreDataLoss) {
  const Selected selected({5, 7, 9, 11}, {true, true, true, true}, LongName());
  const std::string path = selected.folder().path("documents-1.bin");
  const std::string whole = testing::ReadFile(path);
  for (size_t at = 0; at < 32; ++at) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x11);
    WriteFile(path, flipped);
    for (uint64_t begin = 0; begin < 32; ++begin) {
      const auto pieces = selected.store().DocumentPieces(begin, 32);
      if (!pieces.ok()) {
        ASSERT_EQ(pieces.status().code(), absl::StatusCode::kDataLoss);
        continue;
      }
      uint64_t end = begin;
      for (const ItemPiece& piece : *pieces) {
        ASSERT_LT(piece.document, 4u);
        ASSERT_EQ(piece.begin, end);
        ASSERT_LT(piece.begin, piece.end);
        end = piece.end;
      }
      ASSERT_EQ(end, 32u);
    }
  }
}

TEST(DocumentBoundsTest, AreTheRangesEndToEnd) {
  const Selected selected({5, 0, 7, 1}, {true, true, true, true});
  const TokenStore& store = selected.store();
  EXPECT_THAT(store.DocumentBounds(0, 4),
              IsOkAndHolds(ElementsAre(0, 5, 5, 12, 13)));
  EXPECT_THAT(store.DocumentBounds(2, 1), IsOkAndHolds(ElementsAre(5, 12)));
  EXPECT_THAT(store.DocumentBounds(4, 0), IsOkAndHolds(ElementsAre(13)));
  EXPECT_THAT(store.DocumentBounds(0, 0), IsOkAndHolds(ElementsAre(0)));
  for (const auto& [first, count] :
       {std::pair<uint64_t, uint64_t>(0, 5), {4, 1}, {5, 0}, {1, UINT64_MAX}}) {
    EXPECT_THAT(store.DocumentBounds(first, count),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("holds 4")));
  }
}

DatasetPtr<uint64_t> HashedSelection() {
  const Selected selected({1000, 0, 5, 2003}, {true, true, false, true});
  return Map<uint64_t>("hash",
                       *selected.store().Windows(7, selected.selection()),
                       [](TokenWindow window) -> absl::StatusOr<uint64_t> {
                         uint64_t hash = window.tokens.size();
                         for (const uint32_t id : window.tokens)
                           hash = hash * 1000003 + id;
                         return hash;
                       });
}

TEST(SelectedWindowsTest, BelowAMixtureEachWindowIsFoundAgain) {
  const Selected selected({100, 40, 77}, {true, false, true});
  const auto root = *MixtureDataset<TokenWindow>::Create(
      {{"a", *selected.store().Windows(10, selected.selection()), 1},
       {"b", *selected.store().Windows(10), 1}});
  const DatasetTree tree(*root);
  for (uint64_t i = 0; i < 60; ++i) {
    const std::vector<Position> position = {{.index = i}};
    std::vector<LeafPosition> leaf(1);
    ASSERT_THAT(tree.Resolve(position, leaf), IsOk());
    ASSERT_THAT(tree.Find(leaf[0]), IsOkAndHolds(std::optional(position[0])));
    const PiecewiseItems* pieces = PiecesOf(*tree.leaves()[leaf[0].leaf].node);
    ASSERT_NE(pieces, nullptr);
    if (leaf[0].leaf != 0) continue;
    ASSERT_OK_AND_ASSIGN(const auto parts, pieces->Pieces(leaf[0].position));
    std::vector<uint32_t> tokens;
    for (const ItemPiece& piece : parts) {
      ASSERT_OK_AND_ASSIGN(const auto read,
                           RunBlocking(selected.store().ReadTokens(
                               piece.begin, piece.end - piece.begin)));
      tokens.insert(tokens.end(), read.begin(), read.end());
    }
    ASSERT_THAT(root->GetBlocking(i), IsOkAndHolds(TokenWindow(tokens)));
  }
}

}  // namespace

namespace testing {

INSTANTIATE_TEST_SUITE_P(SelectedWindows, DatasetConformanceTest,
                         ::testing::Values(DatasetCase{
                             "SelectedWindows", HashedSelection, 3003 / 7}),
                         CaseName);

}  // namespace testing
}  // namespace poniente
