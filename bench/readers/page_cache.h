// SPDX-License-Identifier: Apache-2.0
// How much of a file the page cache holds, made so without any rights.

#ifndef PONIENTE_BENCH_READERS_PAGE_CACHE_H_
#define PONIENTE_BENCH_READERS_PAGE_CACHE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/readers/file_set.h"

namespace poniente::bench {

// What a case finds in it: none of what it reads, a random half, or all.
enum class CacheState { kCold, kHalf, kHot };

// Empties it of the file. REQUIRES: all has been written to the disk, and no
// process has it mapped.
void Evict(const std::string& path);

// Reads [0, bytes) from one end to the other.
void Load(const std::string& path, uint64_t bytes);

// Reads the windows at `offsets` and nothing around them.
void LoadWindows(const std::string& path, std::vector<uint64_t> offsets);

// The share of the pages of these windows that is cached. REQUIRES: the files
// are this user's own; the kernel tells of no others.
double CachedShare(const FileSet& files, std::span<const uint64_t> offsets);

// Bytes of memory that could hold cached pages.
uint64_t AvailableMemory();

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_PAGE_CACHE_H_
