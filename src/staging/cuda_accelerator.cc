// SPDX-License-Identifier: Apache-2.0
// By the CUDA runtime alone: the one kernel is in cuda_widen.cu, so that nvcc
// is not needed here.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "staging/accelerator.h"
#include "staging/cuda_widen.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// The runtime keeps the last error for whoever asks next: that is not to be
// the user's code.
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

// The runtime cannot say whether a thread has a context; the driver that it has
// loaded can.
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

// While it lives, the GPU's primary context is the thread's current one, and
// the calls made do not disturb a graph that another thread captures.
class Current {
 public:
  explicit Current(int32_t ordinal) : before_(ThreadsContext()) {
    // A thread without a context has GPU 0 for the runtime, which would start
    // that one if it were chosen again; up to CUDA 11, choosing starts nothing.
    if (before_ != nullptr || CUDART_VERSION < 12000) {
      (void)CudaStatus(cudaGetDevice(&previous_), "cudaGetDevice");
    }
    if (previous_ == ordinal) previous_ = kNone;
    status_ = CudaStatus(cudaSetDevice(ordinal), "cudaSetDevice");
    // After that, so that it does not start GPU 0.
    (void)cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  ~Current() {
    (void)cudaThreadExchangeStreamCaptureMode(&mode_);
    if (previous_ != kNone) {
      (void)CudaStatus(cudaSetDevice(previous_), "cudaSetDevice");
    }
    // One that is not the GPU's primary one.
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

// Null by its name, which means the same whatever this is compiled with.
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
