// SPDX-License-Identifier: Apache-2.0
// Recognises the format of a path, and opens it.

#include "poniente/open_token_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/choose_format.h"
#include "formats/core/found_path.h"
#include "formats/core/layout_source.h"
#include "formats/core/token_format.h"
#include "formats/loss_mask_files.h"
#include "poniente/catalog.h"
#include "poniente/token_store.h"
#include "store/catalog/joined_stores.h"
#include "store/catalog/store_search.h"
#include "store/catalog/tokenizer_origin.h"
#include "store/manifest/manifest.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::Absl;
using internal::FoundPath;
using internal::TokenFormat;

// Examines the path. If it is the prefix of a dataset and its mask, examines
// the dataset, and sets the mask unless another is stated.
absl::StatusOr<FoundPath> FindTokens(const std::string& path,
                                     std::optional<LossMaskFiles>* mask) {
  absl::StatusOr<FoundPath> found = internal::FindFiles(path);
  if (!absl::IsNotFound(found.status())) return found;
  std::optional<internal::MaskedPrefix> masked =
      internal::FindMaskedPrefix(path);
  if (!masked) return found;
  if (!*mask) *mask = std::move(masked->mask);
  return internal::FindFiles(masked->tokens);
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
  if (options.loss_mask) return refuse("a loss mask");
  if (options.vocabulary && *options.vocabulary != store.vocabulary()) {
    return refuse(absl::StrCat("a tokenizer ('", store.vocabulary().tokenizer,
                               "', ", store.vocabulary().size, " ids)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TokenSource>> OpenTokenSource(
    const std::string& path, const TokenSourceOptions& stated) {
  TokenSourceOptions options = stated;
  PONIENTE_ASSIGN_OR_RETURN(FoundPath found,
                            FindTokens(path, &options.loss_mask));
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
    if (options.loss_mask) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", path,
          "' is a catalogue of token stores, which have loss masks of their "
          "own; leave the loss mask out"));
    }
    PONIENTE_ASSIGN_OR_RETURN(const StoreCatalog catalog,
                              StoreCatalog::Open(found.path));
    return catalog.OpenJoined(store_options);
  }
  PONIENTE_ASSIGN_OR_RETURN(const TokenFormat* const format,
                            internal::ChooseFormat(found, options));
  PONIENTE_ASSIGN_OR_RETURN(internal::TokenLayout layout,
                            format->open(found, options));
  layout.format = std::string(format->name);
  if (options.loss_mask) {
    PONIENTE_RETURN_IF_ERROR(
        internal::AddLossMask(found.path, options, &layout));
  } else if (auto unread = internal::UnreadMask(layout)) {
    layout.warnings.push_back(*std::move(unread));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      std::shared_ptr<const internal::LayoutSource> source,
      internal::LayoutSource::Open(path, std::move(layout), options));
  return source;
}

bool IsTokenSource(const std::string& path) {
  std::optional<LossMaskFiles> mask;
  const absl::StatusOr<FoundPath> found = FindTokens(path, &mask);
  if (!found.ok()) return false;
  if (IsStore(*found, {}) || StoreCatalog::IsIn(found->path)) return true;
  return internal::RecognizedFormat(*found) != nullptr;
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
