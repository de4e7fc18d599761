// SPDX-License-Identifier: Apache-2.0
// The documents of a source in the order of their lengths: what packing needs
// to know of each document.

#ifndef PONIENTE_STORE_PACKING_LENGTH_ORDER_H_
#define PONIENTE_STORE_PACKING_LENGTH_ORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "index/packing/length_histogram.h"
#include "store/packing/document_numbers.h"

namespace poniente::internal {

// Consecutive documents of a source.
struct DocumentSpan {
  uint64_t first = 0;
  uint64_t end = 0;
};

// The documents that are not empty, by (length, number). A document's place in
// this order is its ordinal.
//
// Memory: 16 bytes per distinct length, and 4 bytes per document (5 for more
//     than 2^32 of them) in memory or in a mapped file.
// Thread safety: immutable; any number of threads.
class LengthOrder {
 public:
  LengthOrder(LengthHistogram histogram,
              std::shared_ptr<const DocumentNumbers> numbers)
      : histogram_(std::move(histogram)), numbers_(std::move(numbers)) {}

  const LengthHistogram& histogram() const { return histogram_; }
  const DocumentNumbers& numbers() const { return *numbers_; }

  // Returns the ordinal of a document of `length` tokens; nullopt if the order
  // does not have it. `documents`: those that were ordered, as the source
  // numbers them. Reads a few entries.
  absl::StatusOr<std::optional<uint64_t>> OrdinalOf(
      uint64_t document, uint64_t length, const DocumentSpan& documents) const;

 private:
  LengthHistogram histogram_;
  std::shared_ptr<const DocumentNumbers> numbers_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_LENGTH_ORDER_H_
