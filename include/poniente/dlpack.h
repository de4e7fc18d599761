// SPDX-License-Identifier: Apache-2.0
// Tensors of a batch for other frameworks, without a copy, as DLPack describes
// them.

#ifndef PONIENTE_DLPACK_H_
#define PONIENTE_DLPACK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "poniente/batch.h"
#include "poniente/batch_tensors.h"

// Of dlpack/dlpack.h, before its version 1.
struct DLManagedTensor;

namespace poniente {

// Calls the tensor's own deleter.
struct DlpackDeleter {
  void operator()(DLManagedTensor* tensor) const noexcept;
};

// A tensor that has not been handed on: release() gives it to whoever will call
// its deleter once, a "dltensor" capsule of Python for example.
//
// Ownership: shares the batch's memory, which stays as it is and counts as held
//     (LoaderOptions::max_held) until the deleter is called. Batch and loader
//     may be gone before.
// Thread safety: the deleter may be called on any thread.
using DlpackTensor = std::unique_ptr<DLManagedTensor, DlpackDeleter>;

// A tensor of the batch in the memory of the host. Who takes it must not write
// to it.
//
// Errors: FailedPrecondition if the loader was not asked for it, or if it is
//     the tokens and the device widens them (LoaderOptions::widen_on_device).
absl::StatusOr<DlpackTensor> HostDlpack(const Batch& batch, BatchTensor tensor);

// The same on the batch's GPU, after batch.WaitOn(stream): use it on that
// stream, which must live until the deleter has been called.
//
// Errors: FailedPrecondition, too, if the batch is on the host; Internal: what
//     the driver says.
absl::StatusOr<DlpackTensor> DeviceDlpack(const Batch& batch,
                                          BatchTensor tensor, void* stream);

}  // namespace poniente

#endif  // PONIENTE_DLPACK_H_
