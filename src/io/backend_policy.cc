// SPDX-License-Identifier: Apache-2.0
#include "io/backend_policy.h"

#include <algorithm>

namespace poniente::internal {
namespace {

constexpr double kHot = 0.98;
constexpr double kCold = 0.15;
constexpr double kNotCold = 0.25;
constexpr double kNotHot = 0.9;
constexpr uint32_t kProbeEvery = 64;
constexpr uint32_t kFirstProbesEvery = 8;
// Each copy of a batch that probes the mapping counts as this many reads,
// because such batches are rare.
constexpr uint64_t kProbeWeight = 8;

}  // namespace

IoBackend BackendPolicy::Next() {
  const IoBackend now = mode();
  const bool looks = now == IoBackend::kDirect || !hits_tell_;
  if (now == IoBackend::kMmap || !looks) return now;
  const uint32_t batch = batches_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t every =
      hits_tell_ || batch >= kProbeEvery ? kProbeEvery : kFirstProbesEvery;
  if (batch % every != every - 1) return now;
  return hits_tell_ ? IoBackend::kBuffered : IoBackend::kMmap;
}

bool BackendPolicy::WantsDirect() const {
  return mode() == IoBackend::kDirect || hit_share_.value() < kNotCold;
}

void BackendPolicy::ReportBuffered(uint64_t reads, uint64_t hits, bool fits,
                                   bool may_map) {
  if (reads == 0 || !hits_tell_) return;
  Decide(hit_share_.Follow(reads, hits), fits, may_map);
}

void BackendPolicy::Decide(double share, bool fits, bool may_map) {
  IoBackend next = mode();
  if (share > kHot && may_map) {
    next = IoBackend::kMmap;
  } else if (next == IoBackend::kMmap && may_map) {
    return;  // the batch began before this mode; copies decide when it ends
  } else if (share > kNotCold || fits) {
    next = IoBackend::kBuffered;
  } else if (share < kCold) {
    next = IoBackend::kDirect;
  }
  mode_.store(next, std::memory_order_relaxed);
}

void BackendPolicy::ReportMapped(uint64_t reads, uint64_t faults, bool fits) {
  if (reads == 0) return;
  if (mode() == IoBackend::kMmap) {
    LeaveMapping(reads, faults);
  } else if (!hits_tell_) {
    const uint64_t weight = kProbeWeight * reads;
    Decide(hit_share_.Follow(weight,
                             weight - kProbeWeight * std::min(reads, faults)),
           fits, /*may_map=*/true);
  }
}

void BackendPolicy::LeaveMapping(uint64_t reads, uint64_t faults) {
  if (faults == 0) return;
  double share = hit_share_.Follow(reads, reads - std::min(reads, faults));
  if (IsBadBatch(reads, faults)) share = 0;
  if (share > kNotHot) return;
  hit_share_.Set(kNotHot);
  mode_.store(IoBackend::kBuffered, std::memory_order_relaxed);
}

}  // namespace poniente::internal
