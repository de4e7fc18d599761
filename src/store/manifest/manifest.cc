// SPDX-License-Identifier: Apache-2.0
#include "store/manifest/manifest.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/rounding.h"
#include "util/status_macros.h"
#include "util/utf8.h"

namespace poniente::internal {
std::string_view StoreFileKind(StoreFile file) {
  switch (file) {
    case StoreFile::kTokens:
      return "tokens";
    case StoreFile::kDocuments:
      return "documents";
    case StoreFile::kChecksums:
      return "checksums";
    case StoreFile::kLossMask:
      return "loss_mask";
  }
  return "";
}

std::optional<StoreFile> StoreFileNamed(std::string_view name) {
  if (!name.ends_with(".bin")) return std::nullopt;
  for (const StoreFile file : kStoreFiles) {
    const std::string_view kind = StoreFileKind(file);
    if (name.starts_with(kind) && name.substr(kind.size()).starts_with('-')) {
      return file;
    }
  }
  return std::nullopt;
}

std::string StoreFileName(StoreFile file, uint64_t generation) {
  return absl::StrCat(Absl(StoreFileKind(file)), "-", generation, ".bin");
}

std::string StoreFilePath(std::string_view store, StoreFile file,
                          uint64_t generation) {
  return absl::StrCat(Absl(store), "/", Absl(StoreFileKind(file)), "-",
                      generation, ".bin");
}

uint64_t StoreManifest::FileBytes(StoreFile file) const {
  switch (file) {
    case StoreFile::kTokens:
      return RoundUp(tokens * width(), kAlignment);
    case StoreFile::kDocuments:
      return RoundUp(16 * documents + name_bytes, kAlignment);
    case StoreFile::kChecksums:
      return 4 *
             (NumBlocks(StoreFile::kTokens) + NumBlocks(StoreFile::kDocuments) +
              NumBlocks(StoreFile::kLossMask));
    case StoreFile::kLossMask:
      return has_loss_mask ? RoundUp((tokens + 7) / 8, kAlignment) : 0;
  }
  return 0;
}

uint64_t StoreManifest::NumBlocks(StoreFile file) const {
  return RoundUp(FileBytes(file), block_bytes) / block_bytes;
}

absl::Status CheckVocabulary(const Vocabulary& vocabulary, TokenType type,
                             std::optional<uint32_t> end_of_document) {
  if (vocabulary.tokenizer.empty() || !IsUtf8(vocabulary.tokenizer) ||
      vocabulary.tokenizer.size() > 1024) {
    return absl::InvalidArgumentError(
        "the name of the tokenizer must be 1 to 1024 bytes of UTF-8");
  }
  if (vocabulary.size < 1 || vocabulary.size > uint64_t{1} << 32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "vocabulary size must be 1 to 2^32, got ", vocabulary.size));
  }
  if (type != TokenType::kU8 && type != TokenType::kU16 &&
      type != TokenType::kU32) {
    return absl::InvalidArgumentError(
        absl::StrCat("a store holds ids as u8, u16 or u32, not as ",
                     Absl(TokenTypeName(type))));
  }
  if (vocabulary.size - 1 > MaxTokenId(type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "token type ", Absl(TokenTypeName(type)), " holds ids up to ",
        MaxTokenId(type), ", the vocabulary has ", vocabulary.size));
  }
  if (end_of_document && *end_of_document >= vocabulary.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("end-of-document id ", *end_of_document,
                     " is not below the vocabulary size ", vocabulary.size));
  }
  return absl::OkStatus();
}

absl::Status CheckBlockBytes(uint64_t block_bytes) {
  if (std::has_single_bit(block_bytes) && block_bytes >= kMinBlockBytes &&
      block_bytes <= kMaxBlockBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("block_bytes must be a power of two from ", kMinBlockBytes,
                   " to ", kMaxBlockBytes, ", got ", block_bytes));
}

absl::Status CheckLibrary(std::string_view library) {
  if (library.size() <= kMaxLibraryBytes && IsUtf8(library)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the name of the tokenizer's library must be at most ",
                   kMaxLibraryBytes, " bytes of UTF-8"));
}

TokenizerModel ModelToRecord(std::string path, uint32_t crc32c) {
  if (path.size() > kMaxModelPathBytes || !IsUtf8(path)) path.clear();
  return {std::move(path), crc32c};
}

absl::Status CheckManifest(const StoreManifest& manifest) {
  if (manifest.generation == 0 || manifest.tokens > kMaxTokens ||
      manifest.documents > kMaxDocuments ||
      manifest.name_bytes > kMaxNameBytes) {
    return absl::InvalidArgumentError("a number is out of its range");
  }
  PONIENTE_RETURN_IF_ERROR(CheckVocabulary(
      manifest.vocabulary, manifest.token_type, manifest.end_of_document));
  PONIENTE_RETURN_IF_ERROR(CheckBlockBytes(manifest.block_bytes));
  PONIENTE_RETURN_IF_ERROR(CheckLibrary(manifest.tokenizer_library));
  if (manifest.tokenizer_model &&
      manifest.tokenizer_model->path.size() > kMaxModelPathBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path of the tokenizer's model has more than ",
                     kMaxModelPathBytes, " bytes"));
  }
  if (manifest.documents == 0 && manifest.tokens + manifest.name_bytes > 0) {
    return absl::InvalidArgumentError(
        "it has tokens or names, but no documents");
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal
