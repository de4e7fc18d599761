// SPDX-License-Identifier: Apache-2.0
// Copies scattered pieces of more than the caches hold.

#ifndef PONIENTE_IO_MMAP_STREAM_COPY_H_
#define PONIENTE_IO_MMAP_STREAM_COPY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace poniente::internal {

// Copies that bring as much in a row are worth it: of less, who takes them
// would still find them in the caches.
inline constexpr uint64_t kLeastStreamedBytes = uint64_t{2} << 20;

// memcpy of a piece to a place that is not read again soon. Writes past the
// caches, which spares reading the place first, and asks for what will be
// copied next, of this piece or of the `next` one, which spares waiting for it.
// Where there is no way past the caches (x86-64 has one), only the latter.
//
// Other threads, and the kernel, are shown the copies by FinishStreams() only.
void StreamCopy(std::span<const std::byte> from, std::byte* to,
                std::span<const std::byte> next);
void FinishStreams();

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_STREAM_COPY_H_
