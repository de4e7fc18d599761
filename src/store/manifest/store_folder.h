// SPDX-License-Identifier: Apache-2.0
// The folder of a store during writing. Locks it against other writers, and
// removes files that dead writers left.

#ifndef PONIENTE_STORE_MANIFEST_STORE_FOLDER_H_
#define PONIENTE_STORE_MANIFEST_STORE_FOLDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/manifest/manifest.h"
#include "store/posix_file.h"

namespace poniente::internal {

// Names of files in the folder of a store while it is written. A lock file with
// text in it says that writers have made the files with names of a store.
inline constexpr char kLockName[] = "writer.lock";
inline constexpr char kTemporaryManifest[] = "manifest.json.tmp";
inline constexpr char kScratchPrefix[] = "scratch-";

// Returns the text of a store's manifest and, if asked for, the stamp of its
// file. NotFound if the folder or the manifest does not exist; InvalidArgument
// if `path` is a file.
absl::StatusOr<std::string> ReadManifestText(const std::string& path,
                                             FileStamp* stamp = nullptr);

// Returns whether a writer has locked the folder; true also if that cannot be
// found out.
bool HasWriter(const std::string& path);

// A locked folder.
//
// Ownership: holds the lock while it lives. If destroyed before Commit(), it
//     removes what the writer has created, including the folder if the writer
//     created it.
// Errors: FailedPrecondition if another writer has the lock, or if files have
//     names of a store but were not made by a writer; nothing is removed then.
class StoreFolder {
 public:
  // Called once the folder is locked, with the generation of the existing
  // store: 0 if there is none, nullopt if its manifest is damaged. Returns the
  // generation that a dead writer was writing if its files are to be continued,
  // else nullopt. An error leaves the files as they are, and Lock() returns it.
  // REQUIRES: the generation is newer than the store's, which is known; others
  // have been committed.
  using ChooseToContinue =
      std::function<absl::StatusOr<std::optional<uint64_t>>(
          const StoreFolder& folder, std::optional<uint64_t> committed)>;

  // Creates the folder if necessary, locks it, and removes files that dead
  // writers left, except those to be continued. Removes no other file.
  static absl::StatusOr<std::unique_ptr<StoreFolder>> Lock(
      std::string path, const ChooseToContinue& choose = nullptr);

  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  ~StoreFolder();

  // Returns a number greater than the generation of any other file in the
  // folder.
  uint64_t generation() const { return generation_; }
  // Returns whether there is a store already, or a manifest that cannot be
  // read.
  bool has_store() const { return previous_ != uint64_t{0}; }
  // Returns whether files of a dead writer are continued.
  bool continues() const { return continues_; }
  // Keeps the files for a later writer if this is destroyed before Commit().
  void KeepForLater() { keeps_ = true; }

  // Return the paths of the files to write.
  std::string PathOf(StoreFile file) const;
  std::string ScratchPath(const std::string& what) const;

  // Makes the files at PathOf() the store, durably, and removes those of older
  // generations. REQUIRES: their bytes are durable.
  absl::Status Commit(const StoreManifest& manifest);

 private:
  explicit StoreFolder(std::string path) : path_(std::move(path)) {}

  absl::Status TakeLock();
  // Finds the generation of the store that is there.
  absl::Status ReadPrevious();
  // Fails if a file with a name of a store was not made by a writer. Records in
  // the lock file that those to come are.
  absl::Status ClaimFiles();
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  void RemoveScratch() const;
  // Removes files of generations other than `keep`, scratch files and
  // manifests under a temporary name.
  void RemoveFilesOfOthers(uint64_t keep) const;

  const std::string path_;
  bool made_folder_ = false;
  bool committed_ = false;
  bool continues_ = false;
  bool keeps_ = false;
  // Whether the files with names of a store are those of writers.
  bool is_claimed_ = false;
  OwnedFd lock_;
  uint64_t generation_ = 0;
  // Generation of the store that was there; 0 if there was none, nullopt if its
  // manifest cannot be read.
  std::optional<uint64_t> previous_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_STORE_FOLDER_H_
