// SPDX-License-Identifier: Apache-2.0
// The seam between this layer and the kernel, where tests bring about what a
// healthy machine does not: a forbidden io_uring, short reads, EINTR.

#ifndef PONIENTE_IO_FAULT_HOOKS_H_
#define PONIENTE_IO_FAULT_HOOKS_H_

#include <atomic>
#include <cstdint>

namespace poniente::internal {

// Each hook is asked at the call it is named after. Called from any thread.
class FaultHooks {
 public:
  virtual ~FaultHooks() = default;

  // The errno that io_uring_setup is to give; 0: call it.
  virtual int UringSetup() { return 0; }
  // The errno that io_uring_enter is to give when it submits; 0: call it.
  virtual int UringSubmit() { return 0; }
  // What a read is to give in place of `result`: a number of bytes not above
  // it, or -errno.
  virtual int64_t ReadResult(int64_t result) { return result; }
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

inline int64_t HookedReadResult(int64_t result) {
  FaultHooks* hooks = fault_hooks.load(std::memory_order_acquire);
  return hooks == nullptr ? result : hooks->ReadResult(result);
}

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FAULT_HOOKS_H_
