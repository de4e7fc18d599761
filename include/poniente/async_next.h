// SPDX-License-Identifier: Apache-2.0
// Takes batches from a loader by any of Asio's completion tokens.
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

// Awaits loader.Next() on `executor`, and gives the result to `handler`.
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
    // Else one that does not say what its context is.
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

// loader.Next() as an operation of Asio, whose completion signature is
// void(absl::StatusOr<Batch>): for a callback, asio::use_future (a
// std::future<absl::StatusOr<Batch>>), asio::use_awaitable, asio::deferred,
// asio::yield_context, asio::as_tuple(...), any token. What it gives, and when,
// is what Next() gives: the batch, OutOfRange at the end of the run, or an
// error.
//
//   async_next(*loader, asio::bind_executor(pool, [](auto batch) {...}));
//
// Threads: the handler is called on its associated executor, never inside this
//     call. That of a handler that has none is asio::system_executor, a thread
//     of the process's: bind one. May be called on any thread.
// One at a time: with another async_next() or Next() under way, the handler
//     receives FailedPrecondition. A handler may begin the next one.
// Cancellation: by the handler's cancellation slot, of any type (terminal,
//     partial or total), emitted on any thread while the context lives; gives
//     Cancelled, and no batch is lost: the handler receives it, or the next
//     call does. So `async_next(...) || timer.async_wait(...)` may be a
//     timeout. What decides between the two must run where the handler does,
//     on one thread or strand: an asio::deferred one in a group has no executor
//     of its own, bind one.
// Errors: a Status. Nothing is thrown but what the handler throws, which comes
//     out of the run() of its executor.
// Back-pressure: a batch is held from when the handler receives it; see
//     LoaderOptions::max_held.
// Lifetime: `loader` must live until the operation is initiated (with
//     asio::deferred and asio::use_awaitable: until it is awaited). If it is
//     destroyed later, the handler receives FailedPrecondition. The context of
//     the handler's executor may die: the handler is then destroyed uncalled
//     (a future of it is broken), a batch that was on its way to it comes with
//     the next call, and the loader goes on. Not so where an
//     asio::any_completion_handler hides that context: let its run() return.
// Memory: the handler's associated allocator holds the handler; the coroutine
//     behind it uses Asio's.
template <boost::asio::completion_token_for<void(absl::StatusOr<Batch>)> Token>
auto async_next(Loader& loader, Token&& token) {
  return boost::asio::async_initiate<Token, void(absl::StatusOr<Batch>)>(
      internal::InitiateNext(&loader), token);
}

}  // namespace poniente

#endif  // PONIENTE_ASYNC_NEXT_H_
