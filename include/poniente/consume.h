// SPDX-License-Identifier: Apache-2.0
// Takes batches from a loader by any of Asio's completion tokens, or in a loop.
// docs/consuming.md shows each way.

#ifndef PONIENTE_CONSUME_H_
#define PONIENTE_CONSUME_H_

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/system_executor.hpp>
#include <cstddef>
#include <iterator>
#include <ranges>
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

// The batches from loader.next_step() on, for a loop that blocks its thread.
//
//   for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
//     if (!batch.ok()) return batch.status();
//     Train(*batch);
//   }
//
// An input range, and a view: Batches(*loader) | std::views::take(100) is the
// next 100 steps.
//
// End: where Next() is OutOfRange, at the end of the run, and nowhere else.
// Errors: are elements like any other, whatever they are. The loader stays at
//     its step, so the next element is another try; leave the loop to give up.
// Steps: nothing is taken before it is looked at. In the body, and after a
//     break, loader.State() is the place behind the batch seen last.
// Back-pressure: holds the batch of the body, which is let go of before the
//     next one is asked for; so does the end of the range. Move it out to keep
//     it (LoaderOptions::max_held).
// Ownership: borrows the loader. Not while another Next() is under way, which
//     would be an error as above.
class Batches : public std::ranges::view_base {
 public:
  // Invalid once its range is moved or gone.
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = absl::StatusOr<Batch>;
    using difference_type = std::ptrdiff_t;

    // REQUIRES: not at the end. Blocks when called first for an element.
    absl::StatusOr<Batch>& operator*() const { return range_->Current(); }
    absl::StatusOr<Batch>* operator->() const { return &range_->Current(); }
    Iterator& operator++() {
      range_->LetGo();
      return *this;
    }
    void operator++(int) { ++*this; }
    // Blocks as well.
    friend bool operator==(const Iterator& it, std::default_sentinel_t) {
      return absl::IsOutOfRange((*it).status());
    }

   private:
    friend class Batches;
    explicit Iterator(Batches* range) : range_(range) {}

    Batches* range_;
  };

  explicit Batches(Loader& loader) : loader_(&loader) {}

  // Goes on behind the batch seen last.
  Iterator begin() {
    LetGo();
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return std::default_sentinel; }

 private:
  absl::StatusOr<Batch>& Current() {
    if (!is_taken_) current_ = loader_->NextBlocking();
    is_taken_ = true;
    return current_;
  }
  void LetGo() {
    current_ = absl::StatusOr<Batch>();
    is_taken_ = false;
  }

  Loader* loader_;
  absl::StatusOr<Batch> current_;
  bool is_taken_ = false;
};

}  // namespace poniente

#endif  // PONIENTE_CONSUME_H_
