// SPDX-License-Identifier: Apache-2.0
// Documents by number and by token, against a plain loop over their lengths.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "poniente/token_store.h"
#include "store/read/kept_ends.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

// Lengths of documents in which the search meets its special places.
struct LookupCase {
  const char* name;
  std::vector<uint64_t> lengths;
};

std::vector<uint64_t> Mixed(size_t count) {
  std::vector<uint64_t> lengths;
  for (size_t i = 0; i < count; ++i) lengths.push_back(i * 7919 % 5 % 4);
  return lengths;
}

class DocumentLookupTest : public ::testing::TestWithParam<LookupCase> {};

TEST_P(DocumentLookupTest, FindsEveryDocumentAndEveryToken) {
  const TempDir folder;
  const std::vector<uint64_t>& lengths = GetParam().lengths;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments(lengths, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ASSERT_EQ(store->num_documents(), lengths.size());
  uint64_t begin = 0;
  for (uint64_t d = 0; d < lengths.size(); ++d) {
    const TokenRange expected{begin, begin + lengths[d]};
    ASSERT_THAT(store->DocumentRange(d), IsOkAndHolds(expected)) << d;
    for (uint64_t t = expected.begin; t < expected.end; ++t) {
      ASSERT_THAT(store->DocumentAt(t), IsOkAndHolds(d)) << t;
    }
    begin = expected.end;
  }
  EXPECT_THAT(store->DocumentAt(begin),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr(std::to_string(begin))));
  for (const uint64_t past : {uint64_t{lengths.size()}, UINT64_MAX}) {
    EXPECT_THAT(store->DocumentRange(past),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr(std::to_string(past))));
    EXPECT_THAT(store->DocumentName(past),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr(std::to_string(lengths.size()))));
  }
}

// Twice: the first call reads and keeps the ends that the second one uses.
TEST_P(DocumentLookupTest, FindsManyDocumentsTogetherInAnyOrder) {
  const TempDir folder;
  const std::vector<uint64_t>& lengths = GetParam().lengths;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments(lengths, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  std::vector<uint64_t> begins = {0};
  for (const uint64_t length : lengths) {
    begins.push_back(begins.back() + length);
  }
  std::vector<uint64_t> documents(lengths.size());
  std::iota(documents.rbegin(), documents.rend(), 0);
  documents.push_back(0);
  std::vector<TokenRange> ranges(documents.size());
  for (int call = 0; call < 2; ++call) {
    ASSERT_THAT(store->DocumentRanges(documents, std::span(ranges)), IsOk());
    for (size_t i = 0; i < documents.size(); ++i) {
      const TokenRange expected{begins[documents[i]], begins[documents[i] + 1]};
      ASSERT_EQ(ranges[i], expected) << documents[i];
    }
    ASSERT_TRUE(store->HasRangesInMemory(documents));
    // A document that does not exist, among others and with ends in memory.
    documents.back() = UINT64_MAX - static_cast<uint64_t>(call);
    EXPECT_THAT(store->DocumentRanges(documents, std::span(ranges)),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr(std::to_string(documents.back()))));
    documents.back() = 0;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Lengths, DocumentLookupTest,
    ::testing::Values(
        LookupCase{"One", {5}}, LookupCase{"OneEmpty", {0}},
        LookupCase{"EmptyFirst", {0, 0, 3}}, LookupCase{"EmptyLast", {3, 0, 0}},
        LookupCase{"EmptyBetween", {2, 0, 0, 0, 2}},
        LookupCase{"OnePage", Mixed(512)}, LookupCase{"OneMore", Mixed(513)},
        LookupCase{"TwoPages", Mixed(1025)}, LookupCase{"Many", Mixed(5000)}),
    [](const auto& case_info) { return case_info.param.name; });

// Restores the default when it goes.
class EndsMemory {
 public:
  explicit EndsMemory(uint64_t bytes) { internal::ends_memory.SetLimit(bytes); }
  ~EndsMemory() { internal::ends_memory.SetLimit(0); }
};

// 150,000 documents: three segments. Most are short, one is empty in five, and
// one in 1000 is long.
std::vector<uint64_t> ManyLengths() {
  std::vector<uint64_t> lengths;
  for (uint64_t i = 0; i < 150'000; ++i) {
    lengths.push_back(i % 1000 == 7 ? 300 : i * 7919 % 5);
  }
  return lengths;
}

// Looks up tokens and ranges that begin near document ends, all over the store,
// and compares with the lengths.
void ExpectPieces(const TokenStore& store,
                  const std::vector<uint64_t>& lengths) {
  uint64_t begin = 0;
  uint64_t looked_up = 0;
  for (uint64_t d = 0; d < lengths.size(); ++d, begin += lengths[d - 1]) {
    const bool is_near_segment_end = d % 65536 < 3 || d % 65536 > 65533;
    if (lengths[d] == 0 || (d % 997 != 0 && !is_near_segment_end)) continue;
    ASSERT_THAT(store.DocumentAt(begin), IsOkAndHolds(d));
    const uint64_t from = begin + lengths[d] - 1;  // the document's last token
    const uint64_t to = std::min(store.num_tokens(), from + 700);
    std::vector<ItemPiece> expected;
    uint64_t at = from;
    uint64_t end = begin;
    for (uint64_t k = d; at < to; ++k) {
      end += lengths[k];
      if (end > at) expected.push_back({k, at, std::min(end, to)});
      at = std::max(at, std::min(end, to));
    }
    ASSERT_THAT(store.DocumentPieces(from, to), IsOkAndHolds(expected)) << d;
    ++looked_up;
  }
  EXPECT_GT(looked_up, 100u);
}

TEST(KeptEndsTest, LooksUpInEverySegmentAndAcrossThem) {
  const TempDir folder;
  const std::vector<uint64_t> lengths = ManyLengths();
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments(lengths, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ExpectPieces(*store, lengths);
  EXPECT_TRUE(store->HasPiecesInMemory(0, store->num_tokens()));
}

TEST(KeptEndsTest, LooksUpTheSameWithoutMemoryForThem) {
  const TempDir folder;
  const std::vector<uint64_t> lengths = ManyLengths();
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments(lengths, 257)), IsOk());
  const EndsMemory memory(1);
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ExpectPieces(*store, lengths);
  EXPECT_FALSE(store->HasPiecesInMemory(0, 1));
}

TEST(KeptEndsTest, SaysWhatIsInMemory) {
  const TempDir folder;
  const std::vector<uint64_t> lengths = ManyLengths();
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments(lengths, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  const uint64_t tokens = store->num_tokens();
  EXPECT_FALSE(store->HasPiecesInMemory(0, 10));
  ASSERT_THAT(store->DocumentPieces(0, 10), IsOk());
  EXPECT_TRUE(store->HasPiecesInMemory(0, 10));
  EXPECT_TRUE(store->HasPiecesInMemory(tokens / 4, tokens / 4 + 10));
  EXPECT_FALSE(store->HasPiecesInMemory(0, tokens));
  EXPECT_FALSE(store->HasPiecesInMemory(tokens - 10, tokens));
  ASSERT_THAT(store->DocumentAt(tokens - 1), IsOk());
  EXPECT_TRUE(store->HasPiecesInMemory(tokens - 10, tokens));
  EXPECT_FALSE(store->HasPiecesInMemory(tokens / 2, tokens / 2 + 10));
}

TEST(KeptEndsTest, ThreadsThatMeetAtTheSameSegmentAgree) {
  const TempDir folder;
  const std::vector<uint64_t> lengths = ManyLengths();
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments(lengths, 257)), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { ExpectPieces(*store, lengths); });
  }
  for (std::thread& thread : threads) thread.join();
}

// Changes word `word` of the documents file of a store of `count` documents of
// 4 tokens each.
std::shared_ptr<const TokenStore> WithWord(const TempDir& folder, size_t count,
                                           size_t word, uint64_t value) {
  const std::vector<uint64_t> lengths(count, 4);
  EXPECT_THAT(WriteStore(folder.path(), ProvenDocuments(lengths, 257)), IsOk());
  std::string bytes = testing::ReadFile(folder.path("documents-1.bin"));
  std::memcpy(bytes.data() + 8 * word, &value, 8);
  testing::WriteFile(folder.path("documents-1.bin"), bytes);
  TokenStoreOptions options;
  // What is left to notice it with; verified_reads_test.cc has the rest.
  options.io.verify = VerifyChecksums::kOff;
  const auto store = TokenStore::Open(folder.path(), options);
  EXPECT_THAT(store, IsOk());
  return *store;
}

TEST(DamagedLookupTest, AnEndBeyondTheStoreIsNeverFollowed) {
  const TempDir folder;
  const auto store = WithWord(folder, 3, 1, 1000);
  EXPECT_THAT(store->DocumentRange(0), IsOk());
  for (const uint64_t document : {1, 2}) {
    EXPECT_THAT(
        store->DocumentRange(document),
        StatusIs(absl::StatusCode::kDataLoss,
                 AllOf(HasSubstr("documents-1.bin"), HasSubstr("damaged"))));
  }
  EXPECT_THAT(store->DocumentAt(6),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("1000")));
}

TEST(DamagedLookupTest, ALastEndThatFallsShortIsNoticed) {
  const TempDir folder;
  const auto store = WithWord(folder, 3, 2, 11);
  EXPECT_THAT(store->DocumentRange(2),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("11")));
  EXPECT_THAT(store->DocumentAt(11),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("11")));
}

TEST(DamagedLookupTest, ANameEndBeyondTheNamesIsNeverFollowed) {
  const TempDir folder;
  const auto store = WithWord(folder, 3, 3, uint64_t{1} << 40);
  EXPECT_THAT(store->DocumentName(0),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("name 0")));
  EXPECT_THAT(store->DocumentName(1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("name 1")));
  EXPECT_THAT(store->DocumentName(2), IsOk());
}

TEST(DamagedLookupTest, ADisorderedEndInABinarySearchIsNoticed) {
  const TempDir folder;
  const auto store = WithWord(folder, 4096, 2048, UINT64_MAX);
  EXPECT_THAT(store->DocumentAt(0), StatusIs(absl::StatusCode::kDataLoss,
                                             HasSubstr("document 2048")));
}

TEST(DamagedLookupTest, AnEndOutOfOrderInItsSegmentIsNoticedWithoutMemory) {
  const TempDir folder;
  const EndsMemory memory(1);
  const auto store = WithWord(folder, 150'000, 100'000, 3);
  EXPECT_THAT(
      store->DocumentPieces(4 * 100'000, 4 * 100'000 + 8),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("document 100000")));
}

TEST(DamagedLookupTest, ALastEndOfASegmentBeyondTheStoreIsNoticed) {
  const TempDir folder;
  const auto store = WithWord(folder, 150'000, 65'535, UINT64_MAX);
  EXPECT_THAT(
      store->DocumentPieces(4 * 65'536, 4 * 65'536 + 8),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("document 65535")));
}

}  // namespace
}  // namespace poniente
