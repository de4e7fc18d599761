// SPDX-License-Identifier: Apache-2.0
// A coroutine that waits for something outside its execution context.

#ifndef PONIENTE_ASYNC_PARKED_COROUTINE_H_
#define PONIENTE_ASYNC_PARKED_COROUTINE_H_

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <memory>

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
  using Handler = boost::asio::any_completion_handler<void(bool)>;

  ParkedCoroutine(Handler&& handler, boost::asio::any_io_executor executor);
  ~ParkedCoroutine();
  ParkedCoroutine(const ParkedCoroutine&) = delete;
  ParkedCoroutine& operator=(const ParkedCoroutine&) = delete;

  // Posts the coroutine to its executor; its wait returns `notified`. If there
  // is no memory, tries for a few milliseconds; then throws std::bad_alloc, and
  // the coroutine is lost.
  void Resume(bool notified);

 private:
  friend class ParkingLot;
  struct Content;
  class Taken;

  const std::shared_ptr<ParkingLot> lot_;
  std::unique_ptr<Content> content_;  // under the lot's lock
};

}  // namespace poniente::internal

#endif  // PONIENTE_ASYNC_PARKED_COROUTINE_H_
