// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/datatrove.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "formats/arrays/raw.h"
#include "formats/core/file_arrays.h"
#include "formats/core/token_format.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kDatatroveName = "datatrove";
constexpr uint64_t kMaxMetadataBytes = 65536;

absl::StatusOr<std::optional<FileBytes>> OpenIfThere(const std::string& path) {
  if (!IsRegularFile(path)) return std::nullopt;
  PONIENTE_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Open(path));
  return file;
}

// Reads the files of a folder one after the other.
class Reader {
 public:
  explicit Reader(const TokenSourceOptions& options) : options_(options) {}

  absl::StatusOr<FileArray> Read(const InputBytes& ids);
  // Completes the layout. Call it after all files have been read.
  void Finish(TokenLayout* layout) &&;

 private:
  absl::Status ReadMetadata(const InputBytes& ids);
  // Returns the type of the ids in the current file.
  absl::StatusOr<StoredType> FindType(const InputBytes& ids,
                                      const std::optional<FileBytes>& index);

  const TokenSourceOptions& options_;
  // Of the current file.
  std::optional<DatatroveMetadata> metadata_;
  // The following are totals of all files read so far.
  CompactEnds lengths_;
  std::string tokenizer_;
  std::string without_index_;  // the first file with ids, but no index
  uint64_t bytes_ = 0;
  std::vector<std::string> warnings_;
};

absl::Status Reader::ReadMetadata(const InputBytes& ids) {
  metadata_.reset();
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<FileBytes> file,
                            OpenIfThere(ids.path() + ".metadata"));
  if (!file) return absl::OkStatus();
  bytes_ += file->size();
  PONIENTE_ASSIGN_OR_RETURN(metadata_, ParseDatatroveMetadata(*file));
  const std::string& name = metadata_->tokenizer;
  if (name.empty()) return absl::OkStatus();
  if (tokenizer_.empty()) tokenizer_ = name;
  if (tokenizer_ != name && warnings_.empty()) {
    warnings_.push_back(absl::StrCat(
        "'", file->path(), "' names the tokenizer '", OneLine(name),
        "', files before it '", OneLine(tokenizer_), "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StoredType> Reader::FindType(
    const InputBytes& ids, const std::optional<FileBytes>& index) {
  std::optional<StoredType> type;
  if (metadata_) {
    type = metadata_->type;
  } else if (index) {
    PONIENTE_ASSIGN_OR_RETURN(type,
                              TypeByIndex(*index, ids.path(), ids.size()));
  }
  if (!type) type = options_.dtype;
  if (!type && ids.size() == 0) type = StoredType::kU16;  // it has none
  if (!type) return NeedsType(ids.path(), ids.size());
  return *type;
}

absl::StatusOr<FileArray> Reader::Read(const InputBytes& ids) {
  PONIENTE_RETURN_IF_ERROR(ReadMetadata(ids));
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<FileBytes> index,
                            OpenIfThere(ids.path() + ".index"));
  PONIENTE_ASSIGN_OR_RETURN(const StoredType type, FindType(ids, index));
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t tokens,
                            CountWhole(ids.path(), ids.size(), type));
  if (metadata_ && metadata_->tokens != tokens) {
    return absl::DataLossError(absl::StrCat(
        "'", ids.path(), "' holds ", tokens, " ids of ", StoredTypeBytes(type),
        " bytes, its .metadata says ", metadata_->tokens,
        "; one of the two was cut short or is of another file"));
  }
  if (index) {
    bytes_ += index->size();
    PONIENTE_RETURN_IF_ERROR(
        AppendDocuments(*index, ids.path(), tokens, &lengths_));
  } else if (tokens > 0 && without_index_.empty()) {
    without_index_ = ids.path();
  }
  return FileArray{type, 0, tokens};
}

void Reader::Finish(TokenLayout* layout) && {
  layout->format = std::string(kDatatroveName);
  layout->windows.across_shards = false;
  layout->bytes += bytes_;
  layout->tokenizer = std::move(tokenizer_);
  layout->warnings = std::move(warnings_);
  if (without_index_.empty()) {
    layout->documents = std::make_shared<DocumentTable>(std::move(lengths_));
  } else if (lengths_.size() > 0) {
    layout->warnings.push_back(absl::StrCat(
        "'", without_index_, "' has no .index, others have: where documents ",
        "end is not known"));
  }
}

// Recognises a .ds file by a file beside it; nothing in the .ds itself shows
// its format.
bool IsDatatrove(const FoundPath& found) {
  if (!found.is_folder) {
    return HasSuffix(found.path, ".ds") &&
           (IsRegularFile(found.path + ".index") ||
            IsRegularFile(found.path + ".metadata"));
  }
  const std::vector<std::string> names = found.Chosen("*.ds");
  for (const std::string& name : names) {
    if (found.HasFile(name + ".index") || found.HasFile(name + ".metadata")) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<TokenLayout> OpenDatatrove(const FoundPath& found,
                                          const TokenSourceOptions& options) {
  Reader reader(options);
  PONIENTE_ASSIGN_OR_RETURN(
      TokenLayout layout,
      LayOutFileArrays(found, options, "*.ds", [&](const InputBytes& ids) {
        return reader.Read(ids);
      }));
  std::move(reader).Finish(&layout);
  return layout;
}

}  // namespace

absl::StatusOr<DatatroveMetadata> ParseDatatroveMetadata(
    const InputBytes& metadata) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                            ReadAllText(metadata, kMaxMetadataBytes));
  const std::string_view all = text;
  const size_t line_end = std::min(all.find('\n'), all.size());
  const std::string_view first = all.substr(0, line_end);
  const std::string_view rest = all.substr(std::min(line_end + 1, all.size()));
  const std::string_view count = rest.substr(0, rest.find('\n'));
  // datatrove 0.2.0 and before wrote the name alone; all ids had 2 bytes.
  const size_t bar = std::min(first.rfind('|'), first.size());
  DatatroveMetadata found;
  uint64_t width = 2;
  if (first.empty() ||
      (bar < first.size() &&
       !absl::SimpleAtoi(Absl(first.substr(bar + 1)), &width)) ||
      !absl::SimpleAtoi(Absl(count), &found.tokens)) {
    return absl::DataLossError(absl::StrCat(
        "'", metadata.path(), "' begins '", OneLine(all.substr(0, 80)),
        "', expected a tokenizer, '|', bytes per id, and the number of ids on "
        "the next line; it is damaged"));
  }
  if (width != 2 && width != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", metadata.path(), "' has ids of ", width,
                     " bytes on its first line; only 2 and 4 are known"));
  }
  found.type = width == 2 ? StoredType::kU16 : StoredType::kU32;
  const std::string_view name = first.substr(0, bar);
  // datatrove writes "Unknown Tokenizer" if it does not know the tokenizer. The
  // name may be followed by more text.
  if (!name.starts_with("Unknown Tokenizer")) found.tokenizer = name;
  return found;
}

absl::StatusOr<std::optional<StoredType>> TypeByIndex(const InputBytes& index,
                                                      const std::string& path,
                                                      uint64_t bytes) {
  std::array<std::byte, 8> last;
  if (index.size() < last.size()) return std::nullopt;
  const uint64_t at = index.size() / last.size() * last.size() - last.size();
  PONIENTE_RETURN_IF_ERROR(index.ReadAt(at, last));
  const auto tokens = LoadLittle<uint64_t>(last.data());
  if (tokens == 0) return std::nullopt;
  if (bytes % tokens == 0 && bytes / tokens == 2) return StoredType::kU16;
  if (bytes % tokens == 0 && bytes / tokens == 4) return StoredType::kU32;
  return absl::DataLossError(absl::StrCat(
      "'", path, "' has ", bytes, " bytes, its last document ends at id ",
      tokens, " by byte ", at, " of '", index.path(),
      "'; with ids of 2 bytes it has ", tokens, " * 2, with 4, ", tokens,
      " * 4: one of the two was cut short"));
}

absl::Status AppendDocuments(const InputBytes& index, const std::string& path,
                             uint64_t tokens, CompactEnds* lengths) {
  if (index.size() % 8 != 0) {
    return absl::DataLossError(
        absl::StrCat("'", index.path(), "' has ", index.size(),
                     " bytes, expected 8 for each document; it was cut short"));
  }
  uint64_t last = 0;
  uint64_t document = 0;
  PONIENTE_RETURN_IF_ERROR(ForEachInteger<uint64_t>(
      index, 0, index.size() / 8, [&](uint64_t end) -> absl::Status {
        if (end < last || end > tokens) {
          return absl::DataLossError(absl::StrCat(
              "'", index.path(), "': document ", document, " ends at id ", end,
              " by byte ", document * 8, ", the one before at ", last, ", '",
              path, "' at ", tokens, "; one of the two is damaged"));
        }
        lengths->Append(end - last);
        last = end;
        ++document;
        return absl::OkStatus();
      }));
  if (last == tokens) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", index.path(), "': its last document ends at id ", last, ", '", path,
      "' at ", tokens, "; the index was cut short, or is of another file"));
}

const TokenFormat kDatatroveFormat = {kDatatroveName, "datatrove's .ds",
                                      IsDatatrove, OpenDatatrove};

}  // namespace poniente::internal
