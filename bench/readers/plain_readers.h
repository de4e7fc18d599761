// SPDX-License-Identifier: Apache-2.0
// Readers that owe nothing to the library but the memory of their slots: what
// it is compared with.

#ifndef PONIENTE_BENCH_READERS_PLAIN_READERS_H_
#define PONIENTE_BENCH_READERS_PLAIN_READERS_H_

#include <cstdint>
#include <string>

#include "bench/readers/file_set.h"
#include "bench/readers/windows.h"

namespace poniente::bench {

// One pread per window, one after the other.
OpenedReader OpenPreadLoop(const std::string& path);

// The preads of kInFlight batches, shared out to 8 threads.
OpenedReader OpenPreadPool(const std::string& path);

// memcpy from a mapping of the first `bytes` of the set, all of them in the
// page tables. REQUIRES: they are whole pages or all of the set.
OpenedReader OpenMappingCopy(const FileSet& files, uint64_t bytes,
                             const SlotLayout& layout = SlotLayout());

// io_uring with kInFlight batches, registered file and slots, and no more calls
// than it needs.
OpenedReader OpenRawRing(const std::string& path, bool direct);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_PLAIN_READERS_H_
