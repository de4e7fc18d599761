// SPDX-License-Identifier: Apache-2.0
#include "async/notifier.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace poniente::internal {

namespace asio = boost::asio;

Notifier::Notifier() = default;
Notifier::~Notifier() = default;

void Notifier::NotifyAll() {
  std::vector<std::shared_ptr<ParkedCoroutine>> woken;
  {
    MutexLock lock(&mu_);
    version_.store(version() + 1, std::memory_order_release);
    woken.swap(waiters_);
  }
  changed_.NotifyAll();
  for (const auto& waiter : woken) waiter->Resume(true);
}

void Notifier::BlockPast(uint64_t seen) {
  MutexLock lock(&mu_);
  while (version() <= seen) changed_.Wait(&mu_);
}

void Notifier::Cancel(const std::shared_ptr<ParkedCoroutine>& waiter) {
  {
    MutexLock lock(&mu_);
    if (std::erase(waiters_, waiter) == 0) return;  // already resumed
  }
  waiter->Resume(false);
}

template <class Handler>
void Notifier::Park(uint64_t seen, bool may_cancel, Handler&& handler) {
  auto slot = asio::get_associated_cancellation_slot(handler);
  asio::any_io_executor executor = asio::get_associated_executor(handler);
  auto waiter = std::make_shared<ParkedCoroutine>(
      ParkedCoroutine::Handler(std::forward<Handler>(handler)),
      std::move(executor));
  if (may_cancel && slot.is_connected()) {
    std::weak_ptr<ParkedCoroutine> weak = waiter;
    slot.assign([this, weak](asio::cancellation_type type) {
      auto parked = weak.lock();
      const bool terminal = (type & asio::cancellation_type::terminal) !=
                            asio::cancellation_type::none;
      if (parked && terminal) Cancel(parked);
    });
  }
  {
    MutexLock lock(&mu_);
    if (version() <= seen) {
      waiters_.push_back(std::move(waiter));
      return;
    }
  }
  waiter->Resume(true);
}

Task<> Notifier::WaitPast(uint64_t seen) {
  auto park = [this, seen](auto&& handler) {
    Park(seen, /*may_cancel=*/true, std::forward<decltype(handler)>(handler));
  };
  const bool notified =
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(
          park, asio::use_awaitable);
  if (!notified) co_return absl::CancelledError("cancelled by the caller");
  co_return absl::OkStatus();
}

Task<> Notifier::WaitPastToEnd(uint64_t seen) {
  auto park = [this, seen](auto&& handler) {
    Park(seen, /*may_cancel=*/false, std::forward<decltype(handler)>(handler));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(
      park, asio::use_awaitable);
  co_return absl::OkStatus();
}

}  // namespace poniente::internal
