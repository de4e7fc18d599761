// SPDX-License-Identifier: Apache-2.0
#include "store/growing/folder_follower.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

// The follower of one process, and its lock, which a child must not touch.
struct OneOfProcess {
  const pid_t process = ::getpid();
  Mutex mu;
  std::weak_ptr<FolderFollower> follower ABSL_GUARDED_BY(mu);
};

OneOfProcess& TheOne() {
  static std::atomic<OneOfProcess*> current = nullptr;
  OneOfProcess* one = current.load(std::memory_order_acquire);
  while (one == nullptr || one->process != ::getpid()) {
    auto made = std::make_unique<OneOfProcess>();
    if (current.compare_exchange_strong(one, made.get()))
      return *made.release();
  }
  return *one;
}

}  // namespace

std::shared_ptr<FolderFollower> FolderFollower::OfProcess() {
  OneOfProcess& one = TheOne();
  MutexLock lock(&one.mu);
  std::shared_ptr<FolderFollower> follower = one.follower.lock();
  if (follower == nullptr) {
    follower.reset(new FolderFollower);
    one.follower = follower;
  }
  return follower;
}

FolderFollower::FolderFollower() : process_(::getpid()) {}

FolderFollower::~FolderFollower() {
  // Nobody follows a folder any more, so the thread ends.
  if (thread_.joinable()) thread_.join();
}

bool FolderFollower::IsOfThisProcess() const { return process_ == ::getpid(); }

absl::Status FolderFollower::Start() {
  if (thread_.joinable()) thread_.join();  // it has ended
  OwnedFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("eventfd: ", std::strerror(errno),
                     "; raise the limit of descriptors (ulimit -n)"));
  }
  try {
    thread_ = std::thread([this] { Run(); });  // waits for the lock
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start a thread: ", error.what(),
                     "; raise the limit of processes (ulimit -u)"));
  }
  wake_ = std::move(wake);
  inotify_ = OwnedFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  runs_ = true;
  return absl::OkStatus();
}

absl::Status FolderFollower::Add(FolderLook* look, const std::string& folder) {
  constexpr uint32_t kChanges =
      IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
  MutexLock lock(&mu_);
  if (!runs_) {
    const absl::Status started = Start();
    if (!started.ok()) return started;
  }
  // Watches of the same folder have the same number.
  const int watch =
      inotify_.is_open()
          ? ::inotify_add_watch(inotify_.get(), folder.c_str(), kChanges)
          : -1;
  followed_.push_back({look, watch, Clock::now()});
  Wake();
  return absl::OkStatus();
}

void FolderFollower::Remove(FolderLook* look) {
  MutexLock lock(&mu_);
  while (looking_ == look) looked_.Wait(&mu_);
  const auto place =
      std::find_if(followed_.begin(), followed_.end(),
                   [look](const Followed& one) { return one.look == look; });
  if (place == followed_.end()) return;
  Erase(place);
  if (followed_.empty()) Wake();
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
  MutexLock lock(&mu_);
  while (!followed_.empty()) {
    // poll() ignores descriptors below 0.
    std::array<pollfd, 2> fds = {pollfd{wake_.get(), POLLIN, 0},
                                 pollfd{inotify_.get(), POLLIN, 0}};
    const int longest = MillisecondsToNext();
    lock.Unlock();
    (void)::poll(fds.data(), fds.size(), longest);
    lock.Lock();
    uint64_t woken;
    (void)!::read(wake_.get(), &woken, sizeof(woken));
    TakeEvents();
    LookAround();
  }
  inotify_ = OwnedFd();
  wake_ = OwnedFd();
  runs_ = false;
}

void FolderFollower::LookAround() {
  const Clock::time_point now = Clock::now();
  for (Place place = followed_.begin(); place != followed_.end();) {
    if (place->due > now) {
      ++place;
      continue;
    }
    // What happens from here on is noticed by a look that comes after this one.
    FolderLook* const look = place->look;
    looking_ = look;
    mu_.Unlock();
    const std::optional<std::chrono::milliseconds> pause = look->Look();
    mu_.Lock();
    looking_ = nullptr;
    looked_.NotifyAll();
    const Place here = place++;
    if (pause) {
      here->due = Clock::now() + *pause;
    } else {
      Erase(here);
    }
  }
}

int FolderFollower::MillisecondsToNext() const {
  constexpr int64_t kLongest = 3'600'000;
  int64_t least = kLongest;
  const Clock::time_point now = Clock::now();
  for (const Followed& one : followed_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(one.due - now, Clock::duration::zero()));
    least = std::min<int64_t>(least, left.count());
  }
  return static_cast<int>(least);
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
        if (one.watch != event.wd && !is_lost) continue;
        one.due = Clock::time_point();
        // The kernel has dropped the watch: the folder is gone.
        if ((event.mask & IN_IGNORED) != 0) one.watch = -1;
      }
    }
  }
}

}  // namespace poniente::internal
