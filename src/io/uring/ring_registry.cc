// SPDX-License-Identifier: Apache-2.0
#include "io/uring/ring_registry.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "io/files/ring_file.h"
#include "util/mutex.h"

namespace poniente::internal {
namespace {

// All rings. Never destroyed: files may outlive the end of main().
struct Rings {
  Mutex mutex;  // lock it before the mutex of a ring
  std::vector<RingRegistrant*> all ABSL_GUARDED_BY(mutex);
};

Rings& AllRings() {
  static auto* const rings = new Rings;
  return *rings;
}

}  // namespace

void AddRing(RingRegistrant* ring) {
  Rings& rings = AllRings();
  MutexLock lock(&rings.mutex);
  const bool is_new =
      std::find(rings.all.begin(), rings.all.end(), ring) == rings.all.end();
  if (is_new) rings.all.push_back(ring);
}

void RemoveRing(RingRegistrant* ring) {
  Rings& rings = AllRings();
  MutexLock lock(&rings.mutex);
  std::erase(rings.all, ring);
}

void ForgetFile(uint64_t id) {
  Rings& rings = AllRings();
  MutexLock lock(&rings.mutex);
  for (RingRegistrant* ring : rings.all) ring->ForgetFile(id);
}

void ForgetBuffer(uint64_t id) {
  Rings& rings = AllRings();
  MutexLock lock(&rings.mutex);
  for (RingRegistrant* ring : rings.all) ring->ForgetBuffer(id);
}

RingFile::~RingFile() {
  if (fd_ < 0) return;
  if (in_ring_.load(std::memory_order_relaxed)) ForgetFile(id_);
  ::close(fd_);
}

void RingFile::Close() { ::close(std::exchange(fd_, -1)); }

}  // namespace poniente::internal
