// SPDX-License-Identifier: Apache-2.0
// What one rank receives for one step.

#ifndef PONIENTE_BATCH_H_
#define PONIENTE_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/batch_tensors.h"
#include "poniente/device.h"
#include "poniente/extend/index_map.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente {

// Where a sample comes from.
struct SampleProvenance {
  // Number of the sample in the run, over all steps and ranks.
  uint64_t sample = 0;
  // Number of the leaf in Loader::sources().
  uint32_t source = 0;
  // Item of the leaf (for a token store: the window), and which pass over it.
  Index item = 0;
  uint64_t epoch = 0;
  // Where in the item the sample begins: above 0 where items are cut.
  uint32_t token_begin = 0;

  friend bool operator==(const SampleProvenance&,
                         const SampleProvenance&) = default;
};

namespace internal {
template <class Id>
constexpr bool kIsIdOf(TokenType type) {
  switch (type) {
    case TokenType::kU8:
      return std::is_same_v<Id, uint8_t>;
    case TokenType::kU16:
      return std::is_same_v<Id, uint16_t>;
    case TokenType::kU32:
      return std::is_same_v<Id, uint32_t>;
    case TokenType::kI32:
      return std::is_same_v<Id, int32_t>;
    case TokenType::kI64:
      return std::is_same_v<Id, int64_t>;
  }
  return false;
}
[[noreturn]] void WrongIdType(TokenType type);
class Slot;
struct BatchAccess;

// Where the tensors of a batch lie in its memory: tokens first, the others in
// the order of BatchTensor, each at a multiple of 256 bytes.
class BatchLayout {
 public:
  // kTokens need not be named.
  explicit BatchLayout(TokenType token_type,
                       std::span<const BatchTensor> tensors = {});

  TokenType token_type() const { return token_type_; }
  bool Has(BatchTensor tensor) const {
    return (tensors_ >> static_cast<unsigned>(tensor) & 1) != 0;
  }
  ElementType TypeOf(BatchTensor tensor) const;
  // Of n samples of L tokens. Offset() of an array that is not there is where
  // it would be.
  static uint64_t Elements(BatchTensor tensor, uint64_t n, uint64_t L) {
    return tensor == BatchTensor::kLossWeights ? n : n * L;
  }
  uint64_t Offset(BatchTensor tensor, uint64_t n, uint64_t L) const;
  uint64_t Bytes(uint64_t n, uint64_t L) const;

 private:
  TokenType token_type_;
  uint32_t tensors_ = 1;  // bit by bit
};
}  // namespace internal

// The token ids of the samples of one step on one rank, [num_samples, seq_len]
// row-major, what else was asked for in such arrays, and what is known of each
// sample.
//
// Memory: page-aligned, of the host, and a copy on the GPU where the loader has
//     one; of tokens that the GPU widens (LoaderOptions::widen_on_device) there
//     alone. The copy runs beside everything else: have a stream wait for it by
//     WaitOn() before its work uses device_bytes().
// Ownership: holds its memory, which its loader fills again once the batch is
//     gone; LoaderOptions::max_held bounds how many may be held. May outlive
//     its loader. Movable, not copyable. Spans borrow from it.
// Thread safety: as a value: const access from any number of threads. WaitOn()
//     and WaitUntilCopied() may be called from any thread, too.
class Batch {
 public:
  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = default;
  ~Batch();

  uint64_t step() const { return plan_.step; }
  // The whole step over all ranks: stage, lr_scale, boundary, first sample.
  const StepPlan& plan() const { return plan_; }

  // Of this rank; 0 where there are more ranks than samples.
  size_t num_samples() const { return provenance_.size(); }
  // In tokens.
  uint32_t seq_len() const { return plan_.seq_len; }

  TokenType token_type() const { return layout_.token_type(); }
  // False only if LoaderOptions::widen_on_device was set.
  bool has_host_tokens() const { return has_host_tokens_; }

  // All ids. REQUIRES: Id is the C++ type of token_type() (uint32_t for kU32),
  // and has_host_tokens().
  template <class Id>
  std::span<const Id> tokens() const {
    return Ids<Id>(BatchTensor::kTokens);
  }
  // Those of one sample. REQUIRES: sample < num_samples(), too.
  template <class Id>
  std::span<const Id> tokens(size_t sample) const {
    return tokens<Id>().subspan(sample * seq_len(), seq_len());
  }
  // The same memory, whatever the type. REQUIRES: has_host_tokens().
  std::span<const std::byte> bytes() const;

  // FailedPrecondition if the loader was not asked for it.
  absl::StatusOr<TensorView> tensor(BatchTensor tensor) const;
  // All that are there, in the order of BatchTensor.
  std::vector<TensorView> tensors() const;
  // The same on the host, as C++ has it: empty if it was not asked for.
  // REQUIRES: Id as above.
  template <class Id>
  std::span<const Id> labels() const {
    return Ids<Id>(BatchTensor::kLabels);
  }
  std::span<const uint8_t> loss_mask() const {
    return HostSpan<uint8_t>(BatchTensor::kLossMask);
  }
  std::span<const int32_t> document_ids() const {
    return HostSpan<int32_t>(BatchTensor::kDocumentIds);
  }
  std::span<const int32_t> positions() const {
    return HostSpan<int32_t>(BatchTensor::kPositions);
  }
  std::span<const float> loss_weights() const {
    return HostSpan<float>(BatchTensor::kLossWeights);
  }

  // Where the batch is to be used: the GPU asked for, or the host.
  const Device& device() const;
  // The ids on the device, of token_type(), row after row; null on the host.
  const std::byte* device_bytes() const;
  // The work queued on `stream` (a cudaStream_t; null: the default stream) from
  // now on finds the batch on the device; the calling thread does not wait. The
  // memory is not written again before what is queued there when the batch is
  // destroyed has run, so the stream must live that long. Call it for each
  // stream that uses the batch. FailedPrecondition on the host; Internal: what
  // the driver says.
  absl::Status WaitOn(void* stream) const;
  // Blocks the thread until the batch is on the device. Whoever reads them
  // without a stream that has called WaitOn() is to be done before the batch is
  // destroyed. Ok at once on the host.
  absl::Status WaitUntilCopied() const;

  // The memory of the batch, for whoever uses it beyond the batch: it stays as
  // it is, and counts as held, while a copy of the pointer lives. Any thread
  // may let go of the last one. dlpack.h hands tensors on with it.
  std::shared_ptr<const void> ShareMemory() const;

  // Number of the sample's leaf in Loader::sources().
  uint32_t source(size_t sample) const { return provenance_[sample].source; }
  const SampleProvenance& provenance(size_t sample) const {
    return provenance_[sample];
  }

 private:
  // What the loader alone may call: src/loader/batch_access.h.
  friend struct internal::BatchAccess;
  Batch(StepPlan plan, size_t num_samples, internal::BatchLayout layout,
        std::shared_ptr<internal::Slot> slot);

  bool IsOnHost(BatchTensor tensor) const {
    return has_host_tokens_ || tensor != BatchTensor::kTokens;
  }
  // REQUIRES: IsOnHost().
  const std::byte* HostBytes(BatchTensor tensor) const;
  uint64_t NumElements(BatchTensor tensor) const;

  template <class T>
  std::span<const T> HostSpan(BatchTensor tensor) const {
    if (!layout_.Has(tensor)) return {};
    return {reinterpret_cast<const T*>(HostBytes(tensor)), NumElements(tensor)};
  }
  template <class Id>
  std::span<const Id> Ids(BatchTensor tensor) const {
    if (!internal::kIsIdOf<Id>(token_type())) {
      internal::WrongIdType(token_type());
    }
    return HostSpan<Id>(tensor);
  }

  StepPlan plan_;
  internal::BatchLayout layout_;
  std::vector<SampleProvenance> provenance_;
  std::shared_ptr<internal::Slot> slot_;
  bool has_host_tokens_ = true;
};

}  // namespace poniente

#endif  // PONIENTE_BATCH_H_
