// SPDX-License-Identifier: Apache-2.0
// Recognises the format of a path, and opens it.

#include "poniente/open_token_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/core/found_path.h"
#include "formats/core/layout_source.h"
#include "formats/core/token_format.h"
#include "formats/megatron/index_pair.h"
#include "poniente/catalog.h"
#include "poniente/token_store.h"
#include "store/catalog/joined_stores.h"
#include "store/catalog/store_search.h"
#include "store/catalog/tokenizer_origin.h"
#include "store/manifest/manifest.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::Absl;
using internal::FoundPath;
using internal::TokenFormat;

constexpr size_t kNamesShown = 4;

// Examines the path. If nothing is there, it may be the prefix that stands for
// Megatron's two files: then examines their index.
absl::StatusOr<FoundPath> FindFiles(const std::string& path) {
  absl::StatusOr<FoundPath> found = internal::FindPath(path);
  if (!absl::IsNotFound(found.status())) return found;
  const std::optional<std::string> index = internal::IndexOfPrefix(path);
  if (!index) return found;
  return internal::FindPath(*index);
}

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
    shown.push_back(internal::OneLine(name));
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

absl::StatusOr<const TokenFormat*> ChooseFormat(
    const FoundPath& found, const TokenSourceOptions& options) {
  for (const TokenFormat& format : internal::TokenFormats()) {
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
  if (options.dtype) return &internal::kRawFormat;
  return NotRecognized(found);
}

bool IsStore(const FoundPath& found, const TokenSourceOptions& options) {
  if (!options.format.empty()) {
    return options.format == internal::kStoreFormat;
  }
  return found.HasFile(internal::kManifestName);
}

// Refuses options that contradict what the store itself states.
absl::Status CheckStoreOptions(const TokenStore& store,
                               const TokenSourceOptions& options) {
  const auto refuse = [&](std::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", store.path(), "' is a token store, which has ",
                     Absl(what), " of its own; leave it out"));
  };
  if (options.dtype && *options.dtype != store.stored_type()) {
    return refuse(absl::StrCat("a dtype (",
                               Absl(StoredTypeName(store.stored_type())), ")"));
  }
  if (!options.column.empty()) return refuse("no columns");
  if (options.vocabulary && *options.vocabulary != store.vocabulary()) {
    return refuse(absl::StrCat("a tokenizer ('", store.vocabulary().tokenizer,
                               "', ", store.vocabulary().size, " ids)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenSource>> OpenTokenSource(
    const std::string& path, const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(FoundPath found, FindFiles(path));
  found.glob = options.glob;
  if (IsStore(found, options)) {
    TokenStoreOptions store_options;
    store_options.io = options.io;
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const TokenStore> store,
                              TokenStore::Open(path, store_options));
    PONIENTE_RETURN_IF_ERROR(CheckStoreOptions(*store, options));
    return store;
  }
  if (options.format.empty() && found.is_folder &&
      StoreCatalog::IsIn(found.path)) {
    TokenStoreOptions store_options;
    store_options.io = options.io;
    PONIENTE_ASSIGN_OR_RETURN(const StoreCatalog catalog,
                              StoreCatalog::Open(found.path));
    return catalog.OpenJoined(store_options);
  }
  PONIENTE_ASSIGN_OR_RETURN(const TokenFormat* const format,
                            ChooseFormat(found, options));
  PONIENTE_ASSIGN_OR_RETURN(internal::TokenLayout layout,
                            format->open(found, options));
  layout.format = std::string(format->name);
  PONIENTE_ASSIGN_OR_RETURN(
      std::shared_ptr<const internal::LayoutSource> source,
      internal::LayoutSource::Open(path, std::move(layout), options));
  return source;
}

bool IsTokenSource(const std::string& path) {
  const absl::StatusOr<FoundPath> found = FindFiles(path);
  if (!found.ok()) return false;
  if (IsStore(*found, {}) || StoreCatalog::IsIn(found->path)) return true;
  for (const TokenFormat& format : internal::TokenFormats()) {
    if (format.recognizes(*found)) return true;
  }
  return false;
}

std::vector<std::string> TokenFormatNames() {
  std::vector<std::string> names = {std::string(internal::kStoreFormat)};
  for (const TokenFormat& format : internal::TokenFormats()) {
    names.emplace_back(format.name);
  }
  return names;
}

std::optional<DocumentDelimiter> DelimiterOf(const TokenSource& source) {
  if (const auto* files =
          dynamic_cast<const internal::LayoutSource*>(&source)) {
    return files->layout().delimiter;
  }
  if (!source.end_of_document()) return std::nullopt;
  return DocumentDelimiter{*source.end_of_document(), false};
}

std::vector<std::string> TokenSourceWarnings(const TokenSource& source) {
  if (const auto* files =
          dynamic_cast<const internal::LayoutSource*>(&source)) {
    return files->layout().warnings;
  }
  if (const auto* joined =
          dynamic_cast<const internal::JoinedStores*>(&source)) {
    std::vector<std::string> paths;
    for (const auto& store : joined->stores()) paths.push_back(store->path());
    std::vector<std::string> warnings = internal::MissingParts(paths);
    const TokenSource* const sources[] = {joined};
    for (internal::LibraryDifference& differs :
         internal::LibraryDifferences(sources)) {
      warnings.push_back(std::move(differs.text));
    }
    return warnings;
  }
  return {};
}

}  // namespace poniente
