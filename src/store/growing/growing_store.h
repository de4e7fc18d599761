// SPDX-License-Identifier: Apache-2.0
// A store that another process may still be writing.

#ifndef PONIENTE_STORE_GROWING_GROWING_STORE_H_
#define PONIENTE_STORE_GROWING_GROWING_STORE_H_

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "async/notifier.h"
#include "poniente/async_dataset.h"
#include "poniente/token_source.h"
#include "poniente/token_store.h"
#include "poniente/token_window.h"
#include "store/growing/folder_follower.h"
#include "store/growing/grown_tokens.h"
#include "store/manifest/manifest.h"
#include "store/read/begin_fingerprints.h"
#include "util/mutex.h"

namespace poniente::internal {

// How often a growing store is looked at. For tests.
struct GrowthTimes {
  // Without news of the kernel, which does not see what other machines write.
  std::chrono::milliseconds between_looks{5000};
  // A store without a writer for so long is an error: it may have been killed,
  // and a writer that goes on needs a moment.
  std::chrono::milliseconds without_writer{60000};
};

// Follows a store from its first Publish() to the commit, on the thread that
// all growing stores of the process share.
//
// Ownership: shared by the datasets that read it.
// Thread safety: any number of threads.
class GrowingStore final : private FolderLook {
 public:
  // What the store has. Immutable.
  struct State {
    std::shared_ptr<const TokenSource> source;
    // Tokens from the first on that never change, and can be verified; fewer
    // than the source has while it grows.
    uint64_t readable_tokens = 0;
    bool is_final = false;
  };

  // Opens a store that is complete, or whose writer publishes. NotFound if
  // there is neither; otherwise errors of TokenStore::Open().
  static absl::StatusOr<std::shared_ptr<GrowingStore>> Open(
      const std::string& path, const TokenStoreOptions& options,
      const GrowthTimes& times = {});
  ~GrowingStore();
  GrowingStore(const GrowingStore&) = delete;
  GrowingStore& operator=(const GrowingStore&) = delete;

  const std::string& path() const { return path_; }
  std::shared_ptr<const State> Now() const;

  // Returns once the state is another than `seen`. FailedPrecondition while
  // nothing more will come: the store was given up, replaced, or has had no
  // writer for long.
  Task<> WaitPast(std::shared_ptr<const State> seen);

 private:
  GrowingStore(std::string path, const TokenStoreOptions& options,
               const GrowthTimes& times);

  // Finds out what the store has now. NotFound if there is nothing. Find()
  // waits for a writer that removes files.
  absl::StatusOr<State> Find();
  absl::StatusOr<State> FindOnce();
  absl::Status Gone() const;
  // NotFound if the files that the text speaks of are gone.
  absl::StatusOr<State> LookAtGrowth(const std::string& text);
  absl::StatusOr<State> LookAtCommitted() const;
  absl::Status OtherStore() const;
  // Returns whether it may be the store that was seen first.
  bool IsLike(const StoreManifest& other) const;
  // Returns whether something may have been read of what grows.
  bool HasRead() const { return grown_ != nullptr && grown_->num_tokens() > 0; }
  // Lets the follower of the process look at the folder; also in a process that
  // was forked from another.
  absl::Status StartFollowing();
  void Leave(std::shared_ptr<FolderFollower> follower);
  std::optional<std::chrono::milliseconds> Look() override;
  // Returns what the store has now; nullopt if that will only be known in a
  // moment.
  absl::StatusOr<std::optional<State>> FindNews();
  // Returns FailedPrecondition if the store has had no writer for long.
  absl::Status CheckWriter();
  void Set(absl::StatusOr<State> found);

  const std::string path_;
  // Absolute, so that the process may change its folder.
  const std::string location_;
  const TokenStoreOptions options_;
  const GrowthTimes times_;
  mutable Mutex mu_;
  std::shared_ptr<const State> state_ ABSL_GUARDED_BY(mu_);
  // Why nothing more comes; OK while something may.
  absl::Status ended_ ABSL_GUARDED_BY(mu_);
  Notifier changed_;
  // What Find() has seen, on one thread at a time.
  StoreManifest growth_;
  std::shared_ptr<const GrownTokens> grown_;  // null: complete from the start
  const std::shared_ptr<BeginFingerprints> begins_ =
      std::make_shared<BeginFingerprints>();
  std::chrono::steady_clock::time_point writer_seen_;
  int misses_ = 0;  // of consecutive looks that found nothing
  Mutex following_mu_;
  // Null: complete from the start.
  std::shared_ptr<FolderFollower> follower_ ABSL_GUARDED_BY(following_mu_);
  // The follower's process; 0: none.
  std::atomic<pid_t> following_process_ = 0;
};

// Returns windows of the store, which grow with it. InvalidArgument unless 0 <
// length < 2^32 - 1.
absl::StatusOr<DatasetPtr<TokenWindow>> WindowsOfGrowing(
    std::shared_ptr<GrowingStore> store, uint64_t length);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_GROWING_GROWING_STORE_H_
