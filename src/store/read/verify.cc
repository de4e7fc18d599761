// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/files/open_file.h"
#include "poniente/token_store.h"
#include "store/manifest/content_hash.h"
#include "store/manifest/manifest.h"
#include "store/posix_file.h"
#include "store/read/token_store_access.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::BlockHasher;
using internal::FileKey;
using internal::OpenFile;
using internal::StoreFile;
using internal::StoreManifest;

constexpr char kRemedy[] = "; restore the store from a copy or pack it again";
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

std::string ChecksumHex(uint32_t checksum) {
  return absl::StrCat(absl::Hex(checksum, absl::kZeroPad8));
}

// Reads a file from its beginning to its end.
class StoreScanner {
 public:
  explicit StoreScanner(OpenFile file)
      : file_(std::move(file)), buffer_(kPieceBytes) {}

  const std::string& path() const { return file_.path(); }

  // Returns the next bytes, at most 1 MiB; empty at the end.
  absl::StatusOr<std::span<const std::byte>> Next() {
    const std::span<std::byte> piece = std::span(buffer_).first(
        static_cast<size_t>(std::min(kPieceBytes, file_.size() - at_)));
    PONIENTE_RETURN_IF_ERROR(internal::ReadAll(file_, at_, piece));
    at_ += piece.size();
    return std::span<const std::byte>(piece);
  }

 private:
  const OpenFile file_;
  std::vector<std::byte> buffer_;
  uint64_t at_ = 0;
};

// Reads the stored checksums one after the other.
class StoredChecksums {
 public:
  explicit StoredChecksums(OpenFile file) : scanner_(std::move(file)) {}

  absl::StatusOr<uint32_t> Next() {
    if (rest_.empty()) {
      PONIENTE_ASSIGN_OR_RETURN(rest_, scanner_.Next());
      if (rest_.size() < 4) {
        return absl::DataLossError(
            absl::StrCat("'", scanner_.path(), "' ends early", kRemedy));
      }
    }
    const uint32_t checksum = internal::LoadLittle<uint32_t>(rest_.data());
    rest_ = rest_.subspan(4);
    return checksum;
  }

 private:
  StoreScanner scanner_;
  std::span<const std::byte> rest_;
};

// Checks the ends of consecutive pieces: no end is below the previous one, and
// the last end is the total.
class EndsCheck {
 public:
  EndsCheck(std::string what, uint64_t count, uint64_t total)
      : what_(std::move(what)), count_(count), total_(total) {}

  bool done() const { return seen_ == count_; }

  absl::Status Add(uint64_t end) {
    const uint64_t least = seen_ + 1 == count_ ? total_ : last_;
    if (end < least || end < last_ || end > total_) {
      return absl::DataLossError(
          absl::StrCat(what_, " ", seen_, " ends at ", end, ", expected ",
                       std::max(least, last_), " to ", total_, kRemedy));
    }
    last_ = end;
    ++seen_;
    return absl::OkStatus();
  }

 private:
  const std::string what_;
  const uint64_t count_;
  const uint64_t total_;
  uint64_t seen_ = 0;
  uint64_t last_ = 0;
};

template <class Stored>
absl::Status CheckIds(std::span<const std::byte> bytes, uint64_t first,
                      uint64_t vocabulary_size) {
  if (vocabulary_size > std::numeric_limits<Stored>::max()) {
    return absl::OkStatus();
  }
  for (size_t at = 0; at < bytes.size(); at += sizeof(Stored)) {
    const uint64_t id = internal::LoadLittle<Stored>(bytes.data() + at);
    if (id < vocabulary_size) continue;
    return absl::DataLossError(absl::StrCat(
        "token ", first + at / sizeof(Stored), " is id ", id,
        ", the vocabulary has ids below ", vocabulary_size, kRemedy));
  }
  return absl::OkStatus();
}

class Verification {
 public:
  Verification(const TokenStore& store, const VerifyProgress& progress)
      : store_(store),
        manifest_(internal::TokenStoreAccess::Manifest(store)),
        progress_(progress) {}

  absl::Status Run();

 private:
  using Content = std::function<absl::Status(std::span<const std::byte>)>;

  absl::StatusOr<OpenFile> Open(StoreFile file) const;
  absl::Status CheckChecksumsFile();
  // Checks every block of `file`, and passes its bytes to `content`.
  absl::Status Scan(StoreFile file, StoredChecksums* stored, FileKey* key,
                    const Content& content);
  absl::Status CheckTokens(std::span<const std::byte> bytes);
  absl::Status CheckEnds(std::span<const std::byte> bytes, EndsCheck* ends,
                         EndsCheck* name_ends) const;

  const TokenStore& store_;
  const StoreManifest& manifest_;
  const VerifyProgress& progress_;
  uint64_t done_ = 0;
  uint64_t tokens_seen_ = 0;
};

absl::Status Verification::Run() {
  PONIENTE_RETURN_IF_ERROR(CheckChecksumsFile());
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, Open(StoreFile::kChecksums));
  StoredChecksums stored(std::move(file));
  FileKey tokens_key;
  FileKey documents_key;
  PONIENTE_RETURN_IF_ERROR(Scan(
      StoreFile::kTokens, &stored, &tokens_key,
      [this](std::span<const std::byte> bytes) { return CheckTokens(bytes); }));
  EndsCheck ends("document", manifest_.documents, manifest_.tokens);
  EndsCheck name_ends("name", manifest_.documents, manifest_.name_bytes);
  PONIENTE_RETURN_IF_ERROR(Scan(StoreFile::kDocuments, &stored, &documents_key,
                                [&](std::span<const std::byte> bytes) {
                                  return CheckEnds(bytes, &ends, &name_ends);
                                }));
  FileKey loss_mask_key;
  if (manifest_.has_loss_mask) {
    PONIENTE_RETURN_IF_ERROR(
        Scan(StoreFile::kLossMask, &stored, &loss_mask_key,
             [](std::span<const std::byte>) { return absl::OkStatus(); }));
  }
  const uint64_t computed = internal::ContentFingerprint(
      manifest_, tokens_key.Finish(), documents_key.Finish(),
      loss_mask_key.Finish());
  if (computed == manifest_.fingerprint) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", store_.path(), "': the manifest states fingerprint ",
      absl::Hex(manifest_.fingerprint, absl::kZeroPad16), ", the content has ",
      absl::Hex(computed, absl::kZeroPad16), kRemedy));
}

absl::StatusOr<OpenFile> Verification::Open(StoreFile file) const {
  const std::string path =
      internal::StoreFilePath(store_.path(), file, manifest_.generation);
  absl::StatusOr<OpenFile> opened = OpenFile::Open(path);
  if (absl::IsNotFound(opened.status())) {
    return absl::NotFoundError(absl::StrCat(
        "'", path,
        "' is not there any more: the store was replaced or removed "
        "since it was opened; open it again"));
  }
  if (!opened.ok()) return opened.status();
  if (opened->size() != manifest_.FileBytes(file)) {
    return absl::DataLossError(absl::StrCat(
        "'", path, "' has ", opened->size(), " bytes, its manifest says ",
        manifest_.FileBytes(file), kRemedy));
  }
  return opened;
}

absl::Status Verification::CheckChecksumsFile() {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, Open(StoreFile::kChecksums));
  StoreScanner scanner(std::move(file));
  uint32_t computed = 0;
  while (true) {
    PONIENTE_ASSIGN_OR_RETURN(const auto piece, scanner.Next());
    if (piece.empty()) break;
    computed = internal::ExtendCrc32c(computed, piece);
  }
  if (computed == manifest_.checksums_crc32c) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("'", scanner.path(), "': checksum mismatch: stored ",
                   ChecksumHex(manifest_.checksums_crc32c), ", computed ",
                   ChecksumHex(computed), kRemedy));
}

absl::Status Verification::Scan(StoreFile which, StoredChecksums* stored,
                                FileKey* key, const Content& content) {
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, Open(which));
  StoreScanner scanner(std::move(file));
  uint64_t block = 0;
  BlockHasher blocks(
      manifest_.block_bytes, [&](uint32_t computed) -> absl::Status {
        PONIENTE_ASSIGN_OR_RETURN(const uint32_t expected, stored->Next());
        const uint64_t number = block++;
        if (computed == expected) return absl::OkStatus();
        return absl::DataLossError(absl::StrCat(
            "checksum mismatch in block ", number, " (", manifest_.block_bytes,
            " bytes from byte ", number * manifest_.block_bytes, "): stored ",
            ChecksumHex(expected), ", computed ", ChecksumHex(computed),
            kRemedy));
      });
  const std::string where = absl::StrCat("'", scanner.path(), "'");
  while (true) {
    PONIENTE_ASSIGN_OR_RETURN(const auto piece, scanner.Next());
    absl::Status fine = piece.empty() ? blocks.Finish() : blocks.Add(piece);
    if (fine.ok()) fine = key->Add(piece);
    if (fine.ok()) fine = content(piece);
    if (!fine.ok()) return internal::Prepend(fine, where);
    if (piece.empty()) return absl::OkStatus();
    done_ += piece.size();
    if (progress_) {
      progress_(done_, manifest_.FileBytes(StoreFile::kTokens) +
                           manifest_.FileBytes(StoreFile::kDocuments) +
                           manifest_.FileBytes(StoreFile::kLossMask));
    }
  }
}

absl::Status Verification::CheckTokens(std::span<const std::byte> bytes) {
  const uint32_t width = manifest_.width();
  const uint64_t count =
      std::min<uint64_t>(bytes.size() / width, manifest_.tokens - tokens_seen_);
  const auto ids = bytes.first(static_cast<size_t>(count * width));
  const uint64_t first = std::exchange(tokens_seen_, tokens_seen_ + count);
  const uint64_t size = manifest_.vocabulary.size;
  if (width == 1) return CheckIds<uint8_t>(ids, first, size);
  if (width == 2) return CheckIds<uint16_t>(ids, first, size);
  return CheckIds<uint32_t>(ids, first, size);
}

absl::Status Verification::CheckEnds(std::span<const std::byte> bytes,
                                     EndsCheck* ends,
                                     EndsCheck* name_ends) const {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    EndsCheck* check = ends->done() ? name_ends : ends;
    if (check->done()) break;
    PONIENTE_RETURN_IF_ERROR(
        check->Add(internal::LoadLittle<uint64_t>(bytes.data() + at)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyTokenStore(const TokenStore& store,
                              const VerifyProgress& progress) {
  return Verification(store, progress).Run();
}

absl::Status VerifyTokenStore(const std::string& path,
                              const VerifyProgress& progress) {
  TokenStoreOptions options;
  // The reader of this store is not used, so it needs no ring or checksums.
  options.io.backend = IoBackend::kPread;
  options.io.verify = VerifyChecksums::kOff;
  PONIENTE_ASSIGN_OR_RETURN(const auto store, TokenStore::Open(path, options));
  return VerifyTokenStore(*store, progress);
}

}  // namespace poniente
