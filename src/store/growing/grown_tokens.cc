// SPDX-License-Identifier: Apache-2.0
#include "store/growing/grown_tokens.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "io/block_checksums.h"
#include "store/manifest/store_folder.h"
#include "store/posix_file.h"
#include "store/read/stored_ids.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/rounding.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Files of the reader.
constexpr uint32_t kTokensFile = 0;
constexpr uint32_t kChecksumsFile = 1;

}  // namespace

absl::StatusOr<FileNumber> ReadFileNumber(const std::string& path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0) return ErrnoError(path, "stat");
  return FileNumber{facts.st_dev, facts.st_ino};
}

// The blocks that a range of tokens lies in, and where they are read to.
struct GrownTokens::Part {
  uint64_t first_block = 0;
  uint64_t num_blocks = 0;  // whole ones
  uint64_t begin = 0;       // bytes of the file
  uint64_t end = 0;
  uint64_t at = 0;        // in the buffer of bytes
  uint64_t checksum = 0;  // number of the first in the buffer of checksums
};

absl::StatusOr<std::shared_ptr<const GrownTokens>> GrownTokens::Open(
    const std::string& path, const StoreManifest& growth,
    const ByteReaderOptions& io, std::shared_ptr<BeginFingerprints> begins) {
  std::shared_ptr<GrownTokens> made(
      new GrownTokens(path, growth, std::move(begins)));
  PONIENTE_RETURN_IF_ERROR(made->OpenFiles(io));
  return std::shared_ptr<const GrownTokens>(std::move(made));
}

std::string GrownTokens::ScratchPath(std::string_view what) const {
  return absl::StrCat(path_, "/", kScratchPrefix, Absl(what));
}

absl::Status GrownTokens::OpenFiles(const ByteReaderOptions& io) {
  const std::string tokens =
      StoreFilePath(path_, StoreFile::kTokens, growth_.generation);
  const std::string checksums =
      StoreFilePath(path_, StoreFile::kChecksums, growth_.generation);
  ByteReaderOptions options = io;
  // A mapping has the size that the file had.
  options.may_map = false;
  if (options.backend == IoBackend::kMmap) options.backend = IoBackend::kAuto;
  PONIENTE_ASSIGN_OR_RETURN(
      reader_,
      ByteReader::Open(std::vector<std::string>{tokens, checksums}, options));
  PONIENTE_ASSIGN_OR_RETURN(tokens_file_, ReadFileNumber(tokens));
  if (growth_.documents == 0) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(SideFile ends, SideFile::Open(ScratchPath("ends")));
  std::array<std::byte, 8> last;
  PONIENTE_RETURN_IF_ERROR(ends.ReadAt(8 * (growth_.documents - 1), last));
  tokens_ = LoadLittle<uint64_t>(last.data());
  if (tokens_ > growth_.tokens) {
    return absl::DataLossError(absl::StrCat(
        "'", ends.path(), "': document ", growth_.documents - 1, " ends at ",
        tokens_, ", but the store has ", growth_.tokens,
        " tokens so far: the file is damaged; pack the store again"));
  }
  StoreManifest whole = growth_;
  whole.tokens = tokens_;
  documents_.emplace(std::move(ends), whole);
  if (growth_.name_bytes == 0) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(name_ends_,
                            SideFile::Open(ScratchPath("name-ends")));
  PONIENTE_ASSIGN_OR_RETURN(names_, SideFile::Open(ScratchPath("names")));
  return absl::OkStatus();
}

uint64_t GrownTokens::num_checked() const {
  return std::min(tokens_,
                  WholeBlocks() * growth_.block_bytes / growth_.width());
}

StoredType GrownTokens::stored_type() const {
  return StoredTypeOf(growth_.token_type);
}

uint64_t GrownTokens::fingerprint() const {
  return Derive(growth_.vocabulary.size, Tag("growing"),
                std::string_view(growth_.vocabulary.tokenizer));
}

std::optional<uint64_t> GrownTokens::BeginFingerprint(uint64_t tokens) const {
  if (tokens > tokens_) return std::nullopt;
  const uint64_t blocks = tokens * growth_.width() / growth_.block_bytes;
  const absl::StatusOr<uint64_t> fingerprint =
      begins_->Of(reader_->path(kChecksumsFile), blocks, growth_.block_bytes);
  if (!fingerprint.ok()) return std::nullopt;
  return *fingerprint;
}

uint64_t GrownTokens::num_bytes() const {
  return growth_.tokens * growth_.width() + 4 * WholeBlocks() +
         16 * growth_.documents + growth_.name_bytes;
}

absl::Status GrownTokens::Verify(const Part& part, const std::byte* bytes,
                                 const std::byte* checksums) const {
  const uint64_t block_bytes = growth_.block_bytes;
  for (uint64_t i = 0; i < part.num_blocks; ++i) {
    const auto stored =
        LoadLittle<uint32_t>(checksums + 4 * (part.checksum + i));
    const uint32_t computed =
        Crc32c(std::span(bytes + part.at + i * block_bytes, block_bytes));
    if (stored == computed) continue;
    const uint64_t block = part.first_block + i;
    return ChecksumMismatch(
        reader_->path(kTokensFile), block, block * block_bytes, block_bytes,
        stored, computed,
        "; the store is damaged while it is written: check the disk, and pack "
        "it again");
  }
  return absl::OkStatus();
}

Task<std::vector<TokenWindow>> GrownTokens::ReadRanges(
    std::vector<TokenRange> ranges) const {
  const bool verifies = reader_->verify_checksums() != VerifyChecksums::kOff;
  const uint64_t width = growth_.width();
  const uint64_t block_bytes = growth_.block_bytes;
  const uint64_t whole_end = WholeBlocks() * block_bytes;
  std::vector<Part> parts(ranges.size());
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    Part& part = parts[i];
    part.begin = ranges[i].begin * width;
    part.end = ranges[i].end * width;
    if (verifies && part.begin < whole_end) {
      part.first_block = part.begin / block_bytes;
      part.begin = part.first_block * block_bytes;
      const uint64_t end = std::min(whole_end, RoundUp(part.end, block_bytes));
      part.num_blocks = (end - part.begin) / block_bytes;
      part.end = std::max(part.end, end);
    }
    part.at = bytes;
    part.checksum = blocks;
    bytes += part.end - part.begin;
    blocks += part.num_blocks;
  }
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const auto checksums =
      std::make_unique_for_overwrite<std::byte[]>(4 * blocks);
  std::vector<ReadRequest> requests;
  requests.reserve(2 * parts.size());
  for (const Part& part : parts) {
    requests.push_back({reader_.get(),
                        kTokensFile,
                        part.begin,
                        {stored.get() + part.at, part.end - part.begin}});
    requests.push_back(
        {reader_.get(),
         kChecksumsFile,
         4 * part.first_block,
         {checksums.get() + 4 * part.checksum, 4 * part.num_blocks}});
  }
  const absl::Status read = co_await ReadBatch(requests);
  if (!read.ok()) co_return read;
  std::vector<TokenWindow> windows(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    absl::Status verified = Verify(parts[i], stored.get(), checksums.get());
    if (!verified.ok()) co_return verified;
    windows[i].tokens.resize(ranges[i].size());
    const std::byte* const from =
        stored.get() + parts[i].at + (ranges[i].begin * width - parts[i].begin);
    // Every value of these types is an id.
    (void)DecodeIds(from, stored_type(), windows[i].tokens);
  }
  co_return windows;
}

absl::Status GrownTokens::NoSuchDocument(uint64_t document) const {
  return absl::OutOfRangeError(absl::StrCat("document ", document, " of '",
                                            path_, "', which has ",
                                            growth_.documents, " so far"));
}

absl::StatusOr<TokenRange> GrownTokens::DocumentRange(uint64_t document) const {
  if (!documents_) return NoSuchDocument(document);
  return documents_->Range(document);
}

absl::Status GrownTokens::DocumentRanges(std::span<const uint64_t> documents,
                                         std::span<TokenRange> ranges) const {
  if (documents.empty()) return absl::OkStatus();
  if (!documents_) return NoSuchDocument(documents[0]);
  return documents_->KeptRanges(documents, ranges);
}

bool GrownTokens::HasRangesInMemory(std::span<const uint64_t> documents) const {
  return documents_ && std::all_of(documents.begin(), documents.end(),
                                   [this](uint64_t document) {
                                     return documents_->IsInMemory(document);
                                   });
}

absl::StatusOr<std::vector<uint64_t>> GrownTokens::DocumentBounds(
    uint64_t first, uint64_t count) const {
  if (documents_) return documents_->Bounds(first, count);
  if (first + count > 0) return NoSuchDocument(first);
  return std::vector<uint64_t>{0};
}

absl::StatusOr<std::string> GrownTokens::DocumentName(uint64_t document) const {
  if (document >= growth_.documents) return NoSuchDocument(document);
  if (!names_) return std::string();
  PONIENTE_ASSIGN_OR_RETURN(
      const std::vector<uint64_t> ends,
      ReadWords(*name_ends_, document == 0 ? 0 : document - 1,
                document == 0 ? 1 : 2));
  const uint64_t begin = document == 0 ? 0 : ends[0];
  if (begin > ends.back() || ends.back() > growth_.name_bytes) {
    return DisorderedEnds(*name_ends_, "name", document, ends.back(), begin,
                          growth_.name_bytes);
  }
  std::string name(ends.back() - begin, '\0');
  PONIENTE_RETURN_IF_ERROR(
      names_->ReadAt(begin, std::as_writable_bytes(std::span(name))));
  return name;
}

absl::StatusOr<uint64_t> GrownTokens::DocumentAt(uint64_t token) const {
  if (documents_) return documents_->At(token);
  return absl::OutOfRangeError(
      absl::StrCat("token ", token, " of '", path_, "', which has none yet"));
}

absl::StatusOr<std::vector<ItemPiece>> GrownTokens::DocumentPieces(
    uint64_t begin, uint64_t end) const {
  if (documents_) return documents_->Pieces(begin, end);
  if (begin == end) return std::vector<ItemPiece>();
  return DocumentAt(begin).status();
}

bool GrownTokens::HasPiecesInMemory(uint64_t begin, uint64_t end) const {
  return documents_ && documents_->HasPiecesInMemory(begin, end);
}

}  // namespace poniente::internal
