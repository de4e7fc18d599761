// SPDX-License-Identifier: Apache-2.0
// Rows of tensors that say which documents a sample consists of.

#ifndef PONIENTE_LOADER_DOCUMENT_ROWS_H_
#define PONIENTE_LOADER_DOCUMENT_ROWS_H_

#include <cstdint>
#include <span>

namespace poniente::internal {

// All take the tokens of each document in the sample, which are as many as the
// row has elements; none is 0.

// 1 where the next token is of the same document, else 0.
void FillLossMask(std::span<const uint32_t> documents, std::span<uint8_t> row);
// The number of the document in the sample, from 0.
void FillDocumentIds(std::span<const uint32_t> documents,
                     std::span<int32_t> row);
// The position within the document's part of the sample, from 0.
void FillPositions(std::span<const uint32_t> documents, std::span<int32_t> row);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_DOCUMENT_ROWS_H_
