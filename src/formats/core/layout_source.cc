// SPDX-License-Identifier: Apache-2.0
#include "formats/core/layout_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "io/reader_file.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// The same limit as for a store. It keeps every product with a width below
// 2^63.
constexpr uint64_t kMaxSourceTokens = uint64_t{1} << 60;
// Number of tokens that are read together to find documents.
constexpr uint64_t kScanned = uint64_t{1} << 20;
// The fingerprint covers samples of the tokens: two, and one more for each
// kTokensPerSample tokens, up to kMaxSamplesTaken. Reading the samples limits
// how fast thousands of small files open that are not in the page cache.
constexpr uint64_t kFewestSamples = 2;
constexpr uint64_t kMaxSamplesTaken = 16;
constexpr uint64_t kTokensPerSample = uint64_t{1} << 20;
// Size of a sample: in tokens, or in stored bytes if blocks must be decoded.
constexpr uint64_t kSampled = 1024;
constexpr uint64_t kSampledBytes = 256;

absl::Status CheckLayout(const std::string& path, const TokenLayout& layout) {
  uint64_t tokens = 0;
  for (const TokenShard& shard : layout.shards) {
    if (shard.tokens > kMaxSourceTokens - tokens) {
      return absl::DataLossError(
          absl::StrCat("'", path,
                       "' claims more than 2^60 tokens; its tables "
                       "are damaged"));
    }
    tokens += shard.tokens;
  }
  if (layout.documents && layout.documents->ends().total() != tokens) {
    return absl::DataLossError(
        absl::StrCat("'", path, "': its documents have ",
                     layout.documents->ends().total(), " tokens, its shards ",
                     tokens, "; one of its tables is damaged: write it again"));
  }
  return absl::OkStatus();
}

// Returns evenly spread samples, including the first and the last tokens.
std::vector<TokenRange> Samples(uint64_t tokens) {
  std::vector<TokenRange> samples;
  const uint64_t length = std::min(tokens, kSampled);
  const uint64_t last = tokens - length;
  const uint64_t count =
      std::min(kFewestSamples + tokens / kTokensPerSample, kMaxSamplesTaken);
  for (uint64_t i = 0; i < count && length > 0; ++i) {
    const uint64_t begin = last / (count - 1) * i;
    const uint64_t at = i + 1 == count ? last : begin;
    if (!samples.empty() && samples.back().begin == at) continue;
    samples.push_back({at, at + length});
  }
  return samples;
}

// Reads on this thread, without an event loop.
absl::Status ReadBlocking(const ByteReader& reader, uint32_t number,
                          uint64_t offset, std::span<std::byte> into) {
  // Blocks that are not stored have no file.
  if (into.empty()) return absl::OkStatus();
  return ReadAll(FileOfReader(reader, number), offset, into);
}

}  // namespace

LayoutSource::LayoutSource(std::string path, TokenLayout layout,
                           const TokenSourceOptions& options)
    : path_(std::move(path)),
      layout_(std::move(layout)),
      vocabulary_(options.vocabulary) {
  if (!vocabulary_ && !layout_.tokenizer.empty() &&
      layout_.vocabulary_size > 0) {
    vocabulary_ = Vocabulary{layout_.tokenizer, layout_.vocabulary_size};
  }
  if (options.delimiter) layout_.delimiter = options.delimiter;
  uint64_t tokens = 0;
  for (const TokenShard& shard : layout_.shards) {
    if (!layout_.locator) {
      arrays_.push_back({tokens, shard.file, shard.offset});
    }
    tokens += shard.tokens;
    shard_ends_.push_back(tokens);
  }
  if (shard_ends_.empty()) shard_ends_.push_back(0);
}

absl::StatusOr<std::shared_ptr<const LayoutSource>> LayoutSource::Open(
    std::string path, TokenLayout layout, const TokenSourceOptions& options) {
  PONIENTE_RETURN_IF_ERROR(CheckLayout(path, layout));
  std::shared_ptr<LayoutSource> source(
      new LayoutSource(std::move(path), std::move(layout), options));
  PONIENTE_ASSIGN_OR_RETURN(
      source->reader_, ByteReader::Open(source->layout_.files, options.io));
  if (options.delimiter && !source->knows_documents()) {
    PONIENTE_RETURN_IF_ERROR(source->FindDocuments(*options.delimiter));
  }
  PONIENTE_RETURN_IF_ERROR(source->TakeFingerprint());
  return source;
}

absl::Status LayoutSource::FindDocuments(const DocumentDelimiter& delimiter) {
  CompactEnds ends;
  uint64_t length = 0;
  for (uint64_t begin = 0; begin < num_tokens(); begin += kScanned) {
    const uint64_t count = std::min(kScanned, num_tokens() - begin);
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint32_t> ids,
                              RunBlocking(ReadTokens(begin, count)));
    for (const uint32_t id : ids) {
      // The tokens before the first delimiter are a document, too.
      if (delimiter.begins && id == delimiter.id && length > 0) {
        ends.Append(std::exchange(length, 0));
      }
      ++length;
      if (!delimiter.begins && id == delimiter.id) {
        ends.Append(std::exchange(length, 0));
      }
    }
  }
  if (length > 0) ends.Append(length);
  layout_.documents = std::make_shared<DocumentTable>(std::move(ends));
  return absl::OkStatus();
}

absl::Status LayoutSource::TakeFingerprint() {
  KeyHash hash(Derive(0, Tag("files"), layout_.structure));
  hash.Add(std::string_view(layout_.format));
  hash.Add(static_cast<uint64_t>(layout_.type));
  for (const uint64_t end : shard_ends_) hash.Add(end);
  if (layout_.documents) {
    const CompactEnds& ends = layout_.documents->ends();
    hash.Add(ends.size());
    for (uint64_t d = 0; d < ends.size(); ++d) hash.Add(ends.Length(d));
  }
  const std::vector<TokenRange> samples = Samples(num_tokens());
  if (layout_.decoder) {
    // Hashes stored bytes, so that opening does not decode anything.
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, Locate(samples));
    for (const Piece& piece : pieces) {
      PONIENTE_ASSIGN_OR_RETURN(const BlockDecoder::Stored stored,
                                layout_.decoder->Find(piece.run.place));
      std::vector<std::byte> bytes(std::min(stored.bytes, kSampledBytes));
      PONIENTE_RETURN_IF_ERROR(
          ReadBlocking(*reader_, stored.file, stored.offset, bytes));
      hash.Add(stored.bytes);
      for (const std::byte b : bytes) hash.Add(static_cast<uint64_t>(b));
    }
  } else {
    // Hashes stored values without checking them. Invalid ids are detected when
    // they are read.
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, Locate(samples));
    const uint64_t width = StoredTypeBytes(layout_.type);
    for (const Piece& piece : pieces) {
      std::vector<std::byte> bytes(piece.run.tokens * width);
      PONIENTE_RETURN_IF_ERROR(
          ReadBlocking(*reader_, static_cast<uint32_t>(piece.run.place),
                       piece.run.offset, bytes));
      for (size_t i = 0; i < bytes.size(); i += width) {
        uint64_t id = 0;
        std::memcpy(&id, &bytes[i], width);
        hash.Add(id);
      }
    }
  }
  if (has_loss_mask()) PONIENTE_RETURN_IF_ERROR(AddMaskTo(&hash));
  fingerprint_ = hash.key();
  return absl::OkStatus();
}

absl::Status LayoutSource::AddMaskTo(KeyHash* hash) const {
  hash->Add(std::string_view("loss mask"));
  for (const TokenRange sample : Samples(num_tokens())) {
    for (const LossMaskRange& range : LossMaskRanges(sample)) {
      std::vector<std::byte> bytes(range.bytes);
      PONIENTE_RETURN_IF_ERROR(
          ReadBlocking(*reader_, *range.file, range.offset, bytes));
      std::vector<uint8_t> has_loss(range.tokens.size());
      PONIENTE_RETURN_IF_ERROR(DecodeLossMask(range, bytes.data(), has_loss));
      for (const uint8_t one : has_loss) hash->Add(uint64_t{one});
    }
  }
  return absl::OkStatus();
}

std::optional<uint32_t> LayoutSource::end_of_document() const {
  if (!layout_.delimiter) return std::nullopt;
  return layout_.delimiter->id;
}

uint64_t LayoutSource::num_documents() const {
  return layout_.documents ? layout_.documents->ends().size() : 0;
}

absl::Status LayoutSource::CheckDocuments(uint64_t first,
                                          uint64_t count) const {
  if (!layout_.documents) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", path_, "': ", layout_.format,
        " does not say where documents end; state the id between them"));
  }
  if (first <= num_documents() && count <= num_documents() - first) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(
      absl::StrCat(count == 1 ? "document " : "documents from ", first,
                   " on of '", path_, "', which has ", num_documents()));
}

absl::StatusOr<TokenRange> LayoutSource::DocumentRange(
    uint64_t document) const {
  PONIENTE_RETURN_IF_ERROR(CheckDocuments(document, 1));
  const CompactEnds& ends = layout_.documents->ends();
  const uint64_t begin = ends.Begin(document);
  return TokenRange{begin, begin + ends.Length(document)};
}

absl::StatusOr<std::vector<uint64_t>> LayoutSource::DocumentBounds(
    uint64_t first, uint64_t count) const {
  PONIENTE_RETURN_IF_ERROR(CheckDocuments(first, count));
  const CompactEnds& ends = layout_.documents->ends();
  std::vector<uint64_t> bounds = {ends.Begin(first)};
  bounds.reserve(count + 1);
  for (uint64_t i = 0; i < count; ++i) {
    bounds.push_back(bounds.back() + ends.Length(first + i));
  }
  return bounds;
}

absl::StatusOr<std::string> LayoutSource::DocumentName(
    uint64_t document) const {
  PONIENTE_RETURN_IF_ERROR(CheckDocuments(document, 1));
  return layout_.documents->Name(document);
}

absl::StatusOr<uint64_t> LayoutSource::DocumentAt(uint64_t token) const {
  PONIENTE_RETURN_IF_ERROR(CheckDocuments(0, 0));
  if (token < num_tokens()) return layout_.documents->ends().At(token);
  return absl::OutOfRangeError(absl::StrCat("token ", token, " of '", path_,
                                            "', which has ", num_tokens()));
}

absl::StatusOr<std::vector<ItemPiece>> LayoutSource::DocumentPieces(
    uint64_t begin, uint64_t end) const {
  std::vector<ItemPiece> pieces;
  if (begin == end) return pieces;
  PONIENTE_ASSIGN_OR_RETURN(uint64_t document, DocumentAt(begin));
  if (end > num_tokens()) return DocumentAt(end).status();
  const CompactEnds& ends = layout_.documents->ends();
  uint64_t at = ends.Begin(document);
  for (; at < end; ++document) {
    const uint64_t next = at + ends.Length(document);
    if (next > at) {
      pieces.push_back({document, std::max(begin, at), std::min(end, next)});
    }
    at = next;
  }
  return pieces;
}

}  // namespace poniente::internal
