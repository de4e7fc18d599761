// SPDX-License-Identifier: Apache-2.0
#include "poniente/catalog.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/catalog/catalog_text.h"
#include "store/catalog/joined_stores.h"
#include "store/catalog/store_search.h"
#include "store/manifest/known_store.h"
#include "store/manifest/manifest.h"
#include "store/posix_file.h"
#include "store/read/token_store_access.h"
#include "util/alike_lines.h"
#include "util/in_parallel.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::KnownStore;
using internal::OwnedFd;

// Enough for five million stores.
constexpr uint64_t kMaxCatalogBytes = uint64_t{1} << 30;

std::string FileIn(const std::string& folder) {
  return absl::StrCat(folder, "/", StoreCatalog::kFileName);
}

// Returns the path without slashes at its end, so that paths of stores below it
// can be written in only one way.
std::string Trimmed(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

absl::StatusOr<std::string> ReadText(const std::string& folder) {
  const std::string file = FileIn(folder);
  absl::StatusOr<std::string> text =
      internal::ReadSmallFile(file, "a catalogue", kMaxCatalogBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        "no catalogue in '", folder, "': it has no ", StoreCatalog::kFileName,
        "; check the path, or write it with `poniente catalog ", folder, "`"));
  }
  if (!absl::IsInvalidArgument(text.status())) return text;
  return absl::DataLossError(
      absl::StrCat("no catalogue in '", folder, "': ", text.status().message(),
                   "; remove it, and run `poniente catalog ", folder, "`"));
}

// Writes the catalogue. The file appears whole or not at all.
absl::Status WriteText(const std::string& folder, const std::string& text) {
  const std::string file = FileIn(folder);
  const std::string temporary = absl::StrCat(file, ".", ::getpid(), ".tmp");
  const auto write = [&]() -> absl::Status {
    PONIENTE_ASSIGN_OR_RETURN(
        const OwnedFd fd,
        internal::OpenFd(temporary, O_WRONLY | O_CREAT | O_TRUNC));
    PONIENTE_RETURN_IF_ERROR(internal::WriteAll(
        fd.get(), temporary, 0, std::as_bytes(std::span(text))));
    PONIENTE_RETURN_IF_ERROR(internal::SyncFd(fd.get(), temporary));
    if (::rename(temporary.c_str(), file.c_str()) != 0) {
      return internal::ErrnoError(file, "rename catalogue");
    }
    return absl::OkStatus();
  };
  absl::Status written = write();
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  return internal::SyncFolder(folder);
}

CatalogEntry EntryOf(const KnownStore& store) {
  const internal::StoreManifest& manifest = store.manifest;
  CatalogEntry entry;
  entry.path = store.path;
  entry.vocabulary = manifest.vocabulary;
  entry.token_type = manifest.token_type;
  entry.end_of_document = manifest.end_of_document;
  entry.tokens = manifest.tokens;
  entry.documents = manifest.documents;
  entry.bytes = store.manifest_file.bytes;
  for (const internal::StoreFile file : manifest.Files()) {
    entry.bytes += manifest.FileBytes(file);
  }
  entry.fingerprint = manifest.fingerprint;
  entry.tokenizer_library = manifest.tokenizer_library;
  entry.has_loss_mask = manifest.has_loss_mask;
  return entry;
}

// Returns the error for a folder without stores. An empty catalogue is not
// written, because the folder would then be a source without tokens, whatever
// else it contains.
absl::Status NoStores(const std::string& folder,
                      const internal::FoundStores& found) {
  return absl::NotFoundError(absl::StrCat(
      "no token store below '", folder, "'",
      found.others.empty()
          ? ""
          : absl::StrCat(" (", found.others.size(),
                         " folders have a manifest.json of something else)"),
      "; check the path, or make stores with `poniente pack`",
      StoreCatalog::IsIn(folder)
          ? absl::StrCat(", or remove '", FileIn(folder),
                         "', if those that it lists are gone for good")
          : ""));
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<const TokenStore>>> OpenStores(
    std::span<const std::string> paths, const TokenStoreOptions& options) {
  std::vector<std::shared_ptr<const TokenStore>> stores(paths.size());
  std::vector<absl::Status> statuses(paths.size());
  const auto open = [&](size_t i) -> absl::Status {
    PONIENTE_ASSIGN_OR_RETURN(KnownStore known,
                              internal::ReadKnownStore(paths[i]));
    PONIENTE_ASSIGN_OR_RETURN(
        stores[i],
        internal::TokenStoreAccess::OpenKnown(
            std::make_shared<const KnownStore>(std::move(known)), options));
    return absl::OkStatus();
  };
  internal::InParallel(paths.size(), [&](size_t i) { statuses[i] = open(i); });
  PONIENTE_RETURN_IF_ERROR(internal::JoinErrors(statuses));
  return stores;
}

absl::StatusOr<StoreCatalog::Written> StoreCatalog::Write(
    const std::string& given) {
  const std::string folder = Trimmed(given);
  PONIENTE_ASSIGN_OR_RETURN(internal::FoundStores found,
                            internal::FindStores(folder));
  if (found.stores.empty()) return NoStores(folder, found);
  std::vector<KnownStore> stores(found.stores.size());
  std::vector<absl::Status> statuses(stores.size());
  internal::InParallel(stores.size(), [&](size_t i) {
    absl::StatusOr<KnownStore> store =
        internal::ExamineStore(absl::StrCat(folder, "/", found.stores[i]));
    statuses[i] = store.status();
    if (!store.ok()) return;
    stores[i] = *std::move(store);
    stores[i].path = found.stores[i];
  });
  PONIENTE_RETURN_IF_ERROR(internal::JoinErrors(statuses));
  PONIENTE_RETURN_IF_ERROR(WriteText(folder, internal::EncodeCatalog(stores)));
  Written written;
  written.stores = stores.size();
  for (const KnownStore& store : stores) {
    const CatalogEntry entry = EntryOf(store);
    written.tokens += entry.tokens;
    written.documents += entry.documents;
    written.bytes += entry.bytes;
  }
  written.others = std::move(found.others);
  written.missing_parts = internal::MissingParts(found.stores);
  return written;
}

absl::StatusOr<StoreCatalog> StoreCatalog::Open(const std::string& folder) {
  StoreCatalog catalog(Trimmed(folder));
  PONIENTE_ASSIGN_OR_RETURN(const std::string text, ReadText(catalog.folder_));
  absl::StatusOr<std::vector<KnownStore>> stores = internal::ParseCatalog(text);
  if (!stores.ok()) {
    return internal::Prepend(stores.status(),
                             absl::StrCat("'", FileIn(catalog.folder_), "'"));
  }
  const std::string location = internal::LocationOf(catalog.folder_);
  catalog.entries_.reserve(stores->size());
  catalog.known_.reserve(stores->size());
  for (KnownStore& store : *stores) {
    catalog.entries_.push_back(EntryOf(store));
    store.location = absl::StrCat(location, "/", store.path);
    store.path = absl::StrCat(catalog.folder_, "/", store.path);
    store.catalog = catalog.folder_;
    catalog.known_.push_back(
        std::make_shared<const KnownStore>(std::move(store)));
  }
  return catalog;
}

bool StoreCatalog::IsIn(const std::string& folder) {
  struct stat facts;
  return ::stat(FileIn(folder).c_str(), &facts) == 0;
}

absl::StatusOr<size_t> StoreCatalog::NumberOf(std::string_view path) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), path,
                       [](const CatalogEntry& entry, std::string_view p) {
                         return entry.path < p;
                       });
  if (found != entries_.end() && found->path == path) {
    return static_cast<size_t>(found - entries_.begin());
  }
  return absl::NotFoundError(absl::StrCat(
      "no store '", internal::Absl(path), "' in the catalogue of '", folder_,
      "', which lists ", entries_.size(),
      "; check the path, or run `poniente catalog ", folder_, "` again"));
}

const CatalogEntry* StoreCatalog::Find(std::string_view path) const {
  const absl::StatusOr<size_t> number = NumberOf(path);
  return number.ok() ? &entries_[*number] : nullptr;
}

absl::StatusOr<std::shared_ptr<const TokenStore>> StoreCatalog::OpenStore(
    std::string_view path, const TokenStoreOptions& options) const {
  PONIENTE_ASSIGN_OR_RETURN(const size_t number, NumberOf(path));
  return internal::TokenStoreAccess::OpenKnown(known_[number], options);
}

absl::StatusOr<std::vector<std::shared_ptr<const TokenStore>>>
StoreCatalog::OpenAll(const TokenStoreOptions& options) const {
  std::vector<std::shared_ptr<const TokenStore>> stores;
  stores.reserve(known_.size());
  for (const auto& known : known_) {
    PONIENTE_ASSIGN_OR_RETURN(
        auto store, internal::TokenStoreAccess::OpenKnown(known, options));
    stores.push_back(std::move(store));
  }
  return stores;
}

absl::StatusOr<std::shared_ptr<const TokenSource>> StoreCatalog::OpenJoined(
    const TokenStoreOptions& options) const {
  return internal::JoinedStores::Open(folder_, known_, options);
}

absl::Status StoreCatalog::CheckStore(std::string_view path) const {
  PONIENTE_ASSIGN_OR_RETURN(const size_t number, NumberOf(path));
  return internal::CheckUnchanged(*known_[number]);
}

absl::StatusOr<std::vector<CatalogFinding>> StoreCatalog::Compare() const {
  using Kind = CatalogFinding::Kind;
  PONIENTE_ASSIGN_OR_RETURN(const internal::FoundStores found,
                            internal::FindStores(folder_));
  std::vector<absl::Status> statuses(known_.size());
  internal::InParallel(known_.size(), [&](size_t i) {
    statuses[i] = internal::CheckUnchanged(*known_[i]);
  });
  // A map, so that all findings are in the order of their paths.
  std::map<std::string, CatalogFinding> findings;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (statuses[i].ok()) continue;
    const std::string& path = entries_[i].path;
    const bool is_there =
        std::binary_search(found.stores.begin(), found.stores.end(), path);
    findings[path] = {is_there ? Kind::kStale : Kind::kMissing, path,
                      std::move(statuses[i])};
  }
  for (const std::string& path : found.stores) {
    if (Find(path) != nullptr) continue;
    findings[path] = {
        Kind::kNew, path,
        absl::FailedPreconditionError(absl::StrCat(
            "'", folder_, "/", path, "' is not in the catalogue of '", folder_,
            "'; run `poniente catalog ", folder_, "` again"))};
  }
  std::vector<CatalogFinding> list;
  for (auto& [path, finding] : findings) list.push_back(std::move(finding));
  return list;
}

}  // namespace poniente
