// SPDX-License-Identifier: Apache-2.0
#include "poniente/token_store.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/known_store.h"
#include "store/manifest/manifest.h"
#include "store/posix_file.h"
#include "store/read/begin_fingerprints.h"
#include "store/read/document_index.h"
#include "store/read/side_file.h"
#include "store/read/stored_ids.h"
#include "store/read/token_store_access.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::DocumentIndex;
using internal::KnownStore;
using internal::SideFile;
using internal::StoreFile;
using internal::StoreManifest;

std::string PathOf(const std::string& path, const StoreManifest& manifest,
                   StoreFile file) {
  return internal::StoreFilePath(path, file, manifest.generation);
}

// Checks the size of a file. NotFound if the file does not exist.
absl::Status CheckSize(const std::string& path, uint64_t expected) {
  PONIENTE_ASSIGN_OR_RETURN(const internal::FileStamp stamp,
                            internal::ReadStamp(path));
  return internal::CheckFileBytes(path, stamp.bytes, expected);
}

// Its number in the store's reader, after that of the tokens.
constexpr uint32_t kLossMaskFile = 1;

struct StoreFiles {
  std::shared_ptr<const ByteReader> reader;
  std::unique_ptr<const DocumentIndex> documents;
};

// Returns where the checksums of the documents file are stored: after those of
// the tokens.
BlockChecksums DocumentChecksums(const std::string& path,
                                 const StoreManifest& manifest) {
  return {PathOf(path, manifest, StoreFile::kChecksums),
          4 * manifest.NumBlocks(StoreFile::kTokens), manifest.block_bytes};
}

// Opens the files of a store. NotFound if one of them does not exist.
absl::StatusOr<StoreFiles> OpenFiles(const std::string& path,
                                     const StoreManifest& manifest,
                                     const TokenStoreOptions& options) {
  for (const StoreFile file : manifest.Files()) {
    PONIENTE_RETURN_IF_ERROR(
        CheckSize(PathOf(path, manifest, file), manifest.FileBytes(file)));
  }
  StoreFiles files;
  std::vector<ByteFile> read = {internal::StoredTokens(path, manifest)};
  if (manifest.has_loss_mask) {
    read.push_back(internal::StoredLossMask(path, manifest));
  }
  PONIENTE_ASSIGN_OR_RETURN(files.reader,
                            ByteReader::Open(std::move(read), options.io));
  PONIENTE_ASSIGN_OR_RETURN(
      SideFile documents,
      SideFile::Open(PathOf(path, manifest, StoreFile::kDocuments),
                     DocumentChecksums(path, manifest), options.io.verify));
  files.documents =
      std::make_unique<const DocumentIndex>(std::move(documents), manifest);
  return files;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenStore>> TokenStore::Open(
    const std::string& path, const TokenStoreOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(KnownStore known, internal::ReadKnownStore(path));
  absl::StatusOr<StoreFiles> files = OpenFiles(path, known.manifest, options);
  while (absl::IsNotFound(files.status())) {
    // A writer may have committed since the manifest was read, and removed the
    // files that it named. Each turn follows a commit.
    PONIENTE_ASSIGN_OR_RETURN(KnownStore now, internal::ReadKnownStore(path));
    if (now.manifest.generation == known.manifest.generation) {
      return absl::DataLossError(absl::StrCat(
          "a file of the store at '", path, "' is missing: ",
          files.status().message(), "; copy the store again or pack it again"));
    }
    known = std::move(now);
    files = OpenFiles(path, known.manifest, options);
  }
  if (!files.ok()) return files.status();
  return std::shared_ptr<const TokenStore>(new TokenStore(
      path, std::make_unique<const StoreManifest>(std::move(known.manifest)),
      known.manifest_file.bytes, std::move(files->reader),
      std::move(files->documents)));
}

absl::StatusOr<std::shared_ptr<const TokenStore>>
internal::TokenStoreAccess::OpenKnown(std::shared_ptr<const KnownStore> known,
                                      const TokenStoreOptions& options) {
  const std::string& path = known->path;
  const std::string& location = known->location;
  const StoreManifest& manifest = known->manifest;
  const std::function<absl::Status()> check = [known] {
    return internal::CheckUnchanged(*known);
  };
  std::vector<ByteFile> files;
  files.push_back(internal::KnownTokensFile(known));
  if (manifest.has_loss_mask) {
    files.push_back(internal::KnownLossMaskFile(known));
  }
  PONIENTE_ASSIGN_OR_RETURN(auto reader,
                            ByteReader::Open(std::move(files), options.io));
  SideFile documents = SideFile::OpenLater(
      PathOf(location, manifest, StoreFile::kDocuments),
      {manifest.FileBytes(StoreFile::kDocuments), check},
      DocumentChecksums(location, manifest), options.io.verify);
  return std::shared_ptr<const TokenStore>(new TokenStore(
      path, std::make_unique<const StoreManifest>(manifest),
      known->manifest_file.bytes, std::move(reader),
      std::make_unique<const DocumentIndex>(std::move(documents), manifest)));
}

TokenStore::TokenStore(std::string path,
                       std::unique_ptr<const StoreManifest> manifest,
                       uint64_t manifest_bytes,
                       std::shared_ptr<const ByteReader> reader,
                       std::unique_ptr<const DocumentIndex> documents)
    : path_(std::move(path)),
      manifest_(std::move(manifest)),
      manifest_bytes_(manifest_bytes),
      reader_(std::move(reader)),
      documents_(std::move(documents)),
      tokens_(manifest_->tokens),
      loss_mask_{0, kLossMaskFile, 0} {}

TokenStore::~TokenStore() = default;

std::string_view TokenStore::format() const { return internal::kStoreFormat; }
const Vocabulary& TokenStore::vocabulary() const {
  return manifest_->vocabulary;
}
TokenType TokenStore::token_type() const { return manifest_->token_type; }
StoredType TokenStore::stored_type() const {
  return internal::StoredTypeOf(token_type());
}
std::optional<uint32_t> TokenStore::end_of_document() const {
  return manifest_->end_of_document;
}
std::string TokenStore::tokenizer_library() const {
  return manifest_->tokenizer_library;
}
uint64_t TokenStore::num_tokens() const { return manifest_->tokens; }
uint64_t TokenStore::num_documents() const { return manifest_->documents; }
uint64_t TokenStore::fingerprint() const { return manifest_->fingerprint; }

std::optional<uint64_t> TokenStore::BeginFingerprint(uint64_t tokens) const {
  if (tokens > tokens_) return std::nullopt;
  const std::filesystem::path folder =
      std::filesystem::path(reader_->path(0)).parent_path();
  internal::BeginFingerprints begins;
  const absl::StatusOr<uint64_t> fingerprint =
      begins.Of(PathOf(folder.string(), *manifest_, StoreFile::kChecksums),
                tokens * manifest_->width() / manifest_->block_bytes,
                manifest_->block_bytes);
  if (!fingerprint.ok()) return std::nullopt;
  return *fingerprint;
}

uint64_t TokenStore::num_bytes() const {
  uint64_t bytes = manifest_bytes_;
  for (const StoreFile file : manifest_->Files()) {
    bytes += manifest_->FileBytes(file);
  }
  return bytes;
}

bool TokenStore::ids_are_checked() const {
  return reader_->verify_checksums() != VerifyChecksums::kOff;
}

bool TokenStore::has_loss_mask() const { return manifest_->has_loss_mask; }
std::span<const LossMaskArray> TokenStore::loss_mask_arrays() const {
  if (!has_loss_mask()) return {};
  return {&loss_mask_, 1};
}

Task<std::vector<TokenWindow>> TokenStore::ReadRanges(
    std::vector<TokenRange> ranges) const {
  absl::StatusOr<std::vector<TokenWindow>> windows =
      co_await internal::ReadFromArrays(*this, std::move(ranges));
  co_return windows;
}

absl::StatusOr<TokenRange> TokenStore::DocumentRange(uint64_t document) const {
  return documents_->Range(document);
}
absl::Status TokenStore::DocumentRanges(std::span<const uint64_t> documents,
                                        std::span<TokenRange> ranges) const {
  return documents_->KeptRanges(documents, ranges);
}
bool TokenStore::HasRangesInMemory(std::span<const uint64_t> documents) const {
  return std::all_of(
      documents.begin(), documents.end(),
      [this](uint64_t document) { return documents_->IsInMemory(document); });
}
absl::StatusOr<std::vector<uint64_t>> TokenStore::DocumentBounds(
    uint64_t first, uint64_t count) const {
  return documents_->Bounds(first, count);
}
absl::StatusOr<std::string> TokenStore::DocumentName(uint64_t document) const {
  return documents_->Name(document);
}
absl::StatusOr<uint64_t> TokenStore::DocumentAt(uint64_t token) const {
  return documents_->At(token);
}

absl::StatusOr<std::vector<ItemPiece>> TokenStore::DocumentPieces(
    uint64_t begin, uint64_t end) const {
  return documents_->Pieces(begin, end);
}
bool TokenStore::HasPiecesInMemory(uint64_t begin, uint64_t end) const {
  return documents_->HasPiecesInMemory(begin, end);
}

}  // namespace poniente
