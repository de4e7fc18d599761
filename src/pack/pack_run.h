// SPDX-License-Identifier: Apache-2.0
// Packs inputs into a store on several threads.

#ifndef PONIENTE_PACK_PACK_RUN_H_
#define PONIENTE_PACK_PACK_RUN_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "pack/pack_input.h"
#include "pack/pack_state.h"
#include "pack/text_inputs.h"
#include "store/write/direct_writer.h"
#include "store/write/store_builder.h"
#include "util/mutex.h"

namespace poniente::internal {

// What to pack, and how.
struct PackJob {
  std::vector<TextInput> inputs;
  // Opens an input. `stop` is set when the run must end.
  std::function<std::unique_ptr<PackInput>(const TextInput& input,
                                           const std::atomic<bool>* stop)>
      open;
  bool skip_bad_lines = false;
  // Number of threads that convert and write. If tokens are written past the
  // page cache, additional threads wait for the disk. Never changes a byte of
  // the store.
  int threads = 1;
  // Whether to save checkpoints: each time `checkpoint_bytes` of tokens have
  // been written, or 10 seconds have passed.
  bool can_resume = false;
  // Whether others may read what is packed meanwhile: publishes what is durable
  // more often. REQUIRES: the builder saves its progress.
  bool publishes = false;
  uint64_t checkpoint_bytes = uint64_t{256} << 20;
  PackWork work;
};

// Packs on several threads. One thread at a time cuts units from the inputs, a
// few more than the others convert meanwhile. Each thread takes the next unit
// (while there is none, it decompresses a piece of one of the next inputs),
// converts it, waits until all earlier units have a place in the store, takes
// the next place, and writes its tokens there. Everything else about the unit
// is kept until all earlier units are written. So the store grows in order, and
// checkpoints have all units up to one point.
//
// Memory: a few units for each thread and for each write in flight, and what is
//     decompressed ahead (PackFile::ReadAhead()).
// Errors: the error of the first unit that has one, in the order of the units,
//     or of the disk. Cancelled if `interrupted` returns true.
class PackRun {
 public:
  // Continues from `state`, which is PackState() for a new run.
  PackRun(const PackJob& job, StoreBuilder* builder, const PackState& state);

  // Called often, on the thread of Run(), with the bytes of input packed so
  // far.
  using Tick = std::function<void(uint64_t bytes)>;
  // Packs all inputs. Calls `interrupted` and `tick` several times a second.
  absl::Status Run(const std::function<bool()>& interrupted, const Tick& tick);

  // Returns the state. Call it after Run() only, when no other thread changes
  // it.
  const PackState& state() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return state_;
  }
  // Returns whether the files hold a checkpoint, of this run or of the one that
  // it continues.
  bool has_saved() const { return has_saved_; }

  // A disk is at its best with some, and takes some longer than others: units
  // behind one that takes long are written as well.
  static constexpr int kWritesInFlight = 16;

 private:
  struct Task {
    uint64_t number = 0;
    uint64_t input_index = 0;
    std::shared_ptr<PackInput> input;
    absl::StatusOr<PackUnit> unit;
  };
  // A unit whose tokens are written.
  struct Written {
    uint64_t input_index = 0;
    bool is_one_document = false;
    UnitBegin end;
    bool is_last = false;
    uint64_t bytes = 0;
    uint64_t lines = 0;
    LooksLike looks_like = LooksLike::kText;
    bool has_end_before = false;
    uint64_t first_token = 0;
    DocumentEnds documents;
    std::vector<BadLine> bad_lines;
    PieceChecksums checksums;
  };

  // A unit whose tokens are staged.
  struct Staged {
    uint64_t number = 0;
    uint64_t bytes = 0;
    Written written;
    DirectWriter::Pages pages;
  };

  // Converts units until there are no more, or the run is over.
  void Convert();
  // Stores the checksums in `written`. If they are an error, ends the run and
  // returns false.
  bool KeepChecksums(absl::StatusOr<PieceChecksums> checksums,
                     Written* written);
  // Waits until `bytes` more may be in flight, and returns memory for them;
  // nullopt if the run is over. Reads ahead meanwhile.
  std::optional<DirectWriter::Pages> TakePages(uint64_t bytes);
  // Writes staged units until no more will follow, or the run is over.
  void WriteStaged();
  // Returns the next unit; nullopt at the end, or if the run is over. Before,
  // cuts units as long as MayCut() returns true.
  std::optional<Task> NextTask();
  // Returns whether no thread cuts, and few units wait to be converted.
  bool MayCut() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits while the next unit would be too far ahead of those in the store.
  void WaitForEarlierUnits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Cuts a unit; nullopt at the end, or if the run is over. Only for the thread
  // that has set is_cutting_.
  std::optional<Task> CutTask();
  // Reads ahead in one of the inputs behind the one that is being cut, one for
  // each other thread. Returns false if there is nothing to do.
  bool ReadAhead();
  // Returns the next input to cut.
  std::shared_ptr<PackInput> TakeInput();
  absl::Status ConvertUnit(const Task& task, UnitDocuments* documents) const;
  // Waits for the unit's turn and takes its place. Returns false if the run is
  // over.
  bool TakePlace(const Task& task, const absl::Status& converted,
                 const UnitDocuments& documents, Written* written);
  void Start(int count, std::vector<std::thread>* threads);
  void Work(bool converts);
  void HasEnded(bool converts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Hands over a written unit, and adds all units that are next in order.
  void Hand(uint64_t number, Written written);
  // Adds the next unit, in order, to the store and the state.
  absl::Status Add(const Written& written) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AddDocuments(const Written& written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status BeginDocument(const Written& written, size_t place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteBadLines(const Written& written) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns "path:line: what".
  std::string At(uint64_t input, uint64_t line, const std::string& what) const;

  // Runs on the thread of Run() while the others convert: reports progress,
  // starts writes, saves checkpoints. Returns whether the run was interrupted.
  bool Watch(const std::function<bool()>& interrupted, const Tick& tick);
  void StartWriting(uint64_t tokens);
  bool IsTimeToSave(uint64_t tokens);
  absl::Status Save();

  using Clock = std::chrono::steady_clock;

  const PackJob& job_;
  StoreBuilder* const builder_;
  const uint32_t token_bytes_;
  const std::optional<uint32_t> end_of_document_;
  std::atomic<bool> stop_ = false;

  // Only for the thread that has set is_cutting_.
  uint64_t cut_input_;
  UnitBegin cut_begin_;
  std::shared_ptr<PackInput> cut_;
  uint64_t next_number_ = 0;

  // Inputs from ahead_first_ on that have been opened before they are cut.
  Mutex ahead_mu_;
  uint64_t ahead_first_ ABSL_GUARDED_BY(ahead_mu_);
  std::deque<std::shared_ptr<PackInput>> ahead_ ABSL_GUARDED_BY(ahead_mu_);

  Mutex mu_;
  ConditionVariable changed_;
  ConditionVariable ended_;
  int working_ ABSL_GUARDED_BY(mu_) = 0;
  int converting_ ABSL_GUARDED_BY(mu_) = 0;       // among working_
  bool is_cutting_ ABSL_GUARDED_BY(mu_) = false;  // one of the threads
  bool cut_ended_ ABSL_GUARDED_BY(mu_) = false;
  ConditionVariable to_convert_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mu_);  // cut, to be converted
  ConditionVariable to_write_;
  std::deque<Staged> staged_ ABSL_GUARDED_BY(mu_);
  // Bytes of tokens that are staged, about to be staged, or being written.
  uint64_t bytes_in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  // Memory to reuse; the last one is used first.
  std::vector<DirectWriter::Pages> free_pages_ ABSL_GUARDED_BY(mu_);
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
  // The next unit to take a place, and the state of the store before it.
  uint64_t turn_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t placed_tokens_ ABSL_GUARDED_BY(mu_);
  bool placed_in_document_ ABSL_GUARDED_BY(mu_);
  uint64_t placed_lines_ ABSL_GUARDED_BY(mu_);
  // Written units that wait for earlier ones.
  std::map<uint64_t, Written> written_ ABSL_GUARDED_BY(mu_);
  uint64_t added_ ABSL_GUARDED_BY(mu_) = 0;
  PackState state_ ABSL_GUARDED_BY(mu_);

  // Only for the thread of Run().
  uint64_t started_tokens_;
  uint64_t saved_tokens_;
  Clock::time_point saved_at_;
  bool has_saved_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_RUN_H_
