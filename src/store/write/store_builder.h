// SPDX-License-Identifier: Apache-2.0
// Builds the files of one store: tokens on several threads, the rest in order.

#ifndef PONIENTE_STORE_WRITE_STORE_BUILDER_H_
#define PONIENTE_STORE_WRITE_STORE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/token_store_writer.h"
#include "store/manifest/content_hash.h"
#include "store/manifest/manifest.h"
#include "store/manifest/store_folder.h"
#include "store/write/direct_writer.h"
#include "store/write/file_writer.h"
#include "store/write/spill_buffer.h"
#include "store/write/store_checkpoint.h"

namespace poniente::internal {

// The manifest of a store that is still to be written, without counts. Errors
// as TokenStoreWriter::Create() has them; they name `path`.
absl::StatusOr<StoreManifest> ManifestToWrite(
    const std::string& path, const TokenStoreWriterOptions& options);

// Checksums of bytes that lie one after the other.
struct PieceChecksum {
  uint32_t checksum = 0;
  uint32_t bytes = 0;
};
using PieceChecksums = std::vector<PieceChecksum>;

// Tokens are written with WriteTokens(), wherever they belong and in any order;
// AddTokens() with their checksums then follows in the order of the file. What
// the bytes of the store are does not depend on how they were cut.
//
// Memory: a few MiB, whatever the store's size.
// Ownership: owns its files; destroyed before Finish(), it removes them, unless
//     KeepForLater() was called.
// Thread safety: WriteTokens(), StageTokens(), WriteStaged(), StartWriting()
// and
//     Save() on any thread, the others on one at a time.
// Errors: those of the disk, with path and offset. After one the store cannot
//     be finished; the caller remembers it.
class StoreBuilder {
 public:
  // Asked for the checkpoint that a dead writer left, with what that had given
  // to Save(): true if this one goes on with it, as it then does. Not asked if
  // the store was committed since.
  using Accept = std::function<bool(std::string_view caller)>;

  static absl::StatusOr<std::unique_ptr<StoreBuilder>> Create(
      const std::string& path, StoreManifest manifest);
  // For a store that is saved now and then. DataLoss: the files do not hold
  // what an accepted checkpoint says; they have been removed.
  // REQUIRES: manifest.block_bytes <= 65536.
  static absl::StatusOr<std::unique_ptr<StoreBuilder>> CreateToSave(
      const std::string& path, StoreManifest manifest, const Accept& accept);

  // Tokens go past the page cache from now on, where the file system lets them.
  // For large stores of many pieces: writes of several threads do not wait for
  // each other then, but each waits for the disk. Before the first
  // WriteTokens().
  // `expected` is how many bytes of tokens there may come to be, 0 if nobody
  // knows.
  void WriteDirectly(uint64_t expected);
  bool writes_directly() const { return direct_ != nullptr; }

  StoreBuilder(const StoreBuilder&) = delete;
  StoreBuilder& operator=(const StoreBuilder&) = delete;

  // `bytes` are the store's from token `first` on, as it holds them.
  absl::StatusOr<PieceChecksums> WriteTokens(
      uint64_t first, std::span<const std::byte> bytes) const;
  // The same in two steps, of which the second only waits for the disk.
  // REQUIRES: writes_directly().
  absl::StatusOr<PieceChecksums> StageTokens(uint64_t first,
                                             std::span<const std::byte> bytes,
                                             DirectWriter::Pages* pages) const;
  absl::Status WriteStaged(const DirectWriter::Pages& pages) const {
    return direct_->Write(pages);
  }
  // Asks the disk to begin with tokens [begin, end); waits for nothing.
  void StartWriting(uint64_t begin, uint64_t end) const;
  absl::Status AddTokens(const PieceChecksums& checksums);
  absl::Status BeginDocument(std::string_view name);
  // The document that has begun ends before token `end`.
  absl::Status EndDocument(uint64_t end);

  // Counts what has been added.
  const StoreManifest& manifest() const { return manifest_; }

  // How far the store is; what is buffered is written.
  absl::StatusOr<StoreCheckpoint> Mark();
  // Makes everything up to the mark durable, and then the mark.
  absl::Status Save(const StoreCheckpoint& mark) const;
  void KeepForLater() { folder_->KeepForLater(); }

  // Makes the store visible and durable. Nothing can follow it, whatever it
  // gives.
  absl::StatusOr<TokenStoreFacts> Finish();

 private:
  StoreBuilder(std::unique_ptr<StoreFolder> folder, StoreManifest manifest);

  PieceChecksums ChecksumsOf(uint64_t at,
                             std::span<const std::byte> bytes) const;
  absl::Status OpenFiles();
  absl::Status ContinueFiles(const StoreCheckpoint& checkpoint);
  absl::Status KeepScratchFiles(const StoreCheckpoint& checkpoint);
  absl::Status ObserveChecksums(std::span<const std::byte> bytes);
  absl::Status AddChecksum(uint32_t checksum);
  absl::Status PadTokens();
  absl::Status WriteDocuments();
  absl::Status WriteAndCommit();
  std::string CheckpointPath() const;

  std::unique_ptr<StoreFolder> folder_;
  StoreManifest manifest_;
  BlockHasher token_blocks_;
  BlockHasher document_blocks_;
  FileKey token_key_;
  FileKey document_key_;
  const std::string tokens_path_;
  OwnedFd tokens_;
  std::unique_ptr<DirectWriter> direct_;  // null: through the page cache
  std::unique_ptr<FileWriter> checksums_;
  // The checksums seen are those of tokens, read again.
  bool reads_checksums_ = false;
  SpillBuffer ends_;
  SpillBuffer name_ends_;
  SpillBuffer names_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_STORE_BUILDER_H_
