// SPDX-License-Identifier: Apache-2.0
// Reads MosaicML's MDS shards (docs/formats.md). Each row is a document.

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/json_index.h"
#include "formats/core/token_format.h"
#include "formats/core/whole_file_blocks.h"
#include "formats/core/zstd_block.h"
#include "formats/mds/mds_index.h"
#include "formats/mds/mds_rows.h"
#include "util/crc32c.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A shard whose rows have been found.
struct OpenedShard {
  std::string name;
  WholeFile file;
  MdsTokenColumn column;
  uint64_t first_row = 0;
  uint64_t first_token = 0;
  uint64_t first_gap = 0;  // sum of the gaps before
  // Whether the heads of the rows must still be compared with the rows' sizes.
  bool unread = false;
};

class RowTable final : public DocumentTable {
 public:
  RowTable(MdsRows rows, StoredType type, std::vector<OpenedShard> shards)
      : DocumentTable(std::move(rows.tokens)),
        gaps_(std::move(rows.gaps)),
        type_(type),
        shards_(std::move(shards)) {
    gaps_.Shrink();
  }

  absl::StatusOr<std::string> Name(uint64_t document) const override {
    const OpenedShard& shard = shards_[ShardOf(document)];
    return absl::StrCat(shard.name, " row ", document - shard.first_row);
  }

  const std::vector<OpenedShard>& shards() const { return shards_; }
  StoredType type() const { return type_; }
  uint64_t RowsEnd(size_t shard) const {
    return shard + 1 < shards_.size() ? shards_[shard + 1].first_row
                                      : ends().size();
  }
  // Returns the last shard that begins at `row` or before.
  size_t ShardOf(uint64_t row) const {
    const auto after =
        std::upper_bound(shards_.begin(), shards_.end(), row,
                         [](uint64_t at, const OpenedShard& shard) {
                           return at < shard.first_row;
                         });
    return static_cast<size_t>(after - shards_.begin()) - 1;
  }
  // Returns the byte of the shard at which the ids of a row begin.
  uint64_t OffsetOf(const OpenedShard& shard, uint64_t row,
                    uint64_t first_token) const {
    return gaps_.Begin(row + 1) - shard.first_gap +
           (first_token - shard.first_token) * StoredTypeBytes(type_);
  }
  // Compares the head of a row with the row's size. REQUIRES: the row's shard
  // is unread.
  absl::Status Check(const InputBytes& bytes, const OpenedShard& shard,
                     uint64_t row, uint64_t offset) const {
    return CheckMdsRow(bytes, row - shard.first_row, shard.column, type_,
                       offset, ends().Length(row));
  }

 private:
  CompactEnds gaps_;
  const StoredType type_;
  const std::vector<OpenedShard> shards_;
};

class RowLocator final : public TokenLocator {
 public:
  // `check`: whether to check the heads of rows that are unread, each when it
  // is first located.
  RowLocator(std::shared_ptr<const RowTable> table, bool check)
      : table_(std::move(table)),
        checked_(check && AnyUnread(*table_) ? (table_->ends().size() + 63) / 64
                                             : 0) {}

  bool is_in_memory() const override { return checked_.empty(); }
  absl::Status Locate(TokenRange tokens,
                      std::vector<TokenRun>* runs) const override {
    const CompactEnds& ends = table_->ends();
    std::optional<FileBytes> file;
    size_t shard = SIZE_MAX;
    uint64_t at = tokens.begin;
    while (at < tokens.end) {
      const uint64_t row = ends.At(at);
      const size_t holds = table_->ShardOf(row);
      if (holds != shard) file.reset();
      shard = holds;
      const uint64_t row_begin = ends.Begin(row);
      const uint64_t row_end = row_begin + ends.Length(row);
      const uint64_t offset =
          table_->OffsetOf(table_->shards()[shard], row, row_begin);
      PONIENTE_RETURN_IF_ERROR(CheckOnce(shard, row, offset, &file));
      const uint64_t end = std::min(row_end, tokens.end);
      Append(
          {shard, offset + (at - row_begin) * StoredTypeBytes(table_->type()),
           end - at},
          runs);
      at = end;
    }
    return absl::OkStatus();
  }

 private:
  static bool AnyUnread(const RowTable& table) {
    return std::any_of(table.shards().begin(), table.shards().end(),
                       [](const OpenedShard& shard) { return shard.unread; });
  }

  void Append(const TokenRun& run, std::vector<TokenRun>* runs) const {
    if (!runs->empty()) {
      TokenRun& last = runs->back();
      const uint64_t end =
          last.offset + last.tokens * StoredTypeBytes(table_->type());
      if (last.place == run.place && end == run.offset) {
        last.tokens += run.tokens;
        return;
      }
    }
    runs->push_back(run);
  }

  absl::Status CheckOnce(size_t number, uint64_t row, uint64_t offset,
                         std::optional<FileBytes>* file) const {
    const OpenedShard& shard = table_->shards()[number];
    if (checked_.empty() || !shard.unread) return absl::OkStatus();
    std::atomic<uint64_t>& word = checked_[row / 64];
    const uint64_t bit = uint64_t{1} << row % 64;
    // Relaxed: the bit publishes no data. At worst, a row is checked twice.
    if ((word.load(std::memory_order_relaxed) & bit) != 0) {
      return absl::OkStatus();
    }
    if (!*file) {
      absl::StatusOr<FileBytes> opened = FileBytes::Open(shard.file.path);
      if (!opened.ok()) return opened.status();
      file->emplace(*std::move(opened));
    }
    PONIENTE_RETURN_IF_ERROR(table_->Check(**file, shard, row, offset));
    word.fetch_or(bit, std::memory_order_relaxed);
    return absl::OkStatus();
  }

  const std::shared_ptr<const RowTable> table_;
  // One bit per row: whether it has been checked.
  mutable std::vector<std::atomic<uint64_t>> checked_;
};

// The bytes of a decoded block.
class SpanBytes final : public InputBytes {
 public:
  SpanBytes(const std::string& path, std::span<const std::byte> bytes)
      : path_(path), bytes_(bytes) {}

  const std::string& path() const override { return path_; }
  uint64_t size() const override { return bytes_.size(); }
  absl::Status ReadAt(uint64_t offset,
                      std::span<std::byte> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
      return absl::DataLossError(
          absl::StrCat("'", path_, "' ends at byte ", bytes_.size()));
    }
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), into.size(),
                into.begin());
    return absl::OkStatus();
  }

 private:
  const std::string& path_;
  const std::span<const std::byte> bytes_;
};

WholeFileBlocks::Check CheckRowsOf(std::shared_ptr<const RowTable> table) {
  return [table = std::move(table)](uint64_t block,
                                    std::span<const std::byte> decoded) {
    const OpenedShard& shard = table->shards()[block];
    if (!shard.unread) return absl::OkStatus();
    const SpanBytes bytes(shard.file.path, decoded);
    uint64_t token = shard.first_token;
    for (uint64_t row = shard.first_row; row < table->RowsEnd(block); ++row) {
      PONIENTE_RETURN_IF_ERROR(
          table->Check(bytes, shard, row, table->OffsetOf(shard, row, token)));
      token += table->ends().Length(row);
    }
    return absl::OkStatus();
  };
}

absl::Status CheckSize(const FileBytes& file, uint64_t expected) {
  if (file.size() == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", file.path(), "' has ", file.size(), " bytes, its index.json says ",
      expected, "; copy the file again"));
}

// Opens the shard's file: the unpacked one if it exists, else the compressed
// one.
absl::StatusOr<FileBytes> OpenMdsShard(const std::string& folder,
                                       const MdsShard& entry, WholeFile* file) {
  file->decoded_bytes = file->stored_bytes = entry.raw.bytes;
  PONIENTE_ASSIGN_OR_RETURN(file->path, BelowFolder(folder, entry.raw.name));
  absl::StatusOr<FileBytes> raw = FileBytes::Open(file->path);
  if (raw.ok()) {
    PONIENTE_RETURN_IF_ERROR(CheckSize(*raw, entry.raw.bytes));
    return raw;
  }
  if (!absl::IsNotFound(raw.status()) || !entry.zip) return raw;
  PONIENTE_ASSIGN_OR_RETURN(file->path, BelowFolder(folder, entry.zip->name));
  PONIENTE_ASSIGN_OR_RETURN(FileBytes zip, FileBytes::Open(file->path));
  PONIENTE_RETURN_IF_ERROR(CheckSize(zip, entry.zip->bytes));
  if (entry.compression != "zstd" && !entry.compression.starts_with("zstd:")) {
    return absl::UnimplementedError(absl::StrCat(
        "'", file->path, "' is compressed by '", OneLine(entry.compression),
        "', but only zstd can be read; unpack it to '", OneLine(entry.raw.name),
        "' beside it"));
  }
  PONIENTE_RETURN_IF_ERROR(CheckZstd(file->path));
  file->stored_bytes = zip.size();
  file->compressed = true;
  PONIENTE_RETURN_IF_ERROR(CheckBlockBytes(*file));
  return zip;
}

absl::Status AddShard(const std::string& folder, const MdsShard& entry,
                      OpenedShard* shard, MdsRows* rows) {
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes file,
                            OpenMdsShard(folder, entry, &shard->file));
  shard->name = entry.raw.name;
  shard->first_row = rows->tokens.size();
  shard->first_token = rows->tokens.total();
  shard->first_gap = rows->gaps.total();
  if (!shard->file.compressed) {
    return AppendMdsRows(file, entry.rows, shard->column, rows, &shard->unread);
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::unique_ptr<InputBytes> decoded,
                            OpenZstdBytes(file, entry.raw.bytes));
  return AppendMdsRows(*decoded, entry.rows, shard->column, rows,
                       &shard->unread);
}

// Returns whether the ids of each shard lie end to end, and all heads are
// checked.
bool ArePlainArrays(const RowTable& table, const CompactEnds& gaps) {
  for (size_t i = 0; i < table.shards().size(); ++i) {
    const OpenedShard& shard = table.shards()[i];
    const uint64_t rows = table.RowsEnd(i) - shard.first_row;
    if (shard.unread) return false;
    if (rows > 1 &&
        gaps.Begin(shard.first_row + rows) != gaps.Begin(shard.first_row + 1)) {
      return false;
    }
  }
  return true;
}

uint64_t HashOf(const CompactEnds& gaps) {
  uint32_t crc = 0;
  for (uint64_t i = 0; i < gaps.size(); ++i) {
    const uint64_t gap = gaps.Length(i);
    crc = ExtendCrc32c(crc, std::as_bytes(std::span(&gap, 1)));
  }
  return crc;
}

void AddRowShards(const RowTable& table, const CompactEnds& gaps,
                  TokenLayout* layout) {
  for (size_t i = 0; i < table.shards().size(); ++i) {
    const OpenedShard& shard = table.shards()[i];
    const uint64_t end = table.RowsEnd(i);
    TokenShard& to = layout->shards.emplace_back();
    to.tokens = table.ends().Begin(end) - shard.first_token;
    to.file = static_cast<uint32_t>(i);
    if (end > shard.first_row) to.offset = gaps.Length(shard.first_row);
    layout->files.push_back(shard.file.path);
    layout->bytes += shard.file.stored_bytes;
  }
}

bool IsMds(const FoundPath& found) { return IsMdsIndex(JsonIndexHead(found)); }

absl::StatusOr<TokenLayout> OpenMds(const FoundPath& found,
                                    const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const JsonIndex json, ReadJsonIndex(found));
  PONIENTE_ASSIGN_OR_RETURN(const MdsIndex index,
                            ParseMdsIndex(json.path, json.text));
  std::vector<MdsTokenColumn> columns;
  for (const MdsColumns& names : index.columns) {
    PONIENTE_ASSIGN_OR_RETURN(columns.emplace_back(),
                              FindMdsTokenColumn(json.path, names, options));
  }
  MdsRows rows;
  rows.type = options.dtype;
  std::vector<OpenedShard> shards;
  bool compressed = false;
  for (const MdsShard& entry : index.shards) {
    OpenedShard& shard = shards.emplace_back();
    shard.column = columns[entry.columns];
    PONIENTE_RETURN_IF_ERROR(AddShard(json.folder, entry, &shard, &rows));
    compressed = compressed || shard.file.compressed;
  }
  TokenLayout layout;
  layout.format = kMdsFormat.name;
  layout.bytes = json.text.size();
  layout.type =
      rows.type.value_or(columns.empty() ? StoredType::kI64 : columns[0].type);
  for (const MdsTokenColumn& column : columns) {
    if (column.kind != MdsTokenColumn::Kind::kBytes || options.dtype) continue;
    layout.warnings.push_back(absl::StrCat(
        "column '", OneLine(column.name),
        "' is encoded as bytes, which does not say their type: read as i64; "
        "state the dtype if it is another"));
    break;
  }
  const CompactEnds gaps = rows.gaps;
  auto table = std::make_shared<RowTable>(std::move(rows), layout.type,
                                          std::move(shards));
  AddRowShards(*table, gaps, &layout);
  layout.structure = HashOf(gaps);
  layout.documents = table;
  if (compressed) {
    std::vector<WholeFile> files;
    for (const OpenedShard& shard : table->shards()) {
      PONIENTE_RETURN_IF_ERROR(CheckBlockBytes(shard.file));
      files.push_back(shard.file);
    }
    layout.decoder =
        std::make_shared<WholeFileBlocks>(std::move(files), CheckRowsOf(table));
  }
  if (compressed || !ArePlainArrays(*table, gaps)) {
    layout.locator = std::make_shared<RowLocator>(table, !compressed);
  }
  return layout;
}

}  // namespace

constinit const TokenFormat kMdsFormat = {
    "mds", "MosaicML's MDS shards and their index.json", IsMds, OpenMds};

}  // namespace poniente::internal
