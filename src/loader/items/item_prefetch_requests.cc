// SPDX-License-Identifier: Apache-2.0
// The half of an ItemLoader that runs ahead: requests for the items of one step
// or of several, on a thread of the loader's or on that of a consumer who
// waits.
#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <iterator>
#include <new>
#include <span>
#include <utility>

#include "dataset/node_answers.h"
#include "loader/items/item_prefetch.h"
#include "poniente/extend/dataset_node.h"

namespace poniente::internal {

namespace asio = boost::asio;

namespace {

// Requests without a wait after which the consumer may make some itself.
constexpr uint64_t kCalmRequests = 8;
// A request asks for up to so many items of small batches, if it takes less
// than so long. A smaller one costs more per item: it is handed from one thread
// to the other, and both meet in the allocator.
constexpr uint64_t kRequestItems = 1024;
constexpr std::chrono::milliseconds kLongRequest{2};
// Where functions run, it asks for so many at a time, and looks how long it
// took. Copies take less time than that.
constexpr uint64_t kPartItems = 64;
// An executor has other work: there, copies come in parts of so many, too, and
// no more after so long.
constexpr uint64_t kPartItemsOfExecutor = 256;
constexpr std::chrono::microseconds kLongOnExecutor{500};
// Batches ahead of the consumer by default, or requests if these are more.
constexpr uint64_t kAhead = 4;

// Returns this rank's items of a whole batch.
uint64_t ItemsEach(const ItemPrefetchOptions& options) {
  const BatchShare share =
      RankShare(options.batch_size, options.rank, options.ranks);
  return share.end - share.begin;
}

// Returns the most steps that a request asks for. Several requests fit into the
// batches ahead, so that one can be made while the consumer takes the batches
// of another.
uint64_t StepsOfRequest(const ItemPrefetchOptions& options) {
  const uint64_t items =
      std::max<uint64_t>(1, options.batch_size / options.ranks);
  uint64_t most = std::max<uint64_t>(1, kRequestItems / items);
  if (options.prefetch_batches > 0) {
    most = std::min<uint64_t>(most, options.prefetch_batches / kAhead);
  }
  return std::max<uint64_t>(1, most);
}

// Whether all nodes have the mark.
template <class Mark>
bool AreAll(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  return dynamic_cast<const Mark*>(&node) != nullptr &&
         std::all_of(
             children.begin(), children.end(),
             [](const NamedNode& child) { return AreAll<Mark>(*child.node); });
}

}  // namespace

ItemPrefetch::Core::Core(std::unique_ptr<const ItemBatchMaker> maker,
                         Schedule schedule, ItemPrefetchOptions options)
    : maker_(std::move(maker)),
      schedule_(std::move(schedule)),
      options_(std::move(options)),
      tree_(maker_->root()),
      items_each_(ItemsEach(options_)),
      most_steps_(StepsOfRequest(options_)),
      only_computes_(AreAll<OnlyComputes>(maker_->root())),
      only_copies_(!maker_->has_functions() &&
                   AreAll<OnlyCopies>(maker_->root())),
      dataset_times_(maker_->root()),
      readers_(tree_),
      counters_({}),
      reports_(options_.report_every_steps, options_.log_sink,
               options_.warning_sink),
      thread_(
          {.has_work =
               [this] { return to_do_.load(std::memory_order_acquire) > 0; },
           .on_wait =
               [this] { calm_requests_.store(0, std::memory_order_relaxed); },
           .on_loss = [this] { Break(); }}),
      window_(options_.start_step,
              options_.prefetch_batches > 0
                  ? options_.prefetch_batches
                  : static_cast<uint32_t>(kAhead * most_steps_),
              options_.prefetch_bytes) {
  if (!schedule_.Has(options_.start_step)) window_.EndAt(options_.start_step);
  thread_.Start();
}

void ItemPrefetch::Core::Stop() {
  CloseAndCancel();
  thread_.Join();
  AwaitConsumersRequest();
  MutexLock lock(&mu_);
  ready_event_.reset();
}

// Waits until there is room for a whole request, so that the thread is woken
// once for several small batches.
void ItemPrefetch::Core::StartRequests() {
  if (is_closed_) return;
  const uint64_t ahead = options_.prefetch_batches > 0
                             ? options_.prefetch_batches
                             : kAhead * request_steps_;
  while (slots_.empty() || window_.in_flight() + request_steps_ <= ahead) {
    if (!StartRequest()) return;
  }
}

void ItemPrefetch::Core::TryToStartRequests() {
  try {
    StartRequests();
  } catch (const std::bad_alloc&) {
  }
}

bool ItemPrefetch::Core::StartRequest() {
  RequestList one(1);
  Request& request = one.front();
  request.first_step = window_.next() + slots_.size();
  request.bytes_each = largest_bytes_;
  request.generation = window_.generation();
  const auto bytes_of = [bytes = largest_bytes_](uint64_t) { return bytes; };
  try {
    while (request.steps < request_steps_ &&
           window_.Start(bytes_of).has_value()) {
      ++request.steps;
      slots_.emplace_back();
    }
    if (request.steps == 0) return false;
    // Posted: co_spawn would begin to read here and now, under the lock.
    asio::post(thread_.context(), [this] { LaunchNext(&thread_.context()); });
  } catch (...) {
    const uint64_t begun = request.first_step - window_.next();
    slots_.resize(std::min<uint64_t>(slots_.size(), begun));
    for (uint64_t i = 0; i < request.steps; ++i) window_.TakeBackStart();
    throw;
  }
  queued_.splice(queued_.end(), one);
  to_do_.fetch_add(1, std::memory_order_release);
  return true;
}

void ItemPrefetch::Core::Break() {
  {
    MutexLock lock(&mu_);
    is_broken_ = true;
    UpdateReadyEvent();
  }
  TryToNotify();
}

void ItemPrefetch::Core::LaunchNext(asio::io_context* context,
                                    bool is_on_executor) {
  RequestList::iterator request;
  bool is_stale = false;
  {
    MutexLock lock(&mu_);
    if (queued_.empty()) return;  // another thread has begun it
    request = queued_.begin();
    under_way_.splice(under_way_.end(), queued_, request);
    request->context = context;
    request->is_on_executor = is_on_executor;
    is_stale = request->generation != window_.generation();
    // Under the lock: else the loader's thread would wait for this request.
    if (context != &thread_.context()) {
      to_do_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  request->began = Clock::now();
  if (context != &thread_.context()) request->cpu_before = ThreadCpuTime();
  counters_.FetchBegan(request->began);
  if (is_stale) {
    Arrive(request, absl::CancelledError("no longer wanted"));
    End(request);
    return;
  }
  auto end = [this, request](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
    End(request);
  };
  request->is_launched = true;
  try {
    asio::co_spawn(
        *context, Run(request),
        asio::bind_cancellation_slot(request->cancel.slot(), std::move(end)));
  } catch (const std::bad_alloc&) {
    Arrive(request, OutOfMemory());
    End(request);
  }
}

// Hands over what it has made at once: the event loop runs the end of a
// coroutine behind other work, such as what other requests make.
asio::awaitable<void> ItemPrefetch::Core::Run(RequestList::iterator request) {
  Batches batches = std::vector<MadeBatch>();
  try {
    batches = co_await Make(&*request);
  } catch (...) {
    batches = ErrorOfNode(maker_->root(), std::current_exception());
  }
  Arrive(request, std::move(batches));
}

// On the consumer's thread, instead of waiting: makes the first batches that
// nobody has begun. Returns whether there were any.
bool ItemPrefetch::Core::RequestHere(bool is_on_executor) {
  if (!is_final_.load(std::memory_order_relaxed) ||
      calm_requests_.load(std::memory_order_relaxed) < kCalmRequests) {
    return false;
  }
  {
    MutexLock lock(&mu_);
    if (queued_.empty()) return false;
  }
  try {
    asio::post(consumer_context_, [this, is_on_executor] {
      LaunchNext(&consumer_context_, is_on_executor);
    });
    consumer_context_.restart();
    while (!consumer_context_.stopped()) {
      if (consumer_context_.poll() > 0 || consumer_context_.stopped()) continue;
      calm_requests_.store(0, std::memory_order_relaxed);
      consumer_context_.run_one();
    }
  } catch (const std::bad_alloc&) {  // of Asio, which has lost the request
    Break();
  }
  return true;
}

void ItemPrefetch::Core::AwaitConsumersRequest() {
  while (true) {
    const uint64_t seen = changed_.version();
    {
      MutexLock lock(&mu_);
      const auto is_there = [this](const RequestList& requests) {
        return std::any_of(requests.begin(), requests.end(),
                           [this](const Request& one) {
                             return one.context == &consumer_context_;
                           });
      };
      if (is_broken_ || !(is_there(under_way_) || is_there(ending_))) return;
    }
    changed_.BlockPast(seen);
  }
}

Task<std::vector<MadeBatch>> ItemPrefetch::Core::Make(Request* request) {
  FetchTimes* const times = &request->times;
  times->datasets = {std::shared_ptr<const void>(), &dataset_times_};
  Stopwatch watch;
  const uint64_t first_step = request->first_step;
  uint64_t steps = request->steps;
  while (steps > 0 && !schedule_.Has(first_step + steps - 1)) --steps;
  if (steps == 0) co_return std::vector<MadeBatch>();
  const uint64_t batch_size = options_.batch_size;
  const uint64_t begin = first_step * batch_size;
  absl::StatusOr<uint64_t> readable =
      co_await maker_->WaitForLength(begin + steps * batch_size);
  if (!readable.ok()) co_return readable.status();
  times->length = watch.Lap();
  if (!is_final_.load(std::memory_order_relaxed)) {
    is_final_.store(maker_->root().length_now().is_final,
                    std::memory_order_relaxed);
  }
  std::vector<Position> positions;
  std::vector<size_t> counts;
  for (uint64_t first = begin; counts.size() < steps; first += batch_size) {
    const uint64_t left = *readable - std::min(*readable, first);
    const uint64_t samples = std::min(left, batch_size);
    const bool is_short = samples < batch_size;
    if (samples == 0) break;
    if (is_short && options_.last_batch == LastBatch::kDrop) break;
    const BatchShare share = RankShare(samples, options_.rank, options_.ranks);
    for (uint64_t i = share.begin; i < share.end; ++i) {
      positions.push_back({.index = first + i});
    }
    counts.push_back(share.end - share.begin);
  }
  if (counts.empty()) co_return std::vector<MadeBatch>();
  const uint64_t most = !only_copies_             ? kPartItems
                        : request->is_on_executor ? kPartItemsOfExecutor
                                                  : positions.size();
  const Clock::duration long_time =
      request->is_on_executor ? Clock::duration(kLongOnExecutor) : kLongRequest;
  std::vector<MadeBatch> all;
  std::span<const Position> items = positions;
  std::span<const size_t> left = counts;
  while (!left.empty()) {
    size_t batches = 0;
    size_t asked = 0;
    while (batches < left.size() &&
           (asked == 0 || asked + left[batches] <= most)) {
      asked += left[batches++];
    }
    Batches made = co_await maker_->Make(items.first(asked),
                                         left.first(batches), &times->decode);
    if (!made.ok()) co_return made.status();
    if (all.empty()) {
      all = *std::move(made);
    } else {
      std::move(made->begin(), made->end(), std::back_inserter(all));
    }
    request->last_items = left[batches - 1];
    items = items.subspan(asked);
    left = left.subspan(batches);
    // What is there must not wait for what takes long.
    request->is_cut =
        !left.empty() && Clock::now() - request->began > long_time;
    if (request->is_cut) break;
  }
  times->read = watch.Lap() - times->decode;
  co_return all;
}

FetchEnd ItemPrefetch::Core::EndOf(const Batches& batches, bool is_wanted) {
  if (!batches.ok()) return is_wanted ? FetchEnd::kFailed : FetchEnd::kNothing;
  if (batches->empty()) return FetchEnd::kNothing;
  return is_wanted ? FetchEnd::kReady : FetchEnd::kDropped;
}

// On the thread that has made them.
void ItemPrefetch::Core::Arrive(RequestList::iterator request,
                                Batches batches) {
  const Clock::time_point now = Clock::now();
  const Clock::duration took = now - request->began;
  if (request->context == &thread_.context()) {
    to_do_.fetch_sub(1, std::memory_order_relaxed);
  } else {
    counters_.ComputedElsewhere(ThreadCpuTime() - request->cpu_before);
  }
  {
    MutexLock lock(&mu_);
    const bool is_wanted =
        request->generation == window_.generation() && !is_closed_;
    if (is_wanted) {  // else it may have been dropped at once, or be long ago
      calm_requests_.fetch_add(1, std::memory_order_relaxed);
      ++arrived_requests_;
      AdaptRequests(took, request->is_cut || !batches.ok());
    }
    const bool asks_again = is_wanted && !batches.ok() && request->steps > 1 &&
                            AskAgain(*request, /*made=*/0, /*each=*/1);
    // Of what is no longer wanted, all steps are over.
    request->is_cut = request->is_cut && is_wanted && batches.ok();
    // Where functions take long, each step may.
    const uint64_t each = only_copies_ ? request->steps : 1;
    if (request->is_cut && !AskAgain(*request, batches->size(), each)) {
      batches = OutOfMemory();
    }
    counters_.FetchEnded(
        now, asks_again ? FetchEnd::kNothing : EndOf(batches, is_wanted),
        request->times, batches.ok() ? batches->size() : 0);
    if (!asks_again) Store(*request, now, std::move(batches));
    ending_.splice(ending_.end(), under_way_, request);
    TryToStartRequests();
    UpdateReadyEvent();
  }
  TryToNotify();
}

// When nothing uses the request anymore.
void ItemPrefetch::Core::End(RequestList::iterator request) {
  RequestList ended;  // destroyed without the lock
  bool is_awaited = false;
  {
    MutexLock lock(&mu_);
    ended.splice(ended.end(), ending_, request);
    is_awaited = is_closed_;
  }
  if (is_awaited) TryToNotify();
}

void ItemPrefetch::Core::Store(const Request& request, Clock::time_point now,
                               Batches batches) {
  const bool is_cut = request.is_cut && batches.ok();
  const uint64_t steps = is_cut ? batches->size() : request.steps;
  for (uint64_t i = 0; i < steps; ++i) {
    const uint64_t step = request.first_step + i;
    if (!window_.Arrive(step, request.generation, request.bytes_each)) continue;
    Slot& slot = slots_[step - window_.next()];
    slot.has_arrived = true;
    ++num_arrived_;
    if (step == window_.next()) next_since_ = now;
    if (!batches.ok()) {
      slot.made = batches.status();
    } else if (i < batches->size()) {
      MadeBatch& made = (*batches)[i];
      largest_bytes_ = std::max(largest_bytes_, made.bytes);
      window_.SetBytes(step, made.bytes);
      const bool is_last = i + 1 == batches->size();
      if (is_last && request.last_items != items_each_) {
        short_step_ = step;
        short_items_ = request.last_items;
      }
      slot.made = std::move(made);
      ++num_ready_;
    } else {
      window_.EndAt(step);
    }
  }
}

// Asks for the steps of a request that were not made, `each` in a request: so
// an error is that of its step, and no step waits for another. Returns false if
// there is no memory.
bool ItemPrefetch::Core::AskAgain(const Request& ended, uint64_t made,
                                  uint64_t each) {
  RequestList all;
  const uint64_t steps = ended.steps - made;
  const uint64_t count = (steps + each - 1) / each;
  try {
    all.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      asio::post(thread_.context(), [this] { LaunchNext(&thread_.context()); });
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  const uint64_t end = ended.first_step + ended.steps;
  uint64_t step = ended.first_step + made;
  for (Request& one : all) {
    one.first_step = step;
    one.steps = std::min(each, end - step);
    one.bytes_each = ended.bytes_each;
    one.generation = ended.generation;
    step += one.steps;
  }
  // Steps behind them may have been begun and come back before.
  const auto behind =
      std::find_if(queued_.begin(), queued_.end(), [&](const Request& one) {
        return one.generation == ended.generation &&
               one.first_step > ended.first_step;
      });
  queued_.splice(behind, all);
  to_do_.fetch_add(count, std::memory_order_release);
  return true;
}

// Asks for more steps at once while this is fast, and for single ones as soon
// as somebody waits.
void ItemPrefetch::Core::AdaptRequests(Clock::duration took, bool has_failed) {
  const uint64_t calm = only_computes_
                            ? arrived_requests_
                            : calm_requests_.load(std::memory_order_relaxed);
  const bool is_calm = calm > 1 && is_final_.load(std::memory_order_relaxed);
  is_quick_.store(!has_failed && took < kLongRequest / 2,
                  std::memory_order_relaxed);
  if (!is_calm || has_failed) {
    request_steps_ = 1;
  } else if (took < kLongRequest / 2) {
    request_steps_ = std::min(2 * request_steps_, most_steps_);
  } else if (took > kLongRequest) {
    request_steps_ = std::max<uint64_t>(request_steps_ / 2, 1);
  }
}

}  // namespace poniente::internal
