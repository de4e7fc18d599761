// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "poniente/shares.h"
#include "util/rounding.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::RoundUp;

// A split among so many ranks.
struct Division {
  ContextSplit split;
  uint64_t ranks;

  // Equal chunks that a sample, or a document, is cut into.
  uint64_t chunks() const {
    return split == ContextSplit::kContiguous ? ranks : 2 * ranks;
  }
  std::string ToString() const {
    return absl::StrCat(
        split == ContextSplit::kContiguous ? "contiguous slices" : "zig-zag",
        split == ContextSplit::kZigZagPerDocument ? " per document" : "",
        " for ", ranks, " context-parallel ranks");
  }
};

absl::Status CheckSample(const Division& division, uint64_t seq_len) {
  if (seq_len > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sample has ", seq_len,
                     " tokens, but cumulative lengths of documents have 31 "
                     "bits; use samples of less than 2^31 tokens"));
  }
  const uint64_t chunks = division.chunks();
  if (seq_len % chunks == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(division.ToString(), " cut a sample into ", chunks,
                   " equal chunks, but it has ", seq_len,
                   " tokens; make the sequence length a multiple of ", chunks,
                   ", such as ", RoundUp(seq_len, chunks)));
}

absl::Status CheckDocuments(const Division& division, uint64_t seq_len,
                            std::span<const uint32_t> lengths) {
  const uint64_t chunks = division.chunks();
  uint64_t tokens = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint64_t length = lengths[i];
    tokens += length;
    if (tokens > seq_len) {
      return absl::InvalidArgumentError(absl::StrCat(
          "documents 0 to ", i, " of a sample have ", tokens,
          " tokens, but the sample has ", seq_len,
          "; pass the lengths of the pieces that lie in the sample"));
    }
    if (division.split == ContextSplit::kZigZagPerDocument &&
        length % chunks != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(division.ToString(), " cut each document into ", chunks,
                       " equal chunks, but document ", i, " of a sample has ",
                       length, " tokens; pad every document to a multiple of ",
                       chunks, " (this one to ", RoundUp(length, chunks), ")"));
    }
  }
  return absl::OkStatus();
}

// Appends what the rank has of tokens [begin, begin + tokens) of the sample.
// REQUIRES: `tokens` is a multiple of the number of chunks.
void AppendChunks(const Division& division, uint32_t begin, uint32_t tokens,
                  uint32_t rank, std::vector<ContextChunk>& chunks) {
  const uint64_t count = division.chunks();
  const auto length = static_cast<uint32_t>(tokens / count);
  const auto append = [&](uint64_t chunk) {
    // Not beyond the end of the sample, so it has 32 bits.
    const auto at = static_cast<uint32_t>(begin + chunk * length);
    chunks.push_back({at, at + length});
  };
  append(rank);
  if (division.split != ContextSplit::kContiguous) append(count - 1 - rank);
}

// Returns the lengths of the documents, of the padding behind them as one more.
std::vector<uint32_t> WithPadding(uint32_t seq_len,
                                  std::span<const uint32_t> lengths) {
  std::vector<uint32_t> documents(lengths.begin(), lengths.end());
  uint32_t padding = seq_len;
  for (const uint32_t length : lengths) padding -= length;
  documents.push_back(padding);
  return documents;
}

std::vector<ContextChunk> ChunksOf(const Division& division, uint32_t seq_len,
                                   std::span<const uint32_t> documents,
                                   uint32_t rank) {
  std::vector<ContextChunk> chunks;
  if (division.split != ContextSplit::kZigZagPerDocument) {
    AppendChunks(division, 0, seq_len, rank, chunks);
    return chunks;
  }
  uint32_t begin = 0;
  for (const uint32_t length : documents) {
    if (length > 0) AppendChunks(division, begin, length, rank, chunks);
    begin += length;
  }
  return chunks;
}

// Returns the parts of the documents that lie in the chunks, both of which
// ascend.
std::vector<DocumentPart> PartsIn(std::span<const ContextChunk> chunks,
                                  std::span<const uint32_t> documents) {
  std::vector<DocumentPart> parts;
  uint32_t document = 0;
  uint32_t begin = 0;  // of this document
  for (const ContextChunk& chunk : chunks) {
    for (uint32_t at = chunk.begin; at < chunk.end; at += parts.back().tokens) {
      while (begin + documents[document] <= at) begin += documents[document++];
      const uint32_t end = std::min(chunk.end, begin + documents[document]);
      parts.push_back({.document = document,
                       .begin_in_document = at - begin,
                       .begin_in_sample = at,
                       .tokens = end - at});
    }
  }
  return parts;
}

}  // namespace

absl::StatusOr<ContextSlice> MakeContextSlice(
    ContextSplit split, uint32_t seq_len,
    std::span<const uint32_t> document_lengths, uint32_t rank, uint32_t ranks) {
  if (rank >= ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the context-parallel rank must be below the number of such ranks, "
        "got rank ",
        rank, " of ", ranks));
  }
  const Division division{split, ranks};
  PONIENTE_RETURN_IF_ERROR(CheckSample(division, seq_len));
  PONIENTE_RETURN_IF_ERROR(CheckDocuments(division, seq_len, document_lengths));
  const std::vector<uint32_t> documents =
      WithPadding(seq_len, document_lengths);

  ContextSlice slice;
  slice.chunks = ChunksOf(division, seq_len, documents, rank);
  slice.parts = PartsIn(slice.chunks, documents);
  slice.cu_seqlens.reserve(slice.parts.size() + 1);
  slice.cu_seqlens.push_back(0);
  for (const DocumentPart& part : slice.parts) {
    const auto tokens = static_cast<int32_t>(part.tokens);
    slice.cu_seqlens.push_back(slice.cu_seqlens.back() + tokens);
    slice.max_seqlen = std::max(slice.max_seqlen, tokens);
  }
  return slice;
}

}  // namespace poniente
