// SPDX-License-Identifier: Apache-2.0
// What is written, in what order: see docs/token_store_format.md for the bytes
// and store_folder.cc for how they become visible. Tokens and their checksums
// go to their files at once; document ends and names wait in spill buffers,
// because they lie one after the other in the documents file.
#include "poniente/token_store_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/content_hash.h"
#include "store/file_writer.h"
#include "store/manifest.h"
#include "store/spill_buffer.h"
#include "store/store_folder.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::BlockHasher;
using internal::FileKey;
using internal::FileWriter;
using internal::SpillBuffer;
using internal::StoreFile;
using internal::StoreFolder;
using internal::StoreManifest;

TokenType NarrowestType(uint64_t vocabulary_size) {
  if (vocabulary_size <= uint64_t{1} << 8) return TokenType::kU8;
  if (vocabulary_size <= uint64_t{1} << 16) return TokenType::kU16;
  return TokenType::kU32;
}

template <class Stored, class Id>
void Narrow(std::span<const Id> ids, std::byte* to) {
  for (size_t i = 0; i < ids.size(); ++i) {
    internal::StoreLittle(static_cast<Stored>(ids[i]), to + i * sizeof(Stored));
  }
}

template <class Id>
void Encode(std::span<const Id> ids, uint32_t width, std::byte* to) {
  if (width == 1) return Narrow<uint8_t>(ids, to);
  if (width == 2) return Narrow<uint16_t>(ids, to);
  return Narrow<uint32_t>(ids, to);
}

}  // namespace

class TokenStoreWriter::Impl {
 public:
  Impl(std::unique_ptr<StoreFolder> folder, StoreManifest manifest)
      : folder_(std::move(folder)),
        manifest_(std::move(manifest)),
        token_blocks_(manifest_.block_bytes,
                      [this](uint32_t c) { return AddChecksum(c); }),
        document_blocks_(manifest_.block_bytes,
                         [this](uint32_t c) { return AddChecksum(c); }),
        ends_(folder_->ScratchPath("ends")),
        name_ends_(folder_->ScratchPath("name-ends")),
        names_(folder_->ScratchPath("names")) {}

  absl::Status OpenFiles();
  absl::Status Begin(std::string_view name);
  template <class Id>
  absl::Status Append(std::span<const Id> ids);
  absl::Status End();
  absl::StatusOr<TokenStoreFacts> Finish();

  // Ok if a document is open, or none is, as wanted.
  absl::Status CheckTurn(bool want_open, const char* call) const;
  template <class Id>
  absl::Status CheckIds(std::span<const Id> ids) const;

 private:
  // Remembers an error: what is on the disk is of no use any more.
  absl::Status Keep(absl::Status status);
  absl::Status AddChecksum(uint32_t checksum);
  template <class Id>
  absl::Status WriteIds(std::span<const Id> ids);
  absl::Status WriteBegin(std::string_view name);
  absl::Status WriteDocuments();
  absl::Status WriteAndCommit();

  std::unique_ptr<StoreFolder> folder_;
  StoreManifest manifest_;
  BlockHasher token_blocks_;
  BlockHasher document_blocks_;
  FileKey token_key_;
  FileKey document_key_;
  std::unique_ptr<FileWriter> tokens_;
  std::unique_ptr<FileWriter> checksums_;
  SpillBuffer ends_;
  SpillBuffer name_ends_;
  SpillBuffer names_;
  bool in_document_ = false;
  uint64_t document_begin_ = 0;
  bool finished_ = false;
  absl::Status broken_;
};

absl::Status TokenStoreWriter::Impl::OpenFiles() {
  PONIENTE_ASSIGN_OR_RETURN(
      checksums_,
      FileWriter::Create(folder_->PathOf(StoreFile::kChecksums),
                         [this](std::span<const std::byte> bytes) {
                           manifest_.checksums_crc32c = internal::ExtendCrc32c(
                               manifest_.checksums_crc32c, bytes);
                           return absl::OkStatus();
                         }));
  PONIENTE_ASSIGN_OR_RETURN(
      tokens_,
      FileWriter::Create(folder_->PathOf(StoreFile::kTokens),
                         [this](std::span<const std::byte> bytes) {
                           PONIENTE_RETURN_IF_ERROR(token_key_.Add(bytes));
                           return token_blocks_.Add(bytes);
                         }));
  return absl::OkStatus();
}

absl::Status TokenStoreWriter::Impl::Keep(absl::Status status) {
  if (!status.ok()) broken_ = status;
  return status;
}

absl::Status TokenStoreWriter::Impl::AddChecksum(uint32_t checksum) {
  std::array<std::byte, 4> bytes;
  internal::StoreLittle(checksum, bytes.data());
  return checksums_->Append(bytes);
}

absl::Status TokenStoreWriter::Impl::CheckTurn(bool want_open,
                                               const char* call) const {
  PONIENTE_RETURN_IF_ERROR(broken_);
  if (finished_) {
    return absl::FailedPreconditionError(absl::StrCat(
        call, " after Finish: this writer's store is complete; make another"));
  }
  if (in_document_ == want_open) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(call, want_open ? " without BeginDocument"
                                   : " while a document is open; call "
                                     "EndDocument first"));
}

template <class Id>
absl::Status TokenStoreWriter::Impl::CheckIds(std::span<const Id> ids) const {
  const uint64_t size = manifest_.vocabulary.size;
  if (size > std::numeric_limits<Id>::max()) return absl::OkStatus();
  Id greatest = 0;
  for (const Id id : ids) greatest = std::max(greatest, id);
  if (greatest < size) return absl::OkStatus();
  const auto bad = std::find_if(ids.begin(), ids.end(),
                                [size](Id id) { return id >= size; });
  const uint64_t place =
      (in_document_ ? manifest_.tokens - document_begin_ : 0) +
      static_cast<uint64_t>(bad - ids.begin());
  return absl::InvalidArgumentError(
      absl::StrCat("token ", place, " of document ", manifest_.documents,
                   " is id ", uint64_t{*bad}, ", the vocabulary '",
                   manifest_.vocabulary.tokenizer, "' has ids below ", size));
}

absl::Status TokenStoreWriter::Impl::Begin(std::string_view name) {
  PONIENTE_RETURN_IF_ERROR(Keep(WriteBegin(name)));
  in_document_ = true;
  document_begin_ = manifest_.tokens;
  return absl::OkStatus();
}

absl::Status TokenStoreWriter::Impl::WriteBegin(std::string_view name) {
  manifest_.name_bytes += name.size();
  std::array<std::byte, 8> end;
  internal::StoreLittle(manifest_.name_bytes, end.data());
  PONIENTE_RETURN_IF_ERROR(name_ends_.Append(end));
  return names_.Append(std::as_bytes(std::span(name)));
}

template <class Id>
absl::Status TokenStoreWriter::Impl::Append(std::span<const Id> ids) {
  return Keep(WriteIds(ids));
}

template <class Id>
absl::Status TokenStoreWriter::Impl::WriteIds(std::span<const Id> ids) {
  const uint32_t width = manifest_.width();
  while (!ids.empty()) {
    const std::span<std::byte> room = tokens_->room();
    const size_t count = std::min(ids.size(), room.size() / width);
    Encode(ids.first(count), width, room.data());
    PONIENTE_RETURN_IF_ERROR(tokens_->Advance(count * width));
    manifest_.tokens += count;
    ids = ids.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status TokenStoreWriter::Impl::End() {
  std::array<std::byte, 8> end;
  internal::StoreLittle(manifest_.tokens, end.data());
  PONIENTE_RETURN_IF_ERROR(Keep(ends_.Append(end)));
  ++manifest_.documents;
  in_document_ = false;
  return absl::OkStatus();
}

absl::Status TokenStoreWriter::Impl::WriteDocuments() {
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
  PONIENTE_RETURN_IF_ERROR(file->Pad(internal::kAlignment));
  PONIENTE_RETURN_IF_ERROR(file->Sync());
  return document_blocks_.Finish();
}

absl::Status TokenStoreWriter::Impl::WriteAndCommit() {
  PONIENTE_RETURN_IF_ERROR(tokens_->Pad(internal::kAlignment));
  PONIENTE_RETURN_IF_ERROR(tokens_->Sync());
  PONIENTE_RETURN_IF_ERROR(token_blocks_.Finish());
  PONIENTE_RETURN_IF_ERROR(WriteDocuments());
  PONIENTE_RETURN_IF_ERROR(checksums_->Sync());
  manifest_.fingerprint = internal::ContentFingerprint(
      manifest_, token_key_.Finish(), document_key_.Finish());
  return folder_->Commit(manifest_);
}

absl::StatusOr<TokenStoreFacts> TokenStoreWriter::Impl::Finish() {
  const absl::Status written = Keep(WriteAndCommit());
  // Gives the space back after an error, and the lock in any case.
  tokens_.reset();
  checksums_.reset();
  folder_.reset();
  PONIENTE_RETURN_IF_ERROR(written);
  finished_ = true;
  TokenStoreFacts facts;
  facts.tokens = manifest_.tokens;
  facts.documents = manifest_.documents;
  facts.token_type = manifest_.token_type;
  facts.fingerprint = manifest_.fingerprint;
  facts.bytes = internal::EncodeManifest(manifest_).size();
  for (const StoreFile file : internal::kStoreFiles) {
    facts.bytes += manifest_.FileBytes(file);
  }
  return facts;
}

absl::StatusOr<std::unique_ptr<TokenStoreWriter>> TokenStoreWriter::Create(
    const std::string& path, const TokenStoreWriterOptions& options) {
  StoreManifest manifest;
  manifest.vocabulary = options.vocabulary;
  manifest.token_type =
      options.token_type.value_or(NarrowestType(options.vocabulary.size));
  manifest.end_of_document = options.end_of_document;
  manifest.block_bytes = options.block_bytes;
  absl::Status usable = internal::CheckVocabulary(
      manifest.vocabulary, manifest.token_type, manifest.end_of_document);
  if (usable.ok()) usable = internal::CheckBlockBytes(manifest.block_bytes);
  if (!usable.ok()) {
    return internal::Prepend(usable, absl::StrCat("token store '", path, "'"));
  }
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<StoreFolder> folder,
                            StoreFolder::Lock(path));
  manifest.generation = folder->generation();
  auto impl = std::make_unique<Impl>(std::move(folder), std::move(manifest));
  PONIENTE_RETURN_IF_ERROR(impl->OpenFiles());
  return std::unique_ptr<TokenStoreWriter>(
      new TokenStoreWriter(std::move(impl)));
}

TokenStoreWriter::TokenStoreWriter(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

TokenStoreWriter::~TokenStoreWriter() = default;

absl::Status TokenStoreWriter::AddDocument(std::span<const uint32_t> ids,
                                           std::string_view name) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "AddDocument"));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(ids));
  PONIENTE_RETURN_IF_ERROR(impl_->Begin(name));
  PONIENTE_RETURN_IF_ERROR(impl_->Append(ids));
  return impl_->End();
}

absl::Status TokenStoreWriter::BeginDocument(std::string_view name) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "BeginDocument"));
  return impl_->Begin(name);
}

absl::Status TokenStoreWriter::Append(std::span<const uint32_t> ids) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(true, "Append"));
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(ids));
  return impl_->Append(ids);
}

absl::Status TokenStoreWriter::AppendBytes(std::string_view ids) {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(true, "AppendBytes"));
  const std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t*>(ids.data()), ids.size());
  PONIENTE_RETURN_IF_ERROR(impl_->CheckIds(bytes));
  return impl_->Append(bytes);
}

absl::Status TokenStoreWriter::EndDocument() {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(true, "EndDocument"));
  return impl_->End();
}

absl::StatusOr<TokenStoreFacts> TokenStoreWriter::Finish() {
  PONIENTE_RETURN_IF_ERROR(impl_->CheckTurn(false, "Finish"));
  return impl_->Finish();
}

}  // namespace poniente
