// SPDX-License-Identifier: Apache-2.0
// Estimates how much page cache this process can use.

#ifndef PONIENTE_IO_FILES_PAGE_CACHE_H_
#define PONIENTE_IO_FILES_PAGE_CACHE_H_

#include <cstdint>
#include <string>

namespace poniente::internal {

// Returns the smaller of MemAvailable and the memory that the control groups
// of this process leave; 2^63 if neither can be read. `root` is the folder
// that contains proc and sys; it is "" except in tests.
uint64_t AvailableMemoryBytes(const std::string& root = "");

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_PAGE_CACHE_H_
