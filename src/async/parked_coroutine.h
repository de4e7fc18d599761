// SPDX-License-Identifier: Apache-2.0
// A coroutine that waits for something outside its execution context.

#ifndef PONIENTE_ASYNC_PARKED_COROUTINE_H_
#define PONIENTE_ASYNC_PARKED_COROUTINE_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <memory>
#include <optional>

namespace poniente::internal {

class ParkingLot;

// Has the context keep its list of parked coroutines from now on. Asio shuts
// services down from the newest to the oldest: what services made after this
// still use is dropped after them.
void UseParking(boost::asio::execution_context& context);

// When an execution context is destroyed, Asio drops the coroutines that wait
// for the context's timers and sockets. It can do so only then, because their
// frames return memory and work to the context. A coroutine that waits for
// another thread must be dropped at the same time, so each context keeps a list
// of these, in a service.
//
// Work: a parked coroutine counts as work of its executor, so run() does not
//     return meanwhile.
// Destruction of the context: drops the coroutine; Resume() then does nothing.
//     Waits for a Resume() in progress on another thread.
// Thread safety: any thread, but only one Resume() at a time.
class ParkedCoroutine {
 public:
  // A suspended coroutine. Called, it continues with the argument.
  using Handler = boost::asio::async_result<boost::asio::use_awaitable_t<>,
                                            void(bool)>::handler_type;

  // Allocates all that Park() needs. Until then it counts as work already.
  explicit ParkedCoroutine(boost::asio::any_io_executor executor);
  ~ParkedCoroutine();
  ParkedCoroutine(const ParkedCoroutine&) = delete;
  ParkedCoroutine& operator=(const ParkedCoroutine&) = delete;

  // Takes the coroutine; drops it if the context has been destroyed. Allocates
  // nothing, since Asio loses a coroutine whose wait throws when it has been
  // suspended. Call it once.
  void Park(Handler&& handler);

  // Posts the coroutine to its executor; its wait returns `notified`. If there
  // is no memory, tries for ten seconds; then throws std::bad_alloc, and the
  // coroutine is dropped, for which Asio needs memory, too: else the process
  // ends.
  void Resume(bool notified);

 private:
  friend class ParkingLot;
  struct Content {
    boost::asio::any_io_executor executor;
    // Destroyed first: it posts to the executor. Shared with what is posted, so
    // that it is not lost if there is no memory for that.
    std::shared_ptr<std::optional<Handler>> handler;
  };
  // None or one; moved without allocating.
  using Contents = std::list<Content>;
  class Taken;

  const std::shared_ptr<ParkingLot> lot_;
  Contents content_;  // until it is parked
  // Under the lot's lock: the place in the lot, if it is there.
  bool is_parked_ = false;
  Contents::iterator place_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_ASYNC_PARKED_COROUTINE_H_
