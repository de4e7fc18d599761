// SPDX-License-Identifier: Apache-2.0
#include "poniente/dlpack.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "loader/batch_access.h"
#include "poniente/task.h"
#include "staging/slot_ring.h"
#include "tests/support/made_batch.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::poniente::testing::MadeBatch;
using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kNow = 0;
void* const kStream = const_cast<char*>(&kNow);

// A GPU whose memory is the host's and whose work is done at once. Counts what
// is asked of streams.
struct InstantGpu {
  int waits = 0;
  int records = 0;
};

class InstantEvent final : public internal::DeviceEvent {
 public:
  explicit InstantEvent(InstantGpu* gpu) : gpu_(gpu) {}
  absl::Status Record(internal::DeviceStream stream) override {
    EXPECT_EQ(stream, kStream);
    ++gpu_->records;
    return absl::OkStatus();
  }
  absl::Status MakeWait(internal::DeviceStream stream) override {
    EXPECT_EQ(stream, kStream);
    ++gpu_->waits;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> IsDone() override { return true; }
  absl::Status Wait() override { return absl::OkStatus(); }

 private:
  InstantGpu* const gpu_;
};

class InstantAccelerator final : public internal::Accelerator {
 public:
  explicit InstantAccelerator(InstantGpu* gpu) : gpu_(gpu) {}
  absl::Status Lock(std::span<std::byte>) override { return absl::OkStatus(); }
  void Unlock(std::span<std::byte>) override {}
  absl::StatusOr<std::byte*> Allocate(size_t bytes) override {
    return new std::byte[bytes];
  }
  void Free(std::byte* memory) override { delete[] memory; }
  void WaitForAll() override {}
  absl::Status Copy(std::span<const std::byte> from, std::byte* to) override {
    std::memcpy(to, from.data(), from.size());
    return absl::OkStatus();
  }
  bool can_widen() override { return false; }
  absl::Status Widen(const std::byte*, std::byte*,
                     const internal::Widening&) override {
    return absl::UnimplementedError("");
  }
  absl::Status RecordCopies(internal::DeviceEvent*) override {
    return absl::OkStatus();
  }
  absl::Status HoldCopiesFor(internal::DeviceEvent*) override {
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<internal::DeviceEvent>> MakeEvent() override {
    return std::make_unique<InstantEvent>(gpu_);
  }

 private:
  InstantGpu* const gpu_;
};

StepPlan PlanOf(uint32_t seq_len) {
  StepPlan plan;
  plan.seq_len = seq_len;
  return plan;
}

// A batch of 2 x 3 ids, 1 to 6, in the ring's memory, held by its consumer.
Batch HeldBatch(internal::SlotRing* ring) {
  const uint16_t ids[] = {1, 2, 3, 4, 5, 6};
  auto slot = *RunBlocking(ring->Take(sizeof ids));
  std::memcpy(slot->host().data(), ids, sizeof ids);
  EXPECT_THAT(slot->Upload(sizeof ids), testing::IsOk());
  Batch batch = internal::BatchAccess::Make(
      PlanOf(3), 2, 3, internal::BatchLayout(TokenType::kU16), std::move(slot));
  internal::BatchAccess::MarkHeld(&batch);
  return batch;
}

std::shared_ptr<internal::SlotRing> HostRing() {
  return std::make_shared<internal::SlotRing>(Device(), nullptr, 2,
                                              [](std::string_view) {});
}

std::vector<uint16_t> ElementsOf(const DLTensor& tensor) {
  const auto* const data = reinterpret_cast<const uint16_t*>(
      static_cast<const std::byte*>(tensor.data) + tensor.byte_offset);
  std::vector<uint16_t> elements;
  for (int64_t row = 0; row < tensor.shape[0]; ++row) {
    for (int64_t i = 0; i < tensor.shape[1]; ++i) {
      elements.push_back(data[row * tensor.strides[0] + i * tensor.strides[1]]);
    }
  }
  return elements;
}

TEST(HostDlpackTest, SaysWhereTheIdsLie) {
  const auto ring = HostRing();
  const Batch batch = HeldBatch(ring.get());
  ASSERT_OK_AND_ASSIGN(const DlpackTensor made,
                       HostDlpack(batch, BatchTensor::kTokens));
  const DLTensor& tensor = made->dl_tensor;
  EXPECT_EQ(tensor.data, batch.bytes().data());
  EXPECT_EQ(tensor.byte_offset, 0u);
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor.device.device_id, 0);
  ASSERT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.shape[1], 3);
  EXPECT_EQ(ElementsOf(tensor), (std::vector<uint16_t>{1, 2, 3, 4, 5, 6}));
}

struct TypeCase {
  TokenType type;
  uint8_t code;
  uint8_t bits;
};

class DlpackTypeTest : public ::testing::TestWithParam<TypeCase> {};

TEST_P(DlpackTypeTest, IsThatOfTheBatch) {
  const Batch batch = MadeBatch(PlanOf(3), 2, GetParam().type);
  ASSERT_OK_AND_ASSIGN(const DlpackTensor made,
                       HostDlpack(batch, BatchTensor::kTokens));
  EXPECT_EQ(made->dl_tensor.dtype.code, GetParam().code);
  EXPECT_EQ(made->dl_tensor.dtype.bits, GetParam().bits);
  EXPECT_EQ(made->dl_tensor.dtype.lanes, 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, DlpackTypeTest,
    ::testing::Values(TypeCase{TokenType::kU8, kDLUInt, 8},
                      TypeCase{TokenType::kU16, kDLUInt, 16},
                      TypeCase{TokenType::kU32, kDLUInt, 32},
                      TypeCase{TokenType::kI32, kDLInt, 32},
                      TypeCase{TokenType::kI64, kDLInt, 64}));

TEST(HostDlpackTest, KeepsTheMemoryWhenBatchAndLoaderAreGone) {
  auto ring = HostRing();
  std::optional<Batch> batch = HeldBatch(ring.get());
  ASSERT_OK_AND_ASSIGN(DlpackTensor tensor,
                       HostDlpack(*batch, BatchTensor::kTokens));
  ASSERT_OK_AND_ASSIGN(DlpackTensor second,
                       HostDlpack(*batch, BatchTensor::kTokens));
  batch.reset();
  EXPECT_EQ(ring->num_held(), 1u) << "two tensors of one batch";
  tensor.reset();
  EXPECT_EQ(ring->num_held(), 1u);
  ring.reset();
  EXPECT_EQ(ElementsOf(second->dl_tensor)[5], 6);
}

TEST(HostDlpackTest, ItsDeleterOnAnotherThreadLetsGoOfTheSlot) {
  const auto ring = HostRing();
  std::optional<Batch> batch = HeldBatch(ring.get());
  ASSERT_OK_AND_ASSIGN(DlpackTensor tensor,
                       HostDlpack(*batch, BatchTensor::kTokens));
  DLManagedTensor* const handed_on = tensor.release();
  batch.reset();
  EXPECT_EQ(ring->num_held(), 1u);
  std::thread([handed_on] { handed_on->deleter(handed_on); }).join();
  EXPECT_EQ(ring->num_held(), 0u);
}

TEST(HostDlpackTest, ABatchWithoutSamplesGivesNoElements) {
  const Batch batch = MadeBatch(PlanOf(3), 0, TokenType::kI64);
  ASSERT_OK_AND_ASSIGN(const DlpackTensor made,
                       HostDlpack(batch, BatchTensor::kTokens));
  EXPECT_EQ(made->dl_tensor.ndim, 2);
  EXPECT_EQ(made->dl_tensor.shape[0], 0);
  EXPECT_EQ(made->dl_tensor.shape[1], 3);
}

TEST(HostDlpackTest, ATensorNotAskedForIsFailedPrecondition) {
  const Batch batch = MadeBatch(PlanOf(3), 1, TokenType::kU8);
  EXPECT_THAT(
      HostDlpack(batch, BatchTensor::kLabels),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("labels")));
}

TEST(HostDlpackTest, TensorsHaveTheirOwnPlacesTypesAndDimensions) {
  const auto ring = HostRing();
  const BatchTensor all[] = {BatchTensor::kPositions,
                             BatchTensor::kLossWeights};
  const internal::BatchLayout layout(TokenType::kU8, all);
  const Batch batch = internal::BatchAccess::Make(
      PlanOf(3), 2, 3, layout, *RunBlocking(ring->Take(layout.Bytes(2, 3))));
  for (const TensorView& view : batch.tensors()) {
    ASSERT_OK_AND_ASSIGN(const BatchTensor which, ParseBatchTensor(view.name));
    ASSERT_OK_AND_ASSIGN(const DlpackTensor made, HostDlpack(batch, which));
    EXPECT_EQ(made->dl_tensor.data, view.host) << view.name;
    EXPECT_EQ(made->dl_tensor.ndim, static_cast<int>(view.dimensions));
    EXPECT_EQ(made->dl_tensor.shape[0], 2);
    EXPECT_EQ(made->dl_tensor.dtype.bits, 8 * ElementTypeBytes(view.type));
  }
  ASSERT_OK_AND_ASSIGN(const DlpackTensor weights,
                       HostDlpack(batch, BatchTensor::kLossWeights));
  EXPECT_EQ(weights->dl_tensor.ndim, 1);
  EXPECT_EQ(weights->dl_tensor.strides[0], 1);
  EXPECT_EQ(weights->dl_tensor.dtype.code, kDLFloat);
}

TEST(DeviceDlpackTest, OfABatchOnTheHostIsFailedPrecondition) {
  const Batch batch = MadeBatch(PlanOf(3), 1, TokenType::kU8);
  EXPECT_THAT(
      DeviceDlpack(batch, BatchTensor::kTokens, nullptr),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("host")));
}

TEST(DeviceDlpackTest, TheStreamWaitsAndIsWaitedForOnceTheTensorIsLetGoOf) {
  InstantGpu gpu;
  const auto ring = std::make_shared<internal::SlotRing>(
      Device{DeviceType::kCuda, 3}, std::make_unique<InstantAccelerator>(&gpu),
      2, [](std::string_view) {});
  std::optional<Batch> batch = HeldBatch(ring.get());
  const std::byte* const on_device = batch->device_bytes();
  ASSERT_OK_AND_ASSIGN(DlpackTensor made,
                       DeviceDlpack(*batch, BatchTensor::kTokens, kStream));
  EXPECT_EQ(gpu.waits, 1);
  EXPECT_EQ(made->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(made->dl_tensor.device.device_id, 3);
  EXPECT_EQ(made->dl_tensor.data, on_device);
  EXPECT_EQ(ElementsOf(made->dl_tensor)[4], 5);
  const int before = gpu.records;
  batch.reset();
  EXPECT_EQ(gpu.records, before);
  EXPECT_EQ(ring->num_held(), 1u);
  made.reset();
  EXPECT_EQ(gpu.records, before + 1);
  EXPECT_EQ(ring->num_held(), 0u);
}

}  // namespace
}  // namespace poniente
