// SPDX-License-Identifier: Apache-2.0
// Copies from a mapped file without crashing if the file is truncated.

#ifndef PONIENTE_IO_MMAP_GUARDED_COPY_H_
#define PONIENTE_IO_MMAP_GUARDED_COPY_H_

#include <cstddef>
#include <span>

namespace poniente::internal {

// Copies `from` to `to`. Returns false if a part of the source raised SIGBUS;
// the target then holds arbitrary bytes. Sets `last` to the last byte of the
// source as it is after the copy, which is zero if the file was truncated
// within that page meanwhile.
//
// The first call installs a SIGBUS handler, which passes all signals that are
// not faults of a copy to the previous handler. A program that installs its own
// handler later must pass signals on in the same way, or a truncated file kills
// it.
//
// Thread safety: any number of threads at once.
bool GuardedCopy(std::span<const std::byte> from, std::byte* to,
                 std::byte* last = nullptr);

// Does the same with StreamCopy(). Only prefetches `next`, which cannot fault.
bool GuardedStreamCopy(std::span<const std::byte> from, std::byte* to,
                       std::span<const std::byte> next,
                       std::byte* last = nullptr);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_GUARDED_COPY_H_
