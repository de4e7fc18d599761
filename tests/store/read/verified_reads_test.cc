// SPDX-License-Identifier: Apache-2.0
// Damage that is found by reading, through every backend, and what it says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "util/byte_order.h"
#include "util/crc32c.h"

namespace poniente {
namespace {

using testing::AllIds;
using ::testing::AllOf;
using testing::Documents;
using testing::FlipBit;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ProvenDocuments;
using testing::ReadFile;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteStore;

using StorePtr = std::shared_ptr<const TokenStore>;

constexpr uint64_t kBlockBytes = 8192;
constexpr uint64_t kBlockTokens = kBlockBytes / 2;
constexpr uint64_t kTokens = 30000;  // seven blocks and a half
constexpr uint64_t kWindow = 512;
constexpr uint64_t kWindowsPerBlock = kBlockTokens / kWindow;

class SmallStore {
 public:
  SmallStore() {
    TokenStoreWriterOptions options;
    options.vocabulary = {"any", 50000};
    options.block_bytes = kBlockBytes;
    EXPECT_THAT(WriteStore(path(), documents_, options), IsOk());
  }

  const std::string& path() const { return folder_.path(); }
  std::string tokens() const { return folder_.path("tokens-1.bin"); }
  std::string checksums() const { return folder_.path("checksums-1.bin"); }
  const std::vector<uint32_t>& ids() const { return ids_; }

  absl::StatusOr<StorePtr> Open(IoBackend backend,
                                VerifyChecksums verify) const {
    TokenStoreOptions options;
    options.io.backend = backend;
    options.io.verify = verify;
    return TokenStore::Open(path(), options);
  }

  // What an error about a block of tokens must say.
  auto NamesBlock(uint64_t block) const {
    const auto hex = [](uint32_t checksum) {
      return std::string(absl::StrCat(absl::Hex(checksum, absl::kZeroPad8)));
    };
    const std::string bytes =
        ReadFile(tokens()).substr(block * kBlockBytes, kBlockBytes);
    const uint32_t computed = internal::Crc32c(std::as_bytes(std::span(bytes)));
    const std::string entry = ReadFile(checksums()).substr(4 * block, 4);
    const auto stored = internal::LoadLittle<uint32_t>(
        reinterpret_cast<const std::byte*>(entry.data()));
    return StatusIs(
        absl::StatusCode::kDataLoss,
        AllOf(HasSubstr(tokens()), HasSubstr(absl::StrCat("block ", block)),
              HasSubstr(absl::StrCat("offset ", block * kBlockBytes)),
              HasSubstr(hex(stored)), HasSubstr(hex(computed)),
              HasSubstr("restore")));
  }

 private:
  const TempDir folder_;
  const Documents documents_ = ProvenDocuments({10000, kTokens - 10000}, 50000);
  const std::vector<uint32_t> ids_ = AllIds(documents_);
};

std::vector<uint32_t> CutIds(const std::vector<uint32_t>& ids, uint64_t begin,
                             uint64_t count) {
  const auto from = ids.begin() + static_cast<ptrdiff_t>(begin);
  return {from, from + static_cast<ptrdiff_t>(count)};
}

auto Read(const TokenStore& store, uint64_t begin, uint64_t count) {
  return RunBlocking(store.ReadTokens(begin, count));
}

class VerifiedReadsTest
    : public ::testing::TestWithParam<std::tuple<IoBackend, VerifyChecksums>> {
 protected:
  void SetUp() override {
    const auto opened = Open();
    if (absl::IsUnavailable(opened.status())) GTEST_SKIP() << opened.status();
    ASSERT_THAT(opened, IsOk());
  }

  absl::StatusOr<StorePtr> Open() const {
    return on_disk_.Open(std::get<0>(GetParam()), std::get<1>(GetParam()));
  }

  // Each window of the block fails, each other one holds what was written.
  void ExpectDamagedAlone(const TokenStore& store, uint64_t block) const {
    ASSERT_OK_AND_ASSIGN(const auto windows, store.Windows(kWindow));
    for (uint64_t w = 0; w < kTokens / kWindow; ++w) {
      const auto window = windows->GetBlocking(w);
      if (w / kWindowsPerBlock == block) {
        EXPECT_THAT(window, on_disk_.NamesBlock(block)) << w;
      } else {
        ASSERT_THAT(window, IsOk());
        EXPECT_EQ(window->tokens, CutIds(on_disk_.ids(), w * kWindow, kWindow));
      }
    }
  }

  void ExpectWindowOverBlocks0And1(std::optional<uint64_t> damaged) const {
    constexpr uint64_t kLength = 600;
    ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
    ASSERT_OK_AND_ASSIGN(const auto windows, store->Windows(kLength));
    const auto window = windows->GetBlocking(6);
    if (damaged.has_value()) {
      EXPECT_THAT(window, on_disk_.NamesBlock(*damaged));
    } else {
      ASSERT_THAT(window, IsOk());
      EXPECT_EQ(window->tokens, CutIds(on_disk_.ids(), 6 * kLength, kLength));
    }
  }

  const SmallStore on_disk_;
};

TEST_P(VerifiedReadsTest, AFlippedBitFailsTheWindowsOfItsBlockAlone) {
  FlipBit(on_disk_.tokens(), 3 * kBlockBytes + 5);
  ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
  ExpectDamagedAlone(*store, 3);
}

TEST_P(VerifiedReadsTest, ABatchWithADamagedWindowFails) {
  FlipBit(on_disk_.tokens(), 3 * kBlockBytes + 5);
  ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
  ASSERT_OK_AND_ASSIGN(const auto windows, store->Windows(kWindow));
  const std::vector<Index> indices = {40, 4 * kWindowsPerBlock - 1, 0, 57};
  EXPECT_THAT(windows->GetBatchBlocking(indices), on_disk_.NamesBlock(3));
}

TEST_P(VerifiedReadsTest, ReadTokensFindsIt) {
  FlipBit(on_disk_.tokens(), 2 * kBlockBytes);
  ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
  EXPECT_THAT(Read(*store, 3 * kBlockTokens - 1, 1), on_disk_.NamesBlock(2));
  EXPECT_THAT(Read(*store, 0, kTokens), on_disk_.NamesBlock(2));
  EXPECT_THAT(Read(*store, 3 * kBlockTokens, 10),
              IsOkAndHolds(CutIds(on_disk_.ids(), 3 * kBlockTokens, 10)));
}

// Bytes of a block that the window has no part in.
TEST_P(VerifiedReadsTest, AWindowOverTwoBlocksNeedsTheFirst) {
  FlipBit(on_disk_.tokens(), 0);
  ExpectWindowOverBlocks0And1(0);
  FlipBit(on_disk_.tokens(), 0);
  ExpectWindowOverBlocks0And1(std::nullopt);
}

TEST_P(VerifiedReadsTest, AWindowOverTwoBlocksNeedsTheSecond) {
  FlipBit(on_disk_.tokens(), 2 * kBlockBytes - 1);
  ExpectWindowOverBlocks0And1(1);
  FlipBit(on_disk_.tokens(), 2 * kBlockBytes - 1);
  ExpectWindowOverBlocks0And1(std::nullopt);
}

TEST_P(VerifiedReadsTest, TheLastShortBlockIsCompared) {
  const uint64_t bytes = std::filesystem::file_size(on_disk_.tokens());
  ASSERT_EQ(bytes % kBlockBytes, kBlockBytes / 2);
  FlipBit(on_disk_.tokens(), bytes - 1);  // of the padding
  ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
  ExpectDamagedAlone(*store, 7);
}

TEST_P(VerifiedReadsTest, AWrongEntryInTheChecksumsFileFailsItsBlock) {
  FlipBit(on_disk_.checksums(), 4 * 5 + 2);
  ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
  ExpectDamagedAlone(*store, 5);
}

TEST_P(VerifiedReadsTest, ABlockThatIsMendedIsReadAgain) {
  FlipBit(on_disk_.tokens(), 100);
  ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
  EXPECT_THAT(Read(*store, 0, 1), on_disk_.NamesBlock(0));
  FlipBit(on_disk_.tokens(), 100);
  EXPECT_THAT(Read(*store, 0, 1), IsOkAndHolds(CutIds(on_disk_.ids(), 0, 1)));
}

TEST_P(VerifiedReadsTest, TheChecksumsOfASmallStoreAreKept) {
  FlipBit(on_disk_.tokens(), kBlockBytes);
  ASSERT_OK_AND_ASSIGN(const StorePtr store, Open());
  std::filesystem::resize_file(on_disk_.checksums(), 3);
  EXPECT_THAT(Read(*store, 0, 1), IsOk());
  EXPECT_THAT(Read(*store, kBlockTokens, 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 1")));
}

TEST_P(VerifiedReadsTest, AFileWrittenOverOneThatWasReadIsCompared) {
  ASSERT_OK_AND_ASSIGN(StorePtr store, Open());
  ASSERT_THAT(Read(*store, 0, kTokens), IsOk());
  store.reset();
  std::string bytes = ReadFile(on_disk_.tokens());
  bytes[kBlockBytes] ^= 1;
  testing::WriteFile(on_disk_.tokens(), bytes);
  // On old kernels both writes may fall into one tick of the clock.
  std::filesystem::last_write_time(
      on_disk_.tokens(),
      std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  ASSERT_OK_AND_ASSIGN(store, Open());
  EXPECT_THAT(Read(*store, 0, kTokens), on_disk_.NamesBlock(1));
}

constexpr IoBackend kBackends[] = {IoBackend::kAuto, IoBackend::kBuffered,
                                   IoBackend::kDirect, IoBackend::kMmap,
                                   IoBackend::kPread};

INSTANTIATE_TEST_SUITE_P(
    Modes, VerifiedReadsTest,
    ::testing::Combine(::testing::ValuesIn(kBackends),
                       ::testing::Values(VerifyChecksums::kFirstTouch,
                                         VerifyChecksums::kAlways)),
    [](const auto& mode) {
      return absl::StrCat(
          std::string(IoBackendName(std::get<0>(mode.param))), "_",
          std::string(VerifyChecksumsName(std::get<1>(mode.param))));
    });

// Documents: many that a store keeps open, few that it holds in memory.
class VerifiedDocumentsTest : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    std::vector<uint64_t> lengths;
    for (size_t d = 0; d < GetParam(); ++d) lengths.push_back(d % 5);
    documents_ = ProvenDocuments(lengths, 257);
    TokenStoreWriterOptions options;
    options.vocabulary = {"bytes", 257};
    options.block_bytes = 4096;
    ASSERT_THAT(WriteStore(folder_.path(), documents_, options), IsOk());
  }
  std::string documents() const { return folder_.path("documents-1.bin"); }
  StorePtr Open(VerifyChecksums verify) const {
    TokenStoreOptions options;
    options.io.backend = IoBackend::kPread;
    options.io.verify = verify;
    const auto store = TokenStore::Open(folder_.path(), options);
    EXPECT_THAT(store, IsOk());
    return *store;
  }
  // Whatever is asked of a document, and whether it is an error.
  size_t ErrorsOrRight(const TokenStore& store) const {
    size_t errors = 0;
    uint64_t begin = 0;
    for (uint64_t d = 0; d < documents_.size(); ++d) {
      const uint64_t end = begin + documents_[d].ids.size();
      const auto range = store.DocumentRange(d);
      const auto name = store.DocumentName(d);
      const auto bounds = store.DocumentBounds(d, 1);
      errors += !range.ok() + !name.ok() + !bounds.ok();
      if (range.ok()) {
        EXPECT_EQ(range->begin, begin) << d;
        EXPECT_EQ(range->end, end) << d;
      }
      if (name.ok()) {
        EXPECT_EQ(*name, documents_[d].name);
      }
      if (bounds.ok()) {
        EXPECT_EQ(*bounds, (std::vector<uint64_t>{begin, end})) << d;
      }
      if (begin < end) {
        const auto at = store.DocumentAt(begin);
        errors += !at.ok();
        if (at.ok()) {
          EXPECT_EQ(*at, d);
        }
      }
      begin = end;
    }
    return errors;
  }

  Documents documents_;
  const TempDir folder_;
};

TEST_P(VerifiedDocumentsTest, AFlippedBitIsAnErrorOrInAnotherBlock) {
  EXPECT_EQ(ErrorsOrRight(*Open(VerifyChecksums::kFirstTouch)), 0u);
  const uint64_t bytes = std::filesystem::file_size(documents());
  std::mt19937_64 random(testing::TestSeed(116));
  for (int i = 0; i < 40; ++i) {
    const uint64_t at = random() % bytes;
    FlipBit(documents(), at);
    for (const VerifyChecksums verify :
         {VerifyChecksums::kFirstTouch, VerifyChecksums::kAlways}) {
      const size_t errors = ErrorsOrRight(*Open(verify));
      // The padding of few documents is in their block, too.
      EXPECT_GT(errors, 0u) << at;
    }
    FlipBit(documents(), at);
    if (HasFailure()) return;
  }
}

TEST_P(VerifiedDocumentsTest, AChangeUnderAnOpenStoreIsNeverServed) {
  for (const VerifyChecksums verify :
       {VerifyChecksums::kFirstTouch, VerifyChecksums::kAlways}) {
    const StorePtr store = Open(verify);
    EXPECT_EQ(ErrorsOrRight(*store), 0u);
    const uint64_t bytes = std::filesystem::file_size(documents());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (uint64_t at = 0; at < bytes; at += 1 + bytes / 20) {
      FlipBit(documents(), at);
      const size_t errors = ErrorsOrRight(*store);
      FlipBit(documents(), at);
      // What is small was read as a whole before.
      if (bytes > 16384) {
        EXPECT_GT(errors, 0u) << at;
      }
    }
    EXPECT_EQ(ErrorsOrRight(*store), 0u);
  }
}

TEST_P(VerifiedDocumentsTest, TheErrorNamesTheBlock) {
  FlipBit(documents(), 3);
  EXPECT_THAT(Open(VerifyChecksums::kFirstTouch)->DocumentRange(0),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(documents()),
                             HasSubstr("checksum mismatch in block 0"),
                             HasSubstr("restore the file from a copy"))));
}

TEST_P(VerifiedDocumentsTest, AWrongChecksumIsAnErrorToo) {
  FlipBit(folder_.path("checksums-1.bin"),
          std::filesystem::file_size(folder_.path("checksums-1.bin")) - 1);
  EXPECT_GT(ErrorsOrRight(*Open(VerifyChecksums::kFirstTouch)), 0u);
}

TEST_P(VerifiedDocumentsTest, AlwaysSeesWhatComesLater) {
  const StorePtr once = Open(VerifyChecksums::kFirstTouch);
  const StorePtr always = Open(VerifyChecksums::kAlways);
  EXPECT_EQ(ErrorsOrRight(*once) + ErrorsOrRight(*always), 0u);
  FlipBit(documents(), 11);
  const bool is_kept = GetParam() < 100;
  EXPECT_EQ(always->DocumentRange(1).ok(), is_kept);
}

INSTANTIATE_TEST_SUITE_P(Documents, VerifiedDocumentsTest,
                         ::testing::Values(7, 3000), [](const auto& documents) {
                           return std::to_string(documents.param);
                         });

class VerifyChecksumsTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    const auto opened = on_disk_.Open(GetParam(), VerifyChecksums::kOff);
    if (absl::IsUnavailable(opened.status())) GTEST_SKIP() << opened.status();
    ASSERT_THAT(opened, IsOk());
  }
  StorePtr Open(VerifyChecksums verify) const {
    return *on_disk_.Open(GetParam(), verify);
  }
  // Token 0 of block 2, a bit of which is flipped.
  uint32_t damaged_id() const {
    return on_disk_.ids()[2 * kBlockTokens] ^ 0x10;
  }

  const SmallStore on_disk_;
};

TEST_P(VerifyChecksumsTest, OffReadsOn) {
  FlipBit(on_disk_.tokens(), 2 * kBlockBytes);
  FlipBit(on_disk_.checksums(), 0);
  const StorePtr store = Open(VerifyChecksums::kOff);
  EXPECT_THAT(Read(*store, 2 * kBlockTokens, 1),
              IsOkAndHolds(std::vector<uint32_t>{damaged_id()}));
  EXPECT_THAT(Read(*store, 0, 1), IsOkAndHolds(CutIds(on_disk_.ids(), 0, 1)));
  EXPECT_EQ(store->reader().counters().blocks_verified, 0u);
}

TEST_P(VerifyChecksumsTest, FirstTouchIsThatOfAnyReaderInThisProcess) {
  const StorePtr first = Open(VerifyChecksums::kFirstTouch);
  const StorePtr second = Open(VerifyChecksums::kFirstTouch);
  const StorePtr always = Open(VerifyChecksums::kAlways);
  ASSERT_THAT(Read(*first, 2 * kBlockTokens, 1), IsOk());
  EXPECT_EQ(first->reader().counters().blocks_verified, 1u);
  ASSERT_THAT(Read(*second, 2 * kBlockTokens, 1), IsOk());
  EXPECT_EQ(second->reader().counters().blocks_verified, 0u);
  ASSERT_THAT(Read(*always, 2 * kBlockTokens, 1), IsOk());
  EXPECT_EQ(always->reader().counters().blocks_verified, 1u);
  // Until the file is changed, once the file system's clock has gone on.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  FlipBit(on_disk_.tokens(), 2 * kBlockBytes);
  FlipBit(on_disk_.tokens(), 4 * kBlockBytes);
  for (const StorePtr& store : {first, second, always}) {
    EXPECT_THAT(Read(*store, 2 * kBlockTokens, 1), on_disk_.NamesBlock(2));
    EXPECT_THAT(Read(*store, 4 * kBlockTokens, 1), on_disk_.NamesBlock(4));
  }
}

TEST_P(VerifyChecksumsTest, AlwaysComparesAtEachRead) {
  const StorePtr store = Open(VerifyChecksums::kAlways);
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(Read(*store, 2 * kBlockTokens - 1, 2), IsOk());
  }
  EXPECT_EQ(store->reader().counters().blocks_verified, 6u);
}

INSTANTIATE_TEST_SUITE_P(Backends, VerifyChecksumsTest,
                         ::testing::ValuesIn(kBackends), [](const auto& mode) {
                           return std::string(IoBackendName(mode.param));
                         });

// Of more blocks than have their checksums kept in memory.
TEST(ManyBlocksTest, AChecksumsFileCutShortWhileOpenIsNamed) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 256};
  options.block_bytes = 4096;
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(folder.path(), options));
  ASSERT_THAT(writer->BeginDocument("all"), IsOk());
  const std::string block(4096, 'b');
  for (int i = 0; i < 4097; ++i)
    ASSERT_THAT(writer->AppendBytes(block), IsOk());
  ASSERT_THAT(writer->EndDocument(), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  ASSERT_THAT(Read(*store, 4096 * 4096, 1),
              IsOkAndHolds(std::vector<uint32_t>{'b'}));  // of another chunk
  std::filesystem::resize_file(folder.path("checksums-1.bin"), 40);
  EXPECT_THAT(Read(*store, 4096 * 40, 1),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr(folder.path("checksums-1.bin"))));
}

}  // namespace
}  // namespace poniente
