// SPDX-License-Identifier: Apache-2.0
#include "io/uring_setup.h"

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "io/fault_hooks.h"

namespace poniente::internal {
namespace {

absl::Status HookedSetup() {
  const int error = FaultAt(SystemCall::kUringSetup);
  return error == 0 ? absl::OkStatus() : UringError("io_uring_setup", error);
}

absl::Status TryRing() {
  io_uring ring;
  absl::Status status = SetUpRing(/*entries=*/2, &ring);
  if (!status.ok()) return status;
  io_uring_probe* const probe = io_uring_get_probe_ring(&ring);
  // A kernel before 5.6 knows neither the probe nor IORING_OP_READ.
  if (probe == nullptr || !io_uring_opcode_supported(probe, IORING_OP_READ)) {
    status = UringError("io_uring IORING_OP_READ", EOPNOTSUPP);
  }
  io_uring_free_probe(probe);
  io_uring_queue_exit(&ring);
  return status;
}

}  // namespace

absl::Status UringError(const char* call, int error) {
  return absl::UnavailableError(
      absl::StrCat(call, ": ", std::generic_category().message(error)));
}

absl::Status ProbeUring() {
  // Not remembered: the next test may want another answer.
  absl::Status hooked = HookedSetup();
  if (!hooked.ok()) return hooked;
  static const auto* const probed = new absl::Status(TryRing());
  return *probed;
}

absl::Status SetUpRing(unsigned entries, io_uring* ring) {
  absl::Status hooked = HookedSetup();
  if (!hooked.ok()) return hooked;
  // COOP_TASKRUN (5.19): completions do not interrupt the running thread.
  int error = io_uring_queue_init(entries, ring, IORING_SETUP_COOP_TASKRUN);
  if (error == -EINVAL) error = io_uring_queue_init(entries, ring, 0);
  return error == 0 ? absl::OkStatus() : UringError("io_uring_setup", -error);
}

}  // namespace poniente::internal
