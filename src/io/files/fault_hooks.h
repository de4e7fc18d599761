// SPDX-License-Identifier: Apache-2.0
// Hooks between this layer and the kernel, with which tests cause faults that a
// healthy machine does not have: a forbidden io_uring, short reads, EINTR,
// limits.

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
  kMincore,       // an error stands for a page that is not in memory
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

// An interface that tests implement. Called from any thread.
class FaultHooks {
 public:
  virtual ~FaultHooks() = default;

  // Returns the errno with which the call shall fail, or 0 to make the call.
  // Not called for kPread and kUringRead.
  virtual int Error(SystemCall) { return 0; }
  // Returns the result that a kPread or kUringRead shall have instead of
  // `result`: a smaller number of bytes, or -errno.
  virtual int64_t ReadResult(SystemCall, int64_t result) { return result; }
};

// Null unless a test has installed hooks.
inline std::atomic<FaultHooks*> fault_hooks = nullptr;

// Installs hooks for its lifetime. It must outlive all reads that begin
// meanwhile.
class ScopedFaultHooks {
 public:
  explicit ScopedFaultHooks(FaultHooks* hooks) { fault_hooks = hooks; }
  ~ScopedFaultHooks() { fault_hooks = nullptr; }
  ScopedFaultHooks(const ScopedFaultHooks&) = delete;
  ScopedFaultHooks& operator=(const ScopedFaultHooks&) = delete;
};

// Returns the errno with which the hooks let the call fail; 0 to make it.
inline int FaultAt(SystemCall call) {
  FaultHooks* hooks = fault_hooks.load(std::memory_order_acquire);
  return hooks == nullptr ? 0 : hooks->Error(call);
}

// Returns the result that the hooks give to a call; without hooks, `result`.
inline int64_t HookedReadResult(SystemCall call, int64_t result) {
  FaultHooks* hooks = fault_hooks.load(std::memory_order_acquire);
  return hooks == nullptr ? result : hooks->ReadResult(call, result);
}

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_FAULT_HOOKS_H_
