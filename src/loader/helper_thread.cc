// SPDX-License-Identifier: Apache-2.0
#include "loader/helper_thread.h"

#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

#include "util/short_spin.h"
#include "util/usable_cores.h"

namespace poniente::internal {

HelperThread::HelperThread(std::function<bool()> help)
    : help_(std::move(help)) {}

void HelperThread::Call() { calls_.NotifyAll(); }

void HelperThread::StartIfCalled() {
  if (was_called_ || calls_.version() == 0) return;
  was_called_ = true;
  if (UsableCores() < 2) return;
  MutexLock lock(&mu_);
  if (is_over_) return;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The caller goes on alone, as without calls.
  } catch (const std::bad_alloc&) {
  }
}

void HelperThread::Join() {
  MutexLock lock(&mu_);
  is_over_ = true;
  calls_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void HelperThread::Run() {
  ShortSpin spin;
  while (true) {
    const uint64_t seen = calls_.version();
    if (is_over_) return;
    if (help_()) continue;
    if (spin.Wait([this, seen] { return calls_.version() != seen; })) continue;
    calls_.BlockPast(seen);
    spin.Slept();
  }
}

}  // namespace poniente::internal
