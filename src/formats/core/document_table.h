// SPDX-License-Identifier: Apache-2.0
// Where the documents of a source end, and what they are called.

#ifndef PONIENTE_FORMATS_CORE_DOCUMENT_TABLE_H_
#define PONIENTE_FORMATS_CORE_DOCUMENT_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "formats/core/compact_ends.h"

namespace poniente::internal {

// Documents tile the tokens of their source.
//
// Thread safety: any number of threads. May read, and block for it.
class DocumentTable {
 public:
  explicit DocumentTable(CompactEnds ends) : ends_(std::move(ends)) {
    ends_.Shrink();
  }
  virtual ~DocumentTable() = default;

  // Lengths in tokens.
  const CompactEnds& ends() const { return ends_; }

  // Its name, or where it came from; empty if the format does not say.
  // REQUIRES: document < ends().size().
  virtual absl::StatusOr<std::string> Name(uint64_t document) const {
    (void)document;
    return std::string();
  }

 private:
  CompactEnds ends_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_DOCUMENT_TABLE_H_
