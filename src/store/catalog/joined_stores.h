// SPDX-License-Identifier: Apache-2.0
// The stores of a catalogue, joined into one source. A corpus that was packed
// in parts is read in this way.

#ifndef PONIENTE_STORE_CATALOG_JOINED_STORES_H_
#define PONIENTE_STORE_CATALOG_JOINED_STORES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/token_source.h"
#include "poniente/token_store.h"
#include "store/catalog/catalog_text.h"
#include "store/manifest/known_store.h"

namespace poniente::internal {

// A source whose shards are stores. Opens the files of a store at its first
// read.
class JoinedStores final : public TokenSource {
 public:
  // Joins the stores. InvalidArgument if two of them differ in tokenizer, type
  // of tokens or end-of-document id (the message names both), or if there are
  // no stores.
  static absl::StatusOr<std::shared_ptr<const TokenSource>> Open(
      std::string path,
      std::span<const std::shared_ptr<const KnownStore>> known,
      const TokenStoreOptions& options);

  const std::string& path() const override { return path_; }
  std::string_view format() const override { return kCatalogFormat; }
  StoredType stored_type() const override { return first().stored_type(); }
  const Vocabulary* known_vocabulary() const override {
    return first().known_vocabulary();
  }
  std::optional<uint32_t> end_of_document() const override {
    return first().end_of_document();
  }
  std::string tokenizer_library() const override { return library_; }
  uint64_t num_tokens() const override { return token_ends_.back(); }
  uint64_t num_documents() const override { return document_ends_.back(); }
  uint64_t fingerprint() const override { return fingerprint_; }
  uint64_t num_bytes() const override;
  const ByteReader& reader() const override { return *reader_; }
  std::span<const uint64_t> shard_ends() const override { return token_ends_; }
  std::span<const TokenArray> arrays() const override { return arrays_; }
  bool ids_are_checked() const override { return first().ids_are_checked(); }
  // Returns whether one of the stores has a mask.
  bool has_loss_mask() const override { return !loss_masks_.empty(); }
  std::span<const LossMaskArray> loss_mask_arrays() const override {
    return loss_masks_;
  }

  Task<std::vector<TokenWindow>> ReadRanges(
      std::vector<TokenRange> ranges) const override;

  absl::StatusOr<TokenRange> DocumentRange(uint64_t document) const override;
  absl::Status DocumentRanges(std::span<const uint64_t> documents,
                              std::span<TokenRange> ranges) const override;
  bool HasRangesInMemory(std::span<const uint64_t> documents) const override;
  absl::StatusOr<std::vector<uint64_t>> DocumentBounds(
      uint64_t first, uint64_t count) const override;
  absl::StatusOr<std::string> DocumentName(uint64_t document) const override;
  absl::StatusOr<uint64_t> DocumentAt(uint64_t token) const override;
  absl::StatusOr<std::vector<ItemPiece>> DocumentPieces(
      uint64_t begin, uint64_t end) const override;
  bool HasPiecesInMemory(uint64_t begin, uint64_t end) const override;

  const std::vector<std::shared_ptr<const TokenStore>>& stores() const {
    return stores_;
  }

 private:
  explicit JoinedStores(std::string path) : path_(std::move(path)) {}

  const TokenStore& first() const { return *stores_.front(); }
  uint64_t TokensBefore(size_t store) const;
  uint64_t DocumentsBefore(size_t store) const;
  // Adds the masks of the stores to the files of the reader.
  void AddLossMasks(std::span<const std::shared_ptr<const KnownStore>> known,
                    std::vector<ByteFile>* files);
  // Returns the store that holds a document. OutOfRange if none does.
  absl::StatusOr<size_t> StoreOf(uint64_t document) const;

  const std::string path_;
  std::vector<std::shared_ptr<const TokenStore>> stores_;
  std::vector<uint64_t> token_ends_;
  std::vector<uint64_t> document_ends_;
  // Files of the reader: the tokens of all stores, then the masks that exist.
  std::vector<TokenArray> arrays_;
  std::vector<LossMaskArray> loss_masks_;  // empty if no store has one
  std::shared_ptr<const ByteReader> reader_;
  std::string library_;  // of all stores; empty if they differ
  uint64_t fingerprint_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_CATALOG_JOINED_STORES_H_
