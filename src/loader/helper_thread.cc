// SPDX-License-Identifier: Apache-2.0
#include "loader/helper_thread.h"

#include <new>
#include <system_error>
#include <utility>

#include "util/short_spin.h"
#include "util/usable_cores.h"

namespace poniente::internal {

HelperThread::HelperThread(std::function<bool()> help)
    : help_(std::move(help)) {}

void HelperThread::Call() {
  static const bool has_cores = UsableCores() > 1;
  if (!has_cores) return;
  calls_.NotifyAll();
  if (!may_start_.load(std::memory_order_acquire)) return;
  MutexLock lock(&mu_);
  if (may_start_.exchange(false)) Start();
}

void HelperThread::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The loader's thread makes all batches, as before.
  } catch (const std::bad_alloc&) {
  }
}

void HelperThread::Join() {
  MutexLock lock(&mu_);
  may_start_ = false;
  is_over_ = true;
  calls_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void HelperThread::Run() {
  ShortSpin spin;
  while (!is_over_) {
    const uint64_t seen = calls_.version();
    if (help_()) continue;
    if (spin.Wait([this, seen] { return calls_.version() != seen; })) continue;
    calls_.BlockPast(seen);
    spin.Slept();
  }
}

}  // namespace poniente::internal
