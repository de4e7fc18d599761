// SPDX-License-Identifier: Apache-2.0
#include "store/packing/packed_chunk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/packing/packing_options.h"
#include "store/packing/length_sort.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

DocumentSpan SpanOf(const TokenSource& source, const PackingOptions& options,
                    uint64_t chunk) {
  const uint64_t first = chunk * options.chunk_documents;
  return {first, std::min<uint64_t>(first + options.chunk_documents,
                                    source.num_documents())};
}

absl::StatusOr<WindowPacking> PackSpan(const LengthHistogram& histogram,
                                       uint32_t window_tokens,
                                       const PackingOptions& options,
                                       const DocumentSpan& documents) {
  absl::StatusOr<WindowPacking> packing =
      WindowPacking::Create(histogram, window_tokens, options);
  if (packing.ok()) return packing;
  return Prepend(packing.status(), absl::StrCat("documents ", documents.first,
                                                " to ", documents.end - 1));
}

}  // namespace

absl::StatusOr<std::vector<PackedPlace>> PackedChunk::BinPlacesOf(
    uint64_t document, uint64_t length, const PackingOrder& seats) const {
  std::vector<PackedPlace> places;
  if (length <= end_tokens) return places;
  PONIENTE_ASSIGN_OR_RETURN(
      const std::optional<uint64_t> ordinal,
      order.OrdinalOf(document, length - end_tokens, documents));
  if (ordinal.has_value()) packing.AppendBinPlaces(*ordinal, seats, &places);
  return places;
}

absl::StatusOr<WindowPacking> PackChunk(const TokenSource& source,
                                        const Selection* selection,
                                        uint32_t window_tokens,
                                        const PackingOptions& options,
                                        uint64_t chunk) {
  const DocumentSpan documents = SpanOf(source, options, chunk);
  PONIENTE_ASSIGN_OR_RETURN(
      const LengthSort sort,
      LengthSort::CountSpan(source, selection, EndTokens(options), documents));
  return PackSpan(sort.histogram(), window_tokens, options, documents);
}

absl::StatusOr<std::shared_ptr<const PackedChunk>> MakeChunk(
    const TokenSource& source, const Selection* selection,
    uint32_t window_tokens, const PackingOptions& options, uint64_t chunk) {
  const DocumentSpan documents = SpanOf(source, options, chunk);
  PONIENTE_ASSIGN_OR_RETURN(
      const LengthSort sort,
      LengthSort::CountSpan(source, selection, EndTokens(options), documents));
  PONIENTE_ASSIGN_OR_RETURN(LengthOrder order, sort.InMemory());
  PONIENTE_ASSIGN_OR_RETURN(
      WindowPacking packing,
      PackSpan(order.histogram(), window_tokens, options, documents));
  return std::make_shared<const PackedChunk>(PackedChunk{
      documents, EndTokens(options), std::move(order), std::move(packing)});
}

}  // namespace poniente::internal
