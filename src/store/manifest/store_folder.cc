// SPDX-License-Identifier: Apache-2.0
// The life of a store's folder. A store becomes visible in one step:
//
// 1. The writer takes flock on writer.lock, so that there is only one, and
//    writes a line into it.
// 2. Tokens, documents and checksums are written under the names of a
//    generation that no file in the folder has, and fsynced.
// 3. The folder is fsynced: their names are durable.
// 4. The manifest is written as manifest.json.tmp, and fsynced.
// 5. It is renamed over manifest.json. This is the commit: before it a reader
//    finds the old store or none, after it the new one.
// 6. The folder is fsynced: the commit is durable.
// 7. Files of other generations are removed, then the lock file.
//
// A writer that is killed before 5 leaves files that no manifest names. A
// writer that is killed after 5 may leave the files of the previous generation.
// The next writer removes both. It removes files with such names only if the
// line in the lock file, a manifest, or the state of a writer shows that they
// are those of a writer: others may have files of the same names, such as
// shards of ids. No file named by a manifest is ever written to
// again. A reader that has read the old manifest may find that 7 has removed
// its files; it then reads the manifest again (token_store.cc). The lock file
// is removed only while it is locked, and a lock counts only if the name still
// leads to the file that was locked.
#include "store/manifest/store_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "store/manifest/manifest_text.h"
#include "store/manifest/store_checkpoint.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir)) names.push_back(entry->d_name);
  ::closedir(dir);
  return names;
}

// Returns the generation in a name such as tokens-3.bin; nullopt for other
// names.
std::optional<uint64_t> GenerationOf(const std::string& name) {
  const std::optional<StoreFile> file = StoreFileNamed(name);
  if (!file) return std::nullopt;
  uint64_t generation = 0;
  const size_t start = StoreFileKind(*file).size() + 1;
  const std::string digits = name.substr(start, name.size() - start - 4);
  const bool is_one = absl::SimpleAtoi(digits, &generation) &&
                      StoreFileName(*file, generation) == name;
  return is_one ? std::optional(generation) : std::nullopt;
}

// Names of the files that a writer keeps while it writes (store_builder*.cc).
bool IsScratch(std::string_view name) {
  constexpr std::string_view kWhat[] = {
      "checkpoint",  "checkpoint.tmp",  "ends",     "name-ends", "names",
      "growth.json", "growth.json.tmp", "loss-mask"};
  if (!name.starts_with(kScratchPrefix)) return false;
  name.remove_prefix(sizeof(kScratchPrefix) - 1);
  return std::find(std::begin(kWhat), std::end(kWhat), name) != std::end(kWhat);
}

// Returns whether a writer makes files of this name, besides the lock and the
// manifest.
bool IsNameOfStore(const std::string& name) {
  return GenerationOf(name) || IsScratch(name) || name == kTemporaryManifest;
}

// Returns whether the files of a store, without its manifest, are there.
bool HoldsWholeStore(const std::vector<std::string>& names) {
  std::map<uint64_t, std::set<StoreFile>> files;
  for (const std::string& name : names) {
    if (const auto generation = GenerationOf(name)) {
      files[*generation].insert(*StoreFileNamed(name));
    }
  }
  return std::any_of(files.begin(), files.end(), [](const auto& of) {
    return of.second.contains(StoreFile::kTokens) &&
           of.second.contains(StoreFile::kDocuments) &&
           of.second.contains(StoreFile::kChecksums);
  });
}

// Returns whether a file has the checksum of what only a writer writes.
bool HoldsStateOfWriter(const std::string& checkpoint,
                        const std::string& growth) {
  const auto saved =
      ReadSmallFile(checkpoint, "a checkpoint", kMaxCheckpointBytes);
  if (saved.ok() && ParseCheckpoint(*saved)) return true;
  const auto grown =
      ReadSmallFile(growth, "the state of a growing store", kMaxManifestBytes);
  return grown.ok() && ParseGrowth(*grown).ok();
}

absl::Status NotOfStore(const std::string& path, std::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path, "' ", Absl(what),
      ", and a store here would replace or remove it: write to another path "
      "(--out), or remove or rename this file"));
}

constexpr char kLockText[] = "poniente writer\n";
constexpr int kLockTries = 5;
// Attempts to create the lock file, while others remove it or its folder.
constexpr int kCreateTries = 200;
constexpr std::chrono::milliseconds kPause(2);

bool SameFile(int fd, const std::string& path) {
  struct stat locked, named;
  return ::fstat(fd, &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

}  // namespace

absl::StatusOr<std::string> ReadManifestText(const std::string& path,
                                             FileStamp* stamp) {
  const std::string file = absl::StrCat(path, "/", Absl(kManifestName));
  absl::StatusOr<std::string> text =
      ReadSmallFile(file, "a manifest", kMaxManifestBytes, stamp);
  if (text.ok()) return text;
  struct stat facts;
  if (::stat(path.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path,
                     "' is not a token store: a store is a folder "
                     "with a ",
                     Absl(kManifestName), " in it"));
  }
  if (!absl::IsInvalidArgument(text.status())) return text;
  return absl::DataLossError(
      absl::StrCat(text.status().message(),
                   "; restore it from a copy or pack the store again"));
}

bool HasWriter(const std::string& path) {
  const absl::StatusOr<OwnedFd> fd =
      OpenFd(absl::StrCat(path, "/", kLockName), O_RDONLY);
  if (!fd.ok()) return !absl::IsNotFound(fd.status());
  if (::flock(fd->get(), LOCK_SH | LOCK_NB) != 0) return true;
  ::flock(fd->get(), LOCK_UN);
  return false;
}

absl::StatusOr<std::unique_ptr<StoreFolder>> StoreFolder::Lock(
    std::string path, const ChooseToContinue& choose) {
  std::unique_ptr<StoreFolder> folder(new StoreFolder(std::move(path)));
  PONIENTE_RETURN_IF_ERROR(folder->TakeLock());
  absl::Status usable = folder->ReadPrevious();
  if (usable.ok()) usable = folder->ClaimFiles();
  if (!usable.ok()) {
    folder->KeepForLater();
    return usable;
  }
  if (choose != nullptr) {
    const auto begun = choose(*folder, folder->previous_);
    if (!begun.ok()) {
      folder->KeepForLater();
      return begun.status();
    }
    if (begun->has_value()) {
      PONIENTE_CHECK(folder->previous_ && **begun > *folder->previous_)
          << **begun;
      folder->generation_ = **begun;
      folder->continues_ = true;
      folder->made_folder_ = folder->made_folder_ || *folder->previous_ == 0;
      return folder;
    }
  }
  // If the manifest cannot be read, its files are kept until this writer
  // commits, so that a person can repair them.
  if (folder->previous_) folder->RemoveFilesOfOthers(*folder->previous_);
  uint64_t newest = folder->previous_.value_or(0);
  for (const std::string& name : NamesIn(folder->path_)) {
    newest = std::max(newest, GenerationOf(name).value_or(0));
  }
  if (newest == UINT64_MAX) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", folder->path_, "' holds generation ", newest,
                     ", the last that can be counted; write to another path"));
  }
  folder->generation_ = newest + 1;
  return folder;
}

absl::Status StoreFolder::ReadPrevious() {
  const std::string file = File(std::string(kManifestName));
  const absl::StatusOr<std::string> text = ReadManifestText(path_);
  if (absl::IsNotFound(text.status())) {
    previous_ = 0;
    return absl::OkStatus();
  }
  if (!text.ok()) {
    // A pipe or the like holds nothing that is lost when it is replaced.
    struct stat facts;
    if (::stat(file.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) &&
        !S_ISDIR(facts.st_mode)) {
      return absl::OkStatus();
    }
    return NotOfStore(file, absl::StrCat("cannot be read as the manifest of a "
                                         "token store (",
                                         text.status().message(), ")"));
  }
  const absl::StatusOr<StoreManifest> old = ParseManifest(*text);
  if (old.ok()) {
    previous_ = old->generation;
    is_claimed_ = true;
    return absl::OkStatus();
  }
  if (IsOfOtherFormat(*text)) {
    return NotOfStore(file, "is not the manifest of a token store");
  }
  // A damaged one can be replaced, if it was one.
  is_claimed_ = is_claimed_ || HoldsWholeStore(NamesIn(path_)) ||
                text->find(kStoreFormat) != std::string::npos;
  if (is_claimed_) return absl::OkStatus();
  return NotOfStore(file, "is not the manifest of a token store");
}

absl::Status StoreFolder::ClaimFiles() {
  const std::string growth = File(std::string(kGrowthName));
  is_claimed_ =
      is_claimed_ || HoldsStateOfWriter(ScratchPath("checkpoint"), growth);
  if (!is_claimed_) {
    for (const std::string& name : NamesIn(path_)) {
      if (!IsNameOfStore(name)) continue;
      return NotOfStore(File(name),
                        "has the name of a file of a token store, but no "
                        "writer of a store has made it");
    }
  }
  const std::string file = File(kLockName);
  const std::string_view line(kLockText);
  PONIENTE_RETURN_IF_ERROR(
      WriteAll(lock_.get(), file, 0, std::as_bytes(std::span(line))));
  // Before there are files that it speaks of.
  PONIENTE_RETURN_IF_ERROR(SyncFd(lock_.get(), file));
  is_claimed_ = true;
  return absl::OkStatus();
}

absl::Status StoreFolder::TakeLock() {
  const std::string file = File(kLockName);
  int tries = 0;
  int created = 0;
  while (true) {
    PONIENTE_ASSIGN_OR_RETURN(const bool made, MakeFolders(path_));
    made_folder_ = made_folder_ || made;
    absl::StatusOr<OwnedFd> fd = OpenFd(file, O_RDWR | O_CREAT);
    if (absl::IsNotFound(fd.status()) && ++created < kCreateTries) {
      // A writer that failed has just removed the folder.
      std::this_thread::sleep_for(kPause);
      continue;
    }
    if (absl::IsNotFound(fd.status())) {
      return absl::NotFoundError(absl::StrCat(
          fd.status().message(),
          "; the folder is there, but no file can be made in it: write to "
          "another path"));
    }
    if (!fd.ok()) return fd.status();
    if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return ErrnoError(file, "lock");
      // A reader that asks whether there is a writer holds it for a moment.
      if (++tries <= kLockTries) {
        std::this_thread::sleep_for(kPause);
        continue;
      }
      return absl::FailedPreconditionError(absl::StrCat(
          "'", path_, "' is being written by another writer, which holds '",
          file, "'; wait for it, or write to another path"));
    }
    if (!SameFile(fd->get(), file)) {  // its holder removed it
      if (++created < kCreateTries) continue;
      return absl::UnavailableError(
          absl::StrCat("'", file, "' was removed or replaced ", created,
                       " times while it was locked; write to another path"));
    }
    lock_ = *std::move(fd);
    struct stat facts;
    if (::fstat(lock_.get(), &facts) != 0) return ErrnoError(file, "stat");
    is_claimed_ = facts.st_size > 0;
    return absl::OkStatus();
  }
}

StoreFolder::~StoreFolder() {
  if (lock_.is_open() && !committed_ && !keeps_) {
    for (const StoreFile file : kStoreFiles) ::unlink(PathOf(file).c_str());
    ::unlink(File(kTemporaryManifest).c_str());
    RemoveScratch();
  }
  // With files that are kept, it stays: it says that they are a writer's.
  const bool keeps_lock = keeps_ && !committed_ && is_claimed_;
  if (lock_.is_open() && !keeps_lock) ::unlink(File(kLockName).c_str());
  // Fails, as intended, if the folder contains other files.
  if (made_folder_ && !committed_ && !keeps_) ::rmdir(path_.c_str());
}

std::string StoreFolder::PathOf(StoreFile file) const {
  return File(StoreFileName(file, generation_));
}

std::string StoreFolder::ScratchPath(const std::string& what) const {
  return File(kScratchPrefix + what);
}

absl::Status StoreFolder::Commit(const StoreManifest& manifest) {
  PONIENTE_RETURN_IF_ERROR(SyncFolder(path_));
  const std::string temporary = File(kTemporaryManifest);
  ::unlink(temporary.c_str());  // left by a dead writer
  {
    const std::string text = EncodeManifest(manifest);
    PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd,
                              OpenFd(temporary, O_WRONLY | O_CREAT | O_EXCL));
    PONIENTE_RETURN_IF_ERROR(
        WriteAll(fd.get(), temporary, 0, std::as_bytes(std::span(text))));
    PONIENTE_RETURN_IF_ERROR(SyncFd(fd.get(), temporary));
  }
  const std::string visible = File(std::string(kManifestName));
  if (::rename(temporary.c_str(), visible.c_str()) != 0) {
    return ErrnoError(visible, "rename manifest");
  }
  committed_ = true;
  const absl::Status durable = SyncFolder(path_);
  if (!durable.ok()) {
    return Prepend(durable,
                   "the store is visible, but may not survive a loss "
                   "of power");
  }
  RemoveFilesOfOthers(generation_);
  return absl::OkStatus();
}

void StoreFolder::RemoveScratch() const {
  for (const std::string& name : NamesIn(path_)) {
    if (IsScratch(name)) ::unlink(File(name).c_str());
  }
}

void StoreFolder::RemoveFilesOfOthers(uint64_t keep) const {
  for (const std::string& name : NamesIn(path_)) {
    const std::optional<uint64_t> generation = GenerationOf(name);
    if ((generation && *generation != keep) || name == kTemporaryManifest) {
      ::unlink(File(name).c_str());
    }
  }
  RemoveScratch();
}

}  // namespace poniente::internal
