// SPDX-License-Identifier: Apache-2.0
// Streams, events, memory and work of a GPU. What the driver refuses is thrown,
// and fails the test.

#ifndef PONIENTE_TESTS_GPU_GPU_H_
#define PONIENTE_TESTS_GPU_GPU_H_

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "poniente/device.h"

namespace poniente::testing {

inline constexpr Device kGpu = {DeviceType::kCuda, /*ordinal=*/0};

inline void CheckCuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

// Skips its tests, and says so on standard error, where there is no GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;
};

class Stream {
 public:
  Stream() {
    CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(stream_); }

  cudaStream_t get() const { return stream_; }
  void Wait() const { CheckCuda(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

// With its time.
class Event {
 public:
  Event() { CheckCuda(cudaEventCreateWithFlags(&event_, cudaEventDefault)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { (void)cudaEventDestroy(event_); }

  void Record(cudaStream_t stream) {
    CheckCuda(cudaEventRecord(event_, stream));
  }
  void Wait() const { CheckCuda(cudaEventSynchronize(event_)); }
  bool IsDone() const {
    const cudaError_t error = cudaEventQuery(event_);
    if (error == cudaErrorNotReady) {
      (void)cudaGetLastError();
      return false;
    }
    CheckCuda(error);
    return true;
  }
  // REQUIRES: both are done.
  float MillisecondsSince(const Event& earlier) const {
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) : size_(bytes) {
    void* memory = nullptr;
    CheckCuda(cudaMalloc(&memory, bytes));
    memory_ = static_cast<std::byte*>(memory);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { (void)cudaFree(memory_); }

  std::byte* get() const { return memory_; }
  size_t size() const { return size_; }

 private:
  const size_t size_;
  std::byte* memory_ = nullptr;
};

// Memory of the host, by the driver, page-locked; zeros.
class PinnedMemory {
 public:
  explicit PinnedMemory(size_t bytes);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { (void)cudaFreeHost(bytes_.data()); }

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// What a trainer's kernel is to staging: it takes its time, and reads a batch.
// Made from PTX by the driver, so that no nvcc is needed.
class Kernel {
 public:
  struct Work {
    // Copied once the time is over.
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    size_t bytes = 0;  // a multiple of 4
    uint64_t nanoseconds = 0;
    // If set, the time is over as soon as this is not 0. Page-locked.
    const uint32_t* ends = nullptr;
    uint32_t blocks = 8;
  };

  Kernel();
  void Launch(cudaStream_t stream, const Work& work) const;
  // Blocks that keep all of the GPU busy.
  static uint32_t WholeGpu();

 private:
  void* function_ = nullptr;
};

// Batches per test: 10,000, or PONIENTE_GPU_BATCHES where a checker makes each
// of them slow; at least 500, so that every slot has its turn.
uint64_t NumBatches();

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_GPU_GPU_H_
