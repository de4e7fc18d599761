// SPDX-License-Identifier: Apache-2.0
// Writes a token store that appears whole or not at all.

#ifndef PONIENTE_TOKEN_STORE_WRITER_H_
#define PONIENTE_TOKEN_STORE_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/token_window.h"

namespace poniente {

// What a writer records about its ids, and how it stores them.
struct TokenStoreWriterOptions {
  // Tokenizer of the ids, and the bound they are checked against. Required; the
  // name must be UTF-8 and not empty.
  Vocabulary vocabulary = {};
  // Type of the stored ids: kU8, kU16 or kU32. Unset: the narrowest that holds
  // every id of the vocabulary. Part of the store's fingerprint.
  std::optional<TokenType> token_type = std::nullopt;
  // The id that ends each document, recorded for readers of the store. The
  // writer never adds a token of its own. Unset: not recorded.
  std::optional<uint32_t> end_of_document = std::nullopt;
  // Bytes under one checksum: a power of two, 4096 to 2^30. A verifying reader
  // reads whole blocks. Never changes tokens or fingerprint.
  uint32_t block_bytes = 4096;
  // The library that made the ids, with its version, for example "sentencepiece
  // 0.1.97": another version may make other ids of the same text. Recorded for
  // readers, which warn if stores of two versions are mixed. At most 1024 bytes
  // of UTF-8. Never changes tokens or fingerprint. Empty: not recorded.
  std::string tokenizer_library = {};
  // Whether the store can be read while it grows (GrowingWindows(), in
  // token_store.h): what Publish() was called for. Such a store has no loss
  // mask, and block_bytes is at most 65536. Never changes the finished store.
  bool publishes = false;
};

// What a finished writer has written.
struct TokenStoreFacts {
  uint64_t tokens = 0;
  uint64_t documents = 0;
  TokenType token_type = TokenType::kU8;
  uint64_t fingerprint = 0;
  uint64_t bytes = 0;  // of all files
};

// Writes one token store, document by document.
//
// Nothing is visible at the path until Finish() has returned, except for what
// is published. A store that was there before stays readable until then, and is
// then replaced. If the process dies at any moment, either the old or the new
// store remains; the next writer of the path removes other leftovers.
//
// Determinism: the same calls write the same bytes, except for the generation
//     in the file names when a store is replaced.
// Memory: a few MiB for a store of any size.
// Ownership: owns its files; if destroyed before Finish(), it removes them.
// Thread safety: one thread at a time.
// Errors: FailedPrecondition: another writer works on the same path, or a call
//     is out of order. InvalidArgument: wrong options, an id that the
//     vocabulary does not hold, or a loss mask of another length; nothing of
//     that call is written, and the writer can continue. A disk error has the
//     code of its errno, and names path and offset; every later call returns
//     the same error, and nothing becomes visible.
class TokenStoreWriter {
 public:
  // Creates a writer for the folder `path`; creates the folder and its parents
  // if they do not exist.
  static absl::StatusOr<std::unique_ptr<TokenStoreWriter>> Create(
      const std::string& path, const TokenStoreWriterOptions& options);

  TokenStoreWriter(const TokenStoreWriter&) = delete;
  TokenStoreWriter& operator=(const TokenStoreWriter&) = delete;
  ~TokenStoreWriter();

  // Writes a whole document, which may be empty. The name may be any bytes and
  // need not be unique.
  absl::Status AddDocument(std::span<const uint32_t> ids,
                           std::string_view name);
  // Does the same, and says which tokens have loss when a model is trained to
  // predict them: has_loss[i] is 0 if token i has none, any other value if it
  // has. The store then has a loss mask (docs/token_store_format.md), in which
  // all tokens that no call speaks of have loss. InvalidArgument unless there
  // is one byte per id.
  absl::Status AddDocument(std::span<const uint32_t> ids, std::string_view name,
                           std::span<const uint8_t> has_loss);

  // Write a document in pieces, for documents larger than memory:
  // BeginDocument(), any number of appends, EndDocument().
  absl::Status BeginDocument(std::string_view name);
  absl::Status Append(std::span<const uint32_t> ids);
  // Appends ids with a loss mask, as AddDocument() does.
  absl::Status Append(std::span<const uint32_t> ids,
                      std::span<const uint8_t> has_loss);
  // Appends ids that are bytes. Needs no copy of them as 32-bit ids.
  absl::Status AppendBytes(std::string_view ids);
  absl::Status EndDocument();

  // Lets others read the documents so far, which it makes durable; takes as
  // long as the disk does. Call it between documents, some times a minute.
  // FailedPrecondition without options.publishes, or if a document has a loss
  // mask.
  absl::Status Publish();

  // Makes the store visible and durable. Call it once; no other call may
  // follow.
  absl::StatusOr<TokenStoreFacts> Finish();

 private:
  class Impl;

  explicit TokenStoreWriter(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace poniente

#endif  // PONIENTE_TOKEN_STORE_WRITER_H_
