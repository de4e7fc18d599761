// SPDX-License-Identifier: Apache-2.0
// The half of a loader that runs ahead: one thread, on which batches are
// fetched, and the batches that are ready.
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "dataset/node_answers.h"
#include "loader/loader_core.h"

namespace poniente {

namespace asio = boost::asio;
using internal::FetchEnd;
using internal::LoaderCounters;
using internal::MutexLock;

namespace {

// Fetches without a wait after which batches are taken to come from memory.
constexpr uint64_t kCalmFetches = 8;
// Reads that take longer than this do not copy from memory alone.
constexpr std::chrono::nanoseconds kLongestCopy = std::chrono::milliseconds(2);
constexpr std::chrono::nanoseconds kLongestCopyOfByte{2};
// Batches of fewer bytes are made sooner than a third thread is told of them.
constexpr uint64_t kLeastHelped = uint64_t{64} << 10;

}  // namespace

Loader::Core::Core(internal::SteeredRun run, LoaderOptions options)
    : options_(std::move(options)),
      slots_(internal::SlotRing::Create(
          options_.device, options_.prefetch_batches + options_.max_held + 1,
          [sink = options_.warning_sink](std::string_view line) {
            internal::EmitLine(sink, "warning: ", line);
          })),
      edition_(
          std::make_shared<const Edition>(std::move(run), options_, slots_)),
      counters_(tree().leaves()),
      readers_(tree()),
      reports_(options_.report_every_steps, options_.log_sink,
               options_.warning_sink),
      thread_({.has_work =
                   [this] {
                     return launched_.load(std::memory_order_acquire) >
                            arrived_;
                   },
               .on_wait = nullptr,
               .on_loss = [this] { Break(); }}),
      helper_([this] { return Help(&helper_context_); }),
      window_(options_.start_step, options_.prefetch_batches,
              options_.prefetch_bytes),
      opener_(options_.component_opener),
      journal_(options_.journal) {
  counters_.MovedTo(options_.start_step);
  if (options_.waits_for_held) {
    slots_->OnReturn([this] { TryToNotify(); });
  }
  thread_.Start();
}

void Loader::Core::Stop() {
  slots_->OnReturn(nullptr);
  CloseAndCancel();
  helper_.Join();
  thread_.Join();
  MutexLock lock(&mu_);
  ready_event_.reset();
}

uint64_t Loader::Core::NumReady(uint64_t from_step) const {
  uint64_t ready = 0;
  for (auto one = ready_.lower_bound(from_step); one != ready_.end(); ++one) {
    ready += one->second.has_batch() ? 1 : 0;
  }
  return ready;
}

void Loader::Core::StartFetches() {
  if (is_closed_) return;
  uint64_t bytes = 0;  // of the step that is started
  const auto bytes_of = [&edition = *edition_, &bytes](uint64_t step) {
    return bytes = edition.assembler.BytesOf(step);
  };
  while (const std::optional<uint64_t> step = window_.Start(bytes_of)) {
    try {
      StartFetch(*step, bytes);
    } catch (...) {
      window_.TakeBackStart();
      throw;
    }
  }
}

void Loader::Core::TryToStartFetches() {
  try {
    StartFetches();
  } catch (const std::bad_alloc&) {
  }
}

void Loader::Core::StartFetch(uint64_t step, uint64_t bytes) {
  std::list<Fetch> one(1);
  ReadySteps nodes;
  nodes.emplace(step, Ready{std::optional<Batch>(), {}});
  const auto fetch = one.begin();
  fetch->ready = nodes.extract(step);
  fetch->edition = edition_;
  fetch->bytes = bytes;
  fetch->generation = window_.generation();
  // Posted: co_spawn would begin to read here and now, under the lock.
  asio::post(thread_.context(), [this] { LaunchNext(); });
  queued_.splice(queued_.end(), one);
  launched_.fetch_add(1, std::memory_order_release);
}

std::list<Loader::Core::Fetch>::iterator Loader::Core::BeginFetch() {
  if (queued_.empty()) return under_way_.end();
  const auto first = queued_.begin();
  under_way_.splice(under_way_.end(), queued_, first);
  first->is_stale = !window_.IsWanted(first->step(), first->generation);
  return first;
}

void Loader::Core::Break() {
  {
    MutexLock lock(&mu_);
    is_broken_ = true;
    UpdateReadyEvent();
  }
  TryToNotify();
}

void Loader::Core::TryToNotify() {
  try {
    changed_.NotifyAll();
  } catch (const std::bad_alloc&) {
    // Who waits is dropped, and told so by its own event loop.
  }
}

// On the loader's thread. What was posted from that very thread may come later
// than what others posted after it, so the signal that cancels this fetch may
// have been given already, to nobody.
void Loader::Core::LaunchNext() {
  std::list<Fetch>::iterator fetch;
  {
    MutexLock lock(&mu_);
    fetch = BeginFetch();
    if (fetch == under_way_.end()) return;  // a helper has made it
  }
  helper_.StartIfCalled();
  const EditionPtr edition = fetch->edition;
  const uint32_t others = edition->assembler.num_under_way();
  Launch(&thread_.context(), fetch);
  if (edition->assembler.num_under_way() > others) {
    // It waits for a disk, or for data to be written.
    calm_fetches_.store(0, std::memory_order_relaxed);
  }
}

// It runs on that context to its end.
void Loader::Core::Launch(asio::io_context* context,
                          std::list<Fetch>::iterator fetch) {
  fetch->began = LoaderCounters::Clock::now();
  counters_.FetchBegan(fetch->began);
  if (fetch->is_stale) {
    Arrive(fetch, absl::CancelledError("no longer wanted"));
    End(fetch);
    return;
  }
  auto end = [this, fetch](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
    End(fetch);
  };
  try {
    asio::co_spawn(
        *context, Run(fetch),
        asio::bind_cancellation_slot(fetch->cancel.slot(), std::move(end)));
  } catch (const std::bad_alloc&) {
    Arrive(fetch, internal::OutOfMemory());
    End(fetch);
  }
}

// Hands over what it has fetched at once: the event loop runs the end of a
// coroutine behind other work, such as what other fetches compute.
asio::awaitable<void> Loader::Core::Run(std::list<Fetch>::iterator fetch) {
  Fetched fetched = std::optional<Batch>();
  try {
    fetched = co_await fetch->edition->assembler.Assemble(
        fetch->step(), /*may_hand_over=*/!fetch->is_of_helper, &fetch->times);
  } catch (...) {
    fetched = internal::ErrorOfNode(*fetch->edition->run.dataset,
                                    std::current_exception());
  }
  Arrive(fetch, std::move(fetched));
}

// Batches come from memory, and no code but the library's makes them or decides
// when they may be made.
bool Loader::Core::MayHelp() const {
  if (calm_fetches_.load(std::memory_order_relaxed) < kCalmFetches) {
    return false;
  }
  const EditionPtr edition = Current();
  if (!edition->assembler.may_run_anywhere()) return false;
  try {
    return edition->run.dataset->length_now().is_final;
  } catch (...) {
    return false;  // the fetch on the loader's thread will say what it is
  }
}

// On a thread other than the loader's, to which `context` belongs: makes the
// first batch that no thread has begun. Returns whether there was one.
bool Loader::Core::Help(asio::io_context* context) {
  if (!MayHelp()) return false;
  std::list<Fetch>::iterator fetch;
  {
    MutexLock lock(&mu_);
    fetch = BeginFetch();
    if (fetch == under_way_.end()) return false;
    fetch->is_of_helper = true;
    // Under the lock: else the loader's thread would wait for this fetch.
    launched_.fetch_sub(1, std::memory_order_relaxed);
  }
  try {
    Launch(context, fetch);
    context->restart();
    context->run();
  } catch (const std::bad_alloc&) {  // of Asio, which has lost the fetch
    Break();
  }
  return true;
}

// For a consumer that waits, or will as nothing is ready, but whose thread has
// other work.
void Loader::Core::CallHelper() {
  {
    MutexLock lock(&mu_);
    if (IsReady() || queued_.empty()) return;
    if (queued_.front().bytes < kLeastHelped) return;
  }
  if (MayHelp()) helper_.Call();
}

void Loader::Core::CountHelpersFetch(const Fetch& fetch) {
  const auto took = LoaderCounters::Clock::now() - fetch.began;
  const auto copying = kLongestCopy + fetch.bytes * kLongestCopyOfByte;
  if (fetch.times.read > copying) {  // it waited for the disk after all
    calm_fetches_.store(0, std::memory_order_relaxed);
  } else {
    counters_.ComputedElsewhere(took);
  }
}

FetchEnd Loader::Core::EndOf(const Fetched& fetched, bool is_wanted) {
  if (!fetched.ok()) return is_wanted ? FetchEnd::kFailed : FetchEnd::kNothing;
  if (!fetched->has_value()) return FetchEnd::kNothing;
  return is_wanted ? FetchEnd::kReady : FetchEnd::kDropped;
}

// On the thread that has fetched it.
void Loader::Core::Arrive(std::list<Fetch>::iterator fetch, Fetched fetched) {
  const auto now = LoaderCounters::Clock::now();
  // Its last owner may wait for threads: released without the lock.
  const EditionPtr edition = std::move(fetch->edition);
  if (edition->grows) {
    try {
      Settle(edition);
    } catch (...) {
      // Of a dataset's functions, or no memory. The next fetch tries again.
    }
  }
  if (fetch->times.datasets != nullptr) {
    // The counters read it after the run has changed, too.
    fetch->times.datasets = {edition, fetch->times.datasets.get()};
  }
  if (fetch->is_of_helper) {
    CountHelpersFetch(*fetch);
  } else {
    ++arrived_;
    calm_fetches_.fetch_add(1, std::memory_order_relaxed);
  }
  {
    MutexLock lock(&mu_);
    const bool is_wanted =
        window_.Arrive(fetch->step(), fetch->generation, fetch->bytes) &&
        !is_closed_;
    counters_.FetchEnded(now, EndOf(fetched, is_wanted), fetch->times);
    if (is_wanted) {
      if (fetched.ok() && !fetched->has_value()) window_.EndAt(fetch->step());
      fetch->ready.mapped() = {std::move(fetched), now};
      ready_.insert(std::move(fetch->ready));
    } else {
      // Gives back its slot before another thread can begin another step.
      fetched = std::optional<Batch>();
    }
    ending_.splice(ending_.end(), under_way_, fetch);
    TryToStartFetches();
    UpdateReadyEvent();
  }
  TryToNotify();
}

// When nothing uses the fetch anymore.
void Loader::Core::End(std::list<Fetch>::iterator fetch) {
  std::list<Fetch> ended;  // destroyed without the lock
  bool is_awaited = false;
  {
    MutexLock lock(&mu_);
    ended.splice(ended.end(), ending_, fetch);
    is_awaited = is_closed_;
  }
  if (is_awaited) TryToNotify();
}

void Loader::Core::Restart(uint64_t step) {
  window_.Restart(step);
  counters_.Restarted(NumReady());
  ready_.clear();
  calm_fetches_.store(0, std::memory_order_relaxed);  // other data may come
  PostCancelStale();
}

void Loader::Core::PostCancelStale() {
  try {
    // Signals may be emitted on the loader's thread only.
    asio::post(thread_.context(), [this] { CancelStale(); });
  } catch (const std::bad_alloc&) {
    // What is no longer wanted comes to its end, and is dropped then.
  }
}

void Loader::Core::CancelStale() {
  while (true) {
    Fetch* stale = nullptr;
    {
      MutexLock lock(&mu_);
      for (Fetch& fetch : under_way_) {
        if (!window_.IsWanted(fetch.step(), fetch.generation) &&
            !fetch.is_cancelled && !fetch.is_of_helper) {
          stale = &fetch;
        }
      }
      if (stale == nullptr) return;
      stale->is_cancelled = true;
    }
    stale->cancel.emit(asio::cancellation_type::terminal);
  }
}

void Loader::Core::CloseAndCancel() {
  {
    MutexLock lock(&mu_);
    is_closed_ = true;
    Restart(window_.next());
    UpdateReadyEvent();
  }
  TryToNotify();
}

}  // namespace poniente
