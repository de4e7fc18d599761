// SPDX-License-Identifier: Apache-2.0
// How much page cache this process can expect.

#ifndef PONIENTE_IO_FILES_PAGE_CACHE_H_
#define PONIENTE_IO_FILES_PAGE_CACHE_H_

#include <cstdint>
#include <string>

namespace poniente::internal {

// Returns MemAvailable, or what the control groups (v2) of this process leave
// if that is less; 2^63 if nothing can be read. `root` holds proc and sys; it
// is "" except in tests.
uint64_t AvailableMemoryBytes(const std::string& root = "");

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_PAGE_CACHE_H_
