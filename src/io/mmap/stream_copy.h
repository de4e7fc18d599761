// SPDX-License-Identifier: Apache-2.0
// Copies many scattered pieces, together larger than the processor's caches.

#ifndef PONIENTE_IO_MMAP_STREAM_COPY_H_
#define PONIENTE_IO_MMAP_STREAM_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace poniente::internal {

// Use StreamCopy() for batches of at least this size. After smaller ones, the
// consumer would still find the data in the caches.
inline constexpr uint64_t kLeastStreamedBytes = uint64_t{2} << 20;

// Copies a piece to a place that is not read again soon. On x86-64 it writes
// past the caches, so that the target lines need not be read first. It also
// prefetches what will be copied next, from this piece or from `next`.
//
// The copies are visible to other threads and to the kernel only after
// FinishStreams().
void StreamCopy(std::span<const std::byte> from, std::byte* to,
                std::span<const std::byte> next);
void FinishStreams();

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_STREAM_COPY_H_
