// SPDX-License-Identifier: Apache-2.0
// Files of random bytes with the checksums of their blocks beside them.

#ifndef PONIENTE_BENCH_READERS_RANDOM_FILE_H_
#define PONIENTE_BENCH_READERS_RANDOM_FILE_H_

#include <cstdint>
#include <string>

#include "poniente/byte_reader.h"

namespace poniente::bench {

inline constexpr uint64_t kBlockBytes = 64 << 10;

// Makes `folder`/random-`mib`MiB.bin and its checksums, or takes those that are
// there. The bytes are on the disk.
ByteFile MakeRandomFile(const std::string& folder, uint64_t mib);

// Makes `path`, in place of what was there and as a file of its own, from the
// first `bytes` of `source`, so that the same checksums hold: cached, and on
// the disk. REQUIRES: bytes is a multiple of kBlockBytes.
void CopyStart(const std::string& source, const std::string& path,
               uint64_t bytes);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_RANDOM_FILE_H_
