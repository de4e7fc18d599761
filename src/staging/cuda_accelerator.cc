// SPDX-License-Identifier: Apache-2.0
// Calls only the CUDA runtime. The library's kernel is in cuda_widen.cu, so
// this file does not need nvcc.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "staging/accelerator.h"
#include "staging/cuda_widen.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Converts an error, and clears it in the runtime, which would otherwise return
// it again when the user's code asks for the last error.
absl::Status CudaStatus(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  (void)cudaGetLastError();
  const std::string message =
      absl::StrCat(std::string(call), ": ", cudaGetErrorString(error), " (",
                   static_cast<int>(error), ")");
  if (error == cudaErrorMemoryAllocation) {
    return absl::ResourceExhaustedError(absl::StrCat(
        message, "; make batches, prefetch_batches or max_held smaller"));
  }
  return absl::InternalError(message);
}

// Calls of the driver that the runtime has loaded. Only the driver can tell
// whether a thread has a context.
struct ContextCalls {
  int (*get)(void**) = nullptr;
  int (*set)(void*) = nullptr;
};

const ContextCalls& Contexts() {
  static const ContextCalls calls = [] {
    ContextCalls found;
    void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return found;
    found.get =
        reinterpret_cast<int (*)(void**)>(::dlsym(driver, "cuCtxGetCurrent"));
    found.set =
        reinterpret_cast<int (*)(void*)>(::dlsym(driver, "cuCtxSetCurrent"));
    return found;
  }();
  return calls;
}

void* ThreadsContext() {
  void* context = nullptr;
  const auto get = Contexts().get;
  return get != nullptr && get(&context) == 0 ? context : nullptr;
}

// During its lifetime, the GPU's primary context is the current one of the
// thread, and calls do not disturb a graph that another thread captures.
class Current {
 public:
  explicit Current(int32_t ordinal) : before_(ThreadsContext()) {
    // For a thread without a context, the runtime reports GPU 0. Selecting GPU
    // 0 again would start it, except up to CUDA 11, where selecting starts
    // nothing.
    if (before_ != nullptr || CUDART_VERSION < 12000) {
      (void)CudaStatus(cudaGetDevice(&previous_), "cudaGetDevice");
    }
    if (previous_ == ordinal) previous_ = kNone;
    status_ = CudaStatus(cudaSetDevice(ordinal), "cudaSetDevice");
    // Must follow cudaSetDevice(); otherwise it would start GPU 0.
    (void)cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  ~Current() {
    (void)cudaThreadExchangeStreamCaptureMode(&mode_);
    if (previous_ != kNone) {
      (void)CudaStatus(cudaSetDevice(previous_), "cudaSetDevice");
    }
    // Restores a context that is not the GPU's primary one.
    if (before_ != nullptr && ThreadsContext() != before_) {
      (void)Contexts().set(before_);
    }
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  static constexpr int kNone = -1;

  void* const before_;
  int previous_ = kNone;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  absl::Status status_;
};

// Names the default stream explicitly: the meaning of null depends on compiler
// options.
cudaStream_t Stream(DeviceStream stream) {
  return stream == nullptr ? cudaStreamLegacy
                           : static_cast<cudaStream_t>(stream);
}

class CudaEvent final : public DeviceEvent {
 public:
  CudaEvent(int32_t ordinal, cudaEvent_t event)
      : ordinal_(ordinal), event_(event) {}
  ~CudaEvent() override {
    const Current current(ordinal_);
    (void)CudaStatus(cudaEventDestroy(event_), "cudaEventDestroy");
  }

  absl::Status Record(DeviceStream stream) override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    return CudaStatus(cudaEventRecord(event_, Stream(stream)),
                      "cudaEventRecord");
  }
  absl::Status MakeWait(DeviceStream stream) override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    return CudaStatus(cudaStreamWaitEvent(Stream(stream), event_, 0),
                      "cudaStreamWaitEvent");
  }
  absl::StatusOr<bool> IsDone() override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    PONIENTE_RETURN_IF_ERROR(CudaStatus(error, "cudaEventQuery"));
    return true;
  }
  absl::Status Wait() override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    return CudaStatus(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }

  cudaEvent_t get() const { return event_; }

 private:
  const int32_t ordinal_;
  const cudaEvent_t event_;
};

class CudaAccelerator final : public Accelerator {
 public:
  CudaAccelerator(int32_t ordinal, cudaStream_t copies)
      : ordinal_(ordinal), copies_(copies) {}
  ~CudaAccelerator() override {
    const Current current(ordinal_);
    (void)CudaStatus(cudaStreamSynchronize(copies_), "cudaStreamSynchronize");
    (void)CudaStatus(cudaStreamDestroy(copies_), "cudaStreamDestroy");
  }

  absl::Status Lock(std::span<std::byte> memory) override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    return CudaStatus(cudaHostRegister(memory.data(), memory.size(),
                                       cudaHostRegisterPortable),
                      "cudaHostRegister");
  }
  void Unlock(std::span<std::byte> memory) override {
    const Current current(ordinal_);
    (void)CudaStatus(cudaHostUnregister(memory.data()), "cudaHostUnregister");
  }

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    void* memory = nullptr;
    PONIENTE_RETURN_IF_ERROR(
        CudaStatus(cudaMalloc(&memory, bytes), "cudaMalloc"));
    return static_cast<std::byte*>(memory);
  }
  void Free(std::byte* memory) override {
    const Current current(ordinal_);
    (void)CudaStatus(cudaFree(memory), "cudaFree");
  }

  absl::StatusOr<std::unique_ptr<DeviceEvent>> MakeEvent() override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    cudaEvent_t event = nullptr;
    PONIENTE_RETURN_IF_ERROR(
        CudaStatus(cudaEventCreateWithFlags(
                       &event, cudaEventDisableTiming | cudaEventBlockingSync),
                   "cudaEventCreateWithFlags"));
    return std::make_unique<CudaEvent>(ordinal_, event);
  }

  absl::Status Copy(std::span<const std::byte> from, std::byte* to) override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    return CudaStatus(cudaMemcpyAsync(to, from.data(), from.size(),
                                      cudaMemcpyHostToDevice, copies_),
                      "cudaMemcpyAsync");
  }
  bool can_widen() override {
    const Current current(ordinal_);
    return current.status().ok() && HasCudaWiden();
  }
  absl::Status Widen(const std::byte* from, std::byte* to,
                     const Widening& ids) override {
    const Current current(ordinal_);
    PONIENTE_RETURN_IF_ERROR(current.status());
    return CudaStatus(
        static_cast<cudaError_t>(QueueCudaWiden(from, to, ids, copies_)),
        "cudaLaunchKernel");
  }
  absl::Status RecordCopies(DeviceEvent* event) override {
    return event->Record(copies_);
  }
  absl::Status HoldCopiesFor(DeviceEvent* event) override {
    return event->MakeWait(copies_);
  }
  void WaitForAll() override {
    const Current current(ordinal_);
    (void)CudaStatus(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

 private:
  const int32_t ordinal_;
  const cudaStream_t copies_;
};

// Without a driver this is error 35 ("driver version is insufficient"), not
// "no device", and the version is 0.
absl::Status CheckDriver() {
  int version = 0;
  const cudaError_t asked = cudaDriverGetVersion(&version);
  if (asked == cudaSuccess && version > 0) return absl::OkStatus();
  (void)cudaGetLastError();
  return absl::FailedPreconditionError(
      "there is no CUDA driver; install NVIDIA's driver, and give containers "
      "the GPU");
}

absl::Status CheckOrdinal(int32_t ordinal) {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted == cudaErrorInsufficientDriver) {
    (void)cudaGetLastError();
    return absl::FailedPreconditionError(
        "the CUDA driver is older than the library's runtime; update it");
  }
  if (counted != cudaErrorNoDevice) {
    PONIENTE_RETURN_IF_ERROR(CudaStatus(counted, "cudaGetDeviceCount"));
  }
  (void)cudaGetLastError();
  if (ordinal >= 0 && ordinal < count) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("there is no GPU ", ordinal, ", the driver shows ", count,
                   "; look at nvidia-smi and CUDA_VISIBLE_DEVICES"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Accelerator>> OpenCuda(int32_t ordinal) {
  PONIENTE_RETURN_IF_ERROR(CheckDriver());
  PONIENTE_RETURN_IF_ERROR(CheckOrdinal(ordinal));
  const Current current(ordinal);
  PONIENTE_RETURN_IF_ERROR(current.status());
  cudaStream_t copies = nullptr;
  PONIENTE_RETURN_IF_ERROR(
      CudaStatus(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking),
                 "cudaStreamCreateWithFlags"));
  return std::make_unique<CudaAccelerator>(ordinal, copies);
}

}  // namespace poniente::internal
