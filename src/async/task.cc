// SPDX-License-Identifier: Apache-2.0
#include "poniente/task.h"

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "async/notifier.h"
#include "util/fork_count.h"

namespace poniente {

namespace asio = boost::asio;

namespace internal {

namespace {

// Creates the status at the start of the program, while there is memory.
[[maybe_unused]] const bool made_at_start = !OutOfMemory().ok();

}  // namespace

absl::Status OutOfMemory() {
  static const auto* const status =
      new absl::Status(absl::ResourceExhaustedError("out of memory"));
  return *status;  // copying it allocates nothing
}

absl::Status StatusFromException(std::exception_ptr exception) try {
  try {
    std::rethrow_exception(exception);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) {
      return absl::CancelledError("cancelled by the caller");
    }
    return absl::InternalError(error.what());
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  } catch (...) {
    return absl::InternalError("an exception of unknown type");
  }
} catch (const std::bad_alloc&) {  // no memory for the message
  return OutOfMemory();
}

namespace {

// The event loop of a thread. It is kept, so that its ring is created only
// once.
struct ThreadLoop {
  asio::io_context context{1};
  bool running = false;
};

// Holds the loop of a thread. A forked child must not use or even destroy the
// parent's loop, because the two processes share its reactor.
class ThreadLoopHolder {
 public:
  ~ThreadLoopHolder() { LeaveToParent(); }

  ThreadLoop& Get() {
    LeaveToParent();
    if (loop_ == nullptr) {
      loop_ = std::make_unique<ThreadLoop>();
      forks_ = ForkCount();
    }
    return *loop_;
  }

 private:
  void LeaveToParent() {
    if (loop_ != nullptr && forks_ != ForkCount()) (void)loop_.release();
  }

  std::unique_ptr<ThreadLoop> loop_;
  int forks_ = 0;
};

void RunOn(asio::io_context& context, asio::awaitable<void> task) {
  std::exception_ptr thrown;
  context.restart();
  for (bool has_begun = false;;) {
    try {
      if (!std::exchange(has_begun, true)) {
        asio::co_spawn(context, std::move(task),
                       [&thrown](std::exception_ptr e) { thrown = e; });
      }
      context.run();
      break;
    } catch (...) {
      // A coroutine could not be started, suspended or resumed. What is left of
      // it is posted, and must end before what it has borrowed does.
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace

void RunOnThisThread(asio::awaitable<void> task) {
  thread_local ThreadLoopHolder holder;
  ThreadLoop& loop = holder.Get();
  if (loop.running) {  // called by a coroutine that runs on this loop
    asio::io_context nested{1};
    RunOn(nested, std::move(task));
    return;
  }
  struct Running {
    explicit Running(bool* f) : flag(f) { *flag = true; }
    ~Running() { *flag = false; }
    bool* const flag;
  } running(&loop.running);
  RunOn(loop.context, std::move(task));
}

namespace {

// The state that the tasks of one WhenAll() share with the waiting coroutine.
struct Gathering {
  explicit Gathering(size_t n) : statuses(n), cancels(n), left(n) {}

  std::vector<absl::Status> statuses;
  std::vector<asio::cancellation_signal> cancels;
  std::atomic<size_t> left;
  Notifier done;  // once
};

// Told the status of one task, or destroyed with the task if that is dropped:
// there was no memory to start or resume it, or its context is destroyed.
class TaskEnd {
 public:
  // Where the task is told to end. Here, and not bound to this, so that Asio
  // tells it without an allocation.
  using cancellation_slot_type = asio::cancellation_slot;
  cancellation_slot_type get_cancellation_slot() const noexcept {
    return all_ == nullptr ? asio::cancellation_slot()
                           : all_->cancels[task_].slot();
  }

  TaskEnd(std::shared_ptr<Gathering> all, size_t task)
      : all_(std::move(all)), task_(task) {}
  TaskEnd(TaskEnd&&) noexcept = default;
  ~TaskEnd() {
    if (all_ != nullptr) End(OutOfMemory());
  }

  void operator()(std::exception_ptr thrown, absl::Status status) {
    End(thrown ? StatusFromException(thrown) : std::move(status));
  }

 private:
  void End(absl::Status status) {
    const std::shared_ptr<Gathering> all = std::move(all_);
    all->statuses[task_] = std::move(status);
    // Acquire-release: the last task sees the statuses of all tasks.
    if (all->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      all->done.NotifyAll();
    }
  }

  std::shared_ptr<Gathering> all_;  // null: told
  size_t task_;
};

// Cancels all tasks.
void Cancel(Gathering& all) {
  for (asio::cancellation_signal& signal : all.cancels) {
    try {
      signal.emit(asio::cancellation_type::terminal);
    } catch (...) {  // no memory to resume that task for long: it is dropped
    }
  }
}

}  // namespace

}  // namespace internal

Task<> WhenAll(std::vector<Task<>> tasks) {
  if (tasks.empty()) co_return absl::OkStatus();
  if (tasks.size() == 1) {
    absl::Status only = co_await std::move(tasks.front());
    co_return only;
  }
  auto executor = co_await asio::this_coro::executor;
  const auto state = co_await asio::this_coro::cancellation_state;
  auto all = std::make_shared<internal::Gathering>(tasks.size());
  // The tasks may use objects that the caller owns, so from the first task on,
  // nothing may throw before the last one has ended: the waits are prepared.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  auto wait = all->done.PreparedWaitPast(0, executor, state.slot());
  auto wait_to_end =
      all->done.PreparedWaitPast(0, executor, asio::cancellation_slot());
  co_await asio::this_coro::throw_if_cancelled(false);
  for (size_t i = 0; i < tasks.size(); ++i) {
    try {
      asio::co_spawn(executor, std::move(tasks[i]), internal::TaskEnd(all, i));
    } catch (...) {  // the task is dropped, the others continue
    }
  }
  bool cancelled = false;
  // Acquire: what the tasks did is seen.
  if (all->left.load(std::memory_order_acquire) > 0) {
    cancelled = state.cancelled() != asio::cancellation_type::none;
    if (!cancelled) cancelled = !co_await std::move(wait);
    if (cancelled) {
      internal::Cancel(*all);
      co_await std::move(wait_to_end);
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (cancelled) co_return absl::CancelledError("cancelled by the caller");
  for (absl::Status& status : all->statuses) {
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

}  // namespace poniente
