// SPDX-License-Identifier: Apache-2.0
// Prefetches the batches of a run in order: Next, Seek, Close. Batches is a
// range over them.

#ifndef PONIENTE_LOADER_H_
#define PONIENTE_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
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
#include "poniente/journal.h"
#include "poniente/metrics.h"
#include "poniente/schedule.h"
#include "poniente/shares.h"
#include "poniente/task.h"
#include "poniente/token_window.h"

namespace poniente {

// What happens if a finite dataset ends before a batch is full: the short batch
// is served, or the run ends before it.
enum class LastBatch { kKeep, kDrop };

// How a loader serves a run. `tensors`, `token_type` and `loss_weights` decide
// the form of a batch; only `rank`, `ranks`, `sharing`, `start_step` and
// `last_batch` decide which samples it has, and `context` which of their
// tokens.
struct LoaderOptions {
  // Number of this data-parallel rank, and how many ranks there are: they
  // decide which share of each step this loader serves. All ranks together see
  // the same tokens for any number of ranks. ranks.h reads both from torchrun,
  // mpirun or srun. Default: 0 of 1.
  uint32_t rank = 0;
  uint32_t ranks = 1;

  // How the samples of a step are divided among the ranks. Default: by their
  // number.
  SampleSharing sharing = {};

  // Context parallelism: the part of each sample that this loader serves. The
  // ranks of a group have the same `rank` above, and together all tokens of its
  // samples. Batch::seq_len() is then seq_len / context.ranks. Default: whole
  // samples.
  ContextRank context = {};

  // The step that the first Next() returns.
  uint64_t start_step = 0;

  // Whether the short batch at the end of a finite dataset is served or
  // dropped.
  LastBatch last_batch = LastBatch::kKeep;

  // Type of the ids in a batch. Must hold every id of the vocabulary. The ids
  // are the same with every type.
  TokenType token_type = TokenType::kU32;

  // Tensors that a batch has besides its tokens; each costs memory and time
  // (docs/performance.md). Default: none.
  std::vector<BatchTensor> tensors = {};

  // What the tensors say of documents that share a sample.
  DocumentRules documents = {};

  // Values of BatchTensor::kLossWeights, by the path of a source or of a node
  // above it ("prose", "prose/fortunes"). If several paths match, the longest
  // applies; sources without a match have weight 1. Finite, at least 0.
  std::map<std::string, float> loss_weights = {};

  // Batches in flight or ready ahead of the consumer. A larger number hides
  // longer stalls and costs one batch of memory each. At most 65536. Default:
  // 0, which stands for 4, and for more if batches are small and all sources
  // are files: as many as have 128 samples of this rank, at most 32, so that
  // enough reads are in flight. Never changes a token.
  uint32_t prefetch_batches = 0;

  // Bytes of these batches together, including the buffers that ids are widened
  // from. One batch is always fetched, whatever its size. Never changes a
  // token.
  uint64_t prefetch_bytes = uint64_t{1} << 30;

  // Batches that the consumer may keep when it asks for the next one; if it
  // keeps more, Next() returns ResourceExhausted. At most 65536. The loader
  // allocates up to prefetch_batches + max_held + 1 batches, when needed, and
  // reuses them. Never changes a token.
  uint32_t max_held = 2;

  // Whether Next() waits instead, until enough of these batches are released:
  // for batches that go to several workers, which release them on their own
  // threads. (One Next() at a time; workers that call it themselves share a
  // mutex.) A thread that holds them all itself would wait for ever. TryNext()
  // finds no batch until then, and ReadyFd() is not readable. Never changes a
  // token.
  bool waits_for_held = false;

  // Where batches are delivered. If there is no such GPU, they stay on the
  // host, with a warning. Never changes a token.
  Device device = {};

  // Whether ids are copied to the GPU as they are stored and become token_type
  // there. This saves copying (from u16 to i64: three quarters of the bytes)
  // and the widening on the host. The host then has no tokens:
  // Batch::has_host_tokens() is false, and tokens() and bytes() must not be
  // called. It takes effect only if batches are on a GPU, the library was built
  // with nvcc, all sources lie in files with one width smaller than
  // token_type's, and labels are not requested; otherwise the host widens the
  // ids and keeps its copy. Never changes a token. See docs/staging.md.
  bool widen_on_device = false;

  // Receives one line per warning, on any thread. Warnings are: a backend other
  // than the preferred one serves a source; data comes too late (over 100
  // steps, Next() waited for a tenth of the time or more, and for more than a
  // second; docs/metrics.md), at most every ten minutes unless the cause
  // changes; State() cannot say what has been read; a change is not kept in a
  // journal, or makes training read what an evaluation does. Default: standard
  // error.
  std::function<void(std::string_view)> warning_sink = nullptr;

  // Every `report_every_steps` steps, log_sink receives a line of metrics about
  // them (MetricsLine()), on the thread that Next() resumes on. Default: 0
  // (never); the default sink is standard error. Sinks may call the loader's
  // metrics(); exceptions they throw are dropped. On rank 0, log_sink also
  // receives a line when sources begin again (docs/metrics.md).
  uint64_t report_every_steps = 0;
  std::function<void(std::string_view)> log_sink = nullptr;

  // The changes that were decided in this run so far; they are applied to the
  // dataset and the schedule that the loader is made of. Config reads them from
  // the run's journal.
  Journal journal = {};
  // Makes a new line of the journal durable, before the change takes effect:
  // appends it to a file and waits until the disk has it. Called on the thread
  // that steers, one line at a time; it must not call the loader. An error
  // leaves the run as it was. Config sets it for rank 0. Default: lines are not
  // kept.
  std::function<absl::Status(std::string_view line)> journal_sink = nullptr;

  // Opens components that changes add, also those of the journal. May block;
  // steps are handed out meanwhile. Called on the thread that steers; it must
  // not call the loader. Config sets it. Default: such changes are refused.
  ComponentOpener component_opener = nullptr;

  // Compares all but the functions, which cannot be compared.
  friend bool operator==(const LoaderOptions& a, const LoaderOptions& b);
};

// A leaf that batches come from, and how it is read.
struct LoaderSource {
  std::string path = {};     // names down to the leaf: "prose/fortunes"
  std::string dataset = {};  // the leaf's own name: where a store lies
  // What serves it now: "buffered", "direct", "mmap" or "pread"; "memory" for
  // datasets without files.
  std::string backend = {};
  // Why it is not the preferred backend; usually empty.
  std::string fallback_reason = {};
};

// How a change takes effect.
struct SteerOptions {
  // Batches that have been begun are kept: the change holds from the first
  // block on that none of them has a sample of, up to prefetch_batches steps
  // later, and nothing is read again. Otherwise it holds as soon as it can, and
  // batches behind that are made again.
  bool keeps_prefetched = false;
};

class Loader;

namespace internal {
class OfferedBatch;
struct SteeredRun;
// Starts loader.Next(), but advances the loader only if the batch is accepted.
// Other calls see it in progress from this call on, not only from its first
// await.
Task<std::unique_ptr<OfferedBatch>> BeginNext(Loader& loader);
}  // namespace internal

// Serves the steps of a run, one after the other.
//
// Steps: step s covers samples [s * batch_size, (s + 1) * batch_size) of the
//     dataset; rank r of R serves the part [r * B / R, (r + 1) * B / R) of its
//     B samples.
// Checkpoints: a loader's only position is the number of the next step. State()
//     adds what is needed to check that the step still means the same samples.
// Prefetch: starts with the first Next(), which waits for one batch only; after
//     that up to prefetch_batches are in flight. Batches are delivered in
//     order, each as soon as it is complete.
// End: after the schedule's last step, or where a finite dataset ends, every
//     further Next() returns OutOfRange.
// Consumers: coroutines await Next(), which lets other work of its executor run
//     before each batch, even if all are ready; other code calls
//     NextBlocking(). Batches (below) is a range for loops; async_next.h is for
//     Asio's other completion tokens. Event loops watch ReadyFd() and call
//     TryNext().
// Threads: reads on a thread of its own. While batches come from memory, a
//     NextBlocking() that would wait makes batches itself; for a Next() or
//     TryNext() that finds none, a second thread of the loader's makes batches
//     of 64 KiB and more, unless there is one core only. Next() resumes on
//     the executor of the awaiting coroutine. All members may be called from
//     any thread, but only one Next() may be in progress; a second one returns
//     FailedPrecondition.
// Errors: "step 1200, rank 3: " followed by the source's error; OutOfRange from
//     a source becomes Internal. The loader stays at that step: Next() retries
//     it, Seek() moves elsewhere.
// Cancellation: a cancelled Next() returns Cancelled, and its batch is not
//     lost: the following Next() returns it. This holds even if the batch
//     arrives at the same time, for example in `Next() ||
//     timer.async_wait(...)` of Asio's awaitable_operators. (As with all of
//     Asio's signals, run both on one thread or strand.) The batch is not lost
//     either if the execution context is destroyed while Next() waits.
// Back-pressure: batches in flight, ready or held are bounded by number and by
//     bytes. A consumer that keeps more than max_held batches and asks for
//     another receives ResourceExhausted instead of waiting for ever; release
//     one and call again.
// Destruction: allowed in any state; waits for the loader's reads in flight
//     (not for what a NextBlocking() makes on its own thread). A Next() still
//     awaited then returns FailedPrecondition. Batches already handed out stay
//     valid.
class Loader {
 public:
  // Creates a loader at options.start_step. InvalidArgument if rank >= ranks,
  // token_type is too narrow, a leaf's windows differ from the schedule's
  // seq_len, prefetch_batches or max_held is above 65536, labels are requested
  // with an unsigned token_type, loss_weights name no source, a source's loss
  // mask cannot be joined (docs/batches.md), context.ranks does not divide
  // seq_len as its split needs, sharing.even_work is set but no source is
  // packed, or attention crosses documents, documents.labels_beyond_sample is
  // set but the windows of a source do not lie in files, or its documents are
  // not known, or the schedule describes another root mixture than the
  // dataset's: with another seed, or with other components, shares or
  // block_size, or, of a schedule without components, with stages that start
  // elsewhere, or lengths. Not compared: stop_rule, group_items, trim,
  // sample_overlap; and mixtures below a node that shuffles, cuts out or
  // repeats their items, or of the program's own. Internal, with the path, if
  // name() or length_now() of a dataset throws, or fingerprint() if its length
  // is final.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(
      DatasetPtr<TokenWindow> dataset, Schedule schedule,
      LoaderOptions options = LoaderOptions());
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Returns the next batch and advances by one step.
  Task<Batch> Next();
  absl::StatusOr<Batch> NextBlocking();
  // Returns the next batch like Next() if it is ready, and nullopt if it is
  // not. Never waits for it and never makes it on this thread. The first call
  // starts the prefetch.
  std::optional<absl::StatusOr<Batch>> TryNext();

  // Returns a descriptor for poll, epoll, select, libuv and other event loops.
  // It is readable while TryNext() would return a batch, an error or the end of
  // the run.
  //
  // Start: the first call creates it and starts the prefetch. All calls return
  //     the same one.
  // Ownership: it belongs to the loader, which closes it when it is destroyed;
  //     remove it from the event loop before. Do not read, write or close it.
  // Level: TryNext() makes it unreadable when it takes the last batch that is
  //     ready. It works level-triggered, and edge-triggered if each event calls
  //     TryNext() until nullopt. TryNext() may return nullopt after an event if
  //     another thread has taken the batch or has called Seek().
  // Seek, Resume: it is readable again when the batch of the new step is ready.
  // Errors: the loader reads the step again at once, and the descriptor is
  //     readable when that has ended. To retry later, wait and then call
  //     Seek(next_step()), which drops the result of the first retry.
  // End: from the end of the run on, and from Close() on, it stays readable.
  //     Remove it from the event loop then.
  // Back-pressure: it is readable while more than max_held batches are held,
  //     because TryNext() returns ResourceExhausted; with waits_for_held, it is
  //     not readable until enough are released.
  // Threads: any thread may call this and watch the descriptor. While a Next()
  //     is in progress, TryNext() returns FailedPrecondition, whatever the
  //     descriptor says. If the Next() is cancelled, its batch is ready again.
  // Cost: one system call when a batch becomes ready and none was, and one when
  //     the last one is taken.
  // Failure: ResourceExhausted if no descriptors are left.
  absl::StatusOr<int> ReadyFd();

  // Makes `step` the next step and drops prefetched batches. A step past the
  // end is reported by Next(), not here. FailedPrecondition once closed.
  absl::Status Seek(uint64_t step);

  // Returns the step that the next Next() returns.
  uint64_t next_step() const;

  // Returns the state to put into a checkpoint: the next step, and what decided
  // the samples before it. A few hundred bytes of text (docs/compatibility.md),
  // the same for every rank, number of ranks and way of reading. Take it once
  // the batches received so far have been used. If a function of a dataset of
  // the program's own throws, warns and returns a state that says nothing of
  // the tree except its seed. Complexity: O(leaves of the tree + weights of all
  // past stages). While a store grows, reads 4 bytes for each of its blocks
  // that has been read since the last state.
  std::string State() const;
  // Returns the state as it is before `step`, whatever has been received: for
  // several workers, the first step that they have not all finished. OutOfRange
  // if the run ends before it; Internal if a function of a dataset throws.
  absl::StatusOr<std::string> State(uint64_t step) const;

  // Continues at the step at which `state` was taken, by any rank of any number
  // of ranks, if this loader's dataset and schedule have served the same
  // samples before that step.
  //
  // What comes later may differ: stages that begin at or after the first step
  // behind the block being served, batch sizes and lengths, components not
  // drawn so far, the end of the run. So may everything that never decides a
  // token: lr_scale, numbers, names of stages, order of declaration, where
  // stores lie.
  //
  // Components that are endless mixtures are compared as far as they have been
  // drawn, and may be edited beyond that. Finite components, and mixtures below
  // any shuffle or Concat, are compared whole.
  //
  // Errors: InvalidArgument, naming the line, if `state` is not text from
  // State(); FailedPrecondition, naming all differences and the remedy, if the
  // past differs, and once closed; Internal if a function of a dataset throws.
  // After an error the loader stays at its step.
  absl::Status Resume(std::string_view state);

  // Changes the run while it goes on: from the first sample on that lies in no
  // block of the root mixture that has been handed out, begun blocks being
  // served to their end. Batches that were made ahead from there on are made
  // again; no store is opened again, and those before it stay ready.
  //
  // Returns the step from which on the change holds for all samples. For the
  // root mixture, this is the first that has such a sample. A mixture below the
  // root serves its own begun block to the end, too, and says a step behind
  // that, at the end of a block of the root; the number of steps (2^64 - 1 in a
  // run without an end) if it does not come to that.
  //
  // The change is in the journal, and durable (LoaderOptions::journal_sink),
  // when this returns; a run that is resumed from any checkpoint makes it
  // again. After an error, the run is as it was, except that a change whose
  // line the sink has written but reported as failed holds after a restart.
  //
  // Ranks: all must make the same change between the same two steps. Rank 0
  //     proposes it, and sends the line to all ranks, which steer by it:
  //
  //       line = *loader->Propose(change);      // on rank 0
  //       MPI_Bcast(line ...);
  //       step = loader->Steer(line);           // on every rank
  //
  // Threads: any; calls wait for each other. Steps that the change might reach
  //     are not handed out meanwhile. kDrop, kAdd and kSplit take longer, and
  //     are computed while steps are handed out; only if a step that they
  //     change is asked for meanwhile, they are computed again for a later one,
  //     which is kept back.
  // Adding a component (kAdd): component_opener opens it while steps are handed
  //     out. The line has the fingerprint of its data; FailedPrecondition where
  //     other data is opened.
  // Errors: InvalidArgument for components that do not exist, weights that
  //     their mixture refuses, a line that was made after other changes than
  //     this loader's; FailedPrecondition if this rank has handed out a step
  //     that the line changes (the message names it), where the run ends before
  //     the change could hold, and once closed; OutOfRange for numbers of
  //     documents past the end; errors of component_opener, such as NotFound;
  //     errors of the sink.
  // Cost: O(components log components), whatever has been decided before. For
  //     kDrop, besides: reads the ends of the documents, and finds all places
  //     of the items (a second for 10^6). For kAdd, besides: opens its data,
  //     and makes the plan's past anew (7 us for each earlier change); for
  //     kSplit, also looks at each item of the component and of its parts (15 s
  //     for 10^8).
  absl::StatusOr<uint64_t> Steer(const RunChange& change,
                                 const SteerOptions& options = SteerOptions());
  // Does the same for a line of Propose(). A line that the journal has already
  // changes nothing.
  absl::StatusOr<uint64_t> Steer(std::string_view line);
  // Returns the line of the journal that says that `change` holds as soon as it
  // can. Changes nothing. Errors of Steer(), but for those of the sink.
  absl::StatusOr<std::string> Propose(
      const RunChange& change,
      const SteerOptions& options = SteerOptions()) const;
  // Returns all changes so far.
  Journal journal() const;
  // Returns the last step that was next when a change was decided; nullopt if
  // there is none. A program that decides by itself, and was started again from
  // a checkpoint, decides nothing at this step and before: it did so.
  std::optional<uint64_t> last_decision() const;

  // Cancels all work in progress and waits for it (a batch from memory that is
  // made by another thread than the loader's first comes to its end);
  // afterwards Next() and Seek() return FailedPrecondition. Further calls have
  // no effect.
  Task<> Close();
  absl::Status CloseBlocking();

  // Returns the schedule, under all changes so far. Valid until the second
  // change after this call.
  const Schedule& schedule() const;
  // Returns how the leaves are read now, in the order of batch.source().
  std::vector<LoaderSource> sources() const;
  // Returns what has been done so far. Costs some microseconds, more for
  // hundreds of sources.
  LoaderMetrics metrics() const;
  // Returns the leaves and index maps behind the batches. Valid until the
  // second change after this call.
  const DatasetTree& tree() const;

  // Returns LoaderOptions::prefetch_batches, or what its default stands for.
  uint32_t prefetch_batches() const;

  // Returns 64 bits that identify the run as it begins: order version, data,
  // seed, structure, and the first weights, batch size and sequence length.
  // Later stages, batch sizes and lengths are not covered, even once they have
  // been served; to resume, keep State() instead. The same for every rank. If a
  // dataset's fingerprint() throws, what was returned last; 0 before.
  uint64_t fingerprint() const;

 private:
  friend Task<std::unique_ptr<internal::OfferedBatch>> internal::BeginNext(
      Loader& loader);
  friend class Config;
  class Core;
  explicit Loader(std::shared_ptr<Core> core);
  // As Create(). `run` is under the first `in_force` entries of the journal.
  static absl::StatusOr<std::unique_ptr<Loader>> CreateSteered(
      internal::SteeredRun run, size_t in_force, LoaderOptions options);

  const std::shared_ptr<Core> core_;
};

// A range over the batches from loader.next_step() on, for a loop that blocks
// its thread.
//
//   for (absl::StatusOr<Batch>& batch : Batches(*loader)) {
//     if (!batch.ok()) return batch.status();
//     Train(*batch);
//   }
//
// Batches is an input range and a view: Batches(*loader) |
// std::views::take(100) is the next 100 steps.
//
// End: the range ends only where Next() returns OutOfRange, at the end of the
//     run.
// Errors: are elements like any other. The loader stays at its step, so the
//     next element is a retry; leave the loop to give up.
// Steps: a batch is taken only when its element is looked at. In the body, and
//     after a break, loader.State() is the place after the last batch seen.
// Back-pressure: the range holds one batch, the one of the current iteration,
//     and releases it before it asks for the next and at its end. Move the
//     batch out to keep it (LoaderOptions::max_held).
// Ownership: borrows the loader. Do not iterate while another Next() is in
//     progress: the element is then FailedPrecondition.
class Batches : public std::ranges::view_base {
 public:
  // An iterator of the range; invalid once the range is moved or destroyed.
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = absl::StatusOr<Batch>;
    using difference_type = std::ptrdiff_t;

    // Returns the current element; blocks at its first use. REQUIRES: not at
    // the end.
    absl::StatusOr<Batch>& operator*() const { return range_->Current(); }
    absl::StatusOr<Batch>* operator->() const { return &range_->Current(); }
    Iterator& operator++() {
      range_->LetGo();
      return *this;
    }
    void operator++(int) { ++*this; }
    // Returns whether the run has ended; blocks like operator*.
    friend bool operator==(const Iterator& it, std::default_sentinel_t) {
      return absl::IsOutOfRange((*it).status());
    }

   private:
    friend class Batches;
    explicit Iterator(Batches* range) : range_(range) {}

    Batches* range_;
  };

  explicit Batches(Loader& loader) : loader_(&loader) {}

  // Continues after the last batch seen.
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
