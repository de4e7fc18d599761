// SPDX-License-Identifier: Apache-2.0
// The seam between this layer and the kernel, where tests cause what a healthy
// machine does not: a forbidden io_uring, short reads, EINTR, limits.

#ifndef PONIENTE_IO_FILES_FAULT_HOOKS_H_
#define PONIENTE_IO_FILES_FAULT_HOOKS_H_

#include <atomic>
#include <cstdint>

namespace poniente::internal {

// Calls of this layer to the kernel that can fail.
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

// What a test overrides. Called from any thread.
class FaultHooks {
 public:
  virtual ~FaultHooks() = default;

  // Returns the errno that the call shall fail with; 0: make the call. Not
  // asked for kPread and kUringRead.
  virtual int Error(SystemCall) { return 0; }
  // Returns what a kPread or kUringRead shall return instead of `result`: a
  // smaller number of bytes, or -errno.
  virtual int64_t ReadResult(SystemCall, int64_t result) { return result; }
};

// Null unless a test has installed hooks.
inline std::atomic<FaultHooks*> fault_hooks = nullptr;

// Installs hooks while it lives. It must outlive all reads that began
// meanwhile.
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
