// SPDX-License-Identifier: Apache-2.0
// The seam between this layer and the kernel, where tests bring about what a
// healthy machine does not: a forbidden io_uring, short reads, EINTR, limits.

#ifndef PONIENTE_IO_FILES_FAULT_HOOKS_H_
#define PONIENTE_IO_FILES_FAULT_HOOKS_H_

#include <atomic>
#include <cstdint>

namespace poniente::internal {

// Every call to the kernel that this layer makes and that can fail.
enum class SystemCall {
  kOpen,
  kFstat,
  kFcntl,
  kOpenDirect,
  kStatx,
  kMapFile,
  kPopulate,      // madvise(MADV_POPULATE_READ)
  kMapMemory,     // of a ReadBuffer
  kSetrlimit,     // RLIMIT_NOFILE
  kReadChecksum,  // pread of stored checksums
  kFadvise,
  kPread,
  kUringSetup,
  kEventfd,
  kRegisterEventfd,
  kRegisterTables,  // for files and buffers
  kRegisterFile,
  kRegisterBuffer,
  kUringEnter,  // that submits
  kUringRead,   // a completion
  kCopy,        // from a mapping; any errno stands for a SIGBUS
};
inline constexpr int kNumSystemCalls = static_cast<int>(SystemCall::kCopy) + 1;

// Called from any thread.
class FaultHooks {
 public:
  virtual ~FaultHooks() = default;

  // The errno that the call is to give; 0: make it. Not asked for kPread and
  // kUringRead.
  virtual int Error(SystemCall) { return 0; }
  // What a kPread or kUringRead is to give in place of `result`: a number of
  // bytes not above it, or -errno.
  virtual int64_t ReadResult(SystemCall, int64_t result) { return result; }
};

// Null unless a test installed some.
inline std::atomic<FaultHooks*> fault_hooks = nullptr;

// Installs hooks while it lives. Outlive all reads that began under it.
class ScopedFaultHooks {
 public:
  explicit ScopedFaultHooks(FaultHooks* hooks) { fault_hooks = hooks; }
  ~ScopedFaultHooks() { fault_hooks = nullptr; }
  ScopedFaultHooks(const ScopedFaultHooks&) = delete;
  ScopedFaultHooks& operator=(const ScopedFaultHooks&) = delete;
};

inline int FaultAt(SystemCall call) {
  FaultHooks* hooks = fault_hooks.load(std::memory_order_acquire);
  return hooks == nullptr ? 0 : hooks->Error(call);
}

inline int64_t HookedReadResult(SystemCall call, int64_t result) {
  FaultHooks* hooks = fault_hooks.load(std::memory_order_acquire);
  return hooks == nullptr ? result : hooks->ReadResult(call, result);
}

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_FAULT_HOOKS_H_
