// SPDX-License-Identifier: Apache-2.0
#include "formats/choose_format.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/megatron/index_pair.h"
#include "store/manifest/manifest.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kNamesShown = 4;

std::string HeadOf(const FoundPath& found) {
  std::string head;
  for (size_t i = 0; i < std::min<size_t>(found.head.size(), 8); ++i) {
    absl::StrAppend(
        &head, i == 0 ? "" : " ",
        absl::Hex(static_cast<uint8_t>(found.head[i]), absl::kZeroPad2));
  }
  return head.empty() ? "none" : head;
}

std::string NamesOf(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kNamesShown) break;
    shown.push_back(OneLine(name));
  }
  if (names.size() > shown.size()) shown.push_back("...");
  return shown.empty() ? "no files" : absl::StrJoin(shown, ", ");
}

absl::Status NotRecognized(const FoundPath& found) {
  if (found.is_folder && !found.glob.empty() && found.Chosen("").empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path, "' has ", found.files.size(),
        " files, none of which matches '", found.glob, "' (it has ",
        NamesOf(found.files), "); state another pattern (glob)"));
  }
  if (found.is_folder && found.HasFile(kGrowthName)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path,
        "' is a token store that is still being written: state growing = true "
        "in a configuration to read what it has, or wait until the pack has "
        "ended"));
  }
  if (found.is_folder) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path, "' holds no format that is read (it has ",
        NamesOf(found.files),
        found.folders.empty()
            ? ""
            : absl::StrCat("; folders ", NamesOf(found.folders)),
        "); if these are files of ids without a header, state their dtype and "
        "which they are (glob); text is packed by `poniente pack`"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", found.path, "' begins like no format that is read (first bytes ",
      HeadOf(found),
      "); if it holds ids without a header, state their dtype, for example "
      "u16; text is packed by `poniente pack`"));
}

}  // namespace

absl::StatusOr<FoundPath> FindFiles(const std::string& path) {
  absl::StatusOr<FoundPath> found = FindPath(path);
  if (!absl::IsNotFound(found.status())) return found;
  const std::optional<std::string> index = IndexOfPrefix(path);
  if (!index) return found;
  return FindPath(*index);
}

const TokenFormat* RecognizedFormat(const FoundPath& found) {
  for (const TokenFormat& format : TokenFormats()) {
    if (format.recognizes(found)) return &format;
  }
  return nullptr;
}

absl::StatusOr<const TokenFormat*> ChooseFormat(
    const FoundPath& found, const TokenSourceOptions& options) {
  for (const TokenFormat& format : TokenFormats()) {
    if (options.format.empty() ? format.recognizes(found)
                               : format.name == options.format) {
      return &format;
    }
  }
  if (!options.format.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown format '", options.format, "', expected one of ",
                     absl::StrJoin(TokenFormatNames(), ", ")));
  }
  if (options.dtype) return &kRawFormat;
  return NotRecognized(found);
}

}  // namespace poniente::internal
