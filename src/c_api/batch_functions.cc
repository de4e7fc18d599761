// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include "c_api/boundary.h"
#include "c_api/handles.h"
#include "poniente/batch_tensors.h"
#include "poniente/dlpack.h"
#include "poniente/poniente_c.h"
#include "util/status_macros.h"

using namespace poniente;            // NOLINT: the functions below are C's
using namespace poniente::internal;  // NOLINT

namespace poniente::internal {

absl::Status GiveStep(const StepPlan& plan, const char* stage_name,
                      uint64_t num_samples, poniente_step* out) {
  constexpr size_t kFirstSize =
      offsetof(poniente_step, num_changes) + sizeof(int32_t);
  static_assert(sizeof(poniente_step) >= kFirstSize);
  poniente_step step = {};
  step.step = plan.step;
  step.first_sample = plan.first_sample;
  step.batch_size = plan.batch_size;
  step.num_samples = num_samples;
  step.seq_len = plan.seq_len;
  step.stage = plan.stage;
  step.stage_name = stage_name;
  step.lr_scale = plan.lr_scale;
  step.temperature = plan.temperature;
  step.is_boundary = plan.is_boundary ? 1 : 0;
  step.num_changes = static_cast<int32_t>(plan.changes.size());
  step.num_weights = plan.weights.size();
  return Give(step, kFirstSize, "poniente_step", out);
}

}  // namespace poniente::internal

namespace {

constexpr int32_t DtypeOf(ElementType type) {
  return static_cast<int32_t>(type) + 1;
}
static_assert(PONIENTE_U8 == DtypeOf(ElementType::kU8));
static_assert(PONIENTE_U16 == DtypeOf(ElementType::kU16));
static_assert(PONIENTE_U32 == DtypeOf(ElementType::kU32));
static_assert(PONIENTE_I32 == DtypeOf(ElementType::kI32));
static_assert(PONIENTE_I64 == DtypeOf(ElementType::kI64));
static_assert(PONIENTE_F32 == DtypeOf(ElementType::kF32));

absl::Status GiveTensor(const TensorView& tensor, poniente_tensor* out) {
  constexpr size_t kFirstSize =
      offsetof(poniente_tensor, device) + sizeof(const void*);
  static_assert(sizeof(poniente_tensor) >= kFirstSize);
  poniente_tensor given = {};
  given.name = tensor.name.data();  // a literal
  given.dtype = DtypeOf(tensor.type);
  given.ndim = static_cast<int32_t>(tensor.dimensions);
  given.shape[0] = static_cast<int64_t>(tensor.shape[0]);
  given.shape[1] =
      tensor.dimensions == 2 ? static_cast<int64_t>(tensor.shape[1]) : 1;
  given.host = tensor.host;
  given.device = tensor.device;
  return Give(given, kFirstSize, "poniente_tensor", out);
}

}  // namespace

void poniente_batch_release(poniente_batch* batch) { delete batch; }

int32_t poniente_batch_step(const poniente_batch* batch, poniente_step* info) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    PONIENTE_RETURN_IF_NULL(info);
    const StepPlan& plan = batch->batch.plan();
    return GiveStep(plan, plan.stage_name.c_str(), batch->batch.num_samples(),
                    info);
  });
}

int32_t poniente_batch_number(const poniente_batch* batch, const char* name,
                              double* value) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    PONIENTE_RETURN_IF_NULL(name);
    PONIENTE_RETURN_IF_NULL(value);
    const StepPlan& plan = batch->batch.plan();
    const auto found = plan.numbers.find(name);
    if (found == plan.numbers.end()) {
      return absl::NotFoundError(absl::StrCat(
          "step ", plan.step, ": its stage has no number '", name, "'"));
    }
    *value = found->second;
    return absl::OkStatus();
  });
}

int32_t poniente_batch_samples(const poniente_batch* batch, size_t first,
                               size_t count, poniente_sample* samples) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    if (count > 0) PONIENTE_RETURN_IF_NULL(samples);
    const size_t num_samples = batch->batch.num_samples();
    if (first > num_samples || count > num_samples - first) {
      return absl::OutOfRangeError(
          absl::StrCat("there are no ", count, " samples from number ", first,
                       " on, the batch has ", num_samples));
    }
    for (size_t i = 0; i < count; ++i) {
      const SampleProvenance& from = batch->batch.provenance(first + i);
      samples[i] = {from.sample, from.item, from.epoch, from.source,
                    from.token_begin};
    }
    return absl::OkStatus();
  });
}

int32_t poniente_batch_tensor(const poniente_batch* batch, const char* name,
                              poniente_tensor* tensor) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    PONIENTE_RETURN_IF_NULL(name);
    PONIENTE_RETURN_IF_NULL(tensor);
    PONIENTE_ASSIGN_OR_RETURN(const BatchTensor which, ParseBatchTensor(name));
    PONIENTE_ASSIGN_OR_RETURN(const TensorView found,
                              batch->batch.tensor(which));
    return GiveTensor(found, tensor);
  });
}

int32_t poniente_batch_num_tensors(const poniente_batch* batch, size_t* count) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    PONIENTE_RETURN_IF_NULL(count);
    *count = batch->batch.tensors().size();
    return absl::OkStatus();
  });
}

int32_t poniente_batch_tensor_at(const poniente_batch* batch, size_t number,
                                 poniente_tensor* tensor) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    PONIENTE_RETURN_IF_NULL(tensor);
    const std::vector<TensorView> all = batch->batch.tensors();
    if (number >= all.size()) {
      return absl::OutOfRangeError(absl::StrCat("there is no tensor number ",
                                                number, ", the batch has ",
                                                all.size()));
    }
    return GiveTensor(all[number], tensor);
  });
}

int32_t poniente_batch_device(const poniente_batch* batch, int32_t* device_type,
                              int32_t* device_ordinal) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    PONIENTE_RETURN_IF_NULL(device_type);
    PONIENTE_RETURN_IF_NULL(device_ordinal);
    const Device& device = batch->batch.device();
    const bool is_cuda = device.type == DeviceType::kCuda;
    *device_type = is_cuda ? PONIENTE_DEVICE_CUDA : PONIENTE_DEVICE_HOST;
    *device_ordinal = device.ordinal;
    return absl::OkStatus();
  });
}

int32_t poniente_batch_wait_on(const poniente_batch* batch, void* stream) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    return batch->batch.WaitOn(stream);
  });
}

int32_t poniente_batch_wait(const poniente_batch* batch) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(batch);
    return batch->batch.WaitUntilCopied();
  });
}

int32_t poniente_batch_dlpack(const poniente_batch* batch, const char* name,
                              int32_t on_device, void* stream,
                              struct DLManagedTensor** tensor) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(tensor);
    *tensor = nullptr;
    PONIENTE_RETURN_IF_NULL(batch);
    PONIENTE_RETURN_IF_NULL(name);
    PONIENTE_ASSIGN_OR_RETURN(const BatchTensor which, ParseBatchTensor(name));
    PONIENTE_ASSIGN_OR_RETURN(DlpackTensor made,
                              on_device != 0
                                  ? DeviceDlpack(batch->batch, which, stream)
                                  : HostDlpack(batch->batch, which));
    *tensor = made.release();
    return absl::OkStatus();
  });
}

void poniente_dlpack_release(struct DLManagedTensor* tensor) {
  if (tensor != nullptr) DlpackDeleter()(tensor);
}
