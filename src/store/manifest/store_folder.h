// SPDX-License-Identifier: Apache-2.0
// The folder of a store while a writer has it: locked against other writers,
// and cleaned of what dead ones left.

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

// What stands in the folder of a store while it is written.
inline constexpr char kLockName[] = "writer.lock";
inline constexpr char kTemporaryManifest[] = "manifest.json.tmp";
inline constexpr char kScratchPrefix[] = "scratch-";

// The text of a store's manifest, and the stamp of its file, if that is asked
// for. NotFound if the folder or the manifest is not there; InvalidArgument if
// `path` is a file.
absl::StatusOr<std::string> ReadManifestText(const std::string& path,
                                             FileStamp* stamp = nullptr);

// Ownership: holds the lock while it lives. Destroyed before Commit() was
//     called, it removes what the writer has made, and the folder if the
//     writer made that too.
// Errors: FailedPrecondition if another writer has the lock.
class StoreFolder {
 public:
  // Asked once the folder is locked, with the generation of the store that is
  // there, 0 if none is: the one that a dead writer was making, if its files
  // are to be gone on with. REQUIRES: that is newer; any other was committed.
  using ChooseToContinue = std::function<std::optional<uint64_t>(
      const StoreFolder& folder, uint64_t committed)>;

  // Makes the folder if need be, locks it, and removes what dead writers left,
  // unless it is gone on with.
  static absl::StatusOr<std::unique_ptr<StoreFolder>> Lock(
      std::string path, const ChooseToContinue& choose = nullptr);

  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  ~StoreFolder();

  // Greater than that of any file in the folder.
  uint64_t generation() const { return generation_; }
  // Whether the files are those of a dead writer, to be gone on with.
  bool continues() const { return continues_; }
  // Leaves the files, if Commit() does not come, to a writer that goes on with
  // them.
  void KeepForLater() { keeps_ = true; }

  // Where the writer's files go.
  std::string PathOf(StoreFile file) const;
  std::string ScratchPath(const std::string& what) const;

  // Makes the files at PathOf() the store, durably, and removes those of older
  // generations.
  // REQUIRES: their bytes are durable.
  absl::Status Commit(const StoreManifest& manifest);

 private:
  explicit StoreFolder(std::string path) : path_(std::move(path)) {}

  absl::Status TakeLock();
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
  OwnedFd lock_;
  uint64_t generation_ = 0;
  // Of the store that was there; 0 if there was none, nullopt if its manifest
  // cannot be read.
  std::optional<uint64_t> previous_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_STORE_FOLDER_H_
