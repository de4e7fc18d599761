// SPDX-License-Identifier: Apache-2.0
// memcpy from a mapped file that survives the file being cut short.

#ifndef PONIENTE_IO_MMAP_GUARDED_COPY_H_
#define PONIENTE_IO_MMAP_GUARDED_COPY_H_

#include <cstddef>
#include <span>

namespace poniente::internal {

// memcpy; false if part of the source raised SIGBUS (the target then holds
// anything). `last` becomes the last byte of the source, as it is after the
// copy: zero if the file was cut short within that page meanwhile.
//
// The first call puts a SIGBUS handler in front of the one there was; whatever
// is not a fault of a running copy is handed on to that one. A program that
// later installs its own handler must hand on in the same way, or a truncated
// file kills it.
// Thread safety: any number of threads at once.
bool GuardedCopy(std::span<const std::byte> from, std::byte* to,
                 std::byte* last = nullptr);

// The same with StreamCopy(); nothing of `next` is touched.
bool GuardedStreamCopy(std::span<const std::byte> from, std::byte* to,
                       std::span<const std::byte> next,
                       std::byte* last = nullptr);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_GUARDED_COPY_H_
