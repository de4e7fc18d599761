// SPDX-License-Identifier: Apache-2.0
// Packs inputs into a store, on several threads.

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

struct PackJob {
  std::vector<TextInput> inputs;
  // Opens one of them. The flag is set when the run is to end.
  std::function<std::unique_ptr<PackInput>(const TextInput& input,
                                           const std::atomic<bool>* stop)>
      open;
  bool skip_bad_lines = false;
  // Threads that convert and write; a few more only wait for the disk, where
  // tokens go past the page cache. Never changes a byte of the store.
  int threads = 1;
  // Whether the run is saved now and then: each time so many bytes of tokens
  // have been written since, or 10 seconds have passed.
  bool can_resume = false;
  uint64_t checkpoint_bytes = uint64_t{256} << 20;
  PackWork work;
};

// Each thread takes the next unit, converts it, waits until those before it
// have been given their places in the store, takes its own, and writes its
// tokens there. What else is known of the unit is kept until the same is done
// for all before it: so the store comes to be in order, and so it is saved.
//
// Memory: a few units for each thread, and for each write in flight.
// Errors: that of the first unit, in the order of the documents, that has one,
//     or of the disk. Cancelled, if `interrupted` says so.
class PackRun {
 public:
  PackRun(const PackJob& job, StoreBuilder* builder, const PackState& state);

  // Called on this thread a few times a second with the bytes of input so far.
  using Tick = std::function<void(uint64_t bytes)>;
  absl::Status Run(const std::function<bool()>& interrupted, const Tick& tick);

  // After Run(), when no thread is left that could change it.
  const PackState& state() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return state_;
  }
  // The files hold a checkpoint, of this run or of the one it goes on with.
  bool has_saved() const { return has_saved_; }

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

  // Until there are no more units, or the run is over.
  void Convert();
  // False if there are none, which ends the run.
  bool KeepChecksums(absl::StatusOr<PieceChecksums> checksums,
                     Written* written);
  // Waits while enough are in flight. nullopt if the run is over.
  std::optional<DirectWriter::Pages> TakePages(uint64_t bytes);
  // Writes what is staged, until nothing more will be.
  void WriteStaged();
  // nullopt at the end, or if the run is over.
  std::optional<Task> NextTask();
  absl::Status ConvertUnit(const Task& task, UnitDocuments* documents) const;
  // Gives the unit its place, once it is its turn. False if the run is over.
  bool TakePlace(const Task& task, const absl::Status& converted,
                 const UnitDocuments& documents, Written* written);
  void Start(int count, std::vector<std::thread>* threads);
  void Work(bool converts);
  void HasEnded(bool converts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Hand(uint64_t number, Written written);
  absl::Status Add(const Written& written) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AddDocuments(const Written& written)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status BeginDocument(const Written& written, size_t place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteBadLines(const Written& written) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string At(uint64_t input, uint64_t line, const std::string& what) const;

  // This thread's, while the others work.
  void Watch(const std::function<bool()>& interrupted, const Tick& tick);
  void StartWriting(uint64_t tokens);
  bool IsTimeToSave(uint64_t tokens);
  absl::Status Save();

  using Clock = std::chrono::steady_clock;

  const PackJob& job_;
  StoreBuilder* const builder_;
  const uint32_t token_bytes_;
  const std::optional<uint32_t> end_of_document_;
  std::atomic<bool> stop_ = false;

  // Cutting is done by one thread at a time; taken before mu_.
  Mutex cut_mu_;
  uint64_t cut_input_ ABSL_GUARDED_BY(cut_mu_);
  UnitBegin cut_begin_ ABSL_GUARDED_BY(cut_mu_);
  std::shared_ptr<PackInput> cut_ ABSL_GUARDED_BY(cut_mu_);
  uint64_t next_number_ ABSL_GUARDED_BY(cut_mu_) = 0;
  bool cut_ended_ ABSL_GUARDED_BY(cut_mu_) = false;

  Mutex mu_;
  ConditionVariable changed_;
  ConditionVariable ended_;
  int working_ ABSL_GUARDED_BY(mu_) = 0;
  int converting_ ABSL_GUARDED_BY(mu_) = 0;  // of those
  ConditionVariable to_write_;
  std::deque<Staged> staged_ ABSL_GUARDED_BY(mu_);
  // Of tokens that are staged, or about to be.
  uint64_t bytes_in_flight_ ABSL_GUARDED_BY(mu_) = 0;
  // Memory to use again, that of the last one first.
  std::vector<DirectWriter::Pages> free_pages_ ABSL_GUARDED_BY(mu_);
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
  // What is known once a unit has its place.
  uint64_t turn_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t placed_tokens_ ABSL_GUARDED_BY(mu_);
  bool placed_in_document_ ABSL_GUARDED_BY(mu_);
  uint64_t placed_lines_ ABSL_GUARDED_BY(mu_);
  // Units that wait for others before them.
  std::map<uint64_t, Written> written_ ABSL_GUARDED_BY(mu_);
  uint64_t added_ ABSL_GUARDED_BY(mu_) = 0;
  PackState state_ ABSL_GUARDED_BY(mu_);

  // This thread's.
  uint64_t started_tokens_;
  uint64_t saved_tokens_;
  Clock::time_point saved_at_;
  bool has_saved_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACK_RUN_H_
