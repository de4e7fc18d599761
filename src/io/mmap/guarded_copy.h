// SPDX-License-Identifier: Apache-2.0
// memcpy from a mapped file that survives a truncation of the file.

#ifndef PONIENTE_IO_MMAP_GUARDED_COPY_H_
#define PONIENTE_IO_MMAP_GUARDED_COPY_H_

#include <cstddef>
#include <span>

namespace poniente::internal {

// Copies; returns false if a part of the source raised SIGBUS (the target then
// holds arbitrary bytes). `last` becomes the last byte of the source as it is
// after the copy: zero if the file was cut short within that page meanwhile.
//
// The first call installs a SIGBUS handler in front of the previous one, which
// receives everything that is not a fault of a running copy. A program that
// installs its own handler later must pass faults on in the same way, or a
// truncated file kills it.
//
// Thread safety: any number of threads at once.
bool GuardedCopy(std::span<const std::byte> from, std::byte* to,
                 std::byte* last = nullptr);

// Does the same with StreamCopy(); touches nothing of `next`.
bool GuardedStreamCopy(std::span<const std::byte> from, std::byte* to,
                       std::span<const std::byte> next,
                       std::byte* last = nullptr);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_GUARDED_COPY_H_
