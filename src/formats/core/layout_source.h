// SPDX-License-Identifier: Apache-2.0
// The files of another project as a token source, once their layout is known.

#ifndef PONIENTE_FORMATS_CORE_LAYOUT_SOURCE_H_
#define PONIENTE_FORMATS_CORE_LAYOUT_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/core/block_cache.h"
#include "formats/core/token_layout.h"
#include "index/keyed_hash.h"
#include "poniente/open_token_source.h"
#include "poniente/token_source.h"

namespace poniente::internal {

class LayoutSource final : public TokenSource {
 public:
  // Opens the source. If options.delimiter is stated and the layout has no
  // documents, finds them by reading all tokens. DataLoss if the layout
  // contradicts itself, or a sample of ids cannot be read.
  static absl::StatusOr<std::shared_ptr<const LayoutSource>> Open(
      std::string path, TokenLayout layout, const TokenSourceOptions& options);

  const std::string& path() const override { return path_; }
  std::string_view format() const override { return layout_.format; }
  StoredType stored_type() const override { return layout_.type; }
  const Vocabulary* known_vocabulary() const override {
    return vocabulary_ ? &*vocabulary_ : nullptr;
  }
  std::optional<uint32_t> end_of_document() const override;
  bool id_begins_documents() const override {
    return layout_.delimiter.has_value() && layout_.delimiter->begins;
  }
  uint64_t num_tokens() const override { return shard_ends_.back(); }
  bool knows_documents() const override { return layout_.documents != nullptr; }
  uint64_t num_documents() const override;
  uint64_t fingerprint() const override { return fingerprint_; }
  uint64_t num_bytes() const override { return layout_.bytes; }
  const ByteReader& reader() const override { return *reader_; }
  std::span<const uint64_t> shard_ends() const override { return shard_ends_; }
  std::span<const TokenArray> arrays() const override {
    if (layout_.decoder) return {};
    return arrays_;
  }
  bool has_file_ranges() const override;
  void AppendFileRanges(uint64_t begin, uint64_t end,
                        std::vector<FileRange>* ranges) const override;
  bool has_loss_mask() const override { return !layout_.loss_mask.empty(); }
  std::span<const LossMaskArray> loss_mask_arrays() const override {
    return layout_.loss_mask;
  }
  WindowRule window_rule() const override { return layout_.windows; }

  Task<std::vector<TokenWindow>> ReadRanges(
      std::vector<TokenRange> ranges) const override;

  absl::StatusOr<TokenRange> DocumentRange(uint64_t document) const override;
  absl::StatusOr<std::vector<uint64_t>> DocumentBounds(
      uint64_t first, uint64_t count) const override;
  absl::StatusOr<std::string> DocumentName(uint64_t document) const override;
  absl::StatusOr<uint64_t> DocumentAt(uint64_t token) const override;
  absl::StatusOr<std::vector<ItemPiece>> DocumentPieces(
      uint64_t begin, uint64_t end) const override;
  bool HasPiecesInMemory(uint64_t, uint64_t) const override { return true; }
  bool HasRangesInMemory(std::span<const uint64_t>) const override {
    return true;
  }

  const TokenLayout& layout() const { return layout_; }

 private:
  // A run, and the place of its ids in the result.
  struct Piece {
    TokenRun run;
    size_t window = 0;
    size_t at = 0;
  };

  LayoutSource(std::string path, TokenLayout layout,
               const TokenSourceOptions& options);

  void LocateInArrays(TokenRange tokens, std::vector<TokenRun>* runs) const;
  absl::StatusOr<std::vector<Piece>> Locate(
      std::span<const TokenRange> ranges) const;
  Task<std::vector<TokenWindow>> ReadPieces(
      std::vector<TokenRange> ranges) const;
  Task<std::vector<TokenWindow>> ReadBlocks(
      std::vector<TokenRange> ranges) const;
  // Returns blocks that were not kept, read and decoded.
  Task<std::vector<DecodedBlock>> Decoded(std::vector<uint64_t> blocks) const;
  absl::Status CopyOut(const std::vector<std::byte>& block, const Piece& piece,
                       std::span<const TokenRange> ranges,
                       std::vector<TokenWindow>* windows) const;
  absl::Status FindDocuments(const DocumentDelimiter& delimiter);
  absl::Status TakeFingerprint();
  // Adds samples of the mask to the fingerprint, and checks that they are one.
  absl::Status AddMaskTo(KeyHash* hash) const;
  absl::Status CheckDocuments(uint64_t first, uint64_t count) const;

  const std::string path_;
  TokenLayout layout_;
  std::optional<Vocabulary> vocabulary_;
  std::vector<uint64_t> shard_ends_;
  std::vector<TokenArray> arrays_;  // in files or blocks; empty with a locator
  std::shared_ptr<const ByteReader> reader_;
  uint64_t fingerprint_ = 0;
  const CachedBlocks cache_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_LAYOUT_SOURCE_H_
