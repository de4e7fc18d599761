// SPDX-License-Identifier: Apache-2.0
// Where the documents of a source end, and their names.

#ifndef PONIENTE_FORMATS_CORE_DOCUMENT_TABLE_H_
#define PONIENTE_FORMATS_CORE_DOCUMENT_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

// The documents of a source, which cover its tokens without gaps.
//
// Thread safety: any number of threads. Calls may read, and block meanwhile.
class DocumentTable {
 public:
  explicit DocumentTable(CompactEnds ends) : ends_(std::move(ends)) {
    ends_.Shrink();
  }
  virtual ~DocumentTable() = default;

  // Returns the lengths of the documents in tokens.
  const CompactEnds& ends() const { return ends_; }

  // Returns a document's name, or where it came from; empty if the format does
  // not say. REQUIRES: document < ends().size().
  virtual absl::StatusOr<std::string> Name(uint64_t document) const {
    (void)document;
    return std::string();
  }

 private:
  CompactEnds ends_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_DOCUMENT_TABLE_H_
