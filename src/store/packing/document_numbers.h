// SPDX-License-Identifier: Apache-2.0
// A table of documents' numbers, in memory or in a mapped file.

#ifndef PONIENTE_STORE_PACKING_DOCUMENT_NUMBERS_H_
#define PONIENTE_STORE_PACKING_DOCUMENT_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "util/byte_order.h"

namespace poniente::internal {

// Returns the bytes of a number, little-endian, if all are below `documents`:
// 4 or 5.
inline uint32_t NumberBytes(uint64_t documents) {
  return documents <= uint64_t{1} << 32 ? 4 : 5;
}

inline void StoreNumber(uint64_t number, uint32_t bytes, std::byte* to) {
  StoreLittle(static_cast<uint32_t>(number), to);
  if (bytes > 4) to[4] = static_cast<std::byte>(number >> 32);
}

inline uint64_t LoadNumber(const std::byte* from, uint32_t bytes) {
  uint64_t number = LoadLittle<uint32_t>(from);
  if (bytes > 4) number |= std::to_integer<uint64_t>(from[4]) << 32;
  return number;
}

// Thread safety: immutable; any number of threads.
class DocumentNumbers {
 public:
  virtual ~DocumentNumbers() = default;

  // Returns the bytes that the table takes in memory or on disk.
  virtual uint64_t bytes() const = 0;
  // Writes entries [first, first + numbers.size()). May read from disk, and
  // block meanwhile. DataLoss, naming the file, if it is damaged. REQUIRES: the
  // entries exist.
  virtual absl::Status Read(uint64_t first,
                            std::span<uint64_t> numbers) const = 0;
  // Brings an entry into the caches if it is in memory; never reads.
  virtual void Prefetch(uint64_t entry) const = 0;
  // Returns whether Read() of an entry has read its part of the file before, or
  // the table is in memory: another read hardly ever waits for a disk.
  virtual bool HasRead(uint64_t entry) const = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_DOCUMENT_NUMBERS_H_
