// SPDX-License-Identifier: Apache-2.0
#include "loader/prefetch_thread.h"

#include <new>
#include <utility>

#include "loader/metrics/fetch_times.h"
#include "util/short_spin.h"

namespace poniente::internal {

PrefetchThread::PrefetchThread(Hooks hooks)
    : hooks_(std::move(hooks)), work_(boost::asio::make_work_guard(context_)) {}

void PrefetchThread::Start() {
  thread_ = std::thread([this] {
    {
      MutexLock lock(&mu_);
      times_.emplace();
    }
    while (!context_.stopped()) {
      try {
        Run();
      } catch (const std::bad_alloc&) {
        hooks_.on_loss();
      }
    }
  });
}

void PrefetchThread::Join() {
  work_.reset();
  thread_.join();
}

void PrefetchThread::AddTimes(LoaderMetrics* metrics) const {
  MutexLock lock(&mu_);
  if (!times_.has_value()) return;
  metrics->cpu_seconds += Seconds(times_->Computed());
  metrics->kernel_seconds = Seconds(times_->InKernel());
  metrics->cpu_wait_seconds = Seconds(times_->WaitedForCore());
}

// As context_.run(), but spins before it sleeps.
void PrefetchThread::Run() {
  ShortSpin spin;
  while (!context_.stopped()) {
    if (context_.poll() > 0) continue;
    const bool has_work = spin.Wait(hooks_.has_work);
    if (has_work) {
      if (context_.poll() > 0) continue;
      if (hooks_.on_wait) hooks_.on_wait();
    }
    context_.run_one();
    if (!has_work) spin.Slept();
  }
}

}  // namespace poniente::internal
