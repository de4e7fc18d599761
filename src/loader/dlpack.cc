// SPDX-License-Identifier: Apache-2.0
#include "poniente/dlpack.h"

#include <dlpack/dlpack.h>

#include <array>
#include <cstdlib>

#include "util/status_macros.h"

namespace poniente {
namespace {

// A DLManagedTensor and everything that it points to.
struct Exported {
  DLManagedTensor managed = {};
  std::array<int64_t, 2> shape = {};
  std::array<int64_t, 2> strides = {};
  std::shared_ptr<const void> memory;
};

DLDataType DlpackType(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return {kDLUInt, 8, 1};
    case ElementType::kU16:
      return {kDLUInt, 16, 1};
    case ElementType::kU32:
      return {kDLUInt, 32, 1};
    case ElementType::kI32:
      return {kDLInt, 32, 1};
    case ElementType::kI64:
      return {kDLInt, 64, 1};
    case ElementType::kF32:
      return {kDLFloat, 32, 1};
  }
  std::abort();  // not reached
}

// Exports a tensor. Its address is in `data`, with a byte_offset of 0, and all
// strides are stated: some consumers ignore byte_offset, or do not accept null
// strides for a tensor without gaps.
DlpackTensor Export(const Batch& batch, const TensorView& tensor,
                    DLDevice device, const std::byte* data) {
  auto exported = std::make_unique<Exported>();
  const bool has_rows = tensor.dimensions == 2;
  for (size_t i = 0; i < tensor.dimensions; ++i) {
    exported->shape[i] = static_cast<int64_t>(tensor.shape[i]);
  }
  exported->strides = {has_rows ? exported->shape[1] : 1, 1};
  exported->memory = batch.ShareMemory();
  DLTensor& out = exported->managed.dl_tensor;
  out.data = const_cast<std::byte*>(data);
  out.device = device;
  out.ndim = static_cast<int>(tensor.dimensions);
  out.dtype = DlpackType(tensor.type);
  out.shape = exported->shape.data();
  out.strides = exported->strides.data();
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->manager_ctx);
  };
  return DlpackTensor(&exported.release()->managed);
}

}  // namespace

void DlpackDeleter::operator()(DLManagedTensor* tensor) const noexcept {
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

absl::StatusOr<DlpackTensor> HostDlpack(const Batch& batch,
                                        BatchTensor tensor) {
  PONIENTE_ASSIGN_OR_RETURN(const TensorView view, batch.tensor(tensor));
  if (tensor == BatchTensor::kTokens && !batch.has_host_tokens()) {
    return absl::FailedPreconditionError(
        "the tokens are widened on the device and are not on the host: export "
        "them from there, or leave widen_on_device off");
  }
  return Export(batch, view, {kDLCPU, 0}, view.host);
}

absl::StatusOr<DlpackTensor> DeviceDlpack(const Batch& batch,
                                          BatchTensor tensor, void* stream) {
  PONIENTE_ASSIGN_OR_RETURN(const TensorView view, batch.tensor(tensor));
  PONIENTE_RETURN_IF_ERROR(batch.WaitOn(stream));
  return Export(batch, view, {kDLCUDA, batch.device().ordinal}, view.device);
}

}  // namespace poniente
