// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/gpu.h"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace poniente::testing {
namespace {

constexpr uint32_t kThreads = 256;

// wait_and_copy(from, to, words, nanoseconds, ends)
constexpr char kPtx[] = R"(
.version 6.3
.target sm_60
.address_size 64
.visible .entry wait_and_copy(.param .u64 p_from, .param .u64 p_to,
                              .param .u64 p_words, .param .u64 p_time,
                              .param .u64 p_ends)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %from, %to, %words, %time, %ends, %begin, %now, %i, %step, %at;
  ld.param.u64 %from, [p_from];
  ld.param.u64 %to, [p_to];
  ld.param.u64 %words, [p_words];
  ld.param.u64 %time, [p_time];
  ld.param.u64 %ends, [p_ends];
  cvta.to.global.u64 %from, %from;
  cvta.to.global.u64 %to, %to;
  mov.u64 %begin, %globaltimer;
WAIT:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.ge.u64 %p, %now, %time;
  @%p bra COPY;
  setp.eq.u64 %p, %ends, 0;
  @%p bra WAIT;
  ld.volatile.u32 %r0, [%ends];
  setp.eq.u32 %p, %r0, 0;
  @%p bra WAIT;
COPY:
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %i, %r1, %r2;
  cvt.u64.u32 %step, %r3;
  add.u64 %i, %i, %step;
  mul.wide.u32 %step, %r4, %r2;
NEXT:
  setp.ge.u64 %p, %i, %words;
  @%p bra DONE;
  shl.b64 %at, %i, 2;
  add.u64 %now, %from, %at;
  ld.global.u32 %r5, [%now];
  add.u64 %now, %to, %at;
  st.global.u32 [%now], %r5;
  add.u64 %i, %i, %step;
  bra NEXT;
DONE:
  ret;
}
)";

void CheckDriver(CUresult error, const char* call) {
  if (error == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": error " +
                           std::to_string(static_cast<int>(error)));
}

// The driver is not linked: it is where it is used alone.
template <class Function>
Function* DriverCall(const char* name) {
  static void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY);
  void* const function = driver ? ::dlsym(driver, name) : nullptr;
  if (!function) throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<Function*>(function);
}

}  // namespace

void GpuTest::SetUp() {
  static const absl::Status found = CheckDevice(kGpu);
  if (found.ok()) {
    CheckCuda(cudaSetDevice(kGpu.ordinal));
    return;
  }
  static const int said =
      std::fprintf(stderr, "GPU TESTS SKIPPED: %s: %s\n",
                   DeviceName(kGpu).c_str(), found.ToString().c_str());
  (void)said;
  GTEST_SKIP() << DeviceName(kGpu) << ": " << found;
}

PinnedMemory::PinnedMemory(size_t bytes) {
  void* memory = nullptr;
  CheckCuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
  std::memset(memory, 0, bytes);
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

Kernel::Kernel() {
  CheckCuda(cudaFree(nullptr));  // makes the GPU's context the thread's
  CUmodule module = nullptr;
  CheckDriver(
      DriverCall<decltype(cuModuleLoadData)>("cuModuleLoadData")(&module, kPtx),
      "cuModuleLoadData");
  CUfunction function = nullptr;
  CheckDriver(DriverCall<decltype(cuModuleGetFunction)>("cuModuleGetFunction")(
                  &function, module, "wait_and_copy"),
              "cuModuleGetFunction");
  function_ = function;
}

void Kernel::Launch(cudaStream_t stream, const Work& work) const {
  Work own = work;
  uint64_t words = work.bytes / 4;
  void* parameters[] = {&own.from, &own.to, &words, &own.nanoseconds,
                        &own.ends};
  static auto* const launch =
      DriverCall<decltype(cuLaunchKernel)>("cuLaunchKernel");
  CheckDriver(launch(static_cast<CUfunction>(function_), work.blocks, 1, 1,
                     kThreads, 1, 1, 0, stream, parameters, nullptr),
              "cuLaunchKernel");
}

uint32_t Kernel::WholeGpu() {
  int processors = 0;
  CheckCuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                                   kGpu.ordinal));
  return 8 * static_cast<uint32_t>(processors);  // of 2048 threads each
}

uint64_t NumBatches() {
  const char* given = std::getenv("PONIENTE_GPU_BATCHES");
  if (!given) return 10'000;
  return std::max<uint64_t>(500, std::strtoull(given, nullptr, 10));
}

}  // namespace poniente::testing
