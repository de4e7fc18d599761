// SPDX-License-Identifier: Apache-2.0
// docs/token_store_format.md describes the files byte by byte, and
// store_folder.cc how they become visible. Tokens and their checksums are
// written to their files at once, and so are the bits of a loss mask, whose
// checksums wait until those of the documents are written. Document ends and
// names wait in spill buffers, because the documents file holds all ends before
// all names.
#include "store/write/store_builder.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/manifest_text.h"
#include "util/byte_order.h"
#include "util/check.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

TokenType NarrowestType(uint64_t vocabulary_size) {
  if (vocabulary_size <= uint64_t{1} << 8) return TokenType::kU8;
  if (vocabulary_size <= uint64_t{1} << 16) return TokenType::kU16;
  return TokenType::kU32;
}

}  // namespace

absl::StatusOr<StoreManifest> ManifestToWrite(
    const std::string& path, const TokenStoreWriterOptions& options) {
  StoreManifest manifest;
  manifest.vocabulary = options.vocabulary;
  manifest.token_type =
      options.token_type.value_or(NarrowestType(options.vocabulary.size));
  manifest.end_of_document = options.end_of_document;
  manifest.block_bytes = options.block_bytes;
  manifest.tokenizer_library = options.tokenizer_library;
  absl::Status usable = CheckVocabulary(
      manifest.vocabulary, manifest.token_type, manifest.end_of_document);
  if (usable.ok()) usable = CheckBlockBytes(manifest.block_bytes);
  if (usable.ok() && options.publishes &&
      manifest.block_bytes > kKeyBlockBytes) {
    usable = absl::InvalidArgumentError(
        absl::StrCat("block_bytes must be at most ", kKeyBlockBytes,
                     " for a store that is read while it grows, got ",
                     manifest.block_bytes));
  }
  if (usable.ok()) usable = CheckLibrary(manifest.tokenizer_library);
  if (!usable.ok()) {
    return Prepend(usable, absl::StrCat("token store '", path, "'"));
  }
  return manifest;
}

StoreBuilder::StoreBuilder(std::unique_ptr<StoreFolder> folder,
                           StoreManifest manifest)
    : folder_(std::move(folder)),
      described_(std::move(manifest)),
      manifest_(described_),
      token_blocks_(manifest_.block_bytes,
                    [this](uint32_t c) { return AddChecksum(c); }),
      document_blocks_(manifest_.block_bytes,
                       [this](uint32_t c) { return AddChecksum(c); }),
      tokens_path_(folder_->PathOf(StoreFile::kTokens)),
      ends_(folder_->ScratchPath("ends")),
      name_ends_(folder_->ScratchPath("name-ends")),
      names_(folder_->ScratchPath("names")) {
  manifest_.generation = folder_->generation();
}

absl::StatusOr<std::unique_ptr<StoreBuilder>> StoreBuilder::Create(
    const std::string& path, StoreManifest manifest,
    const BeginAnew& begin_anew) {
  const auto choose = [&](const StoreFolder&, std::optional<uint64_t> committed)
      -> absl::StatusOr<std::optional<uint64_t>> {
    if (begin_anew != nullptr) {
      PONIENTE_RETURN_IF_ERROR(begin_anew(committed.value_or(0), ""));
    }
    return std::nullopt;
  };
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<StoreFolder> folder,
                            StoreFolder::Lock(path, choose));
  std::unique_ptr<StoreBuilder> builder(
      new StoreBuilder(std::move(folder), std::move(manifest)));
  PONIENTE_RETURN_IF_ERROR(builder->OpenFiles());
  return builder;
}

absl::Status StoreBuilder::OpenFiles() {
  PONIENTE_ASSIGN_OR_RETURN(
      checksums_, FileWriter::Create(folder_->PathOf(StoreFile::kChecksums),
                                     [this](std::span<const std::byte> bytes) {
                                       return ObserveChecksums(bytes);
                                     }));
  PONIENTE_ASSIGN_OR_RETURN(tokens_,
                            OpenFd(tokens_path_, O_WRONLY | O_CREAT | O_EXCL));
  return absl::OkStatus();
}

void StoreBuilder::WriteDirectly(uint64_t expected) {
  direct_ = DirectWriter::Open(tokens_path_,
                               manifest_.tokens * manifest_.width(), expected);
}

absl::Status StoreBuilder::ObserveChecksums(std::span<const std::byte> bytes) {
  manifest_.checksums_crc32c = ExtendCrc32c(manifest_.checksums_crc32c, bytes);
  if (!reads_checksums_) return absl::OkStatus();
  for (; !bytes.empty(); bytes = bytes.subspan(4)) {
    PONIENTE_RETURN_IF_ERROR(token_key_.AddPiece(
        LoadLittle<uint32_t>(bytes.data()), manifest_.block_bytes));
  }
  return absl::OkStatus();
}

absl::Status StoreBuilder::AddChecksum(uint32_t checksum) {
  std::array<std::byte, 4> bytes;
  StoreLittle(checksum, bytes.data());
  return checksums_->Append(bytes);
}

PieceChecksums StoreBuilder::ChecksumsOf(
    uint64_t at, std::span<const std::byte> bytes) const {
  const uint64_t cell = std::min(manifest_.block_bytes, kKeyBlockBytes);
  PieceChecksums checksums;
  checksums.reserve(static_cast<size_t>(bytes.size() / cell + 2));
  for (size_t done = 0; done < bytes.size();) {
    const size_t piece = static_cast<size_t>(
        std::min<uint64_t>(bytes.size() - done, cell - (at + done) % cell));
    checksums.push_back(
        {Crc32c(bytes.subspan(done, piece)), static_cast<uint32_t>(piece)});
    done += piece;
  }
  return checksums;
}

absl::StatusOr<PieceChecksums> StoreBuilder::WriteTokens(
    uint64_t first, std::span<const std::byte> bytes) const {
  if (direct_ != nullptr) {
    DirectWriter::Pages pages;
    PONIENTE_ASSIGN_OR_RETURN(PieceChecksums checksums,
                              StageTokens(first, bytes, &pages));
    PONIENTE_RETURN_IF_ERROR(WriteStaged(pages));
    return checksums;
  }
  const uint64_t at = first * manifest_.width();
  PieceChecksums checksums = ChecksumsOf(at, bytes);
  PONIENTE_RETURN_IF_ERROR(WriteAll(tokens_.get(), tokens_path_, at, bytes));
  return checksums;
}

absl::StatusOr<PieceChecksums> StoreBuilder::StageTokens(
    uint64_t first, std::span<const std::byte> bytes,
    DirectWriter::Pages* pages) const {
  const uint64_t at = first * manifest_.width();
  PieceChecksums checksums = ChecksumsOf(at, bytes);
  PONIENTE_RETURN_IF_ERROR(direct_->Stage(at, bytes, pages));
  return checksums;
}

void StoreBuilder::StartWriting(uint64_t begin, uint64_t end) const {
  if (direct_ != nullptr) return;
  const uint64_t width = manifest_.width();
  // Only advice: if it fails, Finish() still writes everything.
  (void)::sync_file_range(tokens_.get(), static_cast<off_t>(begin * width),
                          static_cast<off_t>((end - begin) * width),
                          SYNC_FILE_RANGE_WRITE);
}

absl::Status StoreBuilder::AddTokens(const PieceChecksums& checksums) {
  uint64_t bytes = 0;
  for (const PieceChecksum& piece : checksums) {
    PONIENTE_RETURN_IF_ERROR(token_key_.AddPiece(piece.checksum, piece.bytes));
    PONIENTE_RETURN_IF_ERROR(
        token_blocks_.AddPiece(piece.checksum, piece.bytes));
    bytes += piece.bytes;
  }
  manifest_.tokens += bytes / manifest_.width();
  return absl::OkStatus();
}

absl::Status StoreBuilder::AddLossBits(uint64_t first, const LossBits& bits) {
  if (loss_mask_ == nullptr) {
    PONIENTE_ASSIGN_OR_RETURN(
        loss_mask_,
        LossMaskWriter::Create(folder_->PathOf(StoreFile::kLossMask),
                               folder_->ScratchPath("loss-mask"),
                               manifest_.block_bytes));
    manifest_.has_loss_mask = true;
  }
  PONIENTE_RETURN_IF_ERROR(loss_mask_->FillTo(first));
  return loss_mask_->Append(bits);
}

absl::Status StoreBuilder::BeginDocument(std::string_view name) {
  manifest_.name_bytes += name.size();
  std::array<std::byte, 8> end;
  StoreLittle(manifest_.name_bytes, end.data());
  PONIENTE_RETURN_IF_ERROR(name_ends_.Append(end));
  return names_.Append(std::as_bytes(std::span(name)));
}

absl::Status StoreBuilder::EndDocument(uint64_t end) {
  std::array<std::byte, 8> bytes;
  StoreLittle(end, bytes.data());
  PONIENTE_RETURN_IF_ERROR(ends_.Append(bytes));
  ++manifest_.documents;
  return absl::OkStatus();
}

// Padding must complete the last page.
static_assert(kAlignment % kPageBytes == 0);

absl::Status StoreBuilder::PadTokens() {
  const uint64_t bytes = manifest_.tokens * manifest_.width();
  const std::vector<std::byte> zeros(
      static_cast<size_t>((kAlignment - bytes % kAlignment) % kAlignment));
  PONIENTE_ASSIGN_OR_RETURN(const PieceChecksums checksums,
                            WriteTokens(manifest_.tokens, zeros));
  for (const PieceChecksum& piece : checksums) {
    PONIENTE_RETURN_IF_ERROR(token_key_.AddPiece(piece.checksum, piece.bytes));
    PONIENTE_RETURN_IF_ERROR(
        token_blocks_.AddPiece(piece.checksum, piece.bytes));
  }
  return token_blocks_.Finish();
}

absl::Status StoreBuilder::WriteDocuments() {
  PONIENTE_ASSIGN_OR_RETURN(
      const std::unique_ptr<FileWriter> file,
      FileWriter::Create(folder_->PathOf(StoreFile::kDocuments),
                         [this](std::span<const std::byte> bytes) {
                           PONIENTE_RETURN_IF_ERROR(document_key_.Add(bytes));
                           return document_blocks_.Add(bytes);
                         }));
  PONIENTE_RETURN_IF_ERROR(ends_.CopyTo(file.get()));
  PONIENTE_RETURN_IF_ERROR(name_ends_.CopyTo(file.get()));
  PONIENTE_RETURN_IF_ERROR(names_.CopyTo(file.get()));
  PONIENTE_RETURN_IF_ERROR(file->Pad(kAlignment));
  PONIENTE_RETURN_IF_ERROR(file->Sync());
  return document_blocks_.Finish();
}

absl::Status StoreBuilder::WriteAndCommit() {
  PONIENTE_RETURN_IF_ERROR(PadTokens());
  // Removes space that was allocated but not written.
  PONIENTE_RETURN_IF_ERROR(CutFile(tokens_.get(), tokens_path_,
                                   manifest_.FileBytes(StoreFile::kTokens)));
  PONIENTE_RETURN_IF_ERROR(SyncFd(tokens_.get(), tokens_path_));
  PONIENTE_RETURN_IF_ERROR(WriteDocuments());
  uint64_t loss_mask_key = 0;
  if (loss_mask_ != nullptr) {
    PONIENTE_RETURN_IF_ERROR(loss_mask_->FillTo(manifest_.tokens));
    PONIENTE_ASSIGN_OR_RETURN(loss_mask_key,
                              loss_mask_->Finish(checksums_.get()));
  }
  PONIENTE_RETURN_IF_ERROR(checksums_->Sync());
  manifest_.fingerprint = ContentFingerprint(
      manifest_, token_key_.Finish(), document_key_.Finish(), loss_mask_key);
  return folder_->Commit(manifest_);
}

absl::StatusOr<TokenStoreFacts> StoreBuilder::Finish() {
  const absl::Status written = WriteAndCommit();
  // Frees the space after an error, and releases the lock in all cases.
  tokens_ = OwnedFd();
  direct_.reset();
  checksums_.reset();
  loss_mask_.reset();
  folder_.reset();
  PONIENTE_RETURN_IF_ERROR(written);
  TokenStoreFacts facts;
  facts.tokens = manifest_.tokens;
  facts.documents = manifest_.documents;
  facts.token_type = manifest_.token_type;
  facts.fingerprint = manifest_.fingerprint;
  facts.bytes = EncodeManifest(manifest_).size();
  for (const StoreFile file : manifest_.Files()) {
    facts.bytes += manifest_.FileBytes(file);
  }
  return facts;
}

}  // namespace poniente::internal
