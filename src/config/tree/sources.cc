// SPDX-License-Identifier: Apache-2.0
#include "config/tree/sources.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/tree/hub_cache.h"
#include "config/tree/source_checks.h"
#include "poniente/open_token_source.h"
#include "poniente/token_source.h"
#include "poniente/token_store.h"
#include "store/catalog/tokenizer_origin.h"
#include "store/manifest/known_store.h"
#include "store/manifest/manifest.h"
#include "store/read/token_store_access.h"
#include "util/alike_lines.h"
#include "util/in_parallel.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A store that is open goes on if another takes its place. More than so many
// take too long to open, and too many descriptors.
constexpr size_t kMaxHeld = 256;

// What makes a leaf's files the same as another's.
std::string SourceKeyOf(const Node& node) {
  const SourceFiles& files = node.files;
  std::string key = absl::StrCat(node.path, "\n", node.hub_name, "\n",
                                 node.hub_config, "\n", node.hub_split, "\n");
  absl::StrAppend(&key, files.format, "\n", files.column, "\n", files.glob);
  if (files.growing) absl::StrAppend(&key, "\ngrowing");
  if (files.dtype) {
    absl::StrAppend(&key, "\nas ", static_cast<int>(*files.dtype));
  }
  if (files.delimiter) {
    absl::StrAppend(&key, "\nat ", files.delimiter->begins, " ",
                    files.delimiter->id);
  }
  if (files.loss_mask) {
    const LossMaskFiles& mask = *files.loss_mask;
    absl::StrAppend(&key, "\nmask ", mask.path, "\n", mask.glob, "\n",
                    mask.column, "\n");
    if (mask.no_loss) absl::StrAppend(&key, "but ", *mask.no_loss);
    if (mask.loss) absl::StrAppend(&key, "only ", *mask.loss);
  }
  if (node.vocabulary) {
    absl::StrAppend(&key, "\nof ", node.vocabulary->size, " ",
                    node.vocabulary->tokenizer);
  }
  return key;
}

std::string WithoutSlash(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path;
}

// Nothing is stated of its files.
bool IsBare(const Node& node) {
  const SourceFiles& files = node.files;
  return !files.dtype && files.column.empty() && files.format.empty() &&
         !files.loss_mask && !node.vocabulary;
}

bool IsFiles(const Node& node) {
  return node.kind == NodeKind::kStore || node.kind == NodeKind::kHub;
}

bool HoldsStore(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(
      absl::StrCat(path, "/", Absl(kManifestName)), ignored);
}

// Looks at all of the store's files, and opens them at its first read.
absl::StatusOr<std::shared_ptr<const TokenSource>> OpenExamined(
    const std::string& path, const ByteReaderOptions& io) {
  PONIENTE_ASSIGN_OR_RETURN(KnownStore known, ExamineStore(path));
  return TokenStoreAccess::OpenKnown(
      std::make_shared<const KnownStore>(std::move(known)), {.io = io});
}

}  // namespace

std::string ConfigSources::Located(const std::string& path) const {
  return (std::filesystem::path(run_.folder) / path).lexically_normal();
}

absl::StatusOr<std::shared_ptr<const TokenSource>> ConfigSources::OpenFiles(
    const Node& node, std::shared_ptr<GrowingStore>* growing) const {
  if (node.files.growing) {
    PONIENTE_ASSIGN_OR_RETURN(
        std::shared_ptr<GrowingStore> store,
        GrowingStore::Open(Located(node.path), {.io = run_.io}));
    const std::shared_ptr<const GrowingStore::State> now = store->Now();
    if (!now->is_final) *growing = std::move(store);
    return now->source;
  }
  TokenSourceOptions options;
  options.io = run_.io;
  options.format = node.files.format;
  options.dtype = node.files.dtype;
  options.column = node.files.column;
  options.glob = node.files.glob;
  options.delimiter = node.files.delimiter;
  options.loss_mask = node.files.loss_mask;
  if (options.loss_mask && !options.loss_mask->path.empty()) {
    options.loss_mask->path = Located(options.loss_mask->path);
  }
  options.vocabulary = node.vocabulary;
  if (node.kind == NodeKind::kStore) {
    const std::string path = Located(node.path);
    if (IsBare(node)) {
      PONIENTE_ASSIGN_OR_RETURN(auto listed, FindInCatalogs(path));
      if (listed != nullptr) return listed;
      if (opens_later_ && HoldsStore(path)) return OpenExamined(path, run_.io);
    }
    return OpenTokenSource(path, options);
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::string folder,
                            FindInHubCache(node.hub_name, node.hub_config));
  if (options.glob.empty()) options.glob = HubSplitGlob(node.hub_split);
  return OpenTokenSource(folder, options);
}

absl::Status ConfigSources::OpenCatalogs() {
  for (const std::string& folder : run_.catalogs) {
    absl::StatusOr<StoreCatalog> catalog = StoreCatalog::Open(Located(folder));
    if (!catalog.ok()) {
      return Prepend(
          catalog.status(),
          absl::StrCat(ToString(run_.runtime_location), ".catalogs"));
    }
    catalogs_.push_back(*std::move(catalog));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const TokenSource>>
ConfigSources::FindInCatalogs(const std::string& path) const {
  std::shared_ptr<const TokenSource> found;
  for (const StoreCatalog& catalog : catalogs_) {
    const std::string folder = WithoutSlash(catalog.folder()) + "/";
    if (!path.starts_with(folder)) continue;
    const std::string below = WithoutSlash(path.substr(folder.size()));
    if (catalog.Find(below) == nullptr) continue;
    TokenStoreOptions options;
    options.io = run_.io;
    PONIENTE_ASSIGN_OR_RETURN(found, catalog.OpenStore(below, options));
    break;
  }
  return found;
}

const std::shared_ptr<const TokenSource>& ConfigSources::Opened(
    const Node& node) const {
  return opened_.at(SourceKeyOf(node));
}

void ConfigSources::Gather(const Node& node, std::vector<const Node*>* files) {
  for (const Node& child : node.children) Gather(child, files);
  if (!IsFiles(node)) return;
  if (opened_.try_emplace(SourceKeyOf(node), nullptr).second)
    files->push_back(&node);
}

absl::Status ConfigSources::OpenBelow(const Node& root) {
  std::vector<const Node*> files;
  Gather(root, &files);
  opens_later_ = files.size() > kMaxHeld;
  std::vector<absl::Status> statuses(files.size());
  std::vector<std::shared_ptr<const TokenSource>> sources(files.size());
  std::vector<std::shared_ptr<GrowingStore>> growing(files.size());
  InParallel(files.size(), [&](size_t i) {
    auto opened = OpenFiles(*files[i], &growing[i]);
    if (opened.ok()) {
      sources[i] = *std::move(opened);
    } else {
      statuses[i] = AtItsPlace(files[i]->location, opened.status());
    }
  });
  for (size_t i = 0; i < files.size(); ++i) {
    opened_[SourceKeyOf(*files[i])] = std::move(sources[i]);
  }
  PONIENTE_RETURN_IF_ERROR(JoinErrors(statuses));
  for (size_t i = 0; i < files.size(); ++i) {
    if (growing[i] != nullptr) {
      warnings_.push_back(absl::StrCat(ToString(files[i]->location),
                                       " is still being written: plans and "
                                       "counts are of the ",
                                       Opened(*files[i])->num_tokens(),
                                       " tokens that are there now"));
      growing_[SourceKeyOf(*files[i])] = std::move(growing[i]);
    }
  }
  WarnOfLibraries(files);
  return absl::OkStatus();
}

void ConfigSources::WarnOfLibraries(const std::vector<const Node*>& files) {
  std::vector<const TokenSource*> sources;
  for (const Node* node : files) sources.push_back(Opened(*node).get());
  for (const LibraryDifference& differs : LibraryDifferences(sources)) {
    warnings_.push_back(absl::StrCat(ToString(files[differs.source]->location),
                                     ": ", OneLine(differs.text)));
  }
}

// A window of packed documents is there however few tokens they have.
void ConfigSources::FindLongest(const Node& node, bool is_packed) {
  if (node.pack_documents.has_value()) {
    is_packed = node.pack_documents->is_packed;
  }
  for (const Node& child : node.children) FindLongest(child, is_packed);
  if (!IsSource(node)) return;
  const bool is_known = !is_packed && Growing(node) == nullptr;
  const uint64_t tokens =
      is_known || !IsFiles(node) ? TokensOf(node) : UINT64_MAX;
  if (!longest_.empty() && tokens <= most_tokens_) return;
  most_tokens_ = tokens;
  longest_ = IsFiles(node) ? absl::StrCat("'", Opened(node)->path(), "'")
                           : node.location.key;
}

absl::Status ConfigSources::Open(const Node& node) {
  PONIENTE_RETURN_IF_ERROR(OpenCatalogs());
  PONIENTE_RETURN_IF_ERROR(OpenBelow(node));
  FindLongest(node, /*is_packed=*/false);
  return absl::OkStatus();
}

bool ConfigSources::IsOpen(const Node& node) const {
  if (!IsFiles(node)) return true;
  const auto found = opened_.find(SourceKeyOf(node));
  return found != opened_.end() && found->second != nullptr;
}

absl::Status ConfigSources::CheckSomeWindow() const {
  if (most_tokens_ >= WindowTokens(run_)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToString(run_.seq_len_location), " = ", WindowTokens(run_),
                   " is longer than every source: the longest, ", longest_,
                   ", has ", most_tokens_, " tokens"));
}

uint64_t ConfigSources::TokensOf(const Node& node) const {
  if (node.kind == NodeKind::kDeclared) return node.tokens;
  if (node.kind == NodeKind::kDataset) {
    return TokensOfDataset(run_, *node.dataset).value_or(UINT64_MAX);
  }
  return Opened(node)->num_tokens();
}

std::shared_ptr<GrowingStore> ConfigSources::Growing(const Node& node) const {
  if (!node.files.growing) return nullptr;
  const auto found = growing_.find(SourceKeyOf(node));
  return found == growing_.end() ? nullptr : found->second;
}

}  // namespace poniente::internal
