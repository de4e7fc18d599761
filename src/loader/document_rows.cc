// SPDX-License-Identifier: Apache-2.0
#include "loader/document_rows.h"

#include <algorithm>
#include <numeric>

namespace poniente::internal {

// CMakeLists.txt compiles this file with -O3 because of these loops.

void FillLossMask(std::span<const uint32_t> documents, std::span<uint8_t> row) {
  std::fill(row.begin(), row.end(), uint8_t{1});
  size_t end = 0;
  for (const uint32_t length : documents) {
    end += length;
    row[end - 1] = 0;
  }
}

void FillDocumentIds(std::span<const uint32_t> documents,
                     std::span<int32_t> row) {
  int32_t* to = row.data();
  int32_t number = 0;
  for (const uint32_t length : documents) {
    to = std::fill_n(to, length, number++);
  }
}

void FillPositions(std::span<const uint32_t> documents,
                   std::span<int32_t> row) {
  int32_t* to = row.data();
  for (const uint32_t length : documents) {
    std::iota(to, to + length, 0);
    to += length;
  }
}

}  // namespace poniente::internal
