// SPDX-License-Identifier: Apache-2.0
// Reads the token files of dolma and OLMo. They are called .npy, but contain
// only ids, without NumPy's header. Beside each lies a table of its documents
// (dolma_rows.h). No file states the type of its ids. The type follows from the
// size of the file and the end of the last document, except in two cases: a
// dolma writer that was killed leaves zeros after the last document, and OLMo's
// tables leave out a last document that never ended.
//
// By default, OLMo-core cuts windows from each file separately and drops its
// tail.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/core/file_arrays.h"
#include "formats/core/found_path.h"
#include "formats/core/input_bytes.h"
#include "formats/core/token_format.h"
#include "formats/dolma/dolma_documents.h"
#include "formats/dolma/dolma_rows.h"
#include "store/selection_files/npy.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Most memory for the lengths of documents, in addition to a fifth of the size
// of the files. Lengths are held twice while they are joined.
constexpr uint64_t kMaxLengthsBytes = uint64_t{12} << 20;
// To decide whether the bytes after the last document are zeros, this many
// bytes are checked at both ends.
constexpr uint64_t kTailLookBytes = 65536;
// Most bytes of all files together, so that no sum overflows.
constexpr uint64_t kMaxDolmaBytes = uint64_t{1} << 62;
// Most files that are examined to recognise a folder.
constexpr size_t kMaxShardsLookedAt = 8;

struct DolmaShard {
  std::string path;
  std::string table_path;
  uint64_t bytes = 0;
  uint64_t table_bytes = 0;
  DolmaTable table;

  uint64_t end() const { return table.lengths.total(); }
  // Returns the type with which the file ends exactly with its last document;
  // nullopt if there is none.
  std::optional<StoredType> ExactType() const {
    if (end() == 0 || bytes % end() != 0) return std::nullopt;
    switch (bytes / end()) {
      case 1:
        return StoredType::kU8;
      case 2:
        return StoredType::kU16;
      case 4:
        return StoredType::kU32;
      case 8:
        return StoredType::kU64;
    }
    return std::nullopt;
  }
};

bool HasHeader(std::span<const std::byte> head) {
  return IsNpy(head) || BeginsWith(head, "PK\3\4");
}

// Returns whether a file may be a table: it begins as gzip or with a number, or
// it is empty, as a killed writer leaves it.
bool IsTable(const std::string& path) {
  const absl::StatusOr<FileBytes> file = FileBytes::Open(path);
  if (!file.ok()) return false;
  const auto head = ReadHead(*file, 2);
  if (!head.ok() || head->empty()) return head.ok();
  const auto first = std::to_integer<unsigned char>((*head)[0]);
  return (first >= '0' && first <= '9') || first == '"' ||
         (head->size() == 2 && first == 0x1f && (*head)[1] == std::byte{0x8b});
}

// Returns the table beside a file, if there is one.
std::optional<std::string> TableOf(std::string_view path) {
  if (!HasSuffix(path, ".npy")) return std::nullopt;
  path.remove_suffix(4);
  for (const std::string_view suffix : {".csv.gz", ".csv"}) {
    std::string table = absl::StrCat(Absl(path), Absl(suffix));
    if (IsTable(table)) return table;
  }
  return std::nullopt;
}

bool RecognizesDolma(const FoundPath& found) {
  if (!found.is_folder) {
    return !HasHeader(found.head) && TableOf(found.path).has_value();
  }
  size_t looked_at = 0;
  const std::vector<std::string> names = found.Chosen("*.npy");
  for (const std::string& name : names) {
    const absl::StatusOr<FileBytes> file = FileBytes::Open(found.Below(name));
    const auto head =
        file.ok() ? ReadHead(*file, kNpyPrefixBytes)
                  : absl::StatusOr<std::vector<std::byte>>(file.status());
    if (head.ok() && !HasHeader(*head) && TableOf(found.Below(name))) {
      return true;
    }
    if (++looked_at == kMaxShardsLookedAt) return false;
  }
  return false;
}

absl::StatusOr<DolmaShard> OpenDolmaShard(const std::string& path,
                                          uint64_t most_memory) {
  DolmaShard shard;
  shard.path = path;
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Open(path));
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                            ReadHead(file, kNpyPrefixBytes));
  if (HasHeader(head)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' begins with ", IsNpy(head) ? "NumPy's" : "an archive's",
        " header, which dolma does not write; state the format npy"));
  }
  const std::optional<std::string> table = TableOf(path);
  if (!table.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path,
        "' has no table of its documents (.csv.gz) beside it; "
        "choose files that have one by a pattern (glob), or state the format "
        "raw and a dtype"));
  }
  shard.table_path = *table;
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes rows, FileBytes::Open(*table));
  shard.bytes = file.size();
  shard.table_bytes = rows.size();
  PONIENTE_ASSIGN_OR_RETURN(
      shard.table,
      ReadDolmaTable(rows, file.size(),
                     most_memory + (file.size() + rows.size()) / 5));
  return shard;
}

absl::StatusOr<std::vector<DolmaShard>> OpenDolmaShards(
    const FoundPath& found, const std::string& glob) {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                            ArrayPaths(found, glob));
  std::vector<DolmaShard> shards;
  uint64_t bytes = 0;
  uint64_t memory = 0;
  for (const std::string& path : paths) {
    PONIENTE_ASSIGN_OR_RETURN(
        DolmaShard shard,
        OpenDolmaShard(path,
                       kMaxLengthsBytes - std::min(memory, kMaxLengthsBytes)));
    if (shard.bytes > kMaxDolmaBytes - bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path, "' has ", shard.bytes, " bytes, the files before it ",
          bytes, ": too many; choose some by a pattern (glob)"));
    }
    bytes += shard.bytes;
    memory += shard.table.lengths.memory_bytes();
    shards.push_back(std::move(shard));
  }
  return shards;
}

absl::Status OtherType(const DolmaShard& shard, StoredType type,
                       std::string_view other, StoredType expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", shard.path, "' has ", shard.bytes, " bytes for ", shard.end(),
      " tokens, so it holds ", Absl(StoredTypeName(type)), "; ", Absl(other),
      " ", Absl(StoredTypeName(expected)),
      "; state the dtype right, or choose files of one type by a pattern "
      "(glob)"));
}

// Returns the type that is stated, or that follows from files that end exactly
// with their last document. InvalidArgument if these contradict each other, or
// if nothing shows the type.
absl::StatusOr<StoredType> FindDolmaType(const std::vector<DolmaShard>& shards,
                                         std::optional<StoredType> stated) {
  std::optional<StoredType> type = stated;
  for (const DolmaShard& shard : shards) {
    const std::optional<StoredType> exact = shard.ExactType();
    if (!exact.has_value()) continue;
    if (!type.has_value()) type = exact;
    if (StoredTypeBytes(*exact) == StoredTypeBytes(*type)) continue;
    return OtherType(shard, *exact,
                     stated.has_value() ? "stated was" : "others hold", *type);
  }
  if (type.has_value()) return *type;
  for (const DolmaShard& shard : shards) {
    if (shard.bytes == 0 && shard.end() == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", shard.path, "' has ", shard.bytes,
        " bytes, and the last document "
        "of '",
        shard.table_path, "' ends at token ", shard.end(),
        ": that does not tell the type of its ids; state the dtype"));
  }
  return StoredType::kU16;  // no tokens at all
}

absl::StatusOr<bool> IsZeros(const std::string& path, uint64_t begin,
                             uint64_t end) {
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Open(path));
  std::vector<std::byte> look(std::min(kTailLookBytes, end - begin));
  for (const uint64_t at : {begin, end - look.size()}) {
    PONIENTE_RETURN_IF_ERROR(file.ReadAt(at, look));
    for (const std::byte b : look) {
      if (b != std::byte{0}) return false;
    }
  }
  return true;
}

// Returns the number of the shard's tokens. Tokens after the last document are
// left out, with a warning. But if the table has no names, it is OLMo's, which
// leaves out a document that never ended: they are then appended to `lengths`
// as a document.
absl::StatusOr<uint64_t> FindTokens(const DolmaShard& shard, StoredType type,
                                    CompactEnds* lengths,
                                    std::vector<std::string>* warnings) {
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t stored,
                            CountWhole(shard.path, shard.bytes, type));
  if (shard.end() > stored) {
    return absl::DataLossError(absl::StrCat(
        "'", shard.table_path, "' line ", shard.table.line,
        ": the document ends at token ", shard.end(), ", '", shard.path,
        "' has ", stored, " of ", Absl(StoredTypeName(type)),
        "; it was cut short, or its dtype is another"));
  }
  if (shard.end() == stored) return stored;
  const uint64_t begin = shard.end() * StoredTypeBytes(type);
  PONIENTE_ASSIGN_OR_RETURN(const bool is_zeros,
                            IsZeros(shard.path, begin, shard.bytes));
  const std::string what = absl::StrCat("'", shard.path, "' has ", stored,
                                        " tokens, the last document of its "
                                        "table ends at ",
                                        shard.end());
  if (is_zeros) {
    warnings->push_back(absl::StrCat(
        what,
        ": zeros follow, as a killed writer leaves them; they were left "
        "out"));
  } else if (shard.table.has_names) {
    warnings->push_back(absl::StrCat(
        what,
        ": what follows is in no document, as a killed writer leaves it; "
        "it was left out"));
  } else {
    warnings->push_back(absl::StrCat(
        what, ": what follows is a document that never ended, read as one"));
    lengths->Append(stored - shard.end());
    return stored;
  }
  return shard.end();
}

absl::StatusOr<TokenLayout> OpenDolma(const FoundPath& found,
                                      const TokenSourceOptions& options) {
  TokenLayout layout;
  layout.windows.across_shards = false;
  PONIENTE_ASSIGN_OR_RETURN(
      std::vector<DolmaShard> shards,
      OpenDolmaShards(found, options.glob.empty() ? "*.npy" : options.glob));
  PONIENTE_ASSIGN_OR_RETURN(layout.type, FindDolmaType(shards, options.dtype));
  CompactEnds lengths;
  std::vector<DolmaDocuments::Table> tables;
  for (DolmaShard& shard : shards) {
    const uint64_t rows = shard.table.lengths.size();
    tables.push_back(
        {shard.table_path, lengths.size(), rows, shard.table.has_names});
    for (uint64_t row = 0; row < rows; ++row) {
      lengths.Append(shard.table.lengths.Length(row));
    }
    PONIENTE_ASSIGN_OR_RETURN(
        const uint64_t tokens,
        FindTokens(shard, layout.type, &lengths, &layout.warnings));
    layout.shards.push_back(
        {tokens, static_cast<uint32_t>(layout.files.size()), 0});
    layout.bytes += shard.bytes + shard.table_bytes;
    layout.files.push_back(std::move(shard.path));
    shard.table.lengths = CompactEnds();
  }
  layout.documents =
      std::make_shared<DolmaDocuments>(std::move(lengths), std::move(tables));
  return layout;
}

}  // namespace

const TokenFormat kDolmaFormat = {
    "dolma", "token files of dolma or OLMo (.npy without a header, .csv.gz)",
    RecognizesDolma, OpenDolma};

}  // namespace poniente::internal
