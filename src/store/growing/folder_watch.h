// SPDX-License-Identifier: Apache-2.0
// Waits until a file of a folder gets its name, without polling where the
// kernel says so.

#ifndef PONIENTE_STORE_GROWING_FOLDER_WATCH_H_
#define PONIENTE_STORE_GROWING_FOLDER_WATCH_H_

#include <chrono>
#include <string>

#include "store/posix_file.h"

namespace poniente::internal {

// One thread waits, any other may stop it.
class FolderWatch {
 public:
  // Never fails: without inotify (too many instances or watches), Wait() only
  // waits.
  explicit FolderWatch(const std::string& folder);
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Waits until a name in the folder has been given or removed since the last
  // call, or Stop(), or so long. Returns false after Stop().
  bool Wait(std::chrono::milliseconds longest);
  void Stop();
  // Gives back what the kernel keeps for it; on the thread that waits.
  void Forget() { inotify_ = OwnedFd(); }

 private:
  OwnedFd inotify_;
  OwnedFd stop_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_GROWING_FOLDER_WATCH_H_
