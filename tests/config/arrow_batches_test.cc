// SPDX-License-Identifier: Apache-2.0
// Batches that a loader reads straight from Arrow files, beside those that it
// reads by way of ReadRanges(), and what was written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
#include "poniente/token_store.h"
#include "tests/config/small_stores.h"
#include "tests/formats/arrow_rows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::ArrowOfRows;
using testing::EndToEnd;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::LittleEndian;
using testing::OpenArrowRows;
using testing::RandomRows;
using testing::Rows;
using testing::TempDir;
using testing::WriteFile;

constexpr uint32_t kWindow = 32;

std::vector<BatchTensor> EveryTensor() {
  return {BatchTensor::kLabels,         BatchTensor::kLossMask,
          BatchTensor::kDocumentIds,    BatchTensor::kPositions,
          BatchTensor::kLossWeights,    BatchTensor::kCuSeqlens,
          BatchTensor::kDocumentCounts, BatchTensor::kMaxSeqlens};
}

std::unique_ptr<Loader> LoaderOver(const DatasetPtr<TokenWindow>& root,
                                   uint64_t batch_size,
                                   const LoaderOptions& options) {
  ScheduleOptions of_schedule;
  // A mixture has no end.
  const uint64_t samples = root->CurrentLength().value_or(100 * batch_size);
  of_schedule.steps = samples / batch_size;
  of_schedule.batch_size = batch_size;
  of_schedule.seq_len = kWindow;
  const auto schedule = Schedule::Create(of_schedule);
  EXPECT_THAT(schedule, IsOk());
  auto loader = Loader::Create(root, *schedule, options);
  EXPECT_THAT(loader, IsOk());
  return *std::move(loader);
}

// The tensors of a batch, byte by byte.
std::vector<std::string> BytesOf(const Batch& batch) {
  std::vector<std::string> all;
  for (const TensorView& tensor : batch.tensors()) {
    all.emplace_back(reinterpret_cast<const char*>(tensor.host),
                     tensor.num_bytes());
  }
  return all;
}

template <class Id>
std::vector<uint32_t> TokensOf(const Batch& batch) {
  return {batch.tokens<Id>().begin(), batch.tokens<Id>().end()};
}

std::vector<uint32_t> TokensOf(const Batch& batch) {
  switch (batch.token_type()) {
    case TokenType::kU8:
      return TokensOf<uint8_t>(batch);
    case TokenType::kU16:
      return TokensOf<uint16_t>(batch);
    case TokenType::kU32:
      return TokensOf<uint32_t>(batch);
    case TokenType::kI32:
      return TokensOf<int32_t>(batch);
    case TokenType::kI64:
      break;
  }
  return TokensOf<int64_t>(batch);
}

// Expects that two runs are the same in every byte. Returns how many batches
// they have.
int ExpectSameBatches(const DatasetPtr<TokenWindow>& fast,
                      const DatasetPtr<TokenWindow>& slow, uint64_t batch_size,
                      const LoaderOptions& options) {
  const auto a = LoaderOver(fast, batch_size, options);
  const auto b = LoaderOver(slow, batch_size, options);
  int batches = 0;
  for (; batches < 100; ++batches) {
    const absl::StatusOr<Batch> first = a->NextBlocking();
    const absl::StatusOr<Batch> second = b->NextBlocking();
    EXPECT_EQ(first.ok(), second.ok());
    if (!first.ok() || !second.ok()) {
      EXPECT_EQ(first.status().code(), absl::StatusCode::kOutOfRange);
      break;
    }
    EXPECT_EQ(BytesOf(*first), BytesOf(*second)) << batches;
  }
  return batches;
}

class ArrowBatchesTest : public ::testing::Test {
 protected:
  std::string path() const { return dir_.path("a.arrow"); }

  template <class Id>
  void Write(const Rows& rows, size_t per_batch) {
    WriteFile(path(), ArrowOfRows<Id>(rows, per_batch));
  }

  // The windows of the file, with ranges or, if `is_slow`, without.
  DatasetPtr<TokenWindow> Windows(bool is_slow,
                                  const TokenSourceOptions& options = {}) {
    const auto source = OpenArrowRows(path(), is_slow, options);
    EXPECT_THAT(source, IsOk());
    const auto windows = (*source)->Windows(kWindow);
    EXPECT_THAT(windows, IsOk());
    EXPECT_EQ((*windows)->ranges() == nullptr, is_slow);
    return *windows;
  }

  // The first error of a run in batches of 4, which must have one.
  absl::Status ErrorOf(bool is_slow, TokenType type,
                       const TokenSourceOptions& options = {}) {
    LoaderOptions of_loader;
    of_loader.token_type = type;
    const auto loader = LoaderOver(Windows(is_slow, options), 4, of_loader);
    for (int i = 0; i < 1000; ++i) {
      const absl::Status status = loader->NextBlocking().status();
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const TempDir dir_;
  std::mt19937_64 random_{testing::TestSeed(31)};
};

TEST_F(ArrowBatchesTest, AreThoseOfReadRangesAndOfWhatWasWritten) {
  for (const size_t per_batch : {1, 2, 5, 40, 1000}) {
    const Rows rows = RandomRows(400, 60000, &random_);
    Write<uint16_t>(rows, per_batch);
    const std::vector<uint32_t> ids = EndToEnd(rows);
    for (const uint64_t batch_size : {1, 8, 64}) {
      LoaderOptions options;
      options.token_type = TokenType::kI32;
      options.tensors = EveryTensor();
      EXPECT_GE(
          ExpectSameBatches(Windows(false), Windows(true), batch_size, options),
          2);
      // Ids of the stored width are read in place.
      const auto loader = LoaderOver(Windows(false), batch_size,
                                     {.token_type = TokenType::kU16});
      auto at = ids.begin();
      while (static_cast<uint64_t>(ids.end() - at) >= batch_size * kWindow) {
        ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
        const auto end = at + static_cast<ptrdiff_t>(batch_size * kWindow);
        ASSERT_EQ(TokensOf(batch), std::vector<uint32_t>(at, end));
        at = end;
      }
    }
  }
}

TEST_F(ArrowBatchesTest, EveryStoredTypeBecomesEveryTypeOfTokens) {
  const auto check = [&]<class Id>(Id) {
    const Rows rows = RandomRows(100, 128, &random_);
    Write<Id>(rows, 3);
    const std::vector<uint32_t> ids = EndToEnd(rows);
    for (const TokenType type :
         {TokenType::kU8, TokenType::kU16, TokenType::kU32, TokenType::kI32,
          TokenType::kI64}) {
      for (const bool is_slow : {false, true}) {
        const auto loader =
            LoaderOver(Windows(is_slow), 8, {.token_type = type});
        for (size_t at = 0; at + 8 * kWindow <= ids.size(); at += 8 * kWindow) {
          ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
          const auto begin = ids.begin() + static_cast<ptrdiff_t>(at);
          ASSERT_EQ(TokensOf(batch),
                    std::vector<uint32_t>(begin, begin + 8 * kWindow));
        }
      }
    }
  };
  check(uint8_t{});
  check(int8_t{});
  check(uint16_t{});
  check(int16_t{});
  check(uint32_t{});
  check(int32_t{});
  check(uint64_t{});
  check(int64_t{});
}

TEST_F(ArrowBatchesTest, IdsThatAreNoneAreRefused) {
  const auto check = [&]<class Id>(Id bad, TokenType type) {
    Rows rows = RandomRows(200, 100, &random_);
    rows[rows.size() / 2] = {101, 102, 103};
    std::string bytes = ArrowOfRows<Id>(rows, 3);
    const size_t at = bytes.find(LittleEndian<Id>({101, 102, 103}));
    ASSERT_NE(at, std::string::npos);
    bytes.replace(at + sizeof(Id), sizeof(Id), LittleEndian<Id>({bad}));
    WriteFile(path(), bytes);
    for (const bool is_slow : {false, true}) {
      const absl::Status status = ErrorOf(is_slow, type);
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("a.arrow"));
    }
  };
  check(int8_t{-1}, TokenType::kU8);
  check(int16_t{-1}, TokenType::kU16);
  check(int32_t{-1}, TokenType::kU32);
  check(int32_t{-1}, TokenType::kI64);
  check(int64_t{-1}, TokenType::kI64);
  check(int64_t{-1}, TokenType::kU16);
  check(int64_t{1} << 32, TokenType::kU32);
  check(uint64_t{1} << 32, TokenType::kI64);
  check(uint64_t{1} << 63, TokenType::kI64);
  // Ids that the batch's type does not hold.
  check(int32_t{70000}, TokenType::kU16);
  check(int64_t{70000}, TokenType::kU16);
  check(uint64_t{256}, TokenType::kU8);
  check(uint32_t{1} << 31, TokenType::kI32);
}

TEST_F(ArrowBatchesTest, IdsBeyondTheVocabularyAreRefused) {
  Rows rows = RandomRows(200, 100, &random_);
  rows[70] = {100};
  Write<uint16_t>(rows, 3);
  TokenSourceOptions options;
  options.vocabulary = Vocabulary{"small", 100};
  for (const bool is_slow : {false, true}) {
    const absl::Status status = ErrorOf(is_slow, TokenType::kU16, options);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("100"));
  }
  options.vocabulary->size = 101;
  EXPECT_EQ(ErrorOf(false, TokenType::kU16, options).code(),
            absl::StatusCode::kOutOfRange);  // the end of the run
}

TEST_F(ArrowBatchesTest, AFileCutShortWhileItIsOpenIsNamed) {
  for (const IoBackend backend : {IoBackend::kAuto, IoBackend::kPread}) {
    Write<uint16_t>(RandomRows(4000, 60000, &random_), 10);
    TokenSourceOptions options;
    options.io.backend = backend;
    const auto windows = Windows(false, options);
    const auto loader = LoaderOver(windows, 8, {.token_type = TokenType::kU16});
    EXPECT_THAT(loader->NextBlocking(), IsOk());
    std::filesystem::resize_file(path(),
                                 std::filesystem::file_size(path()) / 2);
    absl::Status status;
    for (int i = 0; i < 1000 && status.ok(); ++i) {
      status = loader->NextBlocking().status();
    }
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path()));
  }
}

TEST_F(ArrowBatchesTest, PackedWindowsAreTheSame) {
  Write<int32_t>(RandomRows(3000, 60000, &random_), 7);
  std::vector<DatasetPtr<TokenWindow>> packed;
  for (const bool is_slow : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto source, OpenArrowRows(path(), is_slow));
    ASSERT_OK_AND_ASSIGN(packed.emplace_back(), source->PackedWindows(kWindow));
  }
  LoaderOptions options;
  options.token_type = TokenType::kI64;
  options.tensors = EveryTensor();
  for (const uint64_t batch_size : {1, 8, 64}) {
    EXPECT_GE(ExpectSameBatches(packed[0], packed[1], batch_size, options), 2);
  }
}

TEST_F(ArrowBatchesTest, MixedWithAStoreTheyAreTheSame) {
  testing::WriteStore(dir_.path("store"), 1, 20000);
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(dir_.path("store")));
  ASSERT_OK_AND_ASSIGN(const auto of_store, store->Windows(kWindow));
  Write<int64_t>(RandomRows(1000, 250, &random_), 9);
  std::vector<DatasetPtr<TokenWindow>> mixed;
  for (const bool is_slow : {false, true}) {
    ASSERT_OK_AND_ASSIGN(mixed.emplace_back(),
                         MixtureDataset<TokenWindow>::Create(
                             {{.name = "arrow", .dataset = Windows(is_slow)},
                              {.name = "store", .dataset = of_store}},
                             {.block_size = 16, .seed = 5}));
  }
  LoaderOptions options;
  options.token_type = TokenType::kI32;
  options.tensors = EveryTensor();
  EXPECT_GE(ExpectSameBatches(mixed[0], mixed[1], 8, options), 20);
}

TEST_F(ArrowBatchesTest, AMaskIsJoined) {
  const Rows rows = RandomRows(400, 60000, &random_);
  Write<uint16_t>(rows, 3);
  Rows mask = rows;
  for (auto& row : mask) {
    for (uint32_t& number : row) number %= 2;
  }
  WriteFile(dir_.path("mask.arrow"), ArrowOfRows<uint8_t>(mask, 3));
  TokenSourceOptions options;
  options.loss_mask = LossMaskFiles{.path = dir_.path("mask.arrow")};
  LoaderOptions of_loader;
  of_loader.token_type = TokenType::kI32;
  of_loader.tensors = EveryTensor();
  of_loader.documents.loss_across = true;
  EXPECT_GE(ExpectSameBatches(Windows(false, options), Windows(true, options),
                              8, of_loader),
            2);
  const std::vector<uint32_t> ids = EndToEnd(rows);
  const auto loader = LoaderOver(Windows(false, options), 8, of_loader);
  for (size_t at = 0; at + 8 * kWindow <= ids.size();) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (const uint8_t has_loss : batch.loss_mask()) {
      ++at;
      const bool is_last = at % kWindow == 0;
      ASSERT_EQ(has_loss, is_last ? 0 : ids[at] % 2) << at;
    }
  }
}

TEST_F(ArrowBatchesTest, ALabelMayLieBehindTheSample) {
  const Rows rows = RandomRows(400, 60000, &random_);
  Write<uint16_t>(rows, 3);
  LoaderOptions options;
  options.token_type = TokenType::kI32;
  options.tensors = {BatchTensor::kLabels};
  options.documents.labels_beyond_sample = true;
  const auto loader = LoaderOver(Windows(false), 8, options);
  const std::vector<uint32_t> ids = EndToEnd(rows);
  std::vector<bool> begins(ids.size() + 1);
  size_t begin = 0;
  for (const auto& row : rows) {
    begins[begin] = true;
    begin += row.size();
  }
  begins[begin] = true;
  size_t at = 0;
  while (at + 8 * kWindow <= ids.size()) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (const int32_t label : batch.labels<int32_t>()) {
      ++at;
      ASSERT_EQ(label,
                begins[at] ? kIgnoredLabel : static_cast<int32_t>(ids[at]));
    }
  }
}

}  // namespace
}  // namespace poniente
