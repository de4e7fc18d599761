// SPDX-License-Identifier: Apache-2.0
// Sorts documents by length: a counting sort on several threads.

#ifndef PONIENTE_STORE_PACKING_LENGTH_SORT_H_
#define PONIENTE_STORE_PACKING_LENGTH_SORT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "index/packing/length_histogram.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "store/packing/length_order.h"

namespace poniente::internal {

// Returns what identifies the documents: those of the source, or the selected
// ones; `end_tokens` tokens at the end of each are left out.
uint64_t LengthOrderKey(const TokenSource& source, const Selection* selection,
                        uint32_t end_tokens = 0);

// The lengths of a source's documents, counted, and what is needed to write the
// documents in the order of their lengths.
//
// Memory: for each distinct length, 8 bytes per thread.
// Ownership: borrows the source and the selection.
class LengthSort {
 public:
  // Reads all lengths. `end_tokens` tokens at the end of each document do not
  // count. REQUIRES: the source knows its documents.
  static absl::StatusOr<LengthSort> Count(const TokenSource& source,
                                          const Selection* selection,
                                          uint32_t end_tokens = 0);
  // Does the same for some of the documents, on this thread alone.
  static absl::StatusOr<LengthSort> CountSpan(const TokenSource& source,
                                              const Selection* selection,
                                              uint32_t end_tokens,
                                              const DocumentSpan& documents);

  const LengthHistogram& histogram() const { return histogram_; }
  uint32_t number_bytes() const { return number_bytes_; }
  uint64_t table_bytes() const {
    return number_bytes_ * histogram_.num_documents();
  }

  // Reads all lengths again, and writes the documents' numbers to `table`.
  // DataLoss if the lengths differ from those counted. REQUIRES: table.size()
  // == table_bytes().
  absl::Status WriteTable(std::span<std::byte> table) const;

  // Returns the order with its table in memory.
  absl::StatusOr<LengthOrder> InMemory() const;

 private:
  // Consecutive documents that one thread sorts.
  struct Part {
    DocumentSpan documents;
    // How many of them have each of the histogram's lengths.
    std::vector<uint64_t> counts;
  };

  LengthSort(const TokenSource& source, const Selection* selection,
             uint32_t end_tokens);

  absl::Status CountParts();

  const TokenSource* source_;
  const Selection* selection_;
  uint32_t end_tokens_;
  uint32_t number_bytes_;
  LengthHistogram histogram_;
  std::vector<Part> parts_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_LENGTH_SORT_H_
