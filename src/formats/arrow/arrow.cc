// SPDX-License-Identifier: Apache-2.0
// Reads Arrow files. Each row is a document. The ids of each record batch are
// one run, which is read in place.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/arrow/arrow_folder.h"
#include "formats/arrow/arrow_stream.h"
#include "formats/core/token_format.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kSplitsFile = "dataset_dict.json";

// The ids of a record batch.
struct Batch {
  uint64_t first_token = 0;
  uint64_t offset = 0;
  uint32_t file = 0;
};

class BatchLocator final : public TokenLocator {
 public:
  explicit BatchLocator(StoredType type) : bytes_(StoredTypeBytes(type)) {}

  void Add(uint32_t file, const std::vector<ArrowRun>& runs) {
    for (const ArrowRun& run : runs) {
      batches_.push_back({end_, run.offset, file});
      end_ += run.tokens;
    }
  }

  bool is_in_memory() const override { return true; }
  absl::Status Locate(TokenRange tokens,
                      std::vector<TokenRun>* runs) const override {
    const auto after = std::upper_bound(
        batches_.begin(), batches_.end(), tokens.begin,
        [](uint64_t at, const Batch& batch) { return at < batch.first_token; });
    auto batch = static_cast<uint64_t>(after - batches_.begin());
    while (tokens.begin < tokens.end) {
      const Batch& in = batches_[batch - 1];
      const uint64_t batch_end =
          batch < batches_.size() ? batches_[batch].first_token : end_;
      const uint64_t end = std::min(tokens.end, batch_end);
      runs->push_back({in.file,
                       in.offset + (tokens.begin - in.first_token) * bytes_,
                       end - tokens.begin});
      tokens.begin = end;
      ++batch;
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t bytes_;
  std::vector<Batch> batches_;  // each has tokens
  uint64_t end_ = 0;
};

// Returns the folder that contains the files: `found`, or that of its only
// split.
absl::StatusOr<FoundPath> FolderOf(const FoundPath& found,
                                   TokenLayout* layout) {
  if (!found.HasFile(kSplitsFile)) return found;
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes file,
                            FileBytes::Open(found.Below(kSplitsFile)));
  PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                            ReadAllText(file, uint64_t{1} << 20));
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::string> splits,
                            ParseSavedSplits(file.path(), text));
  layout->bytes += file.size();
  if (splits.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path, "' holds the splits ",
        OneLine(absl::StrJoin(splits, ", ")), "; open one of them: '",
        found.Below(OneLine(splits[0])), "'"));
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::string path,
                            BelowFolder(found.path, splits[0]));
  return FindPath(path);
}

absl::Status CheckRows(const std::string& path, const ListedFile& listed,
                       uint64_t rows) {
  if (!listed.rows || *listed.rows == rows) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", path, "' has ", rows, " rows, the list of files beside it says ",
      *listed.rows, "; fetch or write it again"));
}

absl::Status CheckType(const std::string& path, const ArrowStream& stream,
                       const TokenSourceOptions& options,
                       const TokenLayout& layout) {
  const StoredType expected =
      layout.shards.empty() ? options.dtype.value_or(stream.type) : layout.type;
  if (stream.type == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path, "': column '", OneLine(stream.column), "' holds ",
      Absl(StoredTypeName(stream.type)),
      layout.shards.empty() ? ", stated was " : ", the files before it hold ",
      Absl(StoredTypeName(expected)),
      layout.shards.empty() ? "; leave the dtype out, the file says it"
                            : "; cast them to one type"));
}

absl::StatusOr<TokenLayout> LayOut(const std::vector<std::string>& paths,
                                   const std::vector<ListedFile>& listed,
                                   const TokenSourceOptions& options,
                                   TokenLayout layout) {
  CompactEnds rows;
  std::vector<std::vector<ArrowRun>> runs;
  for (size_t i = 0; i < paths.size(); ++i) {
    PONIENTE_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Open(paths[i]));
    PONIENTE_ASSIGN_OR_RETURN(ArrowStream stream,
                              ParseArrowStream(file, options.column, &rows));
    PONIENTE_RETURN_IF_ERROR(CheckRows(paths[i], listed[i], stream.rows));
    PONIENTE_RETURN_IF_ERROR(CheckType(paths[i], stream, options, layout));
    layout.type = stream.type;
    layout.bytes += file.size();
    layout.files.push_back(paths[i]);
    layout.shards.push_back({stream.tokens, static_cast<uint32_t>(i), 0});
    runs.push_back(std::move(stream.runs));
    std::move(stream.warnings.begin(), stream.warnings.end(),
              std::back_inserter(layout.warnings));
  }
  auto locator = std::make_shared<BatchLocator>(layout.type);
  for (size_t i = 0; i < runs.size(); ++i) {
    locator->Add(static_cast<uint32_t>(i), runs[i]);
    runs[i] = {};
  }
  layout.locator = std::move(locator);
  layout.documents = std::make_shared<DocumentTable>(std::move(rows));
  return layout;
}

bool RecognizesArrow(const FoundPath& found) {
  return found.is_folder ? IsArrowFolder(found) : IsArrow(found.head);
}

absl::StatusOr<TokenLayout> OpenArrow(const FoundPath& found,
                                      const TokenSourceOptions& options) {
  TokenLayout layout;
  layout.format = "arrow";
  layout.type = options.dtype.value_or(StoredType::kI64);
  if (!found.is_folder) {
    return LayOut({found.path}, {ListedFile{}}, options, std::move(layout));
  }
  PONIENTE_ASSIGN_OR_RETURN(const FoundPath folder, FolderOf(found, &layout));
  PONIENTE_ASSIGN_OR_RETURN(
      const std::vector<ListedFile> listed,
      ListArrowFiles(folder, options.glob, &layout.bytes));
  std::vector<std::string> paths;
  for (const ListedFile& file : listed) {
    PONIENTE_ASSIGN_OR_RETURN(paths.emplace_back(),
                              BelowFolder(folder.path, file.name));
  }
  if (listed.empty()) {
    layout.warnings.push_back(
        absl::StrCat("'", folder.path, "' lists no files: it has no rows"));
  }
  return LayOut(paths, listed, options, std::move(layout));
}

}  // namespace

const TokenFormat kArrowFormat = {
    "arrow", "Arrow streams, as Hugging Face datasets keeps them",
    RecognizesArrow, OpenArrow};

}  // namespace poniente::internal
