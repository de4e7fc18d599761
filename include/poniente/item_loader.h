// SPDX-License-Identifier: Apache-2.0
// Prefetches the batches of a run over items of any type: Next, Seek, State,
// Resume, Close. For tokens there is Loader (loader.h), which reads files
// straight into tensors, and may copy them to a GPU.
//
//   using Images = poniente::ItemLoader<Image>;
//   auto loader = Images::Create(root, {.batch_size = 32});
//   if (!loader.ok()) return loader.status();
//   while (true) {
//     absl::StatusOr<std::vector<Image>> batch = (*loader)->NextBlocking();
//     if (absl::IsOutOfRange(batch.status())) break;  // the end of the run
//     if (!batch.ok()) return batch.status();
//     Train(*batch);
//   }

#ifndef PONIENTE_ITEM_LOADER_H_
#define PONIENTE_ITEM_LOADER_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/item_batch_maker.h"
#include "poniente/loader.h"  // LastBatch
#include "poniente/metrics.h"
#include "poniente/task.h"

namespace poniente {

// How an ItemLoader serves a run. Which items a step has depends on
// `batch_size` alone, and on `rank`, `ranks` and `last_batch` which of them
// this loader serves. Nothing else changes an item or its place.
template <class T, class Batch = std::vector<T>>
struct ItemLoaderOptions {
  // Samples in a step, over all ranks together. At least 1.
  uint64_t batch_size = 1;
  // Steps in the run. A finite dataset that ends earlier ends the run earlier;
  // Repeat() it to go on. Default: 0, up to the end of the dataset; over an
  // endless dataset, the run has no end.
  uint64_t steps = 0;
  // Whether the short batch at the end of a finite dataset is served or
  // dropped.
  LastBatch last_batch = LastBatch::kKeep;
  // Number of this data-parallel rank, and how many ranks there are (ranks.h).
  // All ranks together see the same items for any number of ranks.
  uint32_t rank = 0;
  uint32_t ranks = 1;
  // The step that the first Next() returns.
  uint64_t start_step = 0;

  // Makes a batch of this rank's items, which are in the order of their
  // samples; none if a step has fewer samples than there are ranks. May return
  // an error. It must be pure, and may run on several threads at once: that of
  // the loader, and those in NextBlocking(). Default: the vector itself; must
  // be set if Batch is another type.
  std::function<absl::StatusOr<Batch>(std::vector<T>)> collate = nullptr;

  // Batches in flight or ready ahead of the consumer. At most 65536. Default:
  // 0, which stands for 4, and for up to 4096 items while small batches come
  // from memory, or functions make them of such items: at most those of some
  // milliseconds.
  uint32_t prefetch_batches = 0;
  // Bytes of these batches together, by bytes_of. Before a batch is there, it
  // counts as much as the largest so far. One batch is always fetched.
  uint64_t prefetch_bytes = uint64_t{1} << 30;
  // Returns the bytes of a batch, with what it owns. Default: known for vectors
  // and strings of types that memcpy can copy. If it is not known,
  // prefetch_bytes has no effect.
  std::function<uint64_t(const Batch&)> bytes_of = nullptr;

  // As in LoaderOptions: a line of metrics every `report_every_steps` steps (0:
  // never), and a warning if data comes too late, or if State() cannot say what
  // has been read. Default: standard error.
  uint64_t report_every_steps = 0;
  std::function<void(std::string_view)> log_sink = nullptr;
  std::function<void(std::string_view)> warning_sink = nullptr;
};

namespace internal {

// The members of ItemLoaderOptions that do not depend on its types.
struct ItemPrefetchOptions {
  uint64_t batch_size = 1;
  uint64_t steps = 0;
  LastBatch last_batch = LastBatch::kKeep;
  uint32_t rank = 0;
  uint32_t ranks = 1;
  uint64_t start_step = 0;
  uint32_t prefetch_batches = 0;
  uint64_t prefetch_bytes = 0;
  uint64_t report_every_steps = 0;
  std::function<void(std::string_view)> log_sink = nullptr;
  std::function<void(std::string_view)> warning_sink = nullptr;
};

// An ItemLoader whose batches are of any type.
class ItemPrefetch {
 public:
  static absl::StatusOr<std::unique_ptr<ItemPrefetch>> Create(
      std::unique_ptr<const ItemBatchMaker> maker, ItemPrefetchOptions options);
  ~ItemPrefetch();
  ItemPrefetch(const ItemPrefetch&) = delete;
  ItemPrefetch& operator=(const ItemPrefetch&) = delete;

  Task<std::shared_ptr<void>> Next();
  absl::StatusOr<std::shared_ptr<void>> NextBlocking();
  std::optional<absl::StatusOr<std::shared_ptr<void>>> TryNext();
  absl::StatusOr<int> ReadyFd();
  absl::Status Seek(uint64_t step);
  uint64_t next_step() const;
  std::string State() const;
  absl::StatusOr<std::string> State(uint64_t step) const;
  absl::Status Resume(std::string_view state);
  Task<> Close();
  LoaderMetrics metrics() const;
  const DatasetTree& tree() const;

 private:
  class Core;
  explicit ItemPrefetch(std::shared_ptr<Core> core);

  const std::shared_ptr<Core> core_;
};

}  // namespace internal

// Serves the steps of a run, one after the other.
//
// Steps: step s covers samples [s * batch_size, (s + 1) * batch_size) of the
//     dataset; rank r of R serves the part [r * B / R, (r + 1) * B / R) of its
//     B samples. A finite dataset is served once; its last step may be short.
// Checkpoints: a loader's only position is the number of the next step. State()
//     adds what is needed to check that the step still means the same samples.
// Prefetch: starts with the first Next(), which waits for one batch only; after
//     that, batches are made ahead. They are delivered in order, each as soon
//     as it is there. While items come from memory or are made of such items,
//     several small batches are asked for in one request; if this fails, they
//     are asked for one by one.
//     A request in which functions run and that turns out to take longer than
//     2 ms hands over what it has, after parts of 64 items or a batch.
// Threads: batches are made on a thread of the loader's. While no item had to
//     be waited for, a NextBlocking() that would wait makes batches itself, on
//     its own thread. So does a Next(), once in a turn of its executor and for
//     about 0.5 ms, but only of items that are copied: those of
//     InMemoryDatasets, below nodes that choose and order them (of
//     NodeRecipes), without `collate` and `bytes_of`. So these two and the
//     tree's functions may run on the loader's thread and on that of
//     NextBlocking() at once, as every dataset allows, and never on the
//     executor of Next(); copy constructors and index maps may. Items of small
//     batches without functions are moved into their vectors by whoever takes
//     these. Next() resumes on the executor of the awaiting coroutine. All
//     members may be called from any thread, but only one Next() may be in
//     progress; a second one returns FailedPrecondition.
// Errors: "step 1200, rank 3: " followed by the error of the dataset, or by
//     "collate: " and that of the function; OutOfRange from either becomes
//     Internal. An exception becomes a status: ResourceExhausted for bad_alloc,
//     otherwise Internal. The loader stays at that step: Next() retries it,
//     Seek() moves elsewhere.
// End: after the last step, every further Next() returns OutOfRange.
// Cancellation: a cancelled Next() returns Cancelled, and its batch is not
//     lost: the following Next() returns it, even if the batch arrives at the
//     same time.
// Back-pressure: batches in flight or ready are bounded by number and by bytes.
//     A batch that was handed out belongs to the consumer and does not count.
// Destruction: allowed in any state; waits for requests in flight. A Next()
//     still awaited then returns FailedPrecondition.
template <class T, class Batch = std::vector<T>>
class ItemLoader {
  static_assert(std::default_initializable<T> && std::movable<T>,
                "ItemLoader<T>: T must be default constructible and movable; "
                "wrap other types, for example in a std::shared_ptr");
  static_assert(std::movable<Batch>,
                "ItemLoader<T, Batch>: Batch must be movable; wrap other "
                "types, for example in a std::unique_ptr");

 public:
  using Options = ItemLoaderOptions<T, Batch>;

  // Creates a loader at options.start_step. InvalidArgument if `root` is null,
  // batch_size is 0, the run has more than 2^62 samples, rank >= ranks,
  // prefetch_batches is above 65536, or Batch is not std::vector<T> and there
  // is no `collate`; also if the run exceeds the max_epochs of a component.
  // Internal, with the path, if name() or length_now() of a dataset throws, or
  // fingerprint() if its length is final.
  static absl::StatusOr<std::unique_ptr<ItemLoader>> Create(
      DatasetPtr<T> root, Options options = Options()) {
    if (root == nullptr) {
      return absl::InvalidArgumentError(
          "an item loader needs a dataset, got none");
    }
    if (!std::is_same_v<Batch, std::vector<T>> && !options.collate) {
      return absl::InvalidArgumentError(
          "an item loader whose Batch is not std::vector<T> needs `collate`");
    }
    internal::ItemPrefetchOptions of_run;
    of_run.batch_size = options.batch_size;
    of_run.steps = options.steps;
    of_run.last_batch = options.last_batch;
    of_run.rank = options.rank;
    of_run.ranks = options.ranks;
    of_run.start_step = options.start_step;
    of_run.prefetch_batches = options.prefetch_batches;
    of_run.prefetch_bytes = options.prefetch_bytes;
    of_run.report_every_steps = options.report_every_steps;
    of_run.log_sink = std::move(options.log_sink);
    of_run.warning_sink = std::move(options.warning_sink);
    const uint64_t ranks = std::max<uint64_t>(options.ranks, 1);
    const uint64_t most_items =
        options.batch_size / ranks + (options.batch_size % ranks > 0 ? 1 : 0);
    auto maker = std::make_unique<internal::ItemBatchMakerOf<T, Batch>>(
        std::move(root), most_items, std::move(options.collate),
        std::move(options.bytes_of));
    const size_t room = maker->room();
    auto prefetch =
        internal::ItemPrefetch::Create(std::move(maker), std::move(of_run));
    if (!prefetch.ok()) return prefetch.status();
    return std::unique_ptr<ItemLoader>(
        new ItemLoader(*std::move(prefetch), room));
  }

  // Returns the next batch and advances by one step.
  Task<Batch> Next() { return TakeNext(prefetch_->Next(), room_); }
  absl::StatusOr<Batch> NextBlocking() {
    absl::StatusOr<std::vector<T>> room = Kept::MakeRoom(room_);
    if (!room.ok()) return room.status();
    absl::StatusOr<std::shared_ptr<void>> made = prefetch_->NextBlocking();
    if (!made.ok()) return made.status();
    return Taken(*made, *std::move(room));
  }

  // Returns the next batch if it is ready, and nullopt if it is not. Never
  // waits for it and never makes it on this thread. The first call starts the
  // prefetch.
  std::optional<absl::StatusOr<Batch>> TryNext() {
    absl::StatusOr<std::vector<T>> room = Kept::MakeRoom(room_);
    if (!room.ok()) return room.status();
    std::optional<absl::StatusOr<std::shared_ptr<void>>> made =
        prefetch_->TryNext();
    if (!made.has_value()) return std::nullopt;
    if (!made->ok()) return made->status();
    return Taken(**made, *std::move(room));
  }

  // Returns a descriptor for event loops, which is readable while TryNext()
  // would return a batch, an error or the end of the run. It is what
  // Loader::ReadyFd() is, under the same rules.
  absl::StatusOr<int> ReadyFd() { return prefetch_->ReadyFd(); }

  // Makes `step` the next step and drops prefetched batches. A step past the
  // end is reported by Next(), not here. FailedPrecondition once closed.
  absl::Status Seek(uint64_t step) { return prefetch_->Seek(step); }

  // Returns the step that the next Next() returns.
  uint64_t next_step() const { return prefetch_->next_step(); }

  // Returns the state to put into a checkpoint: the next step, and what decided
  // the samples before it. It is text in the format of Loader::State()
  // (docs/compatibility.md), in which an item counts as one token, and is the
  // same for every rank and number of ranks. Take it once the batches received
  // so far have been used. If a function of a dataset throws: as
  // Loader::State().
  std::string State() const { return prefetch_->State(); }
  // Returns the state as it is before `step`, whatever has been received.
  // OutOfRange if the run ends before it; Internal if a function of a dataset
  // throws.
  absl::StatusOr<std::string> State(uint64_t step) const {
    return prefetch_->State(step);
  }

  // Continues at the step at which `state` was taken, by any rank of any number
  // of ranks, if this loader's dataset and batch_size have served the same
  // samples before that step. What may differ is what Loader::Resume() allows.
  // The type of T and `collate` are not compared: the fingerprints of leaves
  // and the names of functions stand for the content of items.
  //
  // Errors: InvalidArgument, naming the line, if `state` is not text from
  // State(); FailedPrecondition, naming all differences and the remedy, if the
  // past differs, and once closed; Internal if a function of a dataset throws.
  // After an error the loader stays at its step.
  absl::Status Resume(std::string_view state) {
    return prefetch_->Resume(state);
  }

  // Cancels all work in progress and waits for it; afterwards Next() and Seek()
  // return FailedPrecondition. Further calls have no effect.
  Task<> Close() { return prefetch_->Close(); }
  absl::Status CloseBlocking() { return RunBlocking(Close()); }

  // Returns what the loader has done since its creation (metrics.h). An item
  // counts as one token, as in State(). read_seconds is the time of requests
  // for items, with the index maps and functions of the tree, and
  // decode_seconds that of `collate`; resolve_seconds is 0, and `sources` is
  // empty. Numbers of batches are those of steps; fetch_errors counts requests.
  // consumer_seconds includes the time since the last batch, and calls that
  // found their batch ready: no clock is read for these.
  LoaderMetrics metrics() const { return prefetch_->metrics(); }

  // Returns the leaves and index maps behind the batches: Resolve() maps the
  // number of a sample to its leaf, item and epoch.
  const DatasetTree& tree() const { return prefetch_->tree(); }

 private:
  using Kept = internal::KeptBatch<T, Batch>;

  ItemLoader(std::unique_ptr<internal::ItemPrefetch> prefetch, size_t room)
      : prefetch_(std::move(prefetch)), room_(room) {}

  static Batch Taken(const std::shared_ptr<void>& made, std::vector<T> room) {
    return static_cast<Kept*>(made.get())->Take(std::move(room));
  }

  static Task<Batch> TakeNext(Task<std::shared_ptr<void>> next, size_t items) {
    absl::StatusOr<std::vector<T>> room = Kept::MakeRoom(items);
    if (!room.ok()) co_return room.status();
    absl::StatusOr<std::shared_ptr<void>> made = co_await std::move(next);
    if (!made.ok()) co_return made.status();
    co_return Taken(*made, *std::move(room));
  }

  const std::unique_ptr<internal::ItemPrefetch> prefetch_;
  const size_t room_;  // items that a batch is moved into by who takes it
};

}  // namespace poniente

#endif  // PONIENTE_ITEM_LOADER_H_
