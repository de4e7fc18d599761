// SPDX-License-Identifier: Apache-2.0
// What the first tokens of a store are, by the checksums of their blocks.

#ifndef PONIENTE_STORE_READ_BEGIN_FINGERPRINTS_H_
#define PONIENTE_STORE_READ_BEGIN_FINGERPRINTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "util/mutex.h"

namespace poniente::internal {

// Fingerprints of beginnings of one store. Equal for a store that grows and
// once it is complete, since blocks do not change once they are published.
//
// Keeps 8 bytes for each 32 MiB of tokens (with blocks of 4096 bytes) that it
// has seen, so that only what has come since is read again.
// Thread safety: any number of threads.
class BeginFingerprints {
 public:
  // Returns the fingerprint of the first `blocks` blocks of `block_bytes`
  // bytes, whose checksums the file at `path` has. Reads, and blocks meanwhile.
  absl::StatusOr<uint64_t> Of(const std::string& path, uint64_t blocks,
                              uint64_t block_bytes);

 private:
  Mutex mu_;
  std::vector<uint64_t> after_ ABSL_GUARDED_BY(mu_);  // hashes of whole chunks
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_BEGIN_FINGERPRINTS_H_
