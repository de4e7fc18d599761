// SPDX-License-Identifier: Apache-2.0
#include "async/notifier.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace poniente::internal {

namespace asio = boost::asio;

Notifier::Notifier() = default;
Notifier::~Notifier() = default;

void Notifier::NotifyAll() {
  Waiters woken;
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

void Notifier::Park(uint64_t seen, Waiters waiter,
                    ParkedCoroutine::Handler&& handler) {
  const std::shared_ptr<ParkedCoroutine> parked = waiter.front();
  parked->Park(std::move(handler));
  {
    MutexLock lock(&mu_);
    if (version() <= seen) {
      waiters_.splice(waiters_.end(), waiter);
      return;
    }
  }
  parked->Resume(true);
}

asio::awaitable<bool> Notifier::PreparedWaitPast(uint64_t seen,
                                                 asio::any_io_executor executor,
                                                 asio::cancellation_slot slot) {
  Waiters waiter;
  waiter.push_back(std::make_shared<ParkedCoroutine>(std::move(executor)));
  if (slot.is_connected()) {
    const std::weak_ptr<ParkedCoroutine> weak = waiter.front();
    slot.assign([this, weak](asio::cancellation_type type) {
      const auto parked = weak.lock();
      const bool terminal = (type & asio::cancellation_type::terminal) !=
                            asio::cancellation_type::none;
      if (parked && terminal) Cancel(parked);
    });
  }
  auto park = [this, seen, waiter = std::move(waiter)](
                  ParkedCoroutine::Handler&& handler) mutable {
    Park(seen, std::move(waiter), std::move(handler));
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(
      std::move(park), asio::use_awaitable);
}

Task<> Notifier::WaitPast(uint64_t seen) {
  auto executor = co_await asio::this_coro::executor;
  const auto state = co_await asio::this_coro::cancellation_state;
  asio::awaitable<bool> wait =
      PreparedWaitPast(seen, std::move(executor), state.slot());
  const bool notified = co_await std::move(wait);
  if (!notified) co_return absl::CancelledError("cancelled by the caller");
  co_return absl::OkStatus();
}

Task<> Notifier::WaitPastToEnd(uint64_t seen) {
  auto executor = co_await asio::this_coro::executor;
  asio::awaitable<bool> wait =
      PreparedWaitPast(seen, std::move(executor), asio::cancellation_slot());
  (void)co_await std::move(wait);
  co_return absl::OkStatus();
}

}  // namespace poniente::internal
