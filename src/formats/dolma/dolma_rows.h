// SPDX-License-Identifier: Apache-2.0
// Reads the table beside each token file of dolma and OLMo (.csv.gz). It has a
// row for each document and no header. Dolma writes `start,end,id,src,loc`,
// OLMo `start,end`. Tokens [start, end) are the document's.

#ifndef PONIENTE_FORMATS_DOLMA_DOLMA_ROWS_H_
#define PONIENTE_FORMATS_DOLMA_DOLMA_ROWS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"
#include "formats/dolma/unzipped_text.h"
#include "store/read/compact_ends.h"

namespace poniente::internal {

struct DolmaRow {
  uint64_t line = 0;  // on which it begins, from 1
  uint64_t start = 0;
  uint64_t end = 0;
  bool has_name = false;
  // "id=... src=... loc=...", unchanged, with the fields that the row has.
  std::string name;
};

// Reads rows as Python's csv module does: fields may be quoted, and quoted
// fields may hold commas, doubled quotes and line breaks. Blank lines are
// skipped.
//
// Memory: 200 KiB, and id, src and loc of at most 1 MiB each if names are kept.
// Ownership: borrows the input.
// Thread safety: one thread at a time.
class DolmaRows {
 public:
  DolmaRows(const InputBytes& input, bool keeps_names)
      : input_(input), text_(input), keeps_names_(keeps_names) {}

  // Reads the next row. Returns false at the end. DataLoss, naming path and
  // line.
  absl::StatusOr<bool> Next(DolmaRow* row);

 private:
  enum class State : uint8_t { kFieldBegins, kPlain, kQuoted, kQuoteInQuoted };

  // Takes the next character. Returns whether the row ends with it.
  absl::StatusOr<bool> Take(char c);
  absl::Status Add(char c);
  absl::Status EndField();
  absl::StatusOr<uint64_t> ParseNumber(size_t field) const;
  absl::Status Finish(DolmaRow* row);
  absl::Status Error(std::string_view what) const;

  const InputBytes& input_;
  UnzippedText text_;
  const bool keeps_names_;
  std::string_view left_;
  uint64_t line_ = 1;      // of the next character
  uint64_t row_line_ = 1;  // of the row
  State state_ = State::kFieldBegins;
  size_t field_ = 0;  // of the row
  std::array<std::string, 5> fields_;
};

// What a table says about all its documents.
struct DolmaTable {
  CompactEnds lengths;
  // The line of the last row.
  uint64_t line = 0;
  bool has_names = false;
};

// Reads the whole table. DataLoss if documents leave gaps, overlap, or reach
// past `most_tokens`; ResourceExhausted if the lengths need more than
// `most_memory` bytes.
absl::StatusOr<DolmaTable> ReadDolmaTable(const InputBytes& input,
                                          uint64_t most_tokens,
                                          uint64_t most_memory);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_DOLMA_DOLMA_ROWS_H_
