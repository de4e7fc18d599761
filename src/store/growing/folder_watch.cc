// SPDX-License-Identifier: Apache-2.0
#include "store/growing/folder_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace poniente::internal {

FolderWatch::FolderWatch(const std::string& folder)
    : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!inotify_.is_open()) return;
  constexpr uint32_t kChanges =
      IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
  if (::inotify_add_watch(inotify_.get(), folder.c_str(), kChanges) < 0) {
    inotify_ = OwnedFd();
  }
}

bool FolderWatch::Wait(std::chrono::milliseconds longest) {
  // poll() ignores descriptors below 0.
  std::array<pollfd, 2> fds = {pollfd{stop_.get(), POLLIN, 0},
                               pollfd{inotify_.get(), POLLIN, 0}};
  while (::poll(fds.data(), fds.size(), static_cast<int>(longest.count())) <
             0 &&
         errno == EINTR) {
  }
  std::array<char, 4096> events;  // what they are makes no difference
  while (inotify_.is_open() &&
         ::read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  return (fds[0].revents & POLLIN) == 0;
}

void FolderWatch::Stop() {
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof(one));
}

}  // namespace poniente::internal
