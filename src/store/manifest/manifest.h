// SPDX-License-Identifier: Apache-2.0
// The manifest of a token store and the arithmetic of its files, without I/O.
// manifest_text.h has the text; docs/token_store_format.md explains both.

#ifndef PONIENTE_STORE_MANIFEST_MANIFEST_H_
#define PONIENTE_STORE_MANIFEST_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "poniente/token_window.h"

namespace poniente::internal {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kStoreFormat = "poniente-token-store";
// The file that says what a store has whose writer publishes its growth, and
// its format.
inline constexpr std::string_view kGrowthName = "scratch-growth.json";
inline constexpr std::string_view kGrowthFormat = "poniente-growing-store";
// A store with a loss mask has the second version, so that readers that do not
// know masks refuse it; all other stores have the first.
inline constexpr uint64_t kStoreVersion = 1;
inline constexpr uint64_t kMaskedStoreVersion = 2;
inline constexpr uint64_t kAlignment = 4096;
inline constexpr uint64_t kMinBlockBytes = 4096;
inline constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 30;
inline constexpr uint64_t kMaxManifestBytes = 65536;
// Bounds that keep every product below 2^63.
inline constexpr uint64_t kMaxTokens = uint64_t{1} << 60;
inline constexpr uint64_t kMaxDocuments = uint64_t{1} << 56;
inline constexpr uint64_t kMaxNameBytes = uint64_t{1} << 60;
inline constexpr size_t kMaxLibraryBytes = 1024;
inline constexpr size_t kMaxModelPathBytes = 4096;

enum class StoreFile { kTokens, kDocuments, kChecksums, kLossMask };
// All files that a store may have; StoreManifest::Files() are those of one.
inline constexpr StoreFile kStoreFiles[] = {
    StoreFile::kTokens, StoreFile::kDocuments, StoreFile::kChecksums,
    StoreFile::kLossMask};

// Returns "tokens", "documents", "checksums" or "loss_mask".
std::string_view StoreFileKind(StoreFile file);
// Returns "tokens-3.bin" for generation 3.
std::string StoreFileName(StoreFile file, uint64_t generation);
// Returns the file that has this name in any generation; nullopt if none has.
std::optional<StoreFile> StoreFileNamed(std::string_view name);
// Returns the path of the file below the folder of the store.
std::string StoreFilePath(std::string_view store, StoreFile file,
                          uint64_t generation);

// The model that made a store's ids.
struct TokenizerModel {
  std::string path;     // where it was; empty if that is not UTF-8
  uint32_t crc32c = 0;  // of its file

  friend bool operator==(const TokenizerModel&,
                         const TokenizerModel&) = default;
};

struct StoreManifest {
  uint64_t generation = 0;
  Vocabulary vocabulary;
  TokenType token_type = TokenType::kU8;
  std::optional<uint32_t> end_of_document;
  uint64_t tokens = 0;
  uint64_t documents = 0;
  uint64_t name_bytes = 0;  // of all documents' names together
  uint64_t block_bytes = 4096;
  uint32_t checksums_crc32c = 0;  // of the whole checksums file
  uint64_t fingerprint = 0;
  // The library that made the ids, with its version; empty if not known.
  std::string tokenizer_library = {};
  std::optional<TokenizerModel> tokenizer_model = std::nullopt;
  // Whether there is a bit for each token that says whether it has loss.
  bool has_loss_mask = false;

  uint64_t version() const {
    return has_loss_mask ? kMaskedStoreVersion : kStoreVersion;
  }
  // Returns the files of the store, in the order of kStoreFiles.
  std::span<const StoreFile> Files() const {
    return std::span(kStoreFiles).first(has_loss_mask ? 4 : 3);
  }
  uint32_t width() const { return TokenTypeBytes(token_type); }
  // Returns the exact size of a file in bytes; 0 for a mask that there is not.
  uint64_t FileBytes(StoreFile file) const;
  // Returns the number of blocks of the tokens, documents or loss mask file.
  uint64_t NumBlocks(StoreFile file) const;

  friend bool operator==(const StoreManifest&, const StoreManifest&) = default;
};

// Checks a vocabulary, and whether the type and the end-of-document id fit it.
// Used by writers and readers.
absl::Status CheckVocabulary(const Vocabulary& vocabulary, TokenType type,
                             std::optional<uint32_t> end_of_document);
absl::Status CheckBlockBytes(uint64_t block_bytes);
// Checks the name of a library, which may be empty.
absl::Status CheckLibrary(std::string_view library);
// Returns the model at this absolute path, without the path if a manifest
// cannot hold it.
TokenizerModel ModelToRecord(std::string path, uint32_t crc32c);
// Checks a whole manifest that was read, from a store or from a catalogue.
absl::Status CheckManifest(const StoreManifest& manifest);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_MANIFEST_H_
