// SPDX-License-Identifier: Apache-2.0
// What a store has at one moment, while it is written, as a source of tokens.

#ifndef PONIENTE_STORE_GROWING_GROWN_TOKENS_H_
#define PONIENTE_STORE_GROWING_GROWN_TOKENS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/byte_reader.h"
#include "poniente/token_source.h"
#include "store/manifest/manifest.h"
#include "store/read/begin_fingerprints.h"
#include "store/read/document_index.h"
#include "store/read/side_file.h"

namespace poniente::internal {

// Distinguishes a file from all others that exist.
struct FileNumber {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const FileNumber&, const FileNumber&) = default;
};
absl::StatusOr<FileNumber> ReadFileNumber(const std::string& path);

// The whole documents of a store that is being written, as of one Publish().
//
// The files go on growing behind them, so their sizes and times say nothing:
// each read takes whole blocks, and compares them with their checksums, which
// it reads at the same time. The last block may still be changing: what lies in
// it is read without a comparison, and num_checked() leaves it out.
//
// Thread safety, errors: as TokenSource. Keeps the files open.
class GrownTokens final : public TokenSource {
 public:
  // Opens what `growth` says of the store in the folder `path`.
  // `begins` is that of the store, shared by all that is opened of it.
  static absl::StatusOr<std::shared_ptr<const GrownTokens>> Open(
      const std::string& path, const StoreManifest& growth,
      const ByteReaderOptions& io, std::shared_ptr<BeginFingerprints> begins);

  // Returns the tokens that lie in whole blocks.
  uint64_t num_checked() const;
  const FileNumber& tokens_file() const { return tokens_file_; }

  const std::string& path() const override { return path_; }
  std::string_view format() const override { return kGrowthFormat; }
  StoredType stored_type() const override;
  const Vocabulary* known_vocabulary() const override {
    return &growth_.vocabulary;
  }
  std::optional<uint32_t> end_of_document() const override {
    return growth_.end_of_document;
  }
  std::string tokenizer_library() const override {
    return growth_.tokenizer_library;
  }
  uint64_t num_tokens() const override { return tokens_; }
  uint64_t num_documents() const override { return growth_.documents; }
  // Says only that it grows: what it will be is not known.
  uint64_t fingerprint() const override;
  std::optional<uint64_t> BeginFingerprint(uint64_t tokens) const override;
  uint64_t num_bytes() const override;
  const ByteReader& reader() const override { return *reader_; }
  std::span<const uint64_t> shard_ends() const override {
    return {&tokens_, 1};
  }
  std::span<const TokenArray> arrays() const override { return {}; }

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

 private:
  struct Part;

  GrownTokens(std::string path, const StoreManifest& growth,
              std::shared_ptr<BeginFingerprints> begins)
      : path_(std::move(path)), growth_(growth), begins_(std::move(begins)) {}

  absl::Status OpenFiles(const ByteReaderOptions& io);
  std::string ScratchPath(std::string_view what) const;
  uint64_t WholeBlocks() const {
    return growth_.tokens * growth_.width() / growth_.block_bytes;
  }
  absl::Status Verify(const Part& part, const std::byte* bytes,
                      const std::byte* checksums) const;
  absl::Status NoSuchDocument(uint64_t document) const;

  const std::string path_;
  const StoreManifest growth_;
  const std::shared_ptr<BeginFingerprints> begins_;
  FileNumber tokens_file_;
  uint64_t tokens_ = 0;                       // of whole documents
  std::shared_ptr<const ByteReader> reader_;  // tokens, checksums
  // Unset without documents.
  std::optional<DocumentIndex> documents_;
  std::optional<SideFile> name_ends_;
  std::optional<SideFile> names_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_GROWING_GROWN_TOKENS_H_
