// SPDX-License-Identifier: Apache-2.0
// Looks at folders when a file of theirs gets its name, and from time to time.

#ifndef PONIENTE_STORE_GROWING_FOLDER_FOLLOWER_H_
#define PONIENTE_STORE_GROWING_FOLDER_FOLLOWER_H_

#include <sys/types.h>

#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "store/posix_file.h"
#include "util/mutex.h"

namespace poniente::internal {

// Somebody who looks at a folder.
class FolderLook {
 public:
  // Looks at the folder. Returns whether to go on. Must not throw.
  virtual bool Look() = 0;

 protected:
  ~FolderLook() = default;
};

// One thread and one inotify instance for all folders of the process.
//
// Ownership: shared by those who follow a folder; the last one ends the thread.
// Threads: looks come one after the other, on the follower's thread.
// Forks: a child shares nothing with its parent: it must ask OfProcess() again,
//     and call nothing of the parent's follower but its destructor.
class FolderFollower {
 public:
  // Returns the process's follower; starts it if there is none.
  // ResourceExhausted without a descriptor or a thread for it.
  static absl::StatusOr<std::shared_ptr<FolderFollower>> OfProcess();
  ~FolderFollower();
  FolderFollower(const FolderFollower&) = delete;
  FolderFollower& operator=(const FolderFollower&) = delete;

  // Lets `look` look at the folder: at once, when a name in it has been given
  // or removed, and so long after its last look. If the kernel does not say
  // what happens in the folder (too many inotify instances or watches), only
  // the latter two of time.
  void Add(FolderLook* look, const std::string& folder,
           std::chrono::milliseconds between_looks);
  // Ends that; waits for a look in progress. Does nothing if it has ended. Not
  // for the follower's thread.
  void Remove(FolderLook* look);

  bool IsOfThisProcess() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Followed {
    FolderLook* look;
    int watch;  // of inotify; -1: none
    std::chrono::milliseconds between_looks;
    Clock::time_point due;
  };
  using Place = std::list<Followed>::iterator;

  FolderFollower();
  void Run();
  // Sleeps until a look is due, by the clock or by what inotify says. Returns
  // false if the thread is to end.
  bool Wait();
  void TakeEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets one, and its watch if no other has it.
  void Erase(Place place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Wake();

  const pid_t process_;
  const OwnedFd inotify_;
  const OwnedFd wake_;
  Mutex mu_;
  ConditionVariable looked_;
  bool ends_ ABSL_GUARDED_BY(mu_) = false;
  std::list<Followed> followed_ ABSL_GUARDED_BY(mu_);
  FolderLook* looking_ ABSL_GUARDED_BY(mu_) = nullptr;  // the one at work
  std::unique_ptr<std::thread> thread_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_GROWING_FOLDER_FOLLOWER_H_
