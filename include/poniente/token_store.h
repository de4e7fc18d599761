// SPDX-License-Identifier: Apache-2.0
// Opens a token store: documents, tokens and metadata, and fixed-length windows
// or whole documents as datasets. docs/token_store_format.md has the bytes.

#ifndef PONIENTE_TOKEN_STORE_H_
#define PONIENTE_TOKEN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/byte_reader.h"
#include "poniente/piecewise_items.h"
#include "poniente/selection.h"
#include "poniente/task.h"
#include "poniente/token_window.h"

namespace poniente {

namespace internal {
struct KnownStore;
struct StoreManifest;
class DocumentIndex;
}  // namespace internal

struct TokenStoreOptions {
  // How the tokens are read, and when their checksums are compared. Never
  // changes which tokens.
  ByteReaderOptions io;
};

// Tokens [begin, end) of a store.
struct TokenRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

// A token store, open for reading.
//
// Immutable: what a writer commits at the same path later is seen by the next
// Open() only. Tokens are read through reader(), asynchronously; document ends
// and names by a few small preads at each call, which block, or from memory
// where they take at most 16 KiB. Opening costs the same whatever the store
// holds: everything below Open() is read when asked for; tokens are checked
// against their blocks' checksums then (options.io.verify), all else against
// its bounds.
//
// Determinism: token i is the same through every backend.
// Ownership: shared. Datasets made from it keep it open.
// Descriptors: those of its ByteReader, one for most stores, and one more for
//     document ends and names of more than 16 KiB. Thousands of stores may be
//     open at once.
// Thread safety: any number of threads and executors at once.
// Errors: each names the file and what to do. NotFound: no store at the path.
//     InvalidArgument: another format or version. DataLoss: damaged, cut short
//     or a file missing; a block of tokens that does not match its checksum.
//     OutOfRange: a token or document past the end.
// Cancellation: as of ByteReader.
class TokenStore : public std::enable_shared_from_this<TokenStore> {
 public:
  static absl::StatusOr<std::shared_ptr<const TokenStore>> Open(
      const std::string& path, const TokenStoreOptions& options = {});

  TokenStore(const TokenStore&) = delete;
  TokenStore& operator=(const TokenStore&) = delete;
  ~TokenStore();

  // As given to Open().
  const std::string& path() const { return path_; }
  const Vocabulary& vocabulary() const;
  TokenType token_type() const;
  // The id that ends each document, if the one who wrote the store named it.
  std::optional<uint32_t> end_of_document() const;
  uint64_t num_tokens() const;
  uint64_t num_documents() const;
  // Identity of the content: equal if and only if (but for collisions of 64
  // bits) tokens, documents, names, tokenizer and token type are.
  uint64_t fingerprint() const;
  // Bytes of all its files.
  uint64_t num_bytes() const;
  // Reads the tokens; says which backend serves them.
  const ByteReader& reader() const { return *reader_; }

  // Tokens [begin, begin + count).
  Task<std::vector<uint32_t>> ReadTokens(uint64_t begin, uint64_t count) const;

  // Where document `document` lies. Documents follow each other without gaps;
  // some may be empty.
  absl::StatusOr<TokenRange> DocumentRange(uint64_t document) const;
  // The bounds of `count` documents from `first` on, in one read: count + 1
  // tokens; document first + i is [bounds[i], bounds[i + 1]).
  absl::StatusOr<std::vector<uint64_t>> DocumentBounds(uint64_t first,
                                                       uint64_t count) const;
  // Its name: any bytes, by convention a path in UTF-8.
  absl::StatusOr<std::string> DocumentName(uint64_t document) const;
  // The document that holds `token`. Few preads: what each search reads first
  // is kept, 32 KiB at most.
  absl::StatusOr<uint64_t> DocumentAt(uint64_t token) const;
  // The documents that tokens [begin, end) are of, in order, none empty. As
  // many preads, and one more for each 512 documents.
  absl::StatusOr<std::vector<ItemPiece>> DocumentPieces(uint64_t begin,
                                                        uint64_t end) const;

  // Item i is tokens [i * length, (i + 1) * length); the tail that fills no
  // window is dropped, so a store shorter than `length` gives an empty dataset.
  // PiecesOf() (piecewise_items.h) says which documents a window holds.
  // InvalidArgument unless 0 < length < 2^32 - 1.
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(uint64_t length) const;

  // Windows of the selected documents alone: item i is tokens [i * length,
  // (i + 1) * length) of these documents end to end, in stored order; the tail
  // is dropped. A window may hold parts of several documents, a document may
  // reach into several windows: PiecesOf() says which.
  // Reads the ends of the selected documents once, and small parts of them for
  // each window. Memory: 1.3 bits per document.
  // InvalidArgument unless 0 < length < 2^32 - 1 and documents.size() ==
  // num_documents().
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(
      uint64_t length, const Selection& documents) const;

  // Item d is the whole of document d.
  DatasetPtr<TokenWindow> Documents() const;

  // For internal use: what the manifest says.
  const internal::StoreManifest& manifest() const { return *manifest_; }

  // For internal use: what catalog.h opens. Touches no file; the first read
  // compares what is there with what was known, and opens it.
  static absl::StatusOr<std::shared_ptr<const TokenStore>> OpenKnown(
      std::shared_ptr<const internal::KnownStore> known,
      const TokenStoreOptions& options);

 private:
  TokenStore(std::string path,
             std::unique_ptr<const internal::StoreManifest> manifest,
             std::shared_ptr<const ByteReader> reader,
             std::unique_ptr<const internal::DocumentIndex> documents);

  const std::string path_;
  const std::unique_ptr<const internal::StoreManifest> manifest_;
  const std::shared_ptr<const ByteReader> reader_;
  const std::unique_ptr<const internal::DocumentIndex> documents_;
};

// Called now and then during a verification.
using VerifyProgress =
    std::function<void(uint64_t bytes_done, uint64_t bytes_total)>;

// Reads all of a store and checks every block against its checksum, every id
// against the vocabulary, every document and name end, and the fingerprint.
// Blocks the calling thread. DataLoss says which file, block and offset, the
// checksum stored and the one computed; NotFound if a writer has replaced the
// store since it was opened.
absl::Status VerifyTokenStore(const TokenStore& store,
                              const VerifyProgress& progress = nullptr);
absl::Status VerifyTokenStore(const std::string& path,
                              const VerifyProgress& progress = nullptr);

}  // namespace poniente

#endif  // PONIENTE_TOKEN_STORE_H_
