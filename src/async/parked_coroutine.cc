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
#include <utility>

#include "absl/base/thread_annotations.h"
#include "util/mutex.h"

namespace poniente::internal {

namespace asio = boost::asio;

// Attempts to resume, a millisecond apart.
constexpr int kMaxTries = 10'000;

// The coroutines parked on one context. Outlives the context, so that
// coroutines that come later find it closed.
class ParkingLot {
 public:
  using Contents = ParkedCoroutine::Contents;

  // Moves the content of the coroutine here, or drops it if the lot is closed.
  void Enter(ParkedCoroutine* coroutine) {
    Contents dropped;
    MutexLock lock(&mu_);
    Contents& to = is_closed_ ? dropped : parked_;
    coroutine->place_ = coroutine->content_.begin();
    coroutine->is_parked_ = !is_closed_;
    to.splice(to.end(), coroutine->content_);
  }

  // Returns the coroutine's content, if it is here. If so, the context is not
  // destroyed before Left() is called.
  Contents Take(ParkedCoroutine* coroutine) {
    Contents taken;
    MutexLock lock(&mu_);
    if (is_closed_ || !coroutine->is_parked_) return taken;
    coroutine->is_parked_ = false;
    taken.splice(taken.end(), parked_, coroutine->place_);
    ++leaving_;
    return taken;
  }
  void Left() {
    // Release: everything done to the context happens before its destruction.
    if (leaving_.fetch_sub(1, std::memory_order_release) == 1) {
      leaving_.notify_all();
    }
  }

  // Returns the contents of all.
  Contents Close() {
    Contents left;
    {
      MutexLock lock(&mu_);
      is_closed_ = true;
      left.swap(parked_);
    }
    while (const int leaving = leaving_.load(std::memory_order_acquire)) {
      leaving_.wait(leaving, std::memory_order_acquire);
    }
    return left;
  }

 private:
  Mutex mu_;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  Contents parked_ ABSL_GUARDED_BY(mu_);
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
      : lot_(coroutine->lot_), contents_(lot_->Take(coroutine)) {}
  ~Taken() {
    if (contents_.empty()) return;
    contents_.clear();
    lot_->Left();
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  const Content* get() const {
    return contents_.empty() ? nullptr : &contents_.front();
  }

 private:
  const std::shared_ptr<ParkingLot> lot_;
  Contents contents_;
};

ParkedCoroutine::ParkedCoroutine(asio::any_io_executor executor)
    : lot_(ParkingService::LotOf(executor)) {
  content_.push_back({asio::prefer(std::move(executor),
                                   asio::execution::outstanding_work.tracked),
                      std::make_shared<std::optional<Handler>>()});
}

ParkedCoroutine::~ParkedCoroutine() { Taken dropped(this); }

void ParkedCoroutine::Park(Handler&& handler) {
  content_.front().handler->emplace(std::move(handler));
  lot_->Enter(this);
}

void ParkedCoroutine::Resume(bool notified) {
  const Taken taken(this);
  if (taken.get() == nullptr) return;
  for (int tries = 1;; ++tries) {
    try {
      asio::post(taken.get()->executor,
                 [shared = taken.get()->handler, notified] {
                   Handler& handler = **shared;
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
