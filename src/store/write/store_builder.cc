// SPDX-License-Identifier: Apache-2.0
// docs/token_store_format.md describes the files byte by byte, and
// store_folder.cc how they become visible. Tokens and their checksums are
// written to their files at once. Document ends and names wait in spill
// buffers, because the documents file holds all ends before all names.
//
// Continuing after a kill: Save() makes durable, in this order, the tokens, the
// checksums and the scratch files, and then the file scratch-checkpoint, which
// states the sizes of the others at the mark. A rename replaces that file, so
// either the previous checkpoint or the new one exists. A writer that continues
// cuts off everything after the mark and writes it again. Any other writer
// removes these files as leftovers of a dead writer.
#include "store/write/store_builder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/manifest_text.h"
#include "util/byte_order.h"
#include "util/check.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A checkpoint has a few hundred bytes, and the data of its caller.
constexpr uint64_t kMaxCheckpointBytes = uint64_t{1} << 20;

TokenType NarrowestType(uint64_t vocabulary_size) {
  if (vocabulary_size <= uint64_t{1} << 8) return TokenType::kU8;
  if (vocabulary_size <= uint64_t{1} << 16) return TokenType::kU16;
  return TokenType::kU32;
}

absl::StatusOr<uint64_t> SizeOf(int fd, const std::string& path) {
  struct stat facts;
  if (::fstat(fd, &facts) != 0) return ErrnoError(path, "stat");
  return static_cast<uint64_t>(facts.st_size);
}

std::optional<StoreCheckpoint> ReadCheckpoint(const std::string& path) {
  const absl::StatusOr<std::string> text =
      ReadSmallFile(path, "a checkpoint", kMaxCheckpointBytes);
  return text.ok() ? ParseCheckpoint(*text) : std::nullopt;
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
  if (usable.ok()) usable = CheckLibrary(manifest.tokenizer_library);
  if (!usable.ok()) {
    return Prepend(usable, absl::StrCat("token store '", path, "'"));
  }
  return manifest;
}

StoreBuilder::StoreBuilder(std::unique_ptr<StoreFolder> folder,
                           StoreManifest manifest)
    : folder_(std::move(folder)),
      manifest_(std::move(manifest)),
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
    const std::string& path, StoreManifest manifest) {
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<StoreFolder> folder,
                            StoreFolder::Lock(path));
  std::unique_ptr<StoreBuilder> builder(
      new StoreBuilder(std::move(folder), std::move(manifest)));
  PONIENTE_RETURN_IF_ERROR(builder->OpenFiles());
  return builder;
}

absl::StatusOr<std::unique_ptr<StoreBuilder>> StoreBuilder::CreateToSave(
    const std::string& path, StoreManifest manifest, const Accept& accept) {
  PONIENTE_CHECK(manifest.block_bytes <= kKeyBlockBytes)
      << manifest.block_bytes;
  StoreCheckpoint checkpoint;
  const auto choose =
      [&](const StoreFolder& folder,
          uint64_t committed) -> absl::StatusOr<std::optional<uint64_t>> {
    const std::optional<StoreCheckpoint> left =
        ReadCheckpoint(folder.ScratchPath("checkpoint"));
    // A writer that dies right after its commit leaves its last checkpoint.
    if (!left || left->generation <= committed) return std::nullopt;
    PONIENTE_ASSIGN_OR_RETURN(const bool accepted, accept(left->caller));
    if (!accepted) return std::nullopt;
    checkpoint = *left;
    return left->generation;
  };
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<StoreFolder> folder,
                            StoreFolder::Lock(path, choose));
  const bool continues = folder->continues();
  std::unique_ptr<StoreBuilder> builder(
      new StoreBuilder(std::move(folder), std::move(manifest)));
  if (continues) {
    PONIENTE_RETURN_IF_ERROR(builder->ContinueFiles(checkpoint));
  } else {
    checkpoint = {};
    PONIENTE_RETURN_IF_ERROR(builder->OpenFiles());
  }
  PONIENTE_RETURN_IF_ERROR(builder->KeepScratchFiles(checkpoint));
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

absl::Status StoreBuilder::ContinueFiles(const StoreCheckpoint& checkpoint) {
  if (checkpoint.block_bytes != manifest_.block_bytes) {
    return absl::DataLossError(absl::StrCat(
        tokens_path_, ": was begun with checksums over ",
        checkpoint.block_bytes, " bytes, not ", manifest_.block_bytes));
  }
  manifest_.tokens = checkpoint.tokens;
  manifest_.documents = checkpoint.documents;
  manifest_.name_bytes = checkpoint.name_bytes;
  const uint64_t bytes = checkpoint.tokens * manifest_.width();
  reads_checksums_ = true;
  PONIENTE_ASSIGN_OR_RETURN(
      checksums_, FileWriter::Continue(folder_->PathOf(StoreFile::kChecksums),
                                       bytes / manifest_.block_bytes * 4,
                                       [this](std::span<const std::byte> read) {
                                         return ObserveChecksums(read);
                                       }));
  reads_checksums_ = false;
  const uint64_t begun = bytes % manifest_.block_bytes;
  PONIENTE_RETURN_IF_ERROR(
      token_key_.AddPiece(checkpoint.block_checksum, begun));
  PONIENTE_RETURN_IF_ERROR(
      token_blocks_.AddPiece(checkpoint.block_checksum, begun));

  PONIENTE_ASSIGN_OR_RETURN(tokens_, OpenFd(tokens_path_, O_WRONLY));
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t there,
                            SizeOf(tokens_.get(), tokens_path_));
  if (there < bytes) return EndsEarly(tokens_path_, there, bytes - there);
  PONIENTE_RETURN_IF_ERROR(CutFile(tokens_.get(), tokens_path_, bytes));
  ::unlink(folder_->PathOf(StoreFile::kDocuments).c_str());
  return absl::OkStatus();
}

absl::Status StoreBuilder::KeepScratchFiles(const StoreCheckpoint& checkpoint) {
  PONIENTE_RETURN_IF_ERROR(
      ends_.KeepFile(checkpoint.ends_bytes, checkpoint.ends_checksum));
  PONIENTE_RETURN_IF_ERROR(name_ends_.KeepFile(checkpoint.name_ends_bytes,
                                               checkpoint.name_ends_checksum));
  return names_.KeepFile(checkpoint.name_bytes, checkpoint.names_checksum);
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

std::string StoreBuilder::CheckpointPath() const {
  return folder_->ScratchPath("checkpoint");
}

absl::StatusOr<StoreCheckpoint> StoreBuilder::Mark() {
  PONIENTE_RETURN_IF_ERROR(checksums_->Flush());
  PONIENTE_RETURN_IF_ERROR(ends_.Flush());
  PONIENTE_RETURN_IF_ERROR(name_ends_.Flush());
  PONIENTE_RETURN_IF_ERROR(names_.Flush());
  StoreCheckpoint mark;
  mark.generation = manifest_.generation;
  mark.tokens = manifest_.tokens;
  mark.documents = manifest_.documents;
  mark.name_bytes = manifest_.name_bytes;
  mark.block_bytes = manifest_.block_bytes;
  mark.block_checksum = token_blocks_.checksum();
  mark.ends_bytes = ends_.size();
  mark.name_ends_bytes = name_ends_.size();
  mark.ends_checksum = ends_.checksum();
  mark.name_ends_checksum = name_ends_.checksum();
  mark.names_checksum = names_.checksum();
  return mark;
}

absl::Status StoreBuilder::Save(const StoreCheckpoint& mark) const {
  if (direct_ != nullptr) {
    PONIENTE_RETURN_IF_ERROR(
        direct_->WriteKept(mark.tokens * manifest_.width()));
  }
  PONIENTE_RETURN_IF_ERROR(SyncFd(tokens_.get(), tokens_path_));
  PONIENTE_RETURN_IF_ERROR(checksums_->SyncWritten());
  PONIENTE_RETURN_IF_ERROR(ends_.SyncWritten());
  PONIENTE_RETURN_IF_ERROR(name_ends_.SyncWritten());
  PONIENTE_RETURN_IF_ERROR(names_.SyncWritten());
  const std::string path = CheckpointPath();
  const std::string temporary = path + ".tmp";
  {
    const std::string text = EncodeCheckpoint(mark);
    PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd,
                              OpenFd(temporary, O_WRONLY | O_CREAT | O_TRUNC));
    PONIENTE_RETURN_IF_ERROR(
        WriteAll(fd.get(), temporary, 0, std::as_bytes(std::span(text))));
    PONIENTE_RETURN_IF_ERROR(SyncFd(fd.get(), temporary));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return ErrnoError(path, "rename checkpoint");
  }
  return SyncFolder(ParentOf(path));
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
  PONIENTE_RETURN_IF_ERROR(checksums_->Sync());
  manifest_.fingerprint = ContentFingerprint(manifest_, token_key_.Finish(),
                                             document_key_.Finish());
  return folder_->Commit(manifest_);
}

absl::StatusOr<TokenStoreFacts> StoreBuilder::Finish() {
  const absl::Status written = WriteAndCommit();
  // Frees the space after an error, and releases the lock in all cases.
  tokens_ = OwnedFd();
  direct_.reset();
  checksums_.reset();
  folder_.reset();
  PONIENTE_RETURN_IF_ERROR(written);
  TokenStoreFacts facts;
  facts.tokens = manifest_.tokens;
  facts.documents = manifest_.documents;
  facts.token_type = manifest_.token_type;
  facts.fingerprint = manifest_.fingerprint;
  facts.bytes = EncodeManifest(manifest_).size();
  for (const StoreFile file : kStoreFiles)
    facts.bytes += manifest_.FileBytes(file);
  return facts;
}

}  // namespace poniente::internal
