// SPDX-License-Identifier: Apache-2.0
// Reads litdata's chunks of tokens (docs/formats.md). Each item is a document.

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/json_index.h"
#include "formats/core/token_format.h"
#include "formats/core/whole_file_blocks.h"
#include "formats/core/zstd_block.h"
#include "formats/litdata/litdata_index.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Largest header of a zstd frame.
constexpr uint64_t kFrameHeadBytes = 18;

class ItemTable final : public DocumentTable {
 public:
  struct Chunk {
    std::string name;
    uint64_t first_item = 0;
  };

  ItemTable(CompactEnds ends, std::vector<Chunk> chunks)
      : DocumentTable(std::move(ends)), chunks_(std::move(chunks)) {}

  absl::StatusOr<std::string> Name(uint64_t document) const override {
    const auto after = std::upper_bound(
        chunks_.begin(), chunks_.end(), document,
        [](uint64_t at, const Chunk& chunk) { return at < chunk.first_item; });
    const Chunk& chunk = *(after - 1);
    return absl::StrCat(chunk.name, " item ", document - chunk.first_item);
  }

 private:
  const std::vector<Chunk> chunks_;
};

// Returns the name of a chunk that was unpacked. litdata removes ".zstd" from
// it.
std::string UnpackedName(const LitdataIndex& index, const std::string& name) {
  const std::string part = absl::StrCat(".", index.compression);
  const size_t at = index.compression.empty() ? name.npos : name.find(part);
  if (at == name.npos) return name;
  return name.substr(0, at) + name.substr(at + part.size());
}

// Returns the size of a chunk before it was compressed.
absl::StatusOr<uint64_t> DecodedBytes(const FileBytes& file,
                                      const LitdataIndex& index,
                                      const LitdataChunk& chunk) {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                            ReadHead(file, kFrameHeadBytes));
  const std::optional<uint64_t> said = ZstdDecodedBytes(head);
  if (said) return *said;
  if (!chunk.tokens || chunk.items > UINT32_MAX ||
      *chunk.tokens > kMaxWholeBlockBytes) {
    return absl::DataLossError(absl::StrCat(
        "'", file.path(), "' is no frame of zstd, or one that does not say ",
        "its size; copy it again, or unpack it"));
  }
  return LitdataHeadBytes(chunk.items) +
         *chunk.tokens * StoredTypeBytes(index.type);
}

absl::StatusOr<LitdataItems> AddChunk(const std::string& folder,
                                      const LitdataIndex& index,
                                      const LitdataChunk& chunk,
                                      WholeFile* whole, CompactEnds* ends) {
  const std::string unpacked = UnpackedName(index, chunk.name);
  PONIENTE_ASSIGN_OR_RETURN(whole->path, BelowFolder(folder, unpacked));
  const absl::StatusOr<FileBytes> raw = FileBytes::Open(whole->path);
  if (raw.ok()) {
    whole->stored_bytes = whole->decoded_bytes = raw->size();
    return AppendLitdataItems(*raw, chunk, index.type, ends);
  }
  if (!absl::IsNotFound(raw.status()) || unpacked == chunk.name) {
    return raw.status();
  }
  PONIENTE_ASSIGN_OR_RETURN(whole->path, BelowFolder(folder, chunk.name));
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes zip, FileBytes::Open(whole->path));
  PONIENTE_RETURN_IF_ERROR(CheckZstd(whole->path));
  PONIENTE_ASSIGN_OR_RETURN(whole->decoded_bytes,
                            DecodedBytes(zip, index, chunk));
  whole->stored_bytes = zip.size();
  whole->compressed = true;
  PONIENTE_RETURN_IF_ERROR(CheckBlockBytes(*whole));
  PONIENTE_ASSIGN_OR_RETURN(const std::unique_ptr<InputBytes> decoded,
                            OpenZstdBytes(zip, whole->decoded_bytes));
  return AppendLitdataItems(*decoded, chunk, index.type, ends);
}

absl::Status DecodeInBlocks(std::vector<WholeFile> files, TokenLayout* layout) {
  for (const WholeFile& file : files) {
    PONIENTE_RETURN_IF_ERROR(CheckBlockBytes(file));
  }
  layout->decoder =
      std::make_shared<WholeFileBlocks>(std::move(files), nullptr);
  return absl::OkStatus();
}

bool IsLitdata(const FoundPath& found) {
  return IsLitdataIndex(JsonIndexHead(found));
}

absl::StatusOr<TokenLayout> OpenLitdata(const FoundPath& found,
                                        const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const JsonIndex json, ReadJsonIndex(found));
  PONIENTE_ASSIGN_OR_RETURN(const LitdataIndex index,
                            ParseLitdataIndex(json.path, json.text));
  if (options.dtype && *options.dtype != index.type) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", json.path, "' says its chunks hold ",
        Absl(StoredTypeName(index.type)), ", stated was ",
        Absl(StoredTypeName(*options.dtype)), "; leave out the dtype"));
  }
  TokenLayout layout;
  layout.format = kLitdataFormat.name;
  layout.type = index.type;
  layout.bytes = json.text.size();
  layout.windows.across_shards = false;
  CompactEnds ends;
  std::vector<ItemTable::Chunk> chunks;
  std::vector<WholeFile> files;
  bool known = true;
  bool compressed = false;
  for (const LitdataChunk& chunk : index.chunks) {
    WholeFile& file = files.emplace_back();
    chunks.push_back({chunk.name, ends.size()});
    PONIENTE_ASSIGN_OR_RETURN(
        const LitdataItems items,
        AddChunk(json.folder, index, chunk, &file, &ends));
    if (!items.known && known) {
      layout.warnings.push_back(absl::StrCat(
          "'", file.path, "' has an item of 4 GiB or more, which ",
          "its 32-bit offsets cannot say: documents are not known"));
    }
    known = known && items.known;
    compressed = compressed || file.compressed;
    layout.shards.push_back({items.tokens,
                             static_cast<uint32_t>(layout.files.size()),
                             LitdataHeadBytes(chunk.items)});
    layout.files.push_back(file.path);
    layout.bytes += file.stored_bytes;
  }
  if (known) {
    layout.documents =
        std::make_shared<ItemTable>(std::move(ends), std::move(chunks));
  }
  if (compressed) {
    PONIENTE_RETURN_IF_ERROR(DecodeInBlocks(std::move(files), &layout));
  }
  return layout;
}

}  // namespace

constinit const TokenFormat kLitdataFormat = {
    "litdata", "litdata's chunks of tokens and their index.json", IsLitdata,
    OpenLitdata};

}  // namespace poniente::internal
