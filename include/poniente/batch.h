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

// Where a sample comes from: leaf, item, epoch and place in the item.
struct SampleProvenance {
  // Number of the sample in the run, counted over all steps and ranks.
  uint64_t sample = 0;
  // Number of the leaf in Loader::sources().
  uint32_t source = 0;
  // Item of the leaf (for a token store: the window), and which pass over the
  // leaf this is.
  Index item = 0;
  uint64_t epoch = 0;
  // Token of the item at which the sample begins; above 0 only where items are
  // cut into several samples.
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

// Where the tensors of a batch lie in its memory: tokens first, then the others
// in the order of BatchTensor, each at a multiple of 256 bytes.
class BatchLayout {
 public:
  // `tensors` need not include kTokens.
  // `max_documents`: of a sample; 0: as many as it has tokens.
  explicit BatchLayout(TokenType token_type,
                       std::span<const BatchTensor> tensors = {},
                       uint32_t max_documents = 0);

  TokenType token_type() const { return token_type_; }
  bool Has(BatchTensor tensor) const {
    return (tensors_ >> static_cast<unsigned>(tensor) & 1) != 0;
  }
  ElementType TypeOf(BatchTensor tensor) const;
  // These are for `n` samples of `L` tokens. Offset() of an absent tensor is
  // where it would be.
  uint64_t Elements(BatchTensor tensor, uint64_t n, uint64_t L) const;
  uint64_t MaxDocuments(uint64_t L) const {
    return max_documents_ == 0 || max_documents_ > L ? L : max_documents_;
  }
  uint64_t Offset(BatchTensor tensor, uint64_t n, uint64_t L) const;
  uint64_t Bytes(uint64_t n, uint64_t L) const;

 private:
  TokenType token_type_;
  uint32_t tensors_ = 1;  // bit t: BatchTensor t is there
  uint32_t max_documents_ = 0;
};

// What a batch has besides its tensors. The slot keeps it for the next batch,
// whose vectors then need no new memory.
struct BatchFacts {
  StepPlan plan;
  uint32_t seq_len = 0;
  std::vector<SampleProvenance> provenance;
  Slot* slot = nullptr;
};
}  // namespace internal

// The samples of one step on one rank: token ids as [num_samples, seq_len]
// row-major, the other tensors that were requested, and the provenance of each
// sample.
//
// Memory: page-aligned host memory, plus a copy on the GPU if the loader has
//     one. Tokens that the GPU widens (LoaderOptions::widen_on_device) are on
//     the GPU only. The copy runs in the background: call WaitOn() for a stream
//     before its work uses device_bytes().
// Ownership: owns its memory, which the loader fills again after the batch is
//     destroyed; LoaderOptions::max_held bounds how many batches may be held.
//     May outlive its loader. Movable, not copyable; a batch that was moved
//     from may only be assigned to or destroyed. Spans borrow from the batch.
// Thread safety: as a value: const access from any number of threads. WaitOn()
//     and WaitUntilCopied() may also be called from any thread.
class Batch {
 public:
  Batch(Batch&&) = default;
  Batch& operator=(Batch&&) = default;
  ~Batch();

  uint64_t step() const { return plan().step; }
  // Returns the plan of the whole step over all ranks: stage, lr_scale,
  // boundary, first sample.
  const StepPlan& plan() const { return facts_->plan; }

  // Returns the number of this rank's samples; 0 if there are more ranks than
  // samples and this one gets none.
  size_t num_samples() const {
    return facts_ == nullptr ? 0 : facts_->provenance.size();
  }
  // Returns the tokens per sample; with context parallelism, those that this
  // rank has of each.
  uint32_t seq_len() const { return facts_->seq_len; }

  TokenType token_type() const { return layout_.token_type(); }
  // Returns whether the host has the tokens; false only if
  // LoaderOptions::widen_on_device was set.
  bool has_host_tokens() const { return has_host_tokens_; }

  // Returns all ids. REQUIRES: Id is the C++ type of token_type() (uint32_t for
  // kU32), and has_host_tokens().
  template <class Id>
  std::span<const Id> tokens() const {
    return Ids<Id>(BatchTensor::kTokens);
  }
  // Returns the ids of one sample. REQUIRES: as above, and sample <
  // num_samples().
  template <class Id>
  std::span<const Id> tokens(size_t sample) const {
    return tokens<Id>().subspan(sample * seq_len(), seq_len());
  }
  // Returns all ids as bytes, whatever their type. REQUIRES:
  // has_host_tokens().
  std::span<const std::byte> bytes() const;

  // Returns one tensor; FailedPrecondition if the loader was not asked for it.
  absl::StatusOr<TensorView> tensor(BatchTensor tensor) const;
  // Returns all tensors of the batch, in the order of BatchTensor.
  std::vector<TensorView> tensors() const;
  // Return one tensor on the host as a typed span; empty if the loader was not
  // asked for it. REQUIRES for labels(): Id as for tokens().
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
  std::span<const int32_t> cu_seqlens() const {
    return HostSpan<int32_t>(BatchTensor::kCuSeqlens);
  }
  std::span<const int32_t> document_counts() const {
    return HostSpan<int32_t>(BatchTensor::kDocumentCounts);
  }
  std::span<const int32_t> max_seqlens() const {
    return HostSpan<int32_t>(BatchTensor::kMaxSeqlens);
  }
  // Returns the most documents of a sample that cu_seqlens() have room for.
  uint32_t max_documents() const {
    return static_cast<uint32_t>(layout_.MaxDocuments(seq_len()));
  }

  // Returns where the batch was delivered: the GPU asked for, or the host.
  const Device& device() const;
  // Returns the ids on the device, of token_type(), row-major; null if the
  // batch is on the host.
  const std::byte* device_bytes() const;
  // Makes `stream` (a cudaStream_t; null: the default stream) wait for the
  // batch: work that is queued on it after this call runs once the batch is on
  // the device. The calling thread does not wait. Call it for each stream that
  // uses the batch. The stream must live until the batch, and every pointer of
  // ShareMemory(), is destroyed; the memory is reused only after the work that
  // is queued on the stream at that time has run. FailedPrecondition if the
  // batch is on the host; Internal for a driver error.
  absl::Status WaitOn(void* stream) const;
  // Blocks the thread until the batch is on the device. Code that reads the
  // batch without a stream passed to WaitOn() must finish before the batch is
  // destroyed. Returns OK at once if the batch is on the host.
  absl::Status WaitUntilCopied() const;

  // Returns a pointer that keeps the batch's memory valid and unchanged, and
  // counted as held, while a copy of the pointer lives. The last copy may be
  // destroyed on any thread. dlpack.h uses it to share tensors.
  std::shared_ptr<const void> ShareMemory() const;

  // Returns the number of the sample's leaf in Loader::sources().
  uint32_t source(size_t sample) const { return provenance(sample).source; }
  const SampleProvenance& provenance(size_t sample) const {
    return facts_->provenance[sample];
  }

 private:
  // The functions that only the loader calls: src/loader/batch_access.h.
  friend struct internal::BatchAccess;
  Batch(StepPlan plan, size_t num_samples, uint32_t seq_len,
        internal::BatchLayout layout, std::shared_ptr<internal::Slot> slot);

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

  internal::BatchLayout layout_;
  // Owns the slot, which owns the facts. Null once the batch was moved from.
  std::shared_ptr<internal::BatchFacts> facts_;
  bool has_host_tokens_ = true;
};

}  // namespace poniente

#endif  // PONIENTE_BATCH_H_
