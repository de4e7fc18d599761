// SPDX-License-Identifier: Apache-2.0
// The documents of dolma's token files, and where they came from.

#ifndef PONIENTE_FORMATS_DOLMA_DOLMA_DOCUMENTS_H_
#define PONIENTE_FORMATS_DOLMA_DOLMA_DOCUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/core/document_table.h"
#include "formats/core/input_bytes.h"
#include "formats/dolma/dolma_rows.h"
#include "util/mutex.h"

namespace poniente::internal {

// Names are not kept in memory but read from the tables again. A name costs one
// pass over its table up to its row. It costs less if it was read recently, or
// if the name read before it is in an earlier row nearby. Reading all names in
// order costs one pass.
//
// Memory: the lengths, 1 MiB of names, and one table that is being read.
class DolmaDocuments final : public DocumentTable {
 public:
  // Documents [first, first + rows) are the rows of a table.
  struct Table {
    std::string path;
    uint64_t first = 0;
    uint64_t rows = 0;
    bool has_names = false;
  };

  // REQUIRES: tables in order, not empty; the first one's `first` is 0.
  DolmaDocuments(CompactEnds ends, std::vector<Table> tables)
      : DocumentTable(std::move(ends)), tables_(std::move(tables)) {}

  // Returns the name, or fails with DataLoss if the table was changed after it
  // was opened.
  absl::StatusOr<std::string> Name(uint64_t document) const override;

 private:
  // The table that is being read, and the next row.
  struct Cursor {
    Cursor(size_t read_table, FileBytes opened)
        : table(read_table), file(std::move(opened)), rows(file, true) {}

    const size_t table;
    const FileBytes file;
    DolmaRows rows;
    uint64_t next = 0;  // row
  };

  // Moves the cursor to row `row` of a table, and reads it.
  absl::StatusOr<DolmaRow> ReadRow(size_t table, uint64_t row) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(uint64_t document, const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<Table> tables_;
  mutable Mutex mutex_;
  mutable std::unique_ptr<Cursor> cursor_ ABSL_GUARDED_BY(mutex_);
  mutable std::unordered_map<uint64_t, std::string> kept_
      ABSL_GUARDED_BY(mutex_);
  mutable std::deque<uint64_t> kept_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_DOLMA_DOLMA_DOCUMENTS_H_
