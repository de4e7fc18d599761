// SPDX-License-Identifier: Apache-2.0
// Where the documents of a store end, kept in memory by segments.

#ifndef PONIENTE_STORE_READ_KEPT_ENDS_H_
#define PONIENTE_STORE_READ_KEPT_ENDS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/memory_budget.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"
#include "store/read/compact_ends.h"
#include "store/read/side_file.h"

namespace poniente::internal {

// Memory for the ends of documents that all stores of the process keep.
inline MemoryBudget ends_memory;

// Consecutive documents whose ends are in memory, as lengths of few bits.
struct EndsSegment {
  uint64_t first = 0;  // document
  uint64_t begin = 0;  // token
  CompactEnds lengths;

  uint64_t end() const { return begin + lengths.total(); }
  // Returns the document that contains the token. REQUIRES: begin <= token <
  // end().
  uint64_t At(uint64_t token) const {
    return first + lengths.At(token - begin);
  }
  // Returns the tokens of a document of this segment.
  TokenRange Of(uint64_t document) const {
    const uint64_t from = begin + lengths.Begin(document - first);
    return {from, from + lengths.Length(document - first)};
  }
  // Appends the pieces of tokens [from, to) that lie in this segment. REQUIRES:
  // begin <= from < min(to, end()).
  void AppendPieces(uint64_t from, uint64_t to,
                    std::vector<ItemPiece>* pieces) const;
};

// Reads `count` u64 of a documents file from number `first` on.
absl::StatusOr<std::vector<uint64_t>> ReadWords(const SideFile& file,
                                                uint64_t first, uint64_t count);
// Returns the error for number `i` of a list of ends, which is `value` instead
// of from `least` to `most`. `what`: "document" or "name".
absl::Status DisorderedEnds(const SideFile& file, const char* what, uint64_t i,
                            uint64_t value, uint64_t least, uint64_t most);

// The ends of a store's documents. They are read by segments, each when it is
// first needed: sequentially, 8 bytes per document. Everything read is checked
// against its neighbours and bounds; errors are DataLoss.
//
// Memory: about 2 bytes per document, for all stores of the process within
//     ends_memory; beyond that, Segment() returns null.
// Thread safety: any number of threads.
class KeptEnds {
 public:
  // Documents per segment; more if there are over 2^36 of them.
  static constexpr uint64_t kSegmentDocuments = 65536;

  // Borrows the file, whose first `documents` u64 are the ends.
  KeptEnds(const SideFile& file, uint64_t documents, uint64_t tokens);
  ~KeptEnds();
  KeptEnds(const KeptEnds&) = delete;
  KeptEnds& operator=(const KeptEnds&) = delete;

  // Documents of a segment: [first, end).
  uint64_t FirstOf(uint64_t segment) const {
    return segment * segment_documents_;
  }
  uint64_t EndOf(uint64_t segment) const {
    return std::min(documents_, FirstOf(segment) + segment_documents_);
  }

  // Returns the segment with the document.
  uint64_t SegmentWith(uint64_t document) const {
    return document / segment_documents_;
  }
  // Returns the segment with the document that contains the token. Reads the
  // last ends of segments that the search meets first. REQUIRES: token <
  // tokens.
  absl::StatusOr<uint64_t> SegmentOf(uint64_t token) const;
  // Returns where the last document of a segment ends; 0 for segment -1.
  absl::StatusOr<uint64_t> LastEnd(uint64_t segment) const;
  // Returns the segment; reads it if it is not in memory. Null if there is no
  // memory left for it.
  absl::StatusOr<const EndsSegment*> Segment(uint64_t segment) const;
  // Returns the segment with the document if it is in memory; else null.
  const EndsSegment* KeptWith(uint64_t document) const;
  // Returns whether the segment with the document is in memory.
  bool IsInMemory(uint64_t document) const {
    return KeptWith(document) != nullptr;
  }
  // Returns whether tokens [begin, end) can be looked up without reading.
  bool AreInMemory(uint64_t begin, uint64_t end) const;

 private:
  struct Entry {
    std::atomic<const EndsSegment*> segment = nullptr;
    // LastEnd() + 1; 0 if it has not been read.
    std::atomic<uint64_t> last_end = 0;
  };

  uint64_t NumSegments() const {
    return documents_ / segment_documents_ +
           (documents_ % segment_documents_ == 0 ? 0 : 1);
  }
  std::vector<Entry>& Entries() const;
  absl::StatusOr<const EndsSegment*> Read(uint64_t segment) const;

  const SideFile& file_;
  const uint64_t documents_;
  const uint64_t tokens_;
  const uint64_t segment_documents_;
  // One per segment, at most 16 MiB; made by the first look-up.
  mutable std::once_flag entries_made_;
  mutable std::vector<Entry> entries_;
  // Published after entries_ have been made; null before.
  mutable std::atomic<const std::vector<Entry>*> made_ = nullptr;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_KEPT_ENDS_H_
