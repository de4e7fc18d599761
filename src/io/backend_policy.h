// SPDX-License-Identifier: Apache-2.0
// Chooses the backend of IoBackend::kAuto from what its reads have met. Pure
// except for atomics: no file, no clock.
//
// Reads that are complete right after their submission were in the page cache.
// The policy follows their share, as an average that forgets:
//
//   above 0.98: copies from a mapping, until a batch of them meets more than 2
//               major faults (2 per 64 reads), or the average, which counts a
//               fault as a miss, falls below 0.9;
//   below 0.15: past the cache, if the files do not fit into it (direct reads
//               never warm it: what fits would stay cold). Every 64th batch is
//               read through the cache to see whether that has changed; above
//               0.25 it has;
//   else:       through the cache.
//
// Where hits at submission tell nothing (file systems without nowait reads,
// such as overlayfs; no io_uring), some batches are copied from the mapping,
// and the faults that these meet are followed instead.

#ifndef PONIENTE_IO_BACKEND_POLICY_H_
#define PONIENTE_IO_BACKEND_POLICY_H_

#include <atomic>
#include <cstdint>

#include "poniente/byte_reader.h"

namespace poniente::internal {

// Returns whether a batch of copies met so many major faults that its files
// were not cached.
inline bool IsBadBatch(uint64_t copies, uint64_t faults) {
  return faults > 2 && faults * 64 > 2 * copies;
}

// The policy of one reader, or of several small ones.
//
// Thread safety: any number of threads. Accesses are relaxed, and an update may
// overwrite another: the average then misses one batch.
class BackendPolicy {
 public:
  explicit BackendPolicy(bool hits_tell = true) : hits_tell_(hits_tell) {}

  // Returns what to read the next batch by (kBuffered, kDirect or kMmap), and
  // counts the batch.
  IoBackend Next();
  // Returns the same without counting.
  IoBackend mode() const { return mode_.load(std::memory_order_relaxed); }

  // Returns whether the policy would read past the cache if the files did not
  // fit.
  bool WantsDirect() const;

  // Reports a batch through the cache, of whose `reads` `hits` were cached.
  // `fits` says whether the files fit; it is used only if WantsDirect().
  void ReportBuffered(uint64_t reads, uint64_t hits, bool fits,
                      bool may_map = true);
  // Reports a batch of copies that met `faults` major faults.
  void ReportMapped(uint64_t reads, uint64_t faults, bool fits = true);

 private:
  // Adds a batch to the average and returns the average.
  double Follow(uint64_t reads, uint64_t hits);
  void Decide(double share, bool fits, bool may_map);
  void LeaveMapping(uint64_t reads, uint64_t faults);

  const bool hits_tell_;
  std::atomic<IoBackend> mode_ = IoBackend::kBuffered;
  std::atomic<double> hit_share_ = 0.5;
  std::atomic<uint32_t> batches_ = 0;  // direct, or while hits tell nothing
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BACKEND_POLICY_H_
