// SPDX-License-Identifier: Apache-2.0
// Decides how many reads one call to the kernel submits, so that some calls
// reveal what is cached.

#ifndef PONIENTE_IO_URING_CALL_SIZES_H_
#define PONIENTE_IO_URING_CALL_SIZES_H_

#include <cstddef>

#include "io/pending_read.h"

namespace poniente::internal {

// Makes calls with one reader's reads through the cache short and long in turn.
// The disk cannot complete a read during a short call, so the reads that are
// complete right after it were cached. After a long call this is unknown.
class CallSizes {
 public:
  // Starts a batch; forgets which reader the calls before it served.
  void BeginBatch() { reader_ = nullptr; }

  // Starts a call with this read.
  void BeginCall(const PendingRead& first) {
    if (!IsCached(first) || reader_ == &first.reader()) return;
    reader_ = &first.reader();
    is_short_ = true;
  }

  // Returns whether the call, which has `count` reads so far, the last of them
  // `last`, may also take `next`.
  bool MayJoin(const PendingRead& last, const PendingRead& next,
               size_t count) const {
    if (next.backend() != last.backend()) return false;
    if (!IsCached(next)) return true;
    return &next.reader() == &last.reader() &&
           count < (is_short_ ? kShort : kLong);
  }

  // Ends a call in which the kernel has taken `count` reads. Returns whether
  // reads that are complete right after the call were certainly cached.
  bool EndCall(const PendingRead& first, size_t count) {
    if (!IsCached(first)) return false;
    is_short_ = !is_short_;
    return count <= kShort;
  }

 private:
  static constexpr size_t kShort = 8;
  static constexpr size_t kLong = 56;

  static bool IsCached(const PendingRead& read) {
    return read.backend() == IoBackend::kBuffered;
  }

  bool is_short_ = true;  // the next call
  // The reader whose cached reads the last call took; never dereferenced.
  const ReaderState* reader_ = nullptr;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_CALL_SIZES_H_
