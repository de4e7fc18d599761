// SPDX-License-Identifier: Apache-2.0
// Opens a token store, as written by `poniente pack` and TokenStoreWriter.
// docs/token_store_format.md describes the files byte by byte.

#ifndef PONIENTE_TOKEN_STORE_H_
#define PONIENTE_TOKEN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/byte_reader.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/task.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente {

namespace internal {
struct KnownStore;
struct StoreManifest;
struct TokenStoreAccess;
class DocumentIndex;
}  // namespace internal

// How a store is read.
struct TokenStoreOptions {
  // How the tokens are read, and when their checksums are verified. Never
  // changes which tokens.
  ByteReaderOptions io = {};
};

// A token store, open for reading.
//
// Immutable: if a writer later commits to the same path, only the next Open()
// sees it. Tokens are read asynchronously through reader(). Document ends and
// names are read by a few small preads in each call, which block. If their file
// has at most 16 KiB, it is kept in memory instead.
//
// Opening takes the same time for a store of any size, because tokens, and a
// larger file of document ends and names, are read only when they are asked
// for. Everything read is verified against the checksums of its blocks
// (options.io.verify). Document ends are also checked against each other and
// their bounds.
//
// Determinism: token i is the same through every backend.
// Ownership: shared. Datasets made from it keep it open.
// Thread safety: any number of threads and executors at once.
// Descriptors: those of its ByteReader (one for most stores, one more for a
//     loss mask), and one more for document ends and names of more than 16 KiB.
//     Thousands of stores may be open at once.
// Errors: each names the file and the remedy. NotFound: no store at the path.
//     InvalidArgument: another format or version. DataLoss: damaged, cut short,
//     a file is missing, or a block does not match its checksum. OutOfRange: a
//     token or document past the end.
// Cancellation: as ByteReader.
class TokenStore final : public TokenSource {
 public:
  // Opens the store in the folder `path`. Errors as above.
  static absl::StatusOr<std::shared_ptr<const TokenStore>> Open(
      const std::string& path, const TokenStoreOptions& options = {});

  ~TokenStore() override;

  const std::string& path() const override { return path_; }
  std::string_view format() const override;
  const Vocabulary& vocabulary() const;
  const Vocabulary* known_vocabulary() const override { return &vocabulary(); }
  TokenType token_type() const;
  StoredType stored_type() const override;
  // Returns the id that ends each document, if the store's writer named it.
  std::optional<uint32_t> end_of_document() const override;
  // Returns the library, if the store's writer named it.
  std::string tokenizer_library() const override;
  uint64_t num_tokens() const override;
  uint64_t num_documents() const override;
  // Returns the identity of the content. Two stores have equal fingerprints
  // exactly if their tokens, documents, names, tokenizers and token types are
  // equal (except for collisions of 64 bits).
  uint64_t fingerprint() const override;
  // Reads the checksums of these tokens: 4 bytes for each block.
  std::optional<uint64_t> BeginFingerprint(uint64_t tokens) const override;
  uint64_t num_bytes() const override;
  const ByteReader& reader() const override { return *reader_; }
  std::span<const uint64_t> shard_ends() const override {
    return {&tokens_, 1};
  }
  std::span<const TokenArray> arrays() const override { return {&array_, 1}; }
  // Returns whether the store has a loss mask, which is then file 1 of
  // reader().
  bool has_loss_mask() const override;
  std::span<const LossMaskArray> loss_mask_arrays() const override;
  // Returns whether blocks are verified. If they are, every id is valid: the
  // writer refuses invalid ids, and the checksums detect any later change.
  bool ids_are_checked() const override;

  Task<std::vector<TokenWindow>> ReadRanges(
      std::vector<TokenRange> ranges) const override;

  absl::StatusOr<TokenRange> DocumentRange(uint64_t document) const override;
  // Reads and keeps document ends as DocumentAt() does.
  absl::Status DocumentRanges(std::span<const uint64_t> documents,
                              std::span<TokenRange> ranges) const override;
  bool HasRangesInMemory(std::span<const uint64_t> documents) const override;
  // Reads all bounds in one read.
  absl::StatusOr<std::vector<uint64_t>> DocumentBounds(
      uint64_t first, uint64_t count) const override;
  absl::StatusOr<std::string> DocumentName(uint64_t document) const override;
  // Reads the ends of the 65,536 documents around the token in one read, and
  // keeps them in about 2 bytes each, so that later calls need no read. All
  // stores of the process together keep at most a sixteenth of the memory that
  // was available at the first call, and at least 64 MiB. Beyond this limit,
  // each call makes a few preads.
  absl::StatusOr<uint64_t> DocumentAt(uint64_t token) const override;
  // Reads and keeps document ends as DocumentAt() does. Beyond the limit, each
  // call makes one more pread for each 512 documents.
  absl::StatusOr<std::vector<ItemPiece>> DocumentPieces(
      uint64_t begin, uint64_t end) const override;
  bool HasPiecesInMemory(uint64_t begin, uint64_t end) const override;

 private:
  // The functions that only the library and its tool call:
  // src/store/read/token_store_access.h.
  friend struct internal::TokenStoreAccess;
  TokenStore(std::string path,
             std::unique_ptr<const internal::StoreManifest> manifest,
             uint64_t manifest_bytes, std::shared_ptr<const ByteReader> reader,
             std::unique_ptr<const internal::DocumentIndex> documents);

  const std::string path_;
  const std::unique_ptr<const internal::StoreManifest> manifest_;
  const uint64_t manifest_bytes_;  // size of its file
  const std::shared_ptr<const ByteReader> reader_;
  const std::unique_ptr<const internal::DocumentIndex> documents_;
  const uint64_t tokens_;
  const TokenArray array_ = {};
  const LossMaskArray loss_mask_;
};

// Called from time to time during a verification.
using VerifyProgress =
    std::function<void(uint64_t bytes_done, uint64_t bytes_total)>;

// Reads all of a store and verifies every block against its checksum, every id
// against the vocabulary, every document and name end, and the fingerprint.
// Blocks the calling thread. DataLoss names the file, block and offset, the
// stored checksum and the computed one; NotFound if a writer has replaced the
// store since it was opened.
absl::Status VerifyTokenStore(const TokenStore& store,
                              const VerifyProgress& progress = nullptr);
absl::Status VerifyTokenStore(const std::string& path,
                              const VerifyProgress& progress = nullptr);

// Returns windows of a store that its writer may still be writing, if it
// publishes (TokenStoreWriter::Publish(), `poniente pack --growing`): window i
// is tokens [i * length, (i + 1) * length), as in Windows(length) of the
// finished store, and the windows of whole documents that are published can be
// read. The length becomes final with the writer's Finish().
//
// Mixtures and shuffles by eras read such a dataset while it grows; whatever
// needs its length waits for the end (docs/growing.md).
//
// Waiting: inotify tells a thread that all such datasets share about news; it
//     also looks every 5 seconds, for what other machines write.
// fingerprint(), ranges(): those of the finished store's windows once the
//     length is final; before, the fingerprint says nothing, and ranges() is
//     null.
// Errors: of opening: NotFound if there is neither a store nor one that is
//     published; InvalidArgument unless 0 < length < 2^32 - 1; otherwise as
//     TokenStore::Open(). Of reading: those of TokenStore. Of waiting:
//     FailedPrecondition if the writer has given the store up, another has
//     begun it anew, or no process has written it for a minute; waiting works
//     again if the writer goes on.
absl::StatusOr<DatasetPtr<TokenWindow>> GrowingWindows(
    const std::string& path, uint64_t length,
    const TokenStoreOptions& options = {});

}  // namespace poniente

#endif  // PONIENTE_TOKEN_STORE_H_
