// SPDX-License-Identifier: Apache-2.0
// Reads caches of Levanter and Marin. A cache has fields of rows. Each field
// consists of two zarr arrays: `data` has the items end to end, `offsets` the
// ends of the rows.

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/core/found_path.h"
#include "formats/core/input_bytes.h"
#include "formats/core/token_format.h"
#include "formats/levanter/levanter_blocks.h"
#include "formats/levanter/levanter_ledger.h"
#include "formats/levanter/levanter_rows.h"
#include "formats/levanter/zarr_array.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kLedger = "shard_ledger.json";
constexpr std::string_view kUsualField = "input_ids";
constexpr uint64_t kMaxLedgerBytes = uint64_t{512} << 20;
// Most memory for the table of rows, in addition to the size of the files.
constexpr uint64_t kMaxTableBytes = uint64_t{4} << 20;
constexpr int kMaxFieldDepth = 4;
constexpr size_t kMaxListed = 10;

bool IsField(const std::string& folder) {
  return IsRegularFile(folder + "/data/zarr.json") &&
         IsRegularFile(folder + "/offsets/zarr.json");
}

bool IsCache(const std::string& folder) {
  return IsRegularFile(absl::StrCat(folder, "/", Absl(kLedger)));
}

std::string ListedNames(const std::vector<std::string>& names) {
  const size_t some = std::min(names.size(), kMaxListed);
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<ptrdiff_t>(some));
  return OneLine(absl::StrCat("'", absl::StrJoin(first, "', '"), "'",
                              some < names.size() ? ", ..." : ""));
}

// Lists the fields below `folder`, such as "a" or "a/b", except those of other
// caches there.
absl::Status ListFields(const FoundPath& folder, const std::string& prefix,
                        int depth, std::vector<std::string>* fields) {
  for (const std::string& name : folder.folders) {
    const std::string path = folder.Below(name);
    if (IsField(path)) {
      fields->push_back(prefix + name);
    } else if (depth < kMaxFieldDepth && !IsCache(path)) {
      PONIENTE_ASSIGN_OR_RETURN(const FoundPath found, FindPath(path));
      PONIENTE_RETURN_IF_ERROR(ListFields(
          found, absl::StrCat(prefix, name, "/"), depth + 1, fields));
    }
  }
  return absl::OkStatus();
}

// Returns the field that holds ids in a folder of fields.
absl::StatusOr<std::string> ChooseField(const std::string& folder,
                                        const std::string& column) {
  const std::string wanted = column.empty() ? std::string(kUsualField) : column;
  PONIENTE_ASSIGN_OR_RETURN(const std::string path,
                            BelowFolder(folder, wanted));
  if (IsField(path)) return wanted;
  PONIENTE_ASSIGN_OR_RETURN(const FoundPath found, FindPath(folder));
  std::vector<std::string> fields;
  PONIENTE_RETURN_IF_ERROR(ListFields(found, "", 1, &fields));
  if (fields.empty()) {
    return absl::DataLossError(
        absl::StrCat("'", folder,
                     "' has no field: no folder in it has data/zarr.json and "
                     "offsets/zarr.json; restore it from a copy"));
  }
  if (column.empty() && fields.size() == 1) return fields.front();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", folder, "' has no field '", OneLine(wanted),
      "'; state one of its fields (column): ", ListedNames(fields)));
}

absl::StatusOr<bool> ReadChunk(const ZarrArray& array, uint64_t chunk,
                               std::optional<FileBytes>* open,
                               std::span<std::byte> decoded) {
  const ZarrArray::File* file = array.FileOf(chunk);
  if (file == nullptr) return false;
  const StoredChunk stored = array.ChunkIn(*file, chunk);
  if (stored.bytes == 0) return false;
  if (!*open || (*open)->path() != file->path) {
    PONIENTE_ASSIGN_OR_RETURN(FileBytes opened, FileBytes::Open(file->path));
    open->emplace(std::move(opened));
  }
  std::vector<std::byte> bytes(stored.bytes);
  PONIENTE_RETURN_IF_ERROR((*open)->ReadAt(stored.offset, bytes));
  PONIENTE_RETURN_IF_ERROR(
      DecodeChunk(array.metadata(), array.Where(chunk), bytes, decoded));
  return true;
}

// The chunks of ids that are not stored.
struct Unstored {
  uint64_t chunks = 0;
  uint64_t of_chunks = 0;
  std::string first_folder;
};

// Joins fields end to end.
class Assembler {
 public:
  explicit Assembler(const TokenSourceOptions& options) : options_(options) {
    layout_.windows = WindowRule{};
  }

  TokenLayout& layout() { return layout_; }
  uint64_t tokens() const { return blocks_->tokens(); }

  // The counts that the ledger states for a field, as far as it does.
  struct Expected {
    std::optional<uint64_t> rows;
    std::optional<uint64_t> tokens;
  };

  absl::Status Add(const std::string& folder, const Expected& expected) {
    PONIENTE_ASSIGN_OR_RETURN(ZarrArray data,
                              ZarrArray::Open(folder + "/data"));
    PONIENTE_RETURN_IF_ERROR(TakeType(data));
    PONIENTE_ASSIGN_OR_RETURN(const ZarrArray offsets,
                              ZarrArray::Open(folder + "/offsets"));
    if (StoredTypeBytes(offsets.metadata().type) != 8) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", offsets.folder(), "/zarr.json': data_type is ",
          Absl(StoredTypeName(offsets.metadata().type)), ", expected int64"));
    }
    layout_.bytes += data.bytes() + offsets.bytes();
    const uint64_t rows_before = ends_.size();
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t tokens, ReadRows(offsets));
    PONIENTE_RETURN_IF_ERROR(
        Check(folder, "rows", ends_.size() - rows_before, expected.rows));
    PONIENTE_RETURN_IF_ERROR(Check(folder, "tokens", tokens, expected.tokens));
    PONIENTE_RETURN_IF_ERROR(TakeData(std::move(data), tokens));
    has_shapes_ = has_shapes_ || IsRegularFile(folder + "/shapes/zarr.json");
    return absl::OkStatus();
  }

  void AddEmpty() { layout_.shards.push_back({}); }

  TokenLayout Finish() && {
    layout_.format = kLevanterFormat.name;
    if (!type_) layout_.type = options_.dtype.value_or(StoredType::kI32);
    Warn();
    layout_.documents = std::make_shared<DocumentTable>(std::move(ends_));
    layout_.locator = blocks_;
    layout_.decoder = blocks_;
    return std::move(layout_);
  }

 private:
  absl::Status TakeType(const ZarrArray& data) {
    const StoredType type = data.metadata().type;
    const std::optional<StoredType> expected = type_ ? type_ : options_.dtype;
    if (expected && *expected != type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", data.folder(), "' holds ", Absl(StoredTypeName(type)),
          type_ ? ", the shards before it hold " : ", stated was ",
          Absl(StoredTypeName(*expected))));
    }
    type_ = type;
    layout_.type = type;
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> ReadRows(const ZarrArray& offsets) {
    std::optional<FileBytes> open;
    const ChunkReader read = [&](uint64_t chunk, std::span<std::byte> decoded) {
      return ReadChunk(offsets, chunk, &open, decoded);
    };
    return ReadRowEnds(offsets.folder(), offsets.metadata(), read,
                       layout_.bytes + kMaxTableBytes, &ends_);
  }

  static absl::Status Check(const std::string& folder, std::string_view what,
                            uint64_t found, std::optional<uint64_t> expected) {
    if (!expected || *expected == found) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "'", folder, "': its offsets say ", found, " ", Absl(what), ", the ",
        Absl(kLedger), " ", *expected,
        "; one of them is damaged or of another run, restore them"));
  }

  absl::Status TakeData(ZarrArray data, uint64_t tokens) {
    const Zarr3Array& array = data.metadata();
    if (tokens > array.length) {
      return absl::DataLossError(
          absl::StrCat("'", data.folder(), "': its rows have ", tokens,
                       " tokens, the array has ", array.length, " items"));
    }
    const uint64_t chunks =
        tokens == 0 ? 0 : (tokens - 1) / array.chunk_length + 1;
    layout_.bytes -= data.bytes();
    data.CutTo(chunks);
    layout_.bytes += data.bytes();
    const uint64_t stored = data.CountStored(chunks);
    if (stored < chunks && unstored_.chunks == 0) {
      unstored_.first_folder = data.folder();
    }
    unstored_.chunks += chunks - stored;
    unstored_.of_chunks += chunks;
    layout_.shards.push_back({tokens, 0, 0});
    blocks_->Add(std::move(data), tokens, &layout_.files);
    return absl::OkStatus();
  }

  void Warn() {
    if (unstored_.chunks > 0) {
      layout_.warnings.push_back(absl::StrCat(
          "'", unstored_.first_folder, "': ", unstored_.chunks, " of ",
          unstored_.of_chunks,
          " chunks of ids are not stored, which stands for ids that are all 0; "
          "a lost file cannot be told from them"));
    }
    if (has_shapes_) {
      layout_.warnings.push_back(
          "rows have more than one dimension (shapes); their ids are read "
          "end to end");
    }
  }

  const TokenSourceOptions& options_;
  TokenLayout layout_;
  std::optional<StoredType> type_;
  CompactEnds ends_;
  std::shared_ptr<LevanterBlocks> blocks_ = std::make_shared<LevanterBlocks>();
  Unstored unstored_;
  bool has_shapes_ = false;
};

std::optional<uint64_t> CountOf(const std::map<std::string, uint64_t>& counts,
                                const std::string& field) {
  const auto found = counts.find(field);
  if (found == counts.end()) return std::nullopt;
  return found->second;
}

absl::Status AddShards(const std::string& folder, const LevanterLedger& ledger,
                       const std::string& column, Assembler* assembler) {
  std::string field = column;
  for (const LevanterLedger::Shard& shard : ledger.shards) {
    if (shard.rows == 0) {
      assembler->AddEmpty();
      continue;
    }
    PONIENTE_ASSIGN_OR_RETURN(const std::string path,
                              BelowFolder(folder, shard.name));
    PONIENTE_ASSIGN_OR_RETURN(field, ChooseField(path, field));
    PONIENTE_RETURN_IF_ERROR(
        assembler->Add(absl::StrCat(path, "/", field),
                       {shard.rows, CountOf(shard.tokens, field)}));
  }
  const uint64_t tokens = assembler->tokens();
  const std::optional<uint64_t> said = CountOf(ledger.tokens, field);
  if (!said || *said == tokens) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("'", folder, "/", Absl(kLedger), "': field_counts.",
                   OneLine(field), " is ", *said, ", its shards have ", tokens,
                   "; restore the ledger from a copy"));
}

absl::StatusOr<TokenLayout> OpenCache(const std::string& folder,
                                      const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(
      const FileBytes file,
      FileBytes::Open(absl::StrCat(folder, "/", Absl(kLedger))));
  PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                            ReadAllText(file, kMaxLedgerBytes));
  PONIENTE_ASSIGN_OR_RETURN(const LevanterLedger ledger,
                            ParseLevanterLedger(file.path(), text));
  Assembler assembler(options);
  assembler.layout().bytes = file.size();
  assembler.layout().tokenizer = ledger.tokenizer;
  if (ledger.is_sharded) {
    PONIENTE_RETURN_IF_ERROR(
        AddShards(folder, ledger, options.column, &assembler));
  } else {
    PONIENTE_ASSIGN_OR_RETURN(const std::string field,
                              ChooseField(folder, options.column));
    PONIENTE_RETURN_IF_ERROR(
        assembler.Add(absl::StrCat(folder, "/", field),
                      {ledger.rows, CountOf(ledger.tokens, field)}));
  }
  return std::move(assembler).Finish();
}

absl::StatusOr<TokenLayout> OpenField(const std::string& folder,
                                      const TokenSourceOptions& options) {
  if (!options.column.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", folder, "' is one field already; leave out column '",
        OneLine(options.column), "', or give the folder of the cache"));
  }
  Assembler assembler(options);
  PONIENTE_RETURN_IF_ERROR(assembler.Add(folder, {}));
  assembler.layout().warnings.push_back(absl::StrCat(
      "'", folder, "' is one field of a cache: the cache's ", Absl(kLedger),
      ", which says whether it is finished, was not looked at"));
  return std::move(assembler).Finish();
}

// Returns whether Levanter gives such names to the folders in which it builds
// the shards of a cache: 00012_name, part-00012-of-00128.
bool IsShardName(const std::string& name) {
  const bool is_numbered =
      name.size() > 6 && name[5] == '_' &&
      std::all_of(name.begin(), name.begin() + 5,
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_numbered || name.starts_with("part-");
}

absl::Status NoLedger(const std::string& folder) {
  return absl::FailedPreconditionError(absl::StrCat(
      "'", folder, "' has parts of a cache but no ", Absl(kLedger),
      ", which is written last: the cache was not written to its end; let "
      "Levanter finish it"));
}

absl::StatusOr<TokenLayout> OpenLevanter(const FoundPath& found,
                                         const TokenSourceOptions& options) {
  if (!found.is_folder) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", found.path,
                     "' is a file; a Levanter cache is the folder that "
                     "has ",
                     Absl(kLedger)));
  }
  if (found.HasFile(kLedger)) return OpenCache(found.path, options);
  if (IsField(found.path)) return OpenField(found.path, options);
  std::vector<std::string> splits;
  for (const std::string& name : found.folders) {
    if (IsField(found.Below(name))) return NoLedger(found.path);
    if (!IsCache(found.Below(name))) continue;
    if (IsShardName(name)) return NoLedger(found.path);
    splits.push_back(name);
  }
  if (splits.size() == 1) return OpenCache(found.Below(splits[0]), options);
  if (splits.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", found.path,
                     "' is no Levanter cache: neither it nor "
                     "a folder in it has ",
                     Absl(kLedger)));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", found.path, "' has ", splits.size(),
      " splits; give the path of one of them: ", ListedNames(splits)));
}

bool RecognizesLevanter(const FoundPath& found) {
  if (!found.is_folder) return false;
  if (found.HasFile(kLedger) || IsField(found.path)) return true;
  return std::any_of(found.folders.begin(), found.folders.end(),
                     [&](const std::string& name) {
                       const std::string path = found.Below(name);
                       return IsCache(path) || IsField(path);
                     });
}

}  // namespace

const TokenFormat kLevanterFormat = {"levanter", "a Levanter cache",
                                     RecognizesLevanter, OpenLevanter};

}  // namespace poniente::internal
