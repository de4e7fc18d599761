// SPDX-License-Identifier: Apache-2.0
// LoaderOptions::widen_on_device, with a device in the memory of the host.
#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "loader/batch_assembler.h"
#include "poniente/dlpack.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/fake_accelerator.h"
#include "tests/support/file_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using testing::FakeAccelerator;
using testing::FakeDevice;
using testing::FileWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr uint32_t kWidenedSeqLen = 37;
constexpr uint64_t kWindows = 20;  // of each of two files
constexpr uint64_t kWidenedBatch = 13;
constexpr uint64_t kIds = 200;  // of the vocabulary

// Windows that are a document each.
class DocumentWindows final : public FileWindows, public PiecewiseItems {
 public:
  using FileWindows::FileWindows;

  void LocateTokens(uint64_t begin, uint64_t end,
                    std::vector<FileRange>* found) const override {
    found->push_back({0, begin * width_bytes(), (end - begin) * width_bytes()});
  }
  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    const uint64_t begin = position.index * kWidenedSeqLen;
    return std::vector<ItemPiece>{
        {position.index, begin, begin + kWidenedSeqLen}};
  }
  bool HasPiecesInMemory(const Position&) const override { return true; }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    const uint64_t begin = document * kWidenedSeqLen;
    return std::vector<PieceOfItem>{
        {document, 0, begin, begin + kWidenedSeqLen}};
  }
};

class DeviceWideningTest : public ::testing::Test {
 protected:
  // A file of random ids, the one at `wrong` too large.
  DatasetPtr<TokenWindow> File(const std::string& name, uint32_t width,
                               uint64_t wrong = UINT64_MAX) {
    std::mt19937_64 random(testing::TestSeed(36) + width);
    std::string bytes;
    for (uint64_t i = 0; i < kWindows * kWidenedSeqLen; ++i) {
      const uint32_t id =
          static_cast<uint32_t>(i == wrong ? kIds : random() % kIds);
      bytes.append(reinterpret_cast<const char*>(&id), width);
    }
    testing::WriteFile(folder_.path(name), bytes);
    const auto reader =
        ByteReader::Open(std::vector<std::string>{folder_.path(name)});
    EXPECT_THAT(reader, IsOk());
    return std::make_shared<FileWindows>(*reader, kWidenedSeqLen, width, kIds);
  }
  DatasetPtr<TokenWindow> Files(uint32_t width, uint32_t other_width) {
    return *Concat<TokenWindow>(
        {{"a", File("a", width)}, {"b", File("b", other_width)}});
  }
  // Documents of u16 ids that are filled in the middle, with these marks.
  DatasetPtr<TokenWindow> Infilled(uint32_t first_mark) {
    File("documents", 2);
    const auto reader =
        ByteReader::Open(std::vector<std::string>{folder_.path("documents")});
    EXPECT_THAT(reader, IsOk());
    InfilledSource source;
    source.options.rate = 0.8;
    source.options.prefix = first_mark;
    source.options.middle = first_mark + 1;
    source.options.suffix = first_mark + 2;
    const auto infilled = InfilledDataset::Create(
        std::make_shared<DocumentWindows>(*reader, kWidenedSeqLen, 2, 100'000),
        {source});
    EXPECT_THAT(infilled, IsOk());
    return *infilled;
  }
  static DatasetPtr<TokenWindow> Shuffled(DatasetPtr<TokenWindow> dataset) {
    return *Shuffle(std::move(dataset), uint64_t{3});
  }

  std::shared_ptr<SlotRing> OnDevice() {
    return std::make_shared<SlotRing>(
        Device{DeviceType::kCuda, 0},
        std::make_unique<FakeAccelerator>(&device_), 4,
        [](std::string_view) {});
  }
  static std::shared_ptr<SlotRing> OnHost() {
    return std::make_shared<SlotRing>(Device(), nullptr, 4,
                                      [](std::string_view) {});
  }
  static absl::StatusOr<Batch> Assemble(const DatasetPtr<TokenWindow>& dataset,
                                        const LoaderOptions& options,
                                        std::shared_ptr<SlotRing> slots,
                                        uint64_t step = 0) {
    ScheduleOptions schedule;
    schedule.batch_size = kWidenedBatch;
    schedule.seq_len = kWidenedSeqLen;
    const BatchAssembler assembler(dataset, *Schedule::Create(schedule),
                                   options, std::move(slots));
    FetchTimes times;
    auto batch =
        RunBlocking(assembler.Assemble(step, /*may_hand_over=*/false, &times));
    if (!batch.ok()) return batch.status();
    return **std::move(batch);
  }
  static LoaderOptions Options(TokenType type,
                               std::vector<BatchTensor> tensors = {}) {
    LoaderOptions options;
    options.token_type = type;
    options.tensors = std::move(tensors);
    options.widen_on_device = true;
    return options;
  }
  static std::string Bytes(const std::byte* bytes, uint64_t count) {
    return std::string(reinterpret_cast<const char*>(bytes), count);
  }

  // All tensors of the batch are on the device as one made on the host alone
  // has them, and, but for the tokens, on its host as well.
  void ExpectAsOnHost(const Batch& batch,
                      const DatasetPtr<TokenWindow>& dataset,
                      const LoaderOptions& options) {
    const auto expected = Assemble(dataset, options, OnHost(), batch.step());
    ASSERT_THAT(expected, IsOk());
    ASSERT_TRUE(expected->has_host_tokens());
    ASSERT_THAT(batch.WaitUntilCopied(), IsOk());
    const auto tensors = batch.tensors();
    const auto others = expected->tensors();
    ASSERT_EQ(tensors.size(), others.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const uint64_t bytes = others[i].num_bytes();
      const std::string wanted = Bytes(others[i].host, bytes);
      EXPECT_EQ(tensors[i].type, others[i].type);
      EXPECT_EQ(Bytes(tensors[i].device, bytes), wanted) << tensors[i].name;
      if (tensors[i].host == nullptr) continue;
      EXPECT_EQ(Bytes(tensors[i].host, bytes), wanted) << tensors[i].name;
    }
  }

  const testing::TempDir folder_;
  FakeDevice device_;
};

struct WidthCase {
  uint32_t stored;
  TokenType type;
};
void PrintTo(const WidthCase& one, std::ostream* out) {
  *out << one.stored << " bytes to " << TokenTypeName(one.type);
}

class WidthsTest : public DeviceWideningTest,
                   public ::testing::WithParamInterface<WidthCase> {};

INSTANTIATE_TEST_SUITE_P(All, WidthsTest,
                         ::testing::Values(WidthCase{1, TokenType::kU16},
                                           WidthCase{1, TokenType::kU32},
                                           WidthCase{1, TokenType::kI32},
                                           WidthCase{1, TokenType::kI64},
                                           WidthCase{2, TokenType::kU32},
                                           WidthCase{2, TokenType::kI32},
                                           WidthCase{2, TokenType::kI64},
                                           WidthCase{4, TokenType::kI64}));

TEST_P(WidthsTest, TheDeviceHasWhatTheHostWouldHaveMade) {
  const auto dataset = Shuffled(Files(GetParam().stored, GetParam().stored));
  const LoaderOptions options = Options(
      GetParam().type, {BatchTensor::kLossWeights, BatchTensor::kDocumentIds});
  const auto slots = OnDevice();
  for (uint64_t step = 0; step < 3; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch,
                         Assemble(dataset, options, slots, step));
    EXPECT_FALSE(batch.has_host_tokens());
    EXPECT_EQ(batch.token_type(), GetParam().type);
    ExpectAsOnHost(batch, dataset, options);
  }
}

TEST_F(DeviceWideningTest, DocumentsThatAreFilledInTheMiddle) {
  const auto dataset = Infilled(65533);
  const LoaderOptions options =
      Options(TokenType::kI64, {BatchTensor::kPositions});
  ASSERT_OK_AND_ASSIGN(const Batch batch,
                       Assemble(dataset, options, OnDevice()));
  EXPECT_FALSE(batch.has_host_tokens());
  ExpectAsOnHost(batch, dataset, options);
  ASSERT_OK_AND_ASSIGN(const Batch on_host,
                       Assemble(dataset, options, OnHost()));
  const auto ids = on_host.tokens<int64_t>();
  EXPECT_GT(std::count(ids.begin(), ids.end(), 65535), 3);
}

TEST_F(DeviceWideningTest, OnlyStoredBytesAreCopied) {
  ASSERT_OK_AND_ASSIGN(
      const Batch batch,
      Assemble(Files(2, 2), Options(TokenType::kI64), OnDevice()));
  EXPECT_EQ(device_.copied, kWidenedBatch * kWidenedSeqLen * 2);
}

TEST_F(DeviceWideningTest, TheHostDoesNotPretendToHaveTokens) {
  ASSERT_OK_AND_ASSIGN(
      const Batch batch,
      Assemble(Files(2, 2), Options(TokenType::kI64, {BatchTensor::kPositions}),
               OnDevice()));
  EXPECT_EQ(batch.tensor(BatchTensor::kTokens)->host, nullptr);
  EXPECT_NE(batch.tensor(BatchTensor::kTokens)->device, nullptr);
  EXPECT_THAT(HostDlpack(batch, BatchTensor::kTokens),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("widen_on_device")));
  EXPECT_DEATH(batch.tokens<int64_t>(), "has_host_tokens");
  EXPECT_DEATH(batch.tokens<int64_t>(3), "has_host_tokens");
  EXPECT_DEATH(batch.bytes(), "has_host_tokens");
  EXPECT_EQ(batch.positions()[kWidenedSeqLen + 5], 5);
  EXPECT_THAT(HostDlpack(batch, BatchTensor::kPositions), IsOk());
  ASSERT_OK_AND_ASSIGN(const DlpackTensor exported,
                       DeviceDlpack(batch, BatchTensor::kTokens, nullptr));
  EXPECT_EQ(exported->dl_tensor.data, batch.device_bytes());
  EXPECT_EQ(exported->dl_tensor.dtype.bits, 64);
}

TEST_F(DeviceWideningTest, IdsThatAreTooLargeAreFoundStill) {
  const auto dataset = File("ids", 2, 5 * kWidenedSeqLen + 11);
  EXPECT_THAT(Assemble(dataset, Options(TokenType::kI64), OnDevice()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("item 5"), HasSubstr("id 200"))));
}

// More ranks than samples.
TEST_F(DeviceWideningTest, ABatchWithoutSamplesIsOne) {
  LoaderOptions options = Options(TokenType::kI64);
  options.ranks = 2 * kWidenedBatch;
  options.rank = 0;
  ASSERT_OK_AND_ASSIGN(const Batch batch,
                       Assemble(Files(2, 2), options, OnDevice()));
  EXPECT_EQ(batch.num_samples(), 0u);
  EXPECT_FALSE(batch.has_host_tokens()) << "as of any batch of the loader";
  EXPECT_THAT(batch.WaitUntilCopied(), IsOk());
}

TEST_F(DeviceWideningTest, RoomForStoredIdsIsCounted) {
  ScheduleOptions schedule;
  schedule.batch_size = kWidenedBatch;
  schedule.seq_len = kWidenedSeqLen;
  const BatchAssembler assembler(Files(2, 2), *Schedule::Create(schedule),
                                 Options(TokenType::kI64), OnDevice());
  EXPECT_EQ(assembler.BytesOf(0), kWidenedBatch * kWidenedSeqLen * (8 + 2));
}

// ---- Where the host widens, or nobody has to

class HostWidensTest : public DeviceWideningTest {
 protected:
  void ExpectHostTokens(const DatasetPtr<TokenWindow>& dataset,
                        const LoaderOptions& options) {
    ASSERT_OK_AND_ASSIGN(const Batch batch,
                         Assemble(dataset, options, OnDevice()));
    EXPECT_TRUE(batch.has_host_tokens());
    EXPECT_NE(batch.tensor(BatchTensor::kTokens)->host, nullptr);
    ExpectAsOnHost(batch, dataset, options);
  }
};

TEST_F(HostWidensTest, UnlessAskedOtherwise) {
  LoaderOptions options = Options(TokenType::kI64);
  options.widen_on_device = LoaderOptions().widen_on_device;
  ExpectHostTokens(Files(2, 2), options);
}

TEST_F(HostWidensTest, SourcesOfSeveralWidths) {
  ExpectHostTokens(Shuffled(Files(2, 1)), Options(TokenType::kI64));
}

TEST_F(HostWidensTest, MarksThatStoredIdsCannotHold) {
  ExpectHostTokens(Infilled(65534), Options(TokenType::kI64));
}

TEST_F(HostWidensTest, SourcesOfTheBatchesWidth) {
  ExpectHostTokens(Files(2, 2), Options(TokenType::kU16));
  ExpectHostTokens(Files(4, 4), Options(TokenType::kI32));
}

TEST_F(HostWidensTest, WhereLabelsAreMadeOfTheTokens) {
  ExpectHostTokens(Files(2, 2),
                   Options(TokenType::kI64, {BatchTensor::kLabels}));
}

TEST_F(HostWidensTest, WhatAFunctionMakes) {
  ExpectHostTokens(Map<TokenWindow>("same", Files(2, 2),
                                    [](TokenWindow window) { return window; }),
                   Options(TokenType::kI64));
}

TEST_F(HostWidensTest, WhereTheDeviceCannot) {
  device_.can_widen = false;
  ExpectHostTokens(Files(2, 2), Options(TokenType::kI64));
}

TEST_F(HostWidensTest, WhereThereIsNoDevice) {
  ASSERT_OK_AND_ASSIGN(
      const Batch batch,
      Assemble(Files(2, 2), Options(TokenType::kI64), OnHost()));
  EXPECT_TRUE(batch.has_host_tokens());
}

}  // namespace
}  // namespace poniente::internal
