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

struct TokenStoreWriterOptions {
  // The tokenizer the ids come from, and the bound they are checked against.
  // Required; the name is not empty, and UTF-8.
  Vocabulary vocabulary;
  // kU8, kU16 or kU32; by default the narrowest that holds every id of the
  // vocabulary. Part of the store's fingerprint.
  std::optional<TokenType> token_type;
  // The id that ends each document, for those who read the store. Recorded
  // only: the writer adds no token of its own.
  std::optional<uint32_t> end_of_document;
  // Bytes under one checksum: a power of two, 4096 to 2^30. A reader that
  // checks reads whole blocks. Never changes tokens or fingerprint.
  uint32_t block_bytes = 4096;
};

// What a finished writer has made.
struct TokenStoreFacts {
  uint64_t tokens = 0;
  uint64_t documents = 0;
  TokenType token_type = TokenType::kU8;
  uint64_t fingerprint = 0;
  uint64_t bytes = 0;  // of all files
};

// Writes one token store, document by document.
//
// Nothing is visible at the path until Finish() has returned; a store that was
// there before stays readable until then, and is then replaced. A process that
// dies at any moment leaves one or the other; what else it leaves is removed by
// the next writer of that path.
//
// Determinism: the same calls make the same bytes, but for the generation that
//     names the files when a store is replaced.
// Memory: a few MiB, whatever the store's size.
// Ownership: owns its files; destroyed before Finish(), it removes them.
// Thread safety: one thread at a time.
// Errors: FailedPrecondition: another writer works on the same path, or a call
//     out of turn. InvalidArgument: options, or an id that the vocabulary does
//     not hold; nothing of that call is written, and the writer goes on. Errors
//     of the disk, by errno, with path and offset: every later call gives the
//     same error, and nothing becomes visible.
class TokenStoreWriter {
 public:
  // Makes the folder `path`, and those above it, if they are not there.
  static absl::StatusOr<std::unique_ptr<TokenStoreWriter>> Create(
      const std::string& path, const TokenStoreWriterOptions& options);

  TokenStoreWriter(const TokenStoreWriter&) = delete;
  TokenStoreWriter& operator=(const TokenStoreWriter&) = delete;
  ~TokenStoreWriter();

  // A whole document, which may be empty. The name is any bytes and need not be
  // unique.
  absl::Status AddDocument(std::span<const uint32_t> ids,
                           std::string_view name);

  // A document in pieces, for those larger than memory: BeginDocument, any
  // number of appends, EndDocument.
  absl::Status BeginDocument(std::string_view name);
  absl::Status Append(std::span<const uint32_t> ids);
  // The same for ids that are bytes: no copy four times their size.
  absl::Status AppendBytes(std::string_view ids);
  absl::Status EndDocument();

  // Makes the store visible and durable. Once only; nothing can follow it.
  absl::StatusOr<TokenStoreFacts> Finish();

 private:
  class Impl;

  explicit TokenStoreWriter(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace poniente

#endif  // PONIENTE_TOKEN_STORE_WRITER_H_
