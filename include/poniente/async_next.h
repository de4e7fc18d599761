// SPDX-License-Identifier: Apache-2.0
// Takes batches from a loader with any completion token of Asio.
// docs/consuming.md shows each way.

#ifndef PONIENTE_ASYNC_NEXT_H_
#define PONIENTE_ASYNC_NEXT_H_

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/system_executor.hpp>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "poniente/batch.h"
#include "poniente/loader.h"

namespace poniente {

namespace internal {

using NextHandler =
    boost::asio::any_completion_handler<void(absl::StatusOr<Batch>)>;

// Awaits loader.Next() on `executor` and passes the result to `handler`.
void StartNext(Loader& loader, boost::asio::any_io_executor executor,
               NextHandler handler);

class InitiateNext {
 public:
  explicit InitiateNext(Loader* loader) : loader_(loader) {}

  template <class Handler>
  void operator()(Handler&& handler) const {
    std::decay_t<Handler> own(std::forward<Handler>(handler));
    boost::asio::any_io_executor executor = boost::asio::system_executor();
    using Associated =
        boost::asio::associated_executor_t<std::decay_t<Handler>>;
    // An executor that does not convert to any_io_executor cannot tell its
    // execution context. The operation then runs on the system executor.
    if constexpr (std::is_convertible_v<Associated,
                                        boost::asio::any_io_executor>) {
      executor = boost::asio::any_io_executor(
          boost::asio::get_associated_executor(own));
    }
    StartNext(*loader_, std::move(executor), NextHandler(std::move(own)));
  }

 private:
  Loader* loader_;
};

}  // namespace internal

// Starts loader.Next() as an Asio operation with the completion signature
// void(absl::StatusOr<Batch>). Accepts every completion token: a callback,
// asio::use_future (a std::future<absl::StatusOr<Batch>>), asio::use_awaitable,
// asio::deferred, asio::yield_context, asio::as_tuple(...). The result is that
// of Next(): the batch, OutOfRange at the end of the run, or an error.
//
//   async_next(*loader, asio::bind_executor(pool, [](auto batch) {...}));
//
// Threads: may be called on any thread. The handler is called on its associated
//     executor, never inside this call. A handler without one runs on
//     asio::system_executor, a thread of the process, so bind an executor.
// One at a time: while another async_next() or Next() is in progress, the
//     handler receives FailedPrecondition. A handler may start the next one.
// Cancellation: through the handler's cancellation slot, with any type
//     (terminal, partial or total), emitted on any thread while the context
//     lives. The handler receives Cancelled, and no batch is lost: if the
//     handler does not receive the batch, the next call does. So
//     `async_next(...) || timer.async_wait(...)` works as a timeout. Run such a
//     group and the handlers in it on one thread or strand. An asio::deferred
//     operation in a group has no executor of its own, so bind one.
// Errors: a Status. Nothing is thrown except what the handler throws; such an
//     exception comes out of the run() of the handler's executor.
// Back-pressure: a batch counts as held from the moment the handler receives
//     it; see LoaderOptions::max_held.
// Lifetime: `loader` must live until the operation is initiated (with
//     asio::deferred and asio::use_awaitable: until it is awaited). If the
//     loader is destroyed later, the handler receives FailedPrecondition. If
//     the context of the handler's executor is destroyed, the handler is
//     destroyed without being called (its future is broken), the next call
//     receives the batch, and the loader continues. This does not hold if an
//     asio::any_completion_handler hides that context; then let the context's
//     run() return before you destroy it.
// Memory: the handler's associated allocator holds the handler; the coroutine
//     behind the operation uses Asio's allocator.
template <boost::asio::completion_token_for<void(absl::StatusOr<Batch>)> Token>
auto async_next(Loader& loader, Token&& token) {
  return boost::asio::async_initiate<Token, void(absl::StatusOr<Batch>)>(
      internal::InitiateNext(&loader), token);
}

}  // namespace poniente

#endif  // PONIENTE_ASYNC_NEXT_H_
