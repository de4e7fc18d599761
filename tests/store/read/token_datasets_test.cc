// SPDX-License-Identifier: Apache-2.0
// Windows and documents as datasets, against slices of a plain list.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "io/range_source.h"
#include "poniente/mapped_dataset.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using testing::AllIds;
using ::testing::AllOf;
using testing::Documents;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

// The slow twin: tokens [begin, begin + count) of the list of all ids.
TokenWindow Cut(const std::vector<uint32_t>& ids, uint64_t begin,
                uint64_t count) {
  TokenWindow window;
  for (uint64_t i = 0; i < count; ++i) window.tokens.push_back(ids[begin + i]);
  return window;
}

struct StoreCase {
  const char* name;
  TokenType type;
  uint64_t vocabulary_size;
};

class TokenDatasetsTest
    : public ::testing::TestWithParam<std::tuple<StoreCase, IoBackend>> {
 protected:
  TokenDatasetsTest()
      : documents_(ProvenDocuments({1000, 0, 1, 4096, 70000, 0, 333},
                                   store_case().vocabulary_size)),
        ids_(AllIds(documents_)) {}

  static const StoreCase& store_case() { return std::get<0>(GetParam()); }

  void SetUp() override {
    TokenStoreWriterOptions options;
    options.vocabulary = {"any", store_case().vocabulary_size};
    ASSERT_THAT(WriteStore(folder_.path(), documents_, options), IsOk());
    TokenStoreOptions how;
    how.io.backend = std::get<1>(GetParam());
    const auto store = TokenStore::Open(folder_.path(), how);
    if (absl::IsUnavailable(store.status())) {
      GTEST_SKIP() << store.status();
    }
    ASSERT_THAT(store, IsOk());
    store_ = *store;
    ASSERT_EQ(store_->token_type(), store_case().type);
  }

  const TempDir folder_;
  const Documents documents_;
  const std::vector<uint32_t> ids_;
  std::shared_ptr<const TokenStore> store_;
};

TEST_P(TokenDatasetsTest, WindowsAreSlicesOfTheTokens) {
  std::mt19937_64 random(testing::TestSeed(31));
  for (const uint64_t length : {1, 2, 7, 1024, 4096, 75430}) {
    ASSERT_OK_AND_ASSIGN(const auto windows, store_->Windows(length));
    ASSERT_EQ(windows->CurrentLength(), ids_.size() / length);
    std::vector<Index> indices = {0, ids_.size() / length - 1};
    for (int i = 0; i < 50; ++i) {
      indices.push_back(random() % (ids_.size() / length));
    }
    ASSERT_OK_AND_ASSIGN(const auto items, windows->GetBatchBlocking(indices));
    ASSERT_EQ(items.size(), indices.size());
    for (size_t i = 0; i < items.size(); ++i) {
      ASSERT_EQ(items[i], Cut(ids_, indices[i] * length, length))
          << "window " << indices[i] << " of " << length;
    }
  }
}

TEST_P(TokenDatasetsTest, PartsOfWindowsAreSlicesOfThem) {
  std::mt19937_64 random(testing::TestSeed(32));
  constexpr uint32_t kLength = 500;
  ASSERT_OK_AND_ASSIGN(const auto windows, store_->Windows(kLength));
  std::vector<Position> positions;
  for (int i = 0; i < 100; ++i) {
    const auto begin = static_cast<uint32_t>(random() % (kLength + 1));
    const auto part = static_cast<uint32_t>(random() % (kLength - begin + 1));
    positions.push_back(
        {random() % (ids_.size() / kLength), random(), begin, part});
  }
  ASSERT_OK_AND_ASSIGN(const auto items,
                       RunBlocking(windows->GetAt(positions)));
  for (size_t i = 0; i < items.size(); ++i) {
    const Position& at = positions[i];
    ASSERT_EQ(items[i],
              Cut(ids_, at.index * kLength + at.part_begin, at.part_length));
  }
}

TEST_P(TokenDatasetsTest, DocumentsAreWholeAndTheirPartsSlices) {
  const auto dataset = store_->Documents();
  ASSERT_EQ(dataset->CurrentLength(), documents_.size());
  const std::vector<Index> indices = {6, 0, 1, 2, 3, 4, 5, 5, 0};
  ASSERT_OK_AND_ASSIGN(const auto items, dataset->GetBatchBlocking(indices));
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i].tokens, documents_[indices[i]].ids) << indices[i];
  }
  const std::vector<Position> part = {{4, 0, 69990, 10}};
  EXPECT_THAT(
      RunBlocking(dataset->GetAt(part)),
      IsOkAndHolds(::testing::ElementsAre(Cut(documents_[4].ids, 69990, 10))));
}

TEST_P(TokenDatasetsTest, RangesSayWhereTheWindowsLie) {
  ASSERT_OK_AND_ASSIGN(const auto windows, store_->Windows(100));
  const RangeSource* ranges = windows->ranges();
  ASSERT_NE(ranges, nullptr);
  EXPECT_EQ(&ranges->reader(), &store_->reader());
  EXPECT_EQ(ranges->width_bytes(), TokenTypeBytes(store_case().type));
  EXPECT_EQ(ranges->item_length(), 100u);
  const FileRange range = ranges->Locate(7, 30, 5);
  EXPECT_EQ(range.file, 0u);
  EXPECT_EQ(range.offset, 730u * ranges->width_bytes());
  EXPECT_EQ(range.bytes, 5u * ranges->width_bytes());
}

INSTANTIATE_TEST_SUITE_P(
    Stores, TokenDatasetsTest,
    ::testing::Combine(
        ::testing::Values(StoreCase{"u8", TokenType::kU8, 256},
                          StoreCase{"u16", TokenType::kU16, 65536},
                          StoreCase{"u32", TokenType::kU32, 1 << 20}),
        ::testing::Values(IoBackend::kAuto, IoBackend::kBuffered,
                          IoBackend::kDirect, IoBackend::kMmap,
                          IoBackend::kPread)),
    [](const auto& case_info) {
      return std::string(std::get<0>(case_info.param).name) + "_" +
             std::string(IoBackendName(std::get<1>(case_info.param)));
    });

TEST(WindowsTest, AStoreShorterThanAWindowGivesNoItems) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({99}, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto windows, store->Windows(100));
  EXPECT_EQ(windows->CurrentLength(), 0u);
  EXPECT_THAT(windows->GetBlocking(0),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("0 items")));
}

TEST(WindowsTest, SayHowManyTokensTheirItemsHave) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({99}, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_EQ((*store->Windows(10))->item_tokens(), 10u);
  EXPECT_EQ(store->Documents()->item_tokens(), 0u);
}

TEST(WindowsTest, ALengthThatIsNoneIsRefused) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({99}, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{UINT32_MAX}, UINT64_MAX}) {
    EXPECT_THAT(store->Windows(length),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("got " + std::to_string(length))));
  }
}

TEST(WindowsTest, APartPastTheEndOfItsItemIsOutOfRange) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({99}, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto windows, store->Windows(10));
  for (const Position part :
       {Position{0, 0, 8, 3}, Position{0, 0, 11, 0}, Position{0, 0, 1},
        Position{0, 0, UINT32_MAX, UINT32_MAX - 1}}) {
    const std::vector<Position> positions = {part};
    EXPECT_THAT(
        RunBlocking(windows->GetAt(positions)),
        StatusIs(absl::StatusCode::kOutOfRange,
                 AllOf(HasSubstr(folder.path()), HasSubstr("which has 10"))));
  }
}

TEST(WindowsTest, TheFingerprintFollowsStoreKindAndLength) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path("a"), ProvenDocuments({99}, 257)), IsOk());
  ASSERT_THAT(WriteStore(folder.path("b"), ProvenDocuments({98}, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto a, TokenStore::Open(folder.path("a")));
  ASSERT_OK_AND_ASSIGN(const auto b, TokenStore::Open(folder.path("b")));
  const uint64_t print = (*a->Windows(10))->fingerprint();
  EXPECT_EQ((*a->Windows(10))->fingerprint(), print);
  EXPECT_NE((*a->Windows(11))->fingerprint(), print);
  EXPECT_NE((*b->Windows(10))->fingerprint(), print);
  EXPECT_NE(a->Documents()->fingerprint(), print);
  EXPECT_NE(a->Documents()->fingerprint(), b->Documents()->fingerprint());
}

TEST(WindowsTest, KeepTheirStoreOpen) {
  const TempDir folder;
  const Documents documents = ProvenDocuments({99}, 257);
  ASSERT_THAT(WriteStore(folder.path(), documents), IsOk());
  ASSERT_OK_AND_ASSIGN(auto store, TokenStore::Open(folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto windows, store->Windows(10));
  store.reset();
  EXPECT_THAT(windows->GetBlocking(3),
              IsOkAndHolds(Cut(AllIds(documents), 30, 10)));
  EXPECT_EQ(*windows->vocabulary(), (Vocabulary{"bytes", 257}));
  EXPECT_EQ(windows->name(), folder.path());
}

TEST(WindowsTest, ABatchIsOneSubmission) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({99999}, 257)), IsOk());
  TokenStoreOptions options;
  options.io.backend = IoBackend::kBuffered;
  const auto opened = TokenStore::Open(folder.path(), options);
  if (absl::IsUnavailable(opened.status())) GTEST_SKIP() << opened.status();
  ASSERT_OK_AND_ASSIGN(const auto store, opened);
  ASSERT_OK_AND_ASSIGN(const auto windows, store->Windows(100));
  std::vector<Index> indices;
  for (Index i = 0; i < 32; ++i) indices.push_back(i * 7);
  ASSERT_THAT(windows->GetBatchBlocking(indices), IsOk());
  EXPECT_EQ(store->reader().counters().buffered.requests, 32u);
  EXPECT_EQ(store->reader().counters().buffered.submissions, 1u);
}

// What every dataset must do, on the hash of each window and document.
DatasetPtr<uint64_t> Hashed(DatasetPtr<TokenWindow> tokens) {
  return Map<uint64_t>("hash", std::move(tokens),
                       [](TokenWindow window) -> absl::StatusOr<uint64_t> {
                         uint64_t hash = window.tokens.size();
                         for (const uint32_t id : window.tokens)
                           hash = hash * 1000003 + id;
                         return hash;
                       });
}

std::shared_ptr<const TokenStore> ConformanceStore() {
  // Open files outlive their names.
  const TempDir folder;
  EXPECT_THAT(
      WriteStore(folder.path(), ProvenDocuments({1000, 0, 5, 2003}, 257)),
      IsOk());
  return *TokenStore::Open(folder.path());
}

}  // namespace

namespace testing {

INSTANTIATE_TEST_SUITE_P(
    TokenStore, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"Windows",
                    [] { return Hashed(*ConformanceStore()->Windows(7)); },
                    3008 / 7},
        DatasetCase{"TooShortForAWindow",
                    [] { return Hashed(*ConformanceStore()->Windows(9999)); },
                    0},
        DatasetCase{"Documents",
                    [] { return Hashed(ConformanceStore()->Documents()); }, 4}),
    CaseName);

}  // namespace testing
}  // namespace poniente
