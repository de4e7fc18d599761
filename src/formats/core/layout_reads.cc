// SPDX-License-Identifier: Apache-2.0
// Reads the ids of a LayoutSource: from arrays, pieces of files or decoded
// blocks.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/layout_source.h"
#include "io/range_source.h"
#include "store/read/stored_ids.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Decoded bytes of the blocks of one turn, which are read and decoded together.
constexpr uint64_t kTurnBytes = uint64_t{64} << 20;

}  // namespace

Task<std::vector<TokenWindow>> LayoutSource::ReadRanges(
    std::vector<TokenRange> ranges) const {
  if (layout_.decoder) {
    absl::StatusOr<std::vector<TokenWindow>> read =
        co_await ReadBlocks(std::move(ranges));
    co_return read;
  }
  if (layout_.locator) {
    absl::StatusOr<std::vector<TokenWindow>> read =
        co_await ReadPieces(std::move(ranges));
    co_return read;
  }
  absl::StatusOr<std::vector<TokenWindow>> read =
      co_await ReadFromArrays(*this, std::move(ranges));
  co_return read;
}

bool LayoutSource::has_file_ranges() const {
  if (layout_.decoder) return false;
  return layout_.locator ? layout_.locator->is_in_memory() : !arrays_.empty();
}

void LayoutSource::AppendFileRanges(uint64_t begin, uint64_t end,
                                    std::vector<FileRange>* ranges) const {
  if (!layout_.locator) {
    TokenSource::AppendFileRanges(begin, end, ranges);
    return;
  }
  std::vector<TokenRun> runs;
  PONIENTE_CHECK(layout_.locator->Locate({begin, end}, &runs).ok());
  const uint64_t width = StoredTypeBytes(layout_.type);
  for (const TokenRun& run : runs) {
    ranges->push_back(
        {static_cast<uint32_t>(run.place), run.offset, run.tokens * width});
  }
}

void LayoutSource::LocateInArrays(TokenRange tokens,
                                  std::vector<TokenRun>* runs) const {
  const uint64_t width = StoredTypeBytes(layout_.type);
  auto shard = static_cast<size_t>(
      std::upper_bound(shard_ends_.begin(), shard_ends_.end(), tokens.begin) -
      shard_ends_.begin());
  for (uint64_t at = tokens.begin; at < tokens.end; ++shard) {
    const TokenArray& array = arrays_[shard];
    const uint64_t end = std::min(tokens.end, shard_ends_[shard]);
    if (end == at) continue;
    runs->push_back({array.file,
                     array.offset + (at - array.first_token) * width,
                     end - at});
    at = end;
  }
}

absl::StatusOr<std::vector<LayoutSource::Piece>> LayoutSource::Locate(
    std::span<const TokenRange> ranges) const {
  std::vector<Piece> pieces;
  std::vector<TokenRun> runs;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].size() == 0) continue;
    runs.clear();
    if (layout_.locator) {
      PONIENTE_RETURN_IF_ERROR(layout_.locator->Locate(ranges[i], &runs));
    } else {
      LocateInArrays(ranges[i], &runs);
    }
    size_t at = 0;
    for (const TokenRun& run : runs) {
      pieces.push_back({run, i, at});
      at += run.tokens;
    }
    if (at == ranges[i].size()) continue;
    return absl::DataLossError(absl::StrCat(
        "'", path_, "': ", at, " of the tokens from ", ranges[i].begin, " to ",
        ranges[i].end, " are there; it was changed while it was open"));
  }
  return pieces;
}

Task<std::vector<TokenWindow>> LayoutSource::ReadPieces(
    std::vector<TokenRange> ranges) const {
  absl::StatusOr<std::vector<Piece>> pieces = Locate(ranges);
  if (!pieces.ok()) co_return pieces.status();
  const uint64_t width = StoredTypeBytes(layout_.type);
  uint64_t bytes = 0;
  for (const TokenRange& range : ranges) bytes += range.size() * width;
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::vector<ReadRequest> requests;
  requests.reserve(pieces->size());
  std::byte* to = stored.get();
  for (const Piece& piece : *pieces) {
    const size_t size = piece.run.tokens * width;
    requests.push_back({reader_.get(),
                        static_cast<uint32_t>(piece.run.place),
                        piece.run.offset,
                        {to, size}});
    to += size;
  }
  const absl::Status read = co_await ReadBatch(requests);
  if (!read.ok()) co_return read;
  co_return DecodeRanges(*this, ranges, stored.get());
}

Task<std::vector<TokenWindow>> LayoutSource::ReadBlocks(
    std::vector<TokenRange> ranges) const {
  absl::StatusOr<std::vector<Piece>> pieces = Locate(ranges);
  if (!pieces.ok()) co_return pieces.status();
  std::stable_sort(
      pieces->begin(), pieces->end(),
      [](const Piece& a, const Piece& b) { return a.run.place < b.run.place; });
  std::vector<TokenWindow> windows(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    windows[i].tokens.resize(ranges[i].size());
  }
  for (size_t first = 0; first < pieces->size();) {
    // Finds the blocks of this turn, and which of them are not in the cache.
    size_t end = first;
    uint64_t bytes = 0;
    std::vector<DecodedBlock> blocks;  // per piece; null if it is missing
    std::vector<uint64_t> missing;
    while (end < pieces->size() && (end == first || bytes < kTurnBytes)) {
      const uint64_t block = (*pieces)[end].run.place;
      DecodedBlock kept = cache_.Find(block);
      const bool is_new = missing.empty() || missing.back() != block;
      if (!kept && is_new) {
        missing.push_back(block);
        bytes += layout_.decoder->DecodedBytes(block);
      }
      blocks.push_back(std::move(kept));
      ++end;
    }
    absl::StatusOr<std::vector<DecodedBlock>> decoded =
        co_await Decoded(missing);
    if (!decoded.ok()) co_return decoded.status();
    size_t next = 0;
    for (size_t i = first; i < end; ++i) {
      const Piece& piece = (*pieces)[i];
      DecodedBlock block = blocks[i - first];
      if (!block) {
        while (missing[next] != piece.run.place) ++next;
        block = (*decoded)[next];
      }
      const absl::Status copied = CopyOut(*block, piece, ranges, &windows);
      if (!copied.ok()) co_return copied;
    }
    first = end;
  }
  co_return windows;
}

Task<std::vector<DecodedBlock>> LayoutSource::Decoded(
    std::vector<uint64_t> blocks) const {
  std::vector<std::vector<std::byte>> stored(blocks.size());
  std::vector<ReadRequest> requests;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const absl::StatusOr<BlockDecoder::Stored> found =
        layout_.decoder->Find(blocks[i]);
    if (!found.ok()) co_return found.status();
    const uint64_t there =
        found->file < reader_->num_files() ? reader_->size(found->file) : 0;
    if (found->offset > there || found->bytes > there - found->offset) {
      co_return absl::DataLossError(absl::StrCat(
          "'", path_, "': block ", blocks[i], " is said to lie in bytes ",
          found->offset, " to ", found->offset, " + ", found->bytes,
          " of a file of ", there, "; it was cut short: copy it again"));
    }
    const uint64_t decoded_bytes = layout_.decoder->DecodedBytes(blocks[i]);
    if (found->bytes > MostStoredBytes(decoded_bytes)) {
      co_return absl::DataLossError(absl::StrCat(
          "'", path_, "': block ", blocks[i], " has ", found->bytes,
          " bytes, and ", decoded_bytes, " decoded, which take at most ",
          MostStoredBytes(decoded_bytes), "; it is damaged: copy it again"));
    }
    stored[i].resize(found->bytes);
    if (found->bytes == 0) continue;
    requests.push_back({reader_.get(), found->file, found->offset, stored[i]});
  }
  const absl::Status read = co_await ReadBatch(requests);
  if (!read.ok()) co_return read;
  std::vector<DecodedBlock> decoded;
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto bytes = std::make_shared<std::vector<std::byte>>(
        layout_.decoder->DecodedBytes(blocks[i]));
    if (!stored[i].empty()) {
      const absl::Status status =
          layout_.decoder->Decode(blocks[i], stored[i], *bytes);
      if (!status.ok()) co_return status;
      stored[i] = {};
    }
    cache_.Keep(blocks[i], bytes);
    decoded.push_back(std::move(bytes));
  }
  co_return decoded;
}

absl::Status LayoutSource::CopyOut(const std::vector<std::byte>& block,
                                   const Piece& piece,
                                   std::span<const TokenRange> ranges,
                                   std::vector<TokenWindow>* windows) const {
  const TokenRun& run = piece.run;
  const uint64_t size = run.tokens * StoredTypeBytes(layout_.type);
  if (run.offset > block.size() || size > block.size() - run.offset) {
    return absl::DataLossError(absl::StrCat(
        "'", path_, "': ids at byte ", run.offset, " of block ", run.place,
        " need ", size, " bytes, it has ", block.size()));
  }
  const std::byte* const from = block.data() + run.offset;
  const auto to =
      std::span((*windows)[piece.window].tokens).subspan(piece.at, run.tokens);
  const std::optional<size_t> bad = DecodeIds(from, layout_.type, to);
  if (!bad.has_value()) return absl::OkStatus();
  return NotAnId(*this, ranges[piece.window].begin + piece.at + *bad,
                 StoredIdAt(from, layout_.type, *bad));
}

}  // namespace poniente::internal
