// SPDX-License-Identifier: Apache-2.0
// Chooses the backend of IoBackend::kAuto from what its reads have met. Pure
// except for atomics: no file, no clock.
//
// Reads that are complete right after their submission were in the page cache.
// The policy follows their share as a running average. If it is
//
//   above 0.98: the policy copies from a mapping. It stops when a batch of
//               copies meets more than 2 major faults and more than 2 per 64
//               copies, or when the average, in which a fault counts as a miss,
//               falls to 0.9;
//   below 0.15: it reads past the cache, if the files do not fit in it (direct
//               reads never fill the cache, so files that fit would stay cold).
//               Every 64th batch is read through the cache to measure the share
//               again; above 0.25, all batches are;
//   otherwise:  it reads through the cache.
//
// The share is unknown on file systems without nowait reads (such as overlayfs)
// and without io_uring. The policy then has some batches copied from the
// mapping, and follows the share of copies without a fault.

#ifndef PONIENTE_IO_BACKEND_POLICY_H_
#define PONIENTE_IO_BACKEND_POLICY_H_

#include <atomic>
#include <cstdint>

#include "io/hit_share.h"
#include "poniente/byte_reader.h"

namespace poniente::internal {

// Returns whether the number of major faults shows that the files of a batch of
// copies were not cached.
inline bool IsBadBatch(uint64_t copies, uint64_t faults) {
  return faults > 2 && faults * 64 > 2 * copies;
}

// The policy of one reader, or one that several small readers share.
//
// Thread safety: any number of threads. Accesses are relaxed (see HitShare).
class BackendPolicy {
 public:
  explicit BackendPolicy(bool hits_tell = true) : hits_tell_(hits_tell) {}

  // Returns the backend for the next batch (kBuffered, kDirect or kMmap), and
  // counts the batch.
  IoBackend Next();
  // Returns the current backend without counting a batch.
  IoBackend mode() const { return mode_.load(std::memory_order_relaxed); }

  // Returns whether the policy would read past the cache if the files did not
  // fit.
  bool WantsDirect() const;

  // Reports a batch of `reads` through the cache, of which `hits` were cached.
  // `fits` says whether the files fit in the cache; it is used only if
  // WantsDirect().
  void ReportBuffered(uint64_t reads, uint64_t hits, bool fits,
                      bool may_map = true);
  // Reports a batch of `reads` copies from mappings, which met `faults` major
  // faults.
  void ReportMapped(uint64_t reads, uint64_t faults, bool fits = true);

 private:
  // Sets the mode from the share of hits.
  void Decide(double share, bool fits, bool may_map);
  // Stops copying from mappings if the faults show that they are not cached.
  void LeaveMapping(uint64_t reads, uint64_t faults);

  const bool hits_tell_;
  std::atomic<IoBackend> mode_ = IoBackend::kBuffered;
  // A batch of 192 reads has half of the weight.
  HitShare hit_share_{/*initial=*/0.5, /*memory=*/192};
  std::atomic<uint32_t> batches_ = 0;  // direct, or while !hits_tell_
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BACKEND_POLICY_H_
