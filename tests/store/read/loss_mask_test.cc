// SPDX-License-Identifier: Apache-2.0
// Loss masks as they are stored and read: of one store, of stores that are
// joined, through every backend, and damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/catalog.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::ByteOptions;
using testing::Documents;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::ReadFile;
using testing::ReadStore;
using testing::StatusIs;
using testing::TempDir;
using testing::WithProvenLoss;
using testing::WriteStore;

// One byte per token, all documents end to end.
std::vector<uint8_t> WholeMask(const Documents& documents) {
  std::vector<uint8_t> mask;
  for (const testing::TextDocument& document : documents) {
    const std::vector<uint8_t> all(document.ids.size(), 1);
    const std::vector<uint8_t>& part = document.has_loss.value_or(all);
    mask.insert(mask.end(), part.begin(), part.end());
  }
  return mask;
}

// Any range of tokens, against a copy of the whole mask.
void ExpectMask(const TokenSource& source, const std::vector<uint8_t>& mask) {
  ASSERT_EQ(source.num_tokens(), mask.size());
  std::mt19937_64 random(testing::TestSeed(402));
  for (int turn = 0; turn < 300; ++turn) {
    const uint64_t begin = random() % (mask.size() + 1);
    const uint64_t most = mask.size() - begin;
    const uint64_t count =
        random() % (1 + std::min<uint64_t>(most, turn % 2 == 0 ? most : 40));
    ASSERT_THAT(RunBlocking(source.ReadLossMask(begin, count)),
                IsOkAndHolds(std::vector<uint8_t>(
                    mask.begin() + static_cast<ptrdiff_t>(begin),
                    mask.begin() + static_cast<ptrdiff_t>(begin + count))))
        << begin << ' ' << count;
  }
}

TEST(LossMaskTest, ReadsWhatWasWritten) {
  const TempDir folder;
  const Documents documents =
      WithProvenLoss(ProvenDocuments({3, 0, 70001, 5, 30000}, 257));
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  for (const IoBackend backend :
       {IoBackend::kAuto, IoBackend::kMmap, IoBackend::kPread}) {
    TokenStoreOptions options;
    options.io.backend = backend;
    ASSERT_OK_AND_ASSIGN(const auto store,
                         TokenStore::Open(folder.path(), options));
    EXPECT_TRUE(store->has_loss_mask());
    ExpectMask(*store, WholeMask(documents));
    EXPECT_THAT(ReadStore(*store), IsOkAndHolds(documents));
    EXPECT_THAT(VerifyTokenStore(*store), IsOk());
  }
}

// 70000 tokens before the first mask: more than a block of it.
TEST(LossMaskTest, DocumentsWithoutAMaskHaveLossEverywhere) {
  const TempDir folder;
  Documents documents =
      WithProvenLoss(ProvenDocuments({70000, 13, 9, 11}, 257));
  documents[0].has_loss.reset();
  documents[2].has_loss.reset();
  documents[3].has_loss.reset();
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ExpectMask(*store, WholeMask(documents));
  EXPECT_THAT(VerifyTokenStore(*store), IsOk());
}

TEST(LossMaskTest, AStoreWithoutOneHasLossEverywhere) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({20, 3}, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_FALSE(store->has_loss_mask());
  EXPECT_THAT(store->loss_mask_arrays(), IsEmpty());
  EXPECT_THAT(store->LossMaskRanges({4, 20}),
              ElementsAre(LossMaskRange{{4, 20}}));
  ExpectMask(*store, std::vector<uint8_t>(23, 1));
  EXPECT_EQ(store->reader().num_files(), 1u);
}

TEST(LossMaskTest, AnEmptyMaskIsAMaskToo) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), {{"d", {}, std::vector<uint8_t>()}}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_TRUE(store->has_loss_mask());
  EXPECT_THAT(RunBlocking(store->ReadLossMask(0, 0)), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store->LossMaskRanges({0, 0}), IsEmpty());
  EXPECT_THAT(VerifyTokenStore(*store), IsOk());
}

TEST(LossMaskTest, RangesSayWhereTheBitsLie) {
  const TempDir folder;
  ASSERT_THAT(
      WriteStore(folder.path(), WithProvenLoss(ProvenDocuments({100}, 257))),
      IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_THAT(store->loss_mask_arrays(), ElementsAre(LossMaskArray{0, 1, 0}));
  const auto range = [&](uint64_t begin, uint64_t end) {
    return store->LossMaskRanges({begin, end});
  };
  EXPECT_THAT(range(0, 8), ElementsAre(LossMaskRange{{0, 8}, 1, 0, 1, 0}));
  EXPECT_THAT(range(7, 9), ElementsAre(LossMaskRange{{7, 9}, 1, 0, 2, 7}));
  EXPECT_THAT(range(17, 18), ElementsAre(LossMaskRange{{17, 18}, 1, 2, 1, 1}));
  EXPECT_THAT(range(16, 100),
              ElementsAre(LossMaskRange{{16, 100}, 1, 2, 11, 0}));
  EXPECT_EQ(store->reader().path(1), folder.path("loss_mask-1.bin"));
  EXPECT_THAT(RunBlocking(store->ReadLossMask(100, 1)),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("1 tokens from token 100")));
}

TEST(LossMaskTest, TheFingerprintCoversIt) {
  const TempDir folder;
  Documents documents = ProvenDocuments({300}, 257);
  ASSERT_OK_AND_ASSIGN(const auto without,
                       WriteStore(folder.path("a"), documents));
  documents[0].has_loss.emplace(300, 1);
  ASSERT_OK_AND_ASSIGN(const auto ones,
                       WriteStore(folder.path("b"), documents));
  (*documents[0].has_loss)[299] = 0;
  ASSERT_OK_AND_ASSIGN(const auto other,
                       WriteStore(folder.path("c"), documents));
  TokenStoreWriterOptions options = ByteOptions();
  options.block_bytes = 65536;
  ASSERT_OK_AND_ASSIGN(const auto other_blocks,
                       WriteStore(folder.path("d"), documents, options));
  EXPECT_NE(ones.fingerprint, without.fingerprint);
  EXPECT_NE(other.fingerprint, without.fingerprint);
  EXPECT_NE(other.fingerprint, ones.fingerprint);
  EXPECT_EQ(other.fingerprint, other_blocks.fingerprint);
}

TEST(LossMaskTest, ADamagedBlockIsNoticedWhereItIsRead) {
  const TempDir folder;
  const Documents documents = WithProvenLoss(ProvenDocuments({100000}, 257));
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  const std::string file = folder.path("loss_mask-1.bin");
  testing::FlipBit(file, 5000);  // block 1: tokens 32768 to 65535
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_THAT(RunBlocking(store->ReadLossMask(0, 32768)), IsOk());
  EXPECT_THAT(RunBlocking(store->ReadLossMask(65536, 30000)), IsOk());
  EXPECT_THAT(RunBlocking(store->ReadLossMask(32767, 2)),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(file), HasSubstr("block 1"))));
  EXPECT_THAT(RunBlocking(store->ReadTokens(0, 100000)), IsOk());
  EXPECT_THAT(VerifyTokenStore(*store),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(file), HasSubstr("block 1"))));
}

// Parts with a mask, without one, and without tokens, against one store.
TEST(LossMaskTest, JoinedStoresHaveTheMasksOfTheirStores) {
  const TempDir folder;
  Documents all = WithProvenLoss(ProvenDocuments({50, 7, 0, 4099, 12, 1}, 257));
  all[1].has_loss.reset();
  all[4].has_loss.reset();
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_THAT(WriteStore(folder.path(absl::StrCat("parts/", i)), {all[i]}),
                IsOk());
  }
  ASSERT_THAT(StoreCatalog::Write(folder.path("parts")), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto catalog,
                       StoreCatalog::Open(folder.path("parts")));
  std::vector<bool> masked;
  for (const CatalogEntry& entry : catalog.entries()) {
    masked.push_back(entry.has_loss_mask);
  }
  EXPECT_THAT(masked, ElementsAre(true, false, true, true, false, true));
  ASSERT_OK_AND_ASSIGN(const auto joined, catalog.OpenJoined());
  EXPECT_TRUE(joined->has_loss_mask());
  EXPECT_THAT(
      joined->loss_mask_arrays(),
      ElementsAre(LossMaskArray{0, 6, 0}, LossMaskArray{50, std::nullopt, 0},
                  LossMaskArray{57, 7, 0}, LossMaskArray{57, 8, 0},
                  LossMaskArray{4156, std::nullopt, 0},
                  LossMaskArray{4168, 9, 0}));
  EXPECT_THAT(
      joined->LossMaskRanges({45, 60}),
      ElementsAre(LossMaskRange{{45, 50}, 6, 5, 2, 5}, LossMaskRange{{50, 57}},
                  LossMaskRange{{57, 60}, 8, 0, 1, 0}));
  ExpectMask(*joined, WholeMask(all));
  EXPECT_EQ(*RunBlocking(joined->ReadTokens(0, joined->num_tokens())),
            testing::AllIds(all));
  // The file of a mask is compared with the catalogue like the others.
  std::filesystem::remove(folder.path("parts/3/loss_mask-1.bin"));
  EXPECT_THAT(catalog.CheckStore("3"), StatusIs(absl::StatusCode::kDataLoss,
                                                HasSubstr("loss_mask-1.bin")));
  ASSERT_OK_AND_ASSIGN(const auto again, catalog.OpenJoined());
  EXPECT_FALSE(RunBlocking(again->ReadLossMask(0, 100)).ok());
}

TEST(LossMaskTest, JoinedStoresWithoutMasksHaveNone) {
  const TempDir folder;
  for (const char* part : {"parts/a", "parts/b"}) {
    ASSERT_THAT(WriteStore(folder.path(part), ProvenDocuments({9}, 257)),
                IsOk());
  }
  ASSERT_THAT(StoreCatalog::Write(folder.path("parts")), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto catalog,
                       StoreCatalog::Open(folder.path("parts")));
  ASSERT_OK_AND_ASSIGN(const auto joined, catalog.OpenJoined());
  EXPECT_FALSE(joined->has_loss_mask());
  EXPECT_THAT(joined->LossMaskRanges({3, 12}),
              ElementsAre(LossMaskRange{{3, 12}}));
  ExpectMask(*joined, std::vector<uint8_t>(18, 1));
}

// A store that had a mask is replaced by one that has none, and back.
TEST(LossMaskTest, AReplacedStoreLeavesNoMaskBehind) {
  const TempDir folder;
  const Documents plain = ProvenDocuments({40}, 257);
  ASSERT_THAT(WriteStore(folder.path(), WithProvenLoss(plain)), IsOk());
  ASSERT_THAT(WriteStore(folder.path(), plain), IsOk());
  EXPECT_FALSE(std::filesystem::exists(folder.path("loss_mask-1.bin")));
  EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(plain));
  ASSERT_THAT(WriteStore(folder.path(), WithProvenLoss(plain)), IsOk());
  EXPECT_TRUE(std::filesystem::exists(folder.path("loss_mask-3.bin")));
  EXPECT_THAT(ReadStore(folder.path()), IsOkAndHolds(WithProvenLoss(plain)));
}

}  // namespace
}  // namespace poniente
