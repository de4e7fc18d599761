// SPDX-License-Identifier: Apache-2.0
#include "config/sources.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/hub_cache.h"
#include "poniente/declared_windows.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Until Arrow files are read, a dataset of the hub is found and refused.
absl::Status HubStatus(const NodeSpec& node) {
  const absl::StatusOr<std::string> found =
      FindInHubCache(node.hub_name, node.hub_config);
  if (!found.ok()) return found.status();
  return absl::UnimplementedError(absl::StrCat(
      "dataset '", node.hub_name, "' lies in '", *found,
      "', but Arrow files are not read yet: write its text as JSON lines or "
      "plain files, `poniente pack` them, and give the store's path"));
}

// What a folder that is no store may be.
std::string Hint(const std::string& path) {
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(path, error);
       !error && it != std::filesystem::directory_iterator();
       it.increment(error)) {
    const std::string extension = it->path().extension();
    if (extension == ".npy" || extension == ".bin" || extension == ".arrow" ||
        extension == ".mds") {
      return absl::StrCat(
          "; it holds '", it->path().filename().string(),
          "': files of other projects are not read yet, pack their text");
    }
  }
  return "";
}

}  // namespace

std::string ConfigSources::Located(const std::string& path) const {
  return (std::filesystem::path(folder_) / path).lexically_normal();
}

void ConfigSources::AddError(const NodeSpec& node, const absl::Status& status) {
  if (errors_.empty()) code_ = status.code();
  absl::StrAppend(&errors_, errors_.empty() ? "" : "\n", ToString(node.place),
                  ": ", OneLine(std::string(status.message())));
}

void ConfigSources::OpenBelow(const NodeSpec& node) {
  for (const NodeSpec& child : node.children) OpenBelow(child);
  if (node.kind == NodeKind::kHub) AddError(node, HubStatus(node));
  if (node.kind == NodeKind::kStore) {
    const auto [entry, is_new] = stores_.try_emplace(node.path, nullptr);
    if (!is_new) return;
    TokenStoreOptions options;
    options.io = run_.io;
    const std::string path = Located(node.path);
    auto store = TokenStore::Open(path, options);
    if (!store.ok()) {
      return AddError(node, absl::Status(store.status().code(),
                                         absl::StrCat(store.status().message(),
                                                      Hint(path))));
    }
    entry->second = *std::move(store);
  }
  const bool is_leaf =
      node.kind == NodeKind::kStore || node.kind == NodeKind::kDeclared;
  if (is_leaf && (longest_.empty() || TokensOf(node) > most_tokens_)) {
    most_tokens_ = TokensOf(node);
    longest_ = node.kind == NodeKind::kStore
                   ? absl::StrCat("'", stores_.at(node.path)->path(), "'")
                   : node.place.key;
  }
}

absl::Status ConfigSources::Open(const NodeSpec& node) {
  OpenBelow(node);
  if (!errors_.empty()) return absl::Status(code_, errors_);
  return CheckSomeWindow();
}

absl::Status ConfigSources::CheckSomeWindow() const {
  if (most_tokens_ >= run_.max_seq_len) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToString(run_.seq_len_place), " = ", run_.max_seq_len,
                   " is longer than every source: the longest, ", longest_,
                   ", has ", most_tokens_, " tokens"));
}

uint64_t ConfigSources::TokensOf(const NodeSpec& node) const {
  if (node.kind == NodeKind::kDeclared) return node.tokens;
  return stores_.at(node.path)->num_tokens();
}

absl::StatusOr<DatasetPtr<TokenWindow>> ConfigSources::Windows(
    const NodeSpec& node, SelectionReader* reader) {
  DatasetPtr<TokenWindow> made;
  ConfigSource source;
  source.tokens = TokensOf(node);
  if (node.kind == NodeKind::kDeclared) {
    PONIENTE_ASSIGN_OR_RETURN(
        made, DeclaredWindows(node.place.key, node.tokens, run_.max_seq_len,
                              node.vocabulary));
  } else {
    source.store = stores_.at(node.path);
    source.location = source.store->path();
    if (node.documents.has_value()) {
      PONIENTE_ASSIGN_OR_RETURN(
          const Selection selected,
          reader->Read(*node.documents, source.store->num_documents()));
      PONIENTE_ASSIGN_OR_RETURN(
          made, source.store->Windows(run_.max_seq_len, selected));
    } else {
      PONIENTE_ASSIGN_OR_RETURN(made, source.store->Windows(run_.max_seq_len));
    }
  }
  leaves_[made.get()] = std::move(source);
  return made;
}

ConfigSource ConfigSources::SourceOf(const DatasetNode& leaf) const {
  return leaves_.at(&leaf);
}

}  // namespace poniente::internal
