// SPDX-License-Identifier: Apache-2.0
// How whole documents are packed into windows (docs/packing.md).

#ifndef PONIENTE_PACKING_H_
#define PONIENTE_PACKING_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace poniente {

// What happens to documents that are longer than a window.
enum class LongDocuments : uint8_t {
  // They are cut into full windows; what remains is packed with other
  // documents.
  kSplit,
  // Their first tokens, one window of them, are kept.
  kTruncate,
  // Their last tokens, one window of them, are kept.
  kTruncateLeft,
  // They are in no window.
  kDrop,
  // They are an error.
  kRefuse,
};

// Returns "split", "truncate", "truncate_left", "drop" or "refuse".
std::string_view LongDocumentsName(LongDocuments policy);
// Returns the policy of this name; InvalidArgument for any other text.
absl::StatusOr<LongDocuments> ParseLongDocuments(std::string_view name);

// What happens to the end-of-document id that ends each document.
enum class EndOfDocument : uint8_t {
  // It is a token like any other.
  kKeep,
  // It is left out: windows hold documents without it. All documents that are
  // packed must end with it, unless they are empty.
  kDrop,
};

// Returns "keep" or "drop".
std::string_view EndOfDocumentName(EndOfDocument policy);

// Options of packed windows. All of them except for `index_file` decide which
// documents share a window, so a run must keep them.
struct PackingOptions {
  LongDocuments long_documents = LongDocuments::kSplit;
  // Whether windows have the source's end_of_document() id behind each
  // document. kDrop is an error unless the source states such an id and every
  // document ends with it. That is checked when the order by length (or
  // `index_file`, see there) is made, by reading the last token of each
  // document: about as much as reading all tokens, once for each file.
  EndOfDocument end_of_document = EndOfDocument::kKeep;
  // Each piece of a document takes a multiple of `align` tokens of the window,
  // up to align - 1 of them padding. Divides the length of the window. Context
  // parallelism over C ranks needs 2 * C.
  uint32_t align = 1;
  // Most documents in a window; 0 for no limit. A limit below four times the
  // mean wastes 1 % and more of the tokens.
  uint32_t max_documents = 0;
  // Tokens that the pieces of a document that was cut share: 0 or 1. With 0,
  // the label of the last token of each piece but the last is lost.
  uint32_t overlap = 0;
  // From 1 to 256: how far documents of one length are spread over the windows.
  // 1 is best fit decreasing, which fills a window with documents of one
  // length.
  uint32_t parts = 64;
  // Whether each epoch seats the documents anew, and orders the windows anew.
  bool shuffle = true;
  // Consecutive documents of the source that are packed apart from all others:
  // chunk c is documents [c * chunk_documents, (c + 1) * chunk_documents).
  // Windows that follow each other then read nearby documents, and documents
  // added at the end change the last chunk only. 0: all documents are packed
  // together, with the least padding. 100,000 hardly add padding to windows of
  // up to 8192 tokens (docs/packing.md). At most 2^24 chunks.
  uint32_t chunk_documents = 0;
  // With chunk_documents: how many chunks, at random places of the source, have
  // their windows shuffled together. More mix the source better, and spread the
  // reads over more of it. The order and the packing of up to twice as many
  // chunks are in memory.
  uint32_t shuffle_chunks = 8;
  // File of the documents' order by length; with chunk_documents, of the number
  // of windows of each chunk. If it does not exist, it is made, which reads all
  // lengths; if it is of other documents, it is made again. Empty: a file in
  // the folder of a token store, if that can be written; else the contents are
  // made in memory, 4 bytes per document or 8 per chunk.
  std::string index_file = {};

  friend bool operator==(const PackingOptions&,
                         const PackingOptions&) = default;
};

// What packing does to the documents, in one epoch. It depends on their lengths
// alone.
struct PackingSummary {
  uint64_t chunks = 0;  // packed apart; 0: all documents together
  uint64_t windows = 0;
  uint64_t window_tokens = 0;  // of each window
  uint64_t documents = 0;      // with at least one token
  uint64_t tokens = 0;         // of the documents, without ends left out
  // Tokens in windows: those of the documents, without what is truncated or
  // dropped, and twice what pieces share.
  uint64_t placed_tokens = 0;
  uint64_t split_documents = 0;      // into two pieces or more
  uint64_t truncated_documents = 0;  // or cut off, and the tokens that are not
  uint64_t truncated_tokens = 0;     // in any window
  uint64_t dropped_documents = 0;    // likewise
  uint64_t dropped_tokens = 0;
  uint64_t pieces = 0;
  uint32_t max_pieces = 0;  // of a window
  uint64_t plan_bytes = 0;  // memory of the plan, or of the largest chunk's
  // Memory or disk of the order by length; with chunks, memory of the largest
  // chunk's order and of their numbers of windows.
  uint64_t index_bytes = 0;

  uint64_t padding_tokens() const {
    return windows * window_tokens - placed_tokens;
  }
  // Returns padding_tokens() as a share of all tokens of the windows.
  double padding() const {
    return windows == 0 ? 0
                        : static_cast<double>(padding_tokens()) /
                              static_cast<double>(windows * window_tokens);
  }

  friend bool operator==(const PackingSummary&,
                         const PackingSummary&) = default;
};

}  // namespace poniente

#endif  // PONIENTE_PACKING_H_
