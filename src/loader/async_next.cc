// SPDX-License-Identifier: Apache-2.0
#include "poniente/async_next.h"

#include <atomic>
#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <exception>
#include <memory>

#include "loader/offered_batch.h"
#include "poniente/task.h"

namespace poniente::internal {

namespace asio = boost::asio;

namespace {

// Emits the cancellation signal of one operation. A signal may only be emitted
// where its coroutine runs, so both use one strand of the executor.
struct Canceller {
  explicit Canceller(const asio::any_io_executor& executor)
      : strand(asio::make_strand(executor)) {}

  asio::cancellation_signal signal;
  const asio::strand<asio::any_io_executor> strand;
  // Set when cancellation is requested, before the signal is emitted.
  std::atomic<bool> is_cancelled = false;
};

// Returns a canceller, and lets `slot` cancel what runs on its strand as long
// as the canceller lives. Accepts every type of cancellation, because a
// cancelled Next() has no effect, and passes it on as terminal, the type that
// coroutines handle.
std::shared_ptr<Canceller> Connect(asio::cancellation_slot slot,
                                   const asio::any_io_executor& executor) {
  auto canceller = std::make_shared<Canceller>(executor);
  slot.assign([weak = std::weak_ptr<Canceller>(canceller)](
                  asio::cancellation_type type) {
    const auto running = weak.lock();
    if (running == nullptr || type == asio::cancellation_type::none) return;
    running->is_cancelled = true;
    asio::post(running->strand, [running] {
      running->signal.emit(asio::cancellation_type::terminal);
    });
  });
  return canceller;
}

using Offered = absl::StatusOr<std::unique_ptr<OfferedBatch>>;

// Called at the end of the coroutine, on the handler's executor.
class Completion {
 public:
  using executor_type = asio::any_completion_executor;
  using cancellation_slot_type = asio::cancellation_slot;

  Completion(NextHandler&& handler, const asio::any_io_executor& executor,
             std::shared_ptr<Canceller> canceller)
      : executor_(asio::get_associated_executor(handler, executor)),
        canceller_(std::move(canceller)),
        handler_(std::move(handler)) {}

  void operator()(std::exception_ptr thrown, Offered offered) {
    if (thrown) offered = StatusFromException(thrown);
    absl::StatusOr<Batch> result = Result(std::move(offered));
    handler_(std::move(result));
  }

  executor_type get_executor() const noexcept { return executor_; }
  cancellation_slot_type get_cancellation_slot() const noexcept {
    return canceller_ == nullptr ? asio::cancellation_slot()
                                 : canceller_->signal.slot();
  }

 private:
  // Returns the result for the handler. Accepts the batch only here, because
  // the handler is called right after this.
  absl::StatusOr<Batch> Result(Offered&& given) const {
    const Offered offered = std::move(given);  // destroyed before the handler
    if (!offered.ok()) return offered.status();
    if (canceller_ != nullptr && canceller_->is_cancelled) {
      return absl::CancelledError("cancelled by the caller");
    }
    return (*offered)->Accept();
  }

  executor_type executor_;
  std::shared_ptr<Canceller> canceller_;
  NextHandler handler_;
};

}  // namespace

void StartNext(Loader& loader, asio::any_io_executor executor,
               NextHandler handler) {
  const asio::cancellation_slot slot = handler.get_cancellation_slot();
  std::shared_ptr<Canceller> canceller;
  asio::any_io_executor runs_on = executor;
  if (slot.is_connected()) {
    canceller = Connect(slot, executor);
    runs_on = canceller->strand;
  }
  asio::co_spawn(
      runs_on, BeginNext(loader),
      Completion(std::move(handler), executor, std::move(canceller)));
}

}  // namespace poniente::internal
