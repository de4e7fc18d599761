// SPDX-License-Identifier: Apache-2.0
// Looks at folders when a file of theirs gets its name, and from time to time.

#ifndef PONIENTE_STORE_GROWING_FOLDER_FOLLOWER_H_
#define PONIENTE_STORE_GROWING_FOLDER_FOLLOWER_H_

#include <sys/types.h>

#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "store/posix_file.h"
#include "util/mutex.h"

namespace poniente::internal {

// Somebody who looks at a folder.
class FolderLook {
 public:
  // Looks at the folder, without waiting. Returns how long to wait before the
  // next look, if nothing happens in the folder before; nullopt to end. Must
  // not throw.
  virtual std::optional<std::chrono::milliseconds> Look() = 0;

 protected:
  ~FolderLook() = default;
};

// Follows all folders of the process by one thread and one inotify instance,
// which are there while a folder is followed.
//
// Ownership: shared by those who follow a folder; each removes its look first.
// Threads: looks come one after the other, on the follower's thread, which must
//     not destroy the follower; other members: any thread.
// Forks: a child has neither the thread nor the right to any lock: it must ask
//     OfProcess() for its own, and leave the parent's as it is, undestroyed.
class FolderFollower {
 public:
  // Returns the process's follower.
  static std::shared_ptr<FolderFollower> OfProcess();
  ~FolderFollower();
  FolderFollower(const FolderFollower&) = delete;
  FolderFollower& operator=(const FolderFollower&) = delete;

  // Lets `look` look at the folder: at once, and after that when a name in it
  // has been given or removed, or when as much time has passed as it says.
  // Where the kernel does not say what happens in the folder (too many inotify
  // instances or watches), only time counts. ResourceExhausted without a
  // descriptor or a thread.
  absl::Status Add(FolderLook* look, const std::string& folder);
  // Ends that; waits for a look in progress. Does nothing if it has ended. Not
  // for the follower's thread.
  void Remove(FolderLook* look);

  bool IsOfThisProcess() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Followed {
    FolderLook* look;
    int watch;  // of inotify; -1: none
    Clock::time_point due;
  };
  using Place = std::list<Followed>::iterator;

  FolderFollower();
  absl::Status Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What the thread does until no folder is followed.
  void Run();
  // Makes the looks that are due.
  void LookAround() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns how long poll() may wait for the next look.
  int MillisecondsToNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets one, and its watch if no other has it.
  void Erase(Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const pid_t process_;
  Mutex mu_;
  ConditionVariable looked_;
  std::list<Followed> followed_ ABSL_GUARDED_BY(mu_);
  FolderLook* looking_ ABSL_GUARDED_BY(mu_) = nullptr;  // the one at work
  bool runs_ ABSL_GUARDED_BY(mu_) = false;
  // While it runs.
  OwnedFd inotify_ ABSL_GUARDED_BY(mu_);
  OwnedFd wake_ ABSL_GUARDED_BY(mu_);
  std::thread thread_ ABSL_GUARDED_BY(mu_);  // may have ended
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_GROWING_FOLDER_FOLLOWER_H_
