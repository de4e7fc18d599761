// SPDX-License-Identifier: Apache-2.0
// Tokenized documents that lie end to end, in whatever format: a token store
// (token_store.h) or the files of another project (open_token_source.h).

#ifndef PONIENTE_TOKEN_SOURCE_H_
#define PONIENTE_TOKEN_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/byte_reader.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/selection.h"
#include "poniente/task.h"
#include "poniente/token_window.h"

namespace poniente {

// How ids lie in a file: little-endian integers. Ids are below 2^32 and never
// negative, whatever the type could hold.
enum class StoredType : uint8_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64
};

uint32_t StoredTypeBytes(StoredType type);
// "u8", "i8", "u16", ...
std::string_view StoredTypeName(StoredType type);
absl::StatusOr<StoredType> ParseStoredType(std::string_view name);
// Ids of the type are below this: 2^7, 2^8, ... 2^32.
uint64_t StoredTypeLimit(StoredType type);

// Tokens [begin, end) of a source.
struct TokenRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

// How windows of a given length are cut.
struct WindowRule {
  // Tokens that a window shares with the next, 0 or 1: with 1, windows of L + 1
  // tokens have L labels each, and every token but the first is a label once.
  uint32_t overlap = 0;
  // Windows may reach from one shard into the next; else each shard is cut by
  // itself.
  bool across_shards = true;
  // What is left at the end of a shard (of the source, if windows reach across)
  // is a shorter window; else it is dropped.
  bool keep_tail = false;

  friend bool operator==(const WindowRule&, const WindowRule&) = default;
};

// Tokens [first_token, ...) of a source as one array of a file.
struct TokenArray {
  uint64_t first_token = 0;
  uint32_t file = 0;    // of reader()
  uint64_t offset = 0;  // bytes
};

// Immutable.
//
// Determinism: token i is the same through every backend.
// Ownership: shared. Datasets made from it keep it open.
// Thread safety: any number of threads and executors at once.
// Errors: each names the file and what to do. DataLoss: damaged, cut short, or
//     an id that is none. OutOfRange: a token or document past the end.
//     FailedPrecondition: asked for documents where they are not known.
// Cancellation: as of ByteReader.
class TokenSource : public std::enable_shared_from_this<TokenSource> {
 public:
  TokenSource() = default;
  TokenSource(const TokenSource&) = delete;
  TokenSource& operator=(const TokenSource&) = delete;
  virtual ~TokenSource();

  // As given when it was opened.
  virtual const std::string& path() const = 0;
  // "poniente-token-store", "megatron", ...
  virtual std::string_view format() const = 0;
  virtual StoredType stored_type() const = 0;
  // Null if the tokenizer is not known.
  virtual const Vocabulary* known_vocabulary() const = 0;
  // The id that ends each document (or begins it, where the format says so), if
  // it is known.
  virtual std::optional<uint32_t> end_of_document() const = 0;
  virtual uint64_t num_tokens() const = 0;
  // False if neither format nor options say where documents end.
  virtual bool knows_documents() const { return true; }
  // 0 if they are not known.
  virtual uint64_t num_documents() const = 0;
  // Equal for equal content; of other projects' files, see open_token_source.h.
  virtual uint64_t fingerprint() const = 0;
  // Bytes of all its files.
  virtual uint64_t num_bytes() const = 0;
  // Reads the files; says which backend serves them.
  virtual const ByteReader& reader() const = 0;

  // Where each shard ends, in tokens: ascending, the last is num_tokens().
  virtual std::span<const uint64_t> shard_ends() const = 0;
  uint64_t num_shards() const { return shard_ends().size(); }
  // Each shard as an array of stored_type(); empty if tokens lie in pieces or
  // have to be decoded.
  virtual std::span<const TokenArray> arrays() const = 0;
  // Whoever wrote the ids checked them, and reader() verifies that it reads
  // what was written.
  virtual bool ids_are_checked() const { return false; }

  // Tokens [begin, begin + count).
  Task<std::vector<uint32_t>> ReadTokens(uint64_t begin, uint64_t count) const;
  // The tokens of each range, in one batch of reads.
  // REQUIRES: every range lies in the source; it lives until the task has
  // ended.
  virtual Task<std::vector<TokenWindow>> ReadRanges(
      std::vector<TokenRange> ranges) const = 0;

  // Where document `document` lies. Documents follow each other without gaps;
  // some may be empty.
  virtual absl::StatusOr<TokenRange> DocumentRange(uint64_t document) const = 0;
  // The bounds of `count` documents from `first` on: count + 1 tokens; document
  // first + i is [bounds[i], bounds[i + 1]).
  virtual absl::StatusOr<std::vector<uint64_t>> DocumentBounds(
      uint64_t first, uint64_t count) const = 0;
  // Its name: any bytes, by convention a path in UTF-8; or where it came from.
  // Empty if it has none.
  virtual absl::StatusOr<std::string> DocumentName(uint64_t document) const = 0;
  // The document that holds `token`.
  virtual absl::StatusOr<uint64_t> DocumentAt(uint64_t token) const = 0;
  // The documents that tokens [begin, end) are of, in order, none empty.
  virtual absl::StatusOr<std::vector<ItemPiece>> DocumentPieces(
      uint64_t begin, uint64_t end) const = 0;

  // How its own project cuts windows.
  virtual WindowRule window_rule() const { return {}; }

  // Item i of a shard is tokens [i * (length - overlap), i * (length - overlap)
  // + length) of it. PiecesOf() (piecewise_items.h) says which documents a
  // window holds, if they are known. Cut by window_rule() unless stated.
  // InvalidArgument unless rule.overlap < length < 2^32 - 1.
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(uint64_t length) const;
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(uint64_t length,
                                                  const WindowRule& rule) const;

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

  // Item d is the whole of document d; empty if they are not known.
  DatasetPtr<TokenWindow> Documents() const;
};

// Windows of `length` tokens of a store that is not there yet and will hold
// `tokens` tokens. Everything that follows from sizes and names alone (plans,
// the order of a run, which step reads an item) is what it will be with a store
// of as many tokens in its place; its fingerprint is another.
//
// name: what messages call it.
// vocabulary: nullopt if not known; it then mixes with any other.
// Determinism, ownership, thread safety: as AsyncDataset says.
// Errors: InvalidArgument unless 0 < length < 2^32 - 1. FailedPrecondition from
//     every attempt to read an item, with the name.
absl::StatusOr<DatasetPtr<TokenWindow>> DeclaredWindows(
    const std::string& name, uint64_t tokens, uint64_t length,
    std::optional<Vocabulary> vocabulary = std::nullopt);

}  // namespace poniente

#endif  // PONIENTE_TOKEN_SOURCE_H_
