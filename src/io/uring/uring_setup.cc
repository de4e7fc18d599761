// SPDX-License-Identifier: Apache-2.0
#include "io/uring/uring_setup.h"

#include <atomic>
#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "io/files/descriptors.h"
#include "io/files/fault_hooks.h"
#include "util/mutex.h"

namespace poniente::internal {
namespace {

absl::Status HookedSetup() {
  const int error = FaultAt(SystemCall::kUringSetup);
  return error == 0 ? absl::OkStatus() : UringError("io_uring_setup", error);
}

// Shows TSan in which order rings use memory. liburing unmaps a ring's memory,
// which TSan does not see, and a ring of another thread may get it next. This
// mutex is locked after the former and before the latter.
Mutex& MemoryOfRings() {
  static auto* const mutex = new Mutex;
  return *mutex;
}

int QueueInit(unsigned entries, io_uring* ring, unsigned flags) {
  { MutexLock lock(&MemoryOfRings()); }
  return CallWithDescriptors(
      [&] { return io_uring_queue_init(entries, ring, flags); });
}

absl::Status MakeRing(unsigned entries, io_uring* ring) {
  // COOP_TASKRUN (5.19): completions do not interrupt the running thread.
  int error = QueueInit(entries, ring, IORING_SETUP_COOP_TASKRUN);
  if (error == -EINVAL) error = QueueInit(entries, ring, 0);
  return error == 0 ? absl::OkStatus() : UringError("io_uring_setup", -error);
}

absl::Status TryRing() {
  io_uring ring;
  absl::Status status = MakeRing(/*entries=*/2, &ring);
  if (!status.ok()) return status;
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring);
  // Kernels before 5.6 support neither the probe nor IORING_OP_READ.
  if (probe == nullptr || !io_uring_opcode_supported(probe, IORING_OP_READ)) {
    status = UringError("io_uring IORING_OP_READ", EOPNOTSUPP);
  }
  io_uring_free_probe(probe);
  TearDownRing(&ring);
  return status;
}

}  // namespace

absl::Status UringError(const char* call, int error) {
  const bool may_pass =
      error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
  return absl::Status(
      may_pass ? absl::StatusCode::kResourceExhausted
               : absl::StatusCode::kUnavailable,
      absl::StrCat(call, ": ", std::generic_category().message(error)));
}

absl::Status ProbeUring() {
  // Hooks are asked each time, because the next test may install others.
  absl::Status hooked = HookedSetup();
  if (!hooked.ok()) return hooked;
  static std::atomic<const absl::Status*> known = nullptr;
  if (const auto* status = known.load(std::memory_order_acquire)) {
    return *status;
  }
  absl::Status status = TryRing();
  if (absl::IsResourceExhausted(status)) return status;
  const absl::Status* none = nullptr;
  const auto* const found = new absl::Status(status);
  if (!known.compare_exchange_strong(none, found)) delete found;
  return status;
}

absl::Status SetUpRing(unsigned entries, io_uring* ring) {
  absl::Status hooked = HookedSetup();
  if (!hooked.ok()) return hooked;
  return MakeRing(entries, ring);
}

void TearDownRing(io_uring* ring) {
  io_uring_queue_exit(ring);
  MutexLock lock(&MemoryOfRings());
}

}  // namespace poniente::internal
