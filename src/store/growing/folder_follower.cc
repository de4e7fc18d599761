// SPDX-License-Identifier: Apache-2.0
#include "store/growing/folder_follower.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

struct OneOfProcess {
  Mutex mu;
  std::weak_ptr<FolderFollower> follower ABSL_GUARDED_BY(mu);
};

OneOfProcess& TheOne() {
  static auto* const one = new OneOfProcess;
  return *one;
}

}  // namespace

absl::StatusOr<std::shared_ptr<FolderFollower>> FolderFollower::OfProcess() {
  OneOfProcess& one = TheOne();
  MutexLock lock(&one.mu);
  std::shared_ptr<FolderFollower> follower = one.follower.lock();
  if (follower != nullptr && follower->IsOfThisProcess()) return follower;
  follower.reset(new FolderFollower);
  if (!follower->wake_.is_open()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("eventfd: ", std::strerror(errno),
                     "; raise the limit of descriptors (ulimit -n)"));
  }
  try {
    follower->thread_ =
        std::make_unique<std::thread>([raw = follower.get()] { raw->Run(); });
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start a thread: ", error.what(),
                     "; raise the limit of processes (ulimit -u)"));
  }
  one.follower = follower;
  return follower;
}

FolderFollower::FolderFollower()
    : process_(::getpid()),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

FolderFollower::~FolderFollower() {
  if (thread_ == nullptr) return;
  if (!IsOfThisProcess()) {
    (void)thread_.release();  // it runs in the other process
    return;
  }
  {
    MutexLock lock(&mu_);
    ends_ = true;
  }
  Wake();
  thread_->join();
}

bool FolderFollower::IsOfThisProcess() const { return process_ == ::getpid(); }

void FolderFollower::Add(FolderLook* look, const std::string& folder,
                         std::chrono::milliseconds between_looks) {
  constexpr uint32_t kChanges =
      IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
  {
    MutexLock lock(&mu_);
    // Watches of the same folder have the same number.
    const int watch =
        inotify_.is_open()
            ? ::inotify_add_watch(inotify_.get(), folder.c_str(), kChanges)
            : -1;
    followed_.push_back({look, watch, between_looks, Clock::now()});
  }
  Wake();
}

void FolderFollower::Remove(FolderLook* look) {
  MutexLock lock(&mu_);
  while (looking_ == look) looked_.Wait(&mu_);
  const auto place =
      std::find_if(followed_.begin(), followed_.end(),
                   [look](const Followed& one) { return one.look == look; });
  if (place != followed_.end()) Erase(place);
}

void FolderFollower::Erase(Place place) {
  const int watch = place->watch;
  followed_.erase(place);
  if (watch < 0) return;
  const bool is_shared = std::any_of(
      followed_.begin(), followed_.end(),
      [watch](const Followed& other) { return other.watch == watch; });
  if (!is_shared) (void)::inotify_rm_watch(inotify_.get(), watch);
}

void FolderFollower::Wake() {
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
}

void FolderFollower::Run() {
  while (Wait()) {
    MutexLock lock(&mu_);
    const Clock::time_point now = Clock::now();
    for (Place next = followed_.begin(); next != followed_.end() && !ends_;) {
      const Place place = next;
      if (place->due > now) {
        ++next;
        continue;
      }
      // Events that come from here on are about something that it may not see.
      place->due = now + place->between_looks;
      looking_ = place->look;
      mu_.Unlock();
      const bool goes_on = looking_->Look();
      mu_.Lock();
      looking_ = nullptr;
      looked_.NotifyAll();
      next = std::next(place);
      if (!goes_on) Erase(place);
    }
  }
}

bool FolderFollower::Wait() {
  int milliseconds = -1;  // for ever
  {
    MutexLock lock(&mu_);
    if (ends_) return false;
    const Clock::time_point now = Clock::now();
    for (const Followed& one : followed_) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(one.due - now).count();
      const int here = static_cast<int>(std::clamp<int64_t>(left, 0, 3600'000));
      if (milliseconds < 0 || here < milliseconds) milliseconds = here;
    }
  }
  // poll() ignores descriptors below 0.
  std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0},
                               pollfd{inotify_.get(), POLLIN, 0}};
  (void)::poll(fds.data(), fds.size(), milliseconds);
  uint64_t woken;
  (void)!::read(wake_.get(), &woken, sizeof(woken));
  MutexLock lock(&mu_);
  TakeEvents();
  return !ends_;
}

void FolderFollower::TakeEvents() {
  if (!inotify_.is_open()) return;
  alignas(inotify_event) std::array<char, 4096> bytes;
  while (true) {
    const ssize_t got = ::read(inotify_.get(), bytes.data(), bytes.size());
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, bytes.data() + at, sizeof(event));
      at += static_cast<ssize_t>(sizeof(event) + event.len);
      const bool is_lost = (event.mask & IN_Q_OVERFLOW) != 0;
      for (Followed& one : followed_) {
        if (one.watch == event.wd || is_lost) one.due = Clock::time_point();
        // The kernel has dropped the watch: the folder is gone.
        if (one.watch == event.wd && (event.mask & IN_IGNORED) != 0) {
          one.watch = -1;
        }
      }
    }
  }
}

}  // namespace poniente::internal
