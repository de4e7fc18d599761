// SPDX-License-Identifier: Apache-2.0
#include "async/parked_coroutine.h"

#include <atomic>
#include <boost/asio/execution/context_as.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <chrono>
#include <new>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "util/mutex.h"

namespace poniente::internal {

namespace asio = boost::asio;

// Attempts to resume, a millisecond apart.
constexpr int kMaxTries = 10;

struct ParkedCoroutine::Content {
  Content(Handler&& h, asio::any_io_executor e)
      : executor(asio::prefer(std::move(e),
                              asio::execution::outstanding_work.tracked)),
        handler(std::make_shared<Handler>(std::move(h))) {}

  asio::any_io_executor executor;
  // Destroyed first: it posts to the executor. Shared with what is posted, so
  // that it is not lost if there is no memory for that.
  std::shared_ptr<Handler> handler;
};

// The coroutines parked on one context. Outlives the context, so that
// coroutines that come later find it closed.
class ParkingLot {
 public:
  using Content = std::unique_ptr<ParkedCoroutine::Content>;

  // Adds a coroutine. Returns false if the lot is closed.
  bool Enter(ParkedCoroutine* coroutine) {
    MutexLock lock(&mu_);
    if (!is_closed_) parked_.insert(coroutine);
    return !is_closed_;
  }

  // Removes the coroutine and returns its content. If that is not null, the
  // context is not destroyed before Left() is called.
  Content Take(ParkedCoroutine* coroutine) {
    MutexLock lock(&mu_);
    if (parked_.erase(coroutine) > 0) ++leaving_;
    return std::move(coroutine->content_);
  }
  void Left() {
    // Release: everything done to the context happens before its destruction.
    if (leaving_.fetch_sub(1, std::memory_order_release) == 1) {
      leaving_.notify_all();
    }
  }

  std::vector<Content> Close() {
    std::vector<Content> left;
    {
      MutexLock lock(&mu_);
      is_closed_ = true;
      for (ParkedCoroutine* coroutine : parked_) {
        left.push_back(std::move(coroutine->content_));
      }
      parked_.clear();
    }
    while (const int leaving = leaving_.load(std::memory_order_acquire)) {
      leaving_.wait(leaving, std::memory_order_acquire);
    }
    return left;
  }

 private:
  Mutex mu_;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  std::unordered_set<ParkedCoroutine*> parked_ ABSL_GUARDED_BY(mu_);
  std::atomic<int> leaving_ = 0;
};

namespace {

class ParkingService final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;

  explicit ParkingService(asio::execution_context& context)
      : asio::execution_context::service(context) {}

  static std::shared_ptr<ParkingLot> LotOf(
      const asio::any_io_executor& executor) {
    asio::execution_context& context = asio::query(
        executor, asio::execution::context_as<asio::execution_context&>);
    return asio::use_service<ParkingService>(context).lot_;
  }

 private:
  void shutdown() override { lot_->Close(); }

  const std::shared_ptr<ParkingLot> lot_ = std::make_shared<ParkingLot>();
};

}  // namespace

// The content of a coroutine. Keeps the coroutine's context from being
// destroyed meanwhile.
class ParkedCoroutine::Taken {
 public:
  explicit Taken(ParkedCoroutine* coroutine)
      : lot_(coroutine->lot_), content_(lot_->Take(coroutine)) {}
  ~Taken() {
    if (content_ == nullptr) return;
    content_.reset();
    lot_->Left();
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  Content* get() const { return content_.get(); }

 private:
  const std::shared_ptr<ParkingLot> lot_;
  std::unique_ptr<Content> content_;
};

ParkedCoroutine::ParkedCoroutine(Handler&& handler,
                                 asio::any_io_executor executor)
    : lot_(ParkingService::LotOf(executor)),
      content_(
          std::make_unique<Content>(std::move(handler), std::move(executor))) {
  if (!lot_->Enter(this)) content_.reset();
}

ParkedCoroutine::~ParkedCoroutine() { Taken dropped(this); }

void ParkedCoroutine::Resume(bool notified) {
  const Taken taken(this);
  if (taken.get() == nullptr) return;
  for (int tries = 1;; ++tries) {
    try {
      asio::post(taken.get()->executor,
                 [shared = taken.get()->handler, notified] {
                   Handler& handler = *shared;
                   std::move(handler)(notified);
                 });
      return;
    } catch (const std::bad_alloc&) {
      if (tries == kMaxTries) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

void UseParking(asio::execution_context& context) {
  asio::use_service<ParkingService>(context);
}

}  // namespace poniente::internal
