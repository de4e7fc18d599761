// SPDX-License-Identifier: Apache-2.0
// Opens many token stores at once: one file holds all manifests, and each store
// opens its own files at its first read. docs/catalog.md describes the file.

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

// Opens all stores, on up to 64 threads. Reads only their manifests; the files
// of a store are opened at its first read. So a file that is missing, cut short
// or replaced since is not an error of this call: the first read of its store
// returns DataLoss or FailedPrecondition.
// Errors: those of TokenStore::Open(). If several stores fail, the message has
//     one line for each.
absl::StatusOr<std::vector<std::shared_ptr<const TokenStore>>> OpenStores(
    std::span<const std::string> paths, const TokenStoreOptions& options = {});

// What a catalogue says about one store.
struct CatalogEntry {
  std::string path = {};  // relative to the catalogue's folder
  Vocabulary vocabulary = {};
  TokenType token_type = TokenType::kU8;
  std::optional<uint32_t> end_of_document = std::nullopt;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t bytes = 0;  // of all files of the store
  uint64_t fingerprint = 0;
  // As TokenSource::tokenizer_library().
  std::string tokenizer_library = {};
  // As TokenSource::has_loss_mask().
  bool has_loss_mask = false;
};

// One difference between a catalogue and the stores below its folder.
struct CatalogFinding {
  enum class Kind {
    kStale,    // the store differs from its entry, or is damaged
    kMissing,  // the catalogue has it, the folder does not
    kNew,      // the folder has it, the catalogue does not
  };
  Kind kind = Kind::kStale;
  std::string path = {};  // relative to the catalogue's folder
  absl::Status status = {};
};

// A list of all stores below a folder, with their manifests, in one file of
// that folder. With it, thousands of stores open without any access to their
// own files.
//
// An entry is trusted until its store is first read. Then the sizes and
// modification times of the store's files and the text of its manifest are
// compared, once; a difference is an error that names the store and the remedy.
// This check cannot see damage inside a file; the checksums do.
//
// Ownership: a value; stores opened from it do not need it.
// Thread safety: any number of threads.
// Errors: NotFound: the folder has no catalogue. DataLoss, with the line: the
//     catalogue is damaged or was edited. InvalidArgument: another version.
class StoreCatalog {
 public:
  // Name of the catalogue file in its folder.
  static constexpr char kFileName[] = "poniente-catalog.tsv";

  // Describes the catalogue that Write() has written. Counts are sums over all
  // stores.
  struct Written {
    uint64_t stores = 0;
    uint64_t tokens = 0;
    uint64_t documents = 0;
    uint64_t bytes = 0;
    // Folders that were left out: their manifest.json is not a token store's.
    std::vector<std::string> others = {};
    // One entry for each corpus of which only some parts are there (`poniente
    // pack --part`): the number of missing parts, and the first of them.
    std::vector<std::string> missing_parts = {};
  };
  // Reads all stores below `folder` and writes their catalogue. The file
  // appears whole or not at all, and is durable on return. NotFound if there
  // are no stores. If any store is damaged, writes nothing and returns the
  // errors of all such stores, one line each.
  static absl::StatusOr<Written> Write(const std::string& folder);

  // Reads the catalogue and nothing else.
  static absl::StatusOr<StoreCatalog> Open(const std::string& folder);
  // Returns whether the folder has a catalogue file, valid or not.
  static bool IsIn(const std::string& folder);

  // Returns the folder that the catalogue lies in.
  const std::string& folder() const { return folder_; }
  // Returns all entries, in bytewise order of their paths.
  const std::vector<CatalogEntry>& entries() const { return entries_; }
  // Returns the entry of a store, or null if there is none. `path` is relative
  // to the folder and normalized: no ".", no "..", no empty part.
  const CatalogEntry* Find(std::string_view path) const;

  // Opens the store of an entry without touching its files before the first
  // read. NotFound if the catalogue has no such entry.
  absl::StatusOr<std::shared_ptr<const TokenStore>> OpenStore(
      std::string_view path, const TokenStoreOptions& options = {}) const;
  // Opens the stores of all entries, in their order.
  absl::StatusOr<std::vector<std::shared_ptr<const TokenStore>>> OpenAll(
      const TokenStoreOptions& options = {}) const;

  // Opens all stores end to end, in the order of their paths, as one source: a
  // corpus that was packed in parts. InvalidArgument if there are none, or if
  // they differ in tokenizer, token type or end-of-document id.
  absl::StatusOr<std::shared_ptr<const TokenSource>> OpenJoined(
      const TokenStoreOptions& options = {}) const;

  // Checks what the first read of a store would compare; reads no contents.
  // Returns OK, FailedPrecondition, DataLoss or NotFound.
  absl::Status CheckStore(std::string_view path) const;
  // Returns all differences from what is below the folder now, in the order of
  // paths.
  absl::StatusOr<std::vector<CatalogFinding>> Compare() const;

 private:
  explicit StoreCatalog(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<size_t> NumberOf(std::string_view path) const;

  std::string folder_;
  std::vector<CatalogEntry> entries_;
  std::vector<std::shared_ptr<const internal::KnownStore>> known_;  // by entry
};

}  // namespace poniente

#endif  // PONIENTE_CATALOG_H_
