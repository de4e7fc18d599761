// SPDX-License-Identifier: Apache-2.0
// Pages of a mapping beyond the end of its file raise SIGBUS in the thread
// that touches them. While a copy runs, a marker of its thread names the source
// range; the handler jumps out of the copy if the fault lies in that range.
// Comparing sizes first would be a race, not a guard.
#include "io/mmap/guarded_copy.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "io/mmap/stream_copy.h"

namespace poniente::internal {
namespace {

struct Guard {
  sigjmp_buf jump;
  uintptr_t begin;
  uintptr_t end;
};

// In a library that is loaded at run time, a thread's first access to this
// variable allocates memory, which a signal handler must not do. (The
// initial-exec model would avoid the allocation, but such a library could not
// be loaded at run time.) So the handler reads it only for faults of its own
// thread.
thread_local Guard* guard = nullptr;

struct sigaction previous_action;

void HandOn(int signal_number, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal_number, info, context);
    return;
  }
  const bool sent = info->si_code <= 0;  // by kill(), not by a fault
  if (previous_action.sa_handler == SIG_IGN && sent) return;
  if (previous_action.sa_handler != SIG_DFL &&
      previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal_number);
    return;
  }
  // Restores the default action. A fault then happens again and ends the
  // process.
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  ::sigaction(signal_number, &by_default, nullptr);
  if (sent) ::raise(signal_number);
}

// Returns whether the thread itself caused the signal by accessing memory.
bool IsOfThread(const siginfo_t& info) {
  return info.si_code > 0 && info.si_code != BUS_MCEERR_AO;
}

void OnSigbus(int signal_number, siginfo_t* info, void* context) {
  Guard* const running = IsOfThread(*info) ? guard : nullptr;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (running != nullptr && address >= running->begin &&
      address < running->end) {
    siglongjmp(running->jump, 1);
  }
  HandOn(signal_number, info, context);
}

bool InstallHandler() {
  struct sigaction action = {};
  action.sa_sigaction = OnSigbus;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous_action);
  return true;
}

// After a jump out of the handler, SIGBUS may still be blocked; the next fault
// would then kill the process.
void UnblockSigbus() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGBUS);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

// Must not be inlined or a coroutine, because of the jump.
template <class Copy>
__attribute__((noinline)) bool Guarded(std::span<const std::byte> from,
                                       const Copy& copy, std::byte* last) {
  static const bool installed = InstallHandler();
  (void)installed;
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  Guard here;
  here.begin = reinterpret_cast<uintptr_t>(from.data()) & ~(page - 1);
  here.end = reinterpret_cast<uintptr_t>(from.data()) + from.size();
  if (sigsetjmp(here.jump, 0) != 0) {
    guard = nullptr;
    UnblockSigbus();
    return false;
  }
  guard = &here;
  // The fences keep the copy between the two stores, as this thread's handler
  // sees them.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copy();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // Read after the copy, which may have read its last byte first.
  if (last != nullptr) {
    *last = *static_cast<const volatile std::byte*>(&from.back());
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  guard = nullptr;
  return true;
}

}  // namespace

bool GuardedCopy(std::span<const std::byte> from, std::byte* to,
                 std::byte* last) {
  return Guarded(
      from, [=] { std::memcpy(to, from.data(), from.size()); }, last);
}

bool GuardedStreamCopy(std::span<const std::byte> from, std::byte* to,
                       std::span<const std::byte> next, std::byte* last) {
  return Guarded(
      from, [=] { StreamCopy(from, to, next); }, last);
}

}  // namespace poniente::internal
