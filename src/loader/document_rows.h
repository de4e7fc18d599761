// SPDX-License-Identifier: Apache-2.0
// Rows of tensors that say which documents a sample consists of.

#ifndef PONIENTE_LOADER_DOCUMENT_ROWS_H_
#define PONIENTE_LOADER_DOCUMENT_ROWS_H_

#include <cstdint>
#include <span>

namespace poniente::internal {

// Each function fills a row for one sample. `documents` has the number of the
// sample's tokens in each document. REQUIRES: none is 0; their sum is
// row.size().

// Writes 1 where the next token belongs to the same document, else 0.
void FillLossMask(std::span<const uint32_t> documents, std::span<uint8_t> row);
// Writes the number of the document in the sample, from 0.
void FillDocumentIds(std::span<const uint32_t> documents,
                     std::span<int32_t> row);
// Writes the position within the document's part of the sample, from 0.
void FillPositions(std::span<const uint32_t> documents, std::span<int32_t> row);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_DOCUMENT_ROWS_H_
