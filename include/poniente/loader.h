// SPDX-License-Identifier: Apache-2.0
// Prefetches the batches of a run in order: Next, Seek, Close; and Batches, a
// range of them.

#ifndef PONIENTE_LOADER_H_
#define PONIENTE_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/batch.h"
#include "poniente/dataset_tree.h"
#include "poniente/device.h"
#include "poniente/metrics.h"
#include "poniente/schedule.h"
#include "poniente/task.h"
#include "poniente/token_window.h"

namespace poniente {

// What happens to the samples of a finite dataset that do not fill a batch.
enum class LastBatch { kKeep, kDrop };

struct LoaderOptions {
  // Data-parallel rank and their number: which share of each step this loader
  // serves. All ranks together see the same tokens whatever their number.
  // ranks.h shows how to take them from torchrun, mpirun or srun.
  uint32_t rank = 0;
  uint32_t ranks = 1;

  // The step that the first Next() gives.
  uint64_t start_step = 0;

  // A finite dataset may end in the middle of a step: serve the short batch, or
  // end before it.
  LastBatch last_batch = LastBatch::kKeep;

  // How ids lie in a batch. Must hold every id of the vocabulary.
  TokenType token_type = TokenType::kU32;

  // What a batch has beside its tokens; each costs memory and time
  // (docs/performance.md). None by default.
  std::vector<BatchTensor> tensors = {};

  // For BatchTensor::kLossWeights: by the path of a source, or of a node above
  // it ("prose", "prose/fortunes"); the longest that fits counts, 1 where none
  // does. Finite, at least 0.
  std::map<std::string, float> loss_weights = {};

  // Batches in flight or ready ahead of the consumer. More hides longer stalls
  // and costs one batch of memory each. At least 1. Never changes a token.
  uint32_t prefetch_batches = 4;

  // And their bytes together, with those that ids are widened from; one batch
  // is always fetched.
  uint64_t prefetch_bytes = uint64_t{1} << 30;

  // Batches that the consumer may keep when it asks for the next one; with one
  // more kept, Next() is ResourceExhausted. Memory is prefetch_batches +
  // max_held + 1 batches, made as it is needed and used again and again.
  uint32_t max_held = 2;

  // Where batches are delivered. Where there is no such GPU they stay on the
  // host, with a warning. Never changes a token.
  Device device = {};

  // Ids go to the GPU as they are stored and become token_type there: for u16
  // and i64 a quarter of the bytes to copy, and nothing to widen for the host.
  // The host then has no tokens: Batch::has_host_tokens() is false, tokens()
  // and bytes() must not be called. Done only if batches are on a GPU, the
  // library was built with nvcc, all sources lie in files, in one width that
  // is less than token_type's, and labels are not asked for; else the host
  // widens them and has them. Never changes a token. docs/staging.md.
  bool widen_on_device = false;

  // Receives one line per warning, on any thread: a backend that was not the
  // one preferred; data that comes too late (Next() waited for a tenth of the
  // time or more, and for more than a second, over 100 steps; docs/metrics.md),
  // at most every ten minutes unless something else is behind. Default:
  // standard error.
  std::function<void(std::string_view)> warning_sink;

  // Every so many steps, log_sink receives a line of what happened in them
  // (MetricsLine()), on the thread that Next() resumes on. Default: 0, never;
  // and standard error, where lines are asked for and no sink is given. Sinks
  // may ask the loader for its metrics(); what they throw is dropped.
  uint64_t report_every_steps = 0;
  std::function<void(std::string_view)> log_sink;
};

// A leaf that batches come from, and how it is read.
struct Source {
  std::string path;     // of names, "prose/fortunes"
  std::string dataset;  // what the leaf calls itself: where a store lies
  // "buffered", "direct", "mmap" or "pread": what serves it now; "memory" for
  // datasets without files.
  std::string backend;
  std::string fallback_reason;  // why not the backend preferred; usually empty
};

class Loader;

namespace internal {
class OfferedBatch;
// As loader.Next(), but the loader goes a step on only where the batch is
// accepted; and others find it under way from this call on, not only from when
// it is first awaited.
Task<std::unique_ptr<OfferedBatch>> BeginNext(Loader& loader);
}  // namespace internal

// Serves step after step of a run.
//
// Steps: step s covers samples [s * batch_size, (s + 1) * batch_size) of the
//     dataset; rank r of R the part [r * B / R, (r + 1) * B / R) of them.
// Checkpoints: the number of the next step is all that a loader remembers;
//     State() adds what tells whether it still means the same samples.
// Prefetch: begins with the first Next(), which waits for one batch only; then
//     up to prefetch_batches are under way. Each is delivered, in order, as
//     soon as it is complete.
// End: after the schedule's last step, or where a finite dataset ends, every
//     further Next() is OutOfRange.
// Consumers: coroutines await Next(), plain code calls NextBlocking();
//     Batches below is a range for loops; async_next.h has all else of Asio.
// Threads: reads on a thread of its own; Next() resumes on the executor of the
//     coroutine that awaits it. All members may be called from any thread, but
//     one Next() at a time (a second one is FailedPrecondition).
// Errors: "step 1200, rank 3: " and what the source says; OutOfRange of a
// source
//     becomes Internal. The loader stays at that step: Next() tries it again,
//     Seek() goes elsewhere.
// Cancellation: a cancelled Next() gives Cancelled; its batch is not lost, also
//     where both come at once: in `Next() || timer.async_wait(...)` of Asio's
//     awaitable_operators, the next Next() gives what the timer was faster
//     than. (As all of Asio's signals, on one thread or strand.) Nor is it if
//     the execution context dies while Next() waits.
// Back-pressure: what is under way, ready or held is bounded by number and by
//     bytes. A consumer that keeps more than max_held batches and asks for
//     another gets ResourceExhausted, not a wait that never ends; let go of one
//     and ask again.
// Destruction: in any state; waits for reads under way. A Next() still awaited
//     then ends with FailedPrecondition. Batches handed out stay valid.
class Loader {
 public:
  // InvalidArgument if rank >= ranks, token_type is too narrow, a leaf's
  // windows differ from the schedule's seq_len, prefetch_batches is 0 or beyond
  // 65536 (max_held, too), labels are asked for with an unsigned token_type, or
  // loss_weights name no source.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(
      DatasetPtr<TokenWindow> dataset, Schedule schedule,
      LoaderOptions options = LoaderOptions());
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch, and one step on.
  Task<Batch> Next();
  absl::StatusOr<Batch> NextBlocking();

  // The next Next() gives this step; what was prefetched is dropped. A step
  // past the end is found out by Next(). FailedPrecondition once closed.
  absl::Status Seek(uint64_t step);

  // The step that the next Next() gives.
  uint64_t next_step() const;

  // A place to resume from, for a checkpoint: the step that the next Next()
  // gives, and what decided the samples before it. A few hundred bytes of text
  // (docs/compatibility.md), the same for every rank, number of ranks and way
  // of reading. Take it where the batches received so far have been used up.
  // O(leaves of the tree + weights of all past stages).
  std::string State() const;

  // The next Next() gives the step at which `state` was taken, by any rank of
  // any number, if this loader's dataset and schedule have served the same
  // samples before it. What comes later may be another: stages that begin with
  // or after the first step behind the block being served, batch sizes and
  // lengths, components not drawn so far, the end of the run; and all that
  // never decides a token (lr_scale, numbers, names of stages, order of
  // declaration, where stores lie).
  //
  // Components that are endless mixtures are compared as far as they have been
  // drawn, and may be edited behind that; finite ones, and mixtures below any
  // shuffle or Concat, are compared whole.
  //
  // Errors: InvalidArgument, naming the line, if `state` is not as State() gave
  // it; FailedPrecondition, naming all differences and what to do, if the past
  // is not the same, and once closed. The loader then stays where it is.
  absl::Status Resume(std::string_view state);

  // Cancels what is under way and waits for it; from then on Next() and Seek()
  // are FailedPrecondition. May be called again, without effect.
  Task<> Close();
  absl::Status CloseBlocking();

  const Schedule& schedule() const;
  // In the order of batch.source(): the leaves as they are read now.
  std::vector<Source> sources() const;
  // What has been done so far; costs some microseconds, more for hundreds of
  // sources.
  LoaderMetrics metrics() const;
  // The leaves and index maps behind the batches.
  const DatasetTree& tree() const;

  // Tells runs apart as they begin: order version, data, seed, structure, and
  // the first weights, batch size and sequence length. Later stages, batch
  // sizes and lengths are not covered, past ones neither: to resume, keep
  // State(). The same for every rank.
  uint64_t fingerprint() const;

 private:
  friend Task<std::unique_ptr<internal::OfferedBatch>> internal::BeginNext(
      Loader& loader);
  class Core;
  explicit Loader(std::shared_ptr<Core> core);

  const std::shared_ptr<Core> core_;
};

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

#endif  // PONIENTE_LOADER_H_
