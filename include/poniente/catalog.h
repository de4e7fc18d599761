// SPDX-License-Identifier: Apache-2.0
// Many token stores at once: all manifests in one file, and stores that open
// their own files at the first read. docs/catalog.md has the bytes.

#ifndef PONIENTE_CATALOG_H_
#define PONIENTE_CATALOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/token_store.h"
#include "poniente/token_window.h"

namespace poniente {

// Opens all of them, on as many threads as the machine has cores. Their
// manifests are read now; everything else at each store's first read, where a
// file that is missing, cut short or replaced since is found: DataLoss or
// FailedPrecondition. Descriptors are taken then, too.
// Errors: those of TokenStore::Open(), of all stores that fail, a line each.
absl::StatusOr<std::vector<std::shared_ptr<const TokenStore>>> OpenStores(
    std::span<const std::string> paths, const TokenStoreOptions& options = {});

// What a catalogue says of one store.
struct CatalogEntry {
  std::string path;  // below the catalogue's folder
  Vocabulary vocabulary;
  TokenType token_type = TokenType::kU8;
  std::optional<uint32_t> end_of_document;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t bytes = 0;  // of all its files
  uint64_t fingerprint = 0;
};

// What is wrong with one store of a catalogue.
struct CatalogFinding {
  enum class Kind {
    kStale,    // it is not what the catalogue says, or damaged
    kMissing,  // it is in the catalogue alone
    kNew,      // it is in the folder alone
  };
  Kind kind = Kind::kStale;
  std::string path;  // below the catalogue's folder
  absl::Status status;
};

// What all stores below a folder hold, in one file there: thousands of stores
// open without a look at them. It is believed only until a store is first read:
// then sizes and times of change of its files and the text of its manifest are
// compared, once, and what differs is an error that names the store and what to
// do. What no such look can see, damage within a file, its checksums tell.
//
// Ownership: a value; the stores that it opens do not need it.
// Thread safety: any number of threads.
// Errors: NotFound: no catalogue there. DataLoss, with the line: it is damaged
//     or was edited. InvalidArgument: another version.
class StoreCatalog {
 public:
  // Of the file in its folder.
  static constexpr char kFileName[] = "poniente-catalog.tsv";

  struct Written {
    uint64_t stores = 0;
    uint64_t tokens = 0;
    uint64_t documents = 0;
    uint64_t bytes = 0;
    // Folders with a manifest.json that is no token store's: left out.
    std::vector<std::string> others;
    // Of each corpus of which only some parts are there (`poniente pack
    // --part`): how many are not, and the first of them.
    std::vector<std::string> missing_parts;
  };
  // Looks at all stores below `folder`, and writes its catalogue, which appears
  // whole or not at all, and durably. NotFound if there are none; the errors of
  // all stores that fail, a line each: then nothing is written.
  static absl::StatusOr<Written> Write(const std::string& folder);

  // Reads the catalogue, and nothing else.
  static absl::StatusOr<StoreCatalog> Open(const std::string& folder);
  // There is a catalogue in the folder, good or not.
  static bool IsIn(const std::string& folder);

  const std::string& folder() const { return folder_; }
  // In bytewise order of their paths.
  const std::vector<CatalogEntry>& entries() const { return entries_; }
  // Null if there is none. `path` is relative to the folder, and normal: no "."
  // or "..", no empty part.
  const CatalogEntry* Find(std::string_view path) const;

  // The store of an entry, whose files are not touched before it is read.
  // NotFound if the catalogue does not have it.
  absl::StatusOr<std::shared_ptr<const TokenStore>> OpenStore(
      std::string_view path, const TokenStoreOptions& options = {}) const;
  // Those of all entries, in their order.
  absl::StatusOr<std::vector<std::shared_ptr<const TokenStore>>> OpenAll(
      const TokenStoreOptions& options = {}) const;

  // All of them end to end, in the order of their paths, as one source: a
  // corpus that was packed in parts. InvalidArgument if there are none, or if
  // they differ in tokenizer, type of tokens or end-of-document id.
  absl::StatusOr<std::shared_ptr<const TokenSource>> OpenJoined(
      const TokenStoreOptions& options = {}) const;

  // What the first read of a store compares. Contents are not read.
  // FailedPrecondition, DataLoss or NotFound.
  absl::Status CheckStore(std::string_view path) const;
  // All that differs from what is below the folder now, in the order of paths.
  absl::StatusOr<std::vector<CatalogFinding>> Compare() const;

 private:
  explicit StoreCatalog(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<size_t> NumberOf(std::string_view path) const;

  std::string folder_;
  std::vector<CatalogEntry> entries_;
  std::vector<std::shared_ptr<const internal::KnownStore>> known_;  // of each
};

}  // namespace poniente

#endif  // PONIENTE_CATALOG_H_
