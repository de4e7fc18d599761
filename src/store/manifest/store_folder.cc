// SPDX-License-Identifier: Apache-2.0
// The life of a store's folder. A store becomes visible in one step:
//
// 1. The writer takes flock on writer.lock, so that there is only one.
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
// The next writer removes both. No file named by a manifest is ever written to
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
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "store/manifest/manifest_text.h"
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

constexpr int kLockTries = 5;

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
  const absl::StatusOr<std::string> text = ReadManifestText(folder->path_);
  if (text.ok()) {
    const absl::StatusOr<StoreManifest> old = ParseManifest(*text);
    if (old.ok()) folder->previous_ = old->generation;
  } else if (absl::IsNotFound(text.status())) {
    folder->previous_ = 0;
  }
  if (choose != nullptr && folder->previous_) {
    const auto begun = choose(*folder, *folder->previous_);
    if (!begun.ok()) {
      folder->KeepForLater();
      return begun.status();
    }
    if (begun->has_value()) {
      PONIENTE_CHECK(**begun > *folder->previous_) << **begun;
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

absl::Status StoreFolder::TakeLock() {
  const std::string file = File(kLockName);
  int tries = 0;
  while (true) {
    PONIENTE_ASSIGN_OR_RETURN(const bool made, MakeFolders(path_));
    made_folder_ = made_folder_ || made;
    absl::StatusOr<OwnedFd> fd = OpenFd(file, O_RDWR | O_CREAT);
    // A writer that failed has just removed the folder.
    if (absl::IsNotFound(fd.status())) continue;
    if (!fd.ok()) return fd.status();
    if (::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return ErrnoError(file, "lock");
      // A reader that asks whether there is a writer holds it for a moment.
      if (++tries <= kLockTries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        continue;
      }
      return absl::FailedPreconditionError(absl::StrCat(
          "'", path_, "' is being written by another writer, which holds '",
          file, "'; wait for it, or write to another path"));
    }
    if (!SameFile(fd->get(), file)) continue;  // its holder removed it
    lock_ = *std::move(fd);
    return absl::OkStatus();
  }
}

StoreFolder::~StoreFolder() {
  if (lock_.is_open() && !committed_ && !keeps_) {
    for (const StoreFile file : kStoreFiles) ::unlink(PathOf(file).c_str());
    ::unlink(File(kTemporaryManifest).c_str());
    RemoveScratch();
  }
  if (lock_.is_open()) ::unlink(File(kLockName).c_str());
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
    if (absl::StartsWith(name, kScratchPrefix)) ::unlink(File(name).c_str());
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
