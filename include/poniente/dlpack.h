// SPDX-License-Identifier: Apache-2.0
// Passes tensors of a batch to other frameworks without a copy, as DLPack
// defines them.

#ifndef PONIENTE_DLPACK_H_
#define PONIENTE_DLPACK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "poniente/batch.h"
#include "poniente/batch_tensors.h"

// From dlpack/dlpack.h, before its version 1.
struct DLManagedTensor;

namespace poniente {

// Calls the tensor's own deleter.
struct DlpackDeleter {
  void operator()(DLManagedTensor* tensor) const noexcept;
};

// A tensor that no other framework owns yet. release() passes it to code that
// will call its deleter once, for example a "dltensor" capsule of Python.
//
// Ownership: shares the batch's memory, which stays unchanged and counts as
//     held (LoaderOptions::max_held) until the deleter is called. Batch and
//     loader may be destroyed before that.
// Thread safety: the deleter may be called on any thread.
using DlpackTensor = std::unique_ptr<DLManagedTensor, DlpackDeleter>;

// Returns a tensor of the batch in host memory. Code that uses the tensor must
// not write to it.
//
// Errors: FailedPrecondition if the loader was not asked for the tensor, or if
//     it is the tokens and the device widens them
//     (LoaderOptions::widen_on_device).
absl::StatusOr<DlpackTensor> HostDlpack(const Batch& batch, BatchTensor tensor);

// Returns a tensor of the batch in GPU memory, after calling
// batch.WaitOn(stream). Use the tensor on that stream, which must live until
// the deleter has been called.
//
// Errors: as HostDlpack(), without the case of widened tokens.
//     FailedPrecondition also if the batch is on the host; Internal for a
//     driver error.
absl::StatusOr<DlpackTensor> DeviceDlpack(const Batch& batch,
                                          BatchTensor tensor, void* stream);

}  // namespace poniente

#endif  // PONIENTE_DLPACK_H_
