// SPDX-License-Identifier: Apache-2.0
// A thread that makes batches beside the loader's, while a consumer waits.

#ifndef PONIENTE_LOADER_HELPER_THREAD_H_
#define PONIENTE_LOADER_HELPER_THREAD_H_

#include <atomic>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "async/notifier.h"
#include "util/mutex.h"

namespace poniente::internal {

// Helps when it is called, as long as there is something to do. Then it looks
// out for the next call for a while before it sleeps (ShortSpin).
//
// Thread safety: any thread, except StartIfCalled().
class HelperThread {
 public:
  // `help` does one piece of work on the thread, if there is one, and returns
  // whether there was.
  explicit HelperThread(std::function<bool()> help);
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;
  ~HelperThread() { Join(); }

  void Call();
  // Starts the thread once it has been called. It may then run on the cores of
  // the caller, which is always the same thread. There is none where these are
  // fewer than two, or if it cannot be started.
  void StartIfCalled();
  // Ends the thread behind the piece of work that it does. Later calls do
  // nothing.
  void Join();

 private:
  void Run();

  const std::function<bool()> help_;
  Notifier calls_;
  bool was_called_ = false;  // used by StartIfCalled()
  std::atomic<bool> is_over_ = false;
  Mutex mu_;
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_HELPER_THREAD_H_
