// SPDX-License-Identifier: Apache-2.0
// How many reads a call to the kernel takes, so that some calls tell what is
// cached.

#ifndef PONIENTE_IO_URING_CALL_SIZES_H_
#define PONIENTE_IO_URING_CALL_SIZES_H_

#include <cstddef>

#include "io/pending_read.h"

namespace poniente::internal {

// Of one reader's reads through the cache, calls take few and many in turn. The
// disk has no time to complete any of a short call while that lasts, so those
// complete after it were cached. Of a long one that is not known.
class CallSizes {
 public:
  // Of whom the calls before this batch were is forgotten.
  void BeginBatch() { reader_ = nullptr; }

  // The next call begins with this read.
  void BeginCall(const PendingRead& first) {
    if (!IsCached(first) || reader_ == &first.reader()) return;
    reader_ = &first.reader();
    is_short_ = true;
  }

  // The call, which has `count` reads so far, may take this one, too.
  bool MayJoin(const PendingRead& last, const PendingRead& next,
               size_t count) const {
    if (next.backend() != last.backend()) return false;
    if (!IsCached(next)) return true;
    return &next.reader() == &last.reader() &&
           count < (is_short_ ? kShort : kLong);
  }

  // The kernel has taken `count` reads in one call. True if those complete
  // right after it were cached.
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
  // Whose reads through the cache the last call took; never looked into.
  const ReaderState* reader_ = nullptr;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_CALL_SIZES_H_
