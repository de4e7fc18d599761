// SPDX-License-Identifier: Apache-2.0
// A coroutine that waits for what its execution context knows nothing of.

#ifndef PONIENTE_ASYNC_PARKED_COROUTINE_H_
#define PONIENTE_ASYNC_PARKED_COROUTINE_H_

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <memory>

namespace poniente::internal {

class ParkingLot;

// Asio drops the coroutines that wait for a timer or a socket when their
// context dies, and can do so then only: their frames give memory and work back
// to it. One that waits for another thread has to be known to the context for
// the same to happen, so each context has a list of them, a service of it.
//
// Work: its executor counts it as work, so that a run() does not return while
//     it is parked.
// The context's end: drops it; Resume() then does nothing. A Resume() on
//     another thread meanwhile is waited for.
// Thread safety: any thread, but one Resume() at a time.
class ParkedCoroutine {
 public:
  using Handler = boost::asio::any_completion_handler<void(bool)>;

  ParkedCoroutine(Handler&& handler, boost::asio::any_io_executor executor);
  ~ParkedCoroutine();
  ParkedCoroutine(const ParkedCoroutine&) = delete;
  ParkedCoroutine& operator=(const ParkedCoroutine&) = delete;

  // Posts it to its executor, with `notified` as what it was waiting for.
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
