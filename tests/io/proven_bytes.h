// SPDX-License-Identifier: Apache-2.0
// Bytes that are a hash of where they lie, so that a misplaced read is seen
// without a reference copy. Compiled with optimization, unlike other tests:
// they look at every byte of many reads.

#ifndef PONIENTE_TESTS_IO_PROVEN_BYTES_H_
#define PONIENTE_TESTS_IO_PROVEN_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace poniente::testing {

// Byte `offset` of proven file number `file`. Never zero, so that a hole or an
// untouched buffer cannot pass.
std::byte ProvenByte(uint64_t file, uint64_t offset);

// Writes those from `offset` on.
void FillProven(uint64_t file, uint64_t offset, std::span<std::byte> into);

// The first of `bytes` that is not what the file has there.
std::optional<size_t> FirstUnproven(uint64_t file, uint64_t offset,
                                    std::span<const std::byte> bytes);

// CRC32C bit by bit, as RFC 3720 defines it.
uint32_t SlowCrc32c(std::span<const std::byte> bytes);

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_IO_PROVEN_BYTES_H_
