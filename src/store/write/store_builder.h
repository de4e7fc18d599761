// SPDX-License-Identifier: Apache-2.0
// Builds the files of one store: tokens on several threads, everything else in
// order.

#ifndef PONIENTE_STORE_WRITE_STORE_BUILDER_H_
#define PONIENTE_STORE_WRITE_STORE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/token_store_writer.h"
#include "store/manifest/content_hash.h"
#include "store/manifest/manifest.h"
#include "store/manifest/store_checkpoint.h"
#include "store/manifest/store_folder.h"
#include "store/write/direct_writer.h"
#include "store/write/file_writer.h"
#include "store/write/loss_bits.h"
#include "store/write/loss_mask_writer.h"
#include "store/write/spill_buffer.h"

namespace poniente::internal {

// Returns the manifest of a store that is about to be written, without counts.
// Errors are those of TokenStoreWriter::Create(), and name `path`.
absl::StatusOr<StoreManifest> ManifestToWrite(
    const std::string& path, const TokenStoreWriterOptions& options);

// The checksum of some consecutive bytes of the tokens.
struct PieceChecksum {
  uint32_t checksum = 0;
  uint32_t bytes = 0;
};
using PieceChecksums = std::vector<PieceChecksum>;

// Builds a store. Call WriteTokens() for tokens at any place and in any order,
// and then AddTokens() with their checksums in the order of the file. The bytes
// of the store do not depend on how the tokens are divided among the calls.
//
// Memory: a few MiB for a store of any size.
// Ownership: owns its files; if destroyed before Finish(), it removes them,
//     unless KeepForLater() was called.
// Thread safety: WriteTokens(), StageTokens(), WriteStaged(), StartWriting(),
//     Save() and Publish() on any thread, the others on one thread at a time.
// Errors: those of the disk, with path and offset. After an error the caller
//     must not call Finish().
class StoreBuilder {
 public:
  // Decides whether to continue from the checkpoint of a dead writer; receives
  // what that writer passed to Save(). Not called if the store has been
  // committed since. CreateToSave() returns an error as it is, and leaves the
  // checkpoint for another attempt.
  using Accept = std::function<absl::StatusOr<bool>(std::string_view caller)>;
  // Called before the files of dead writers are removed, because no checkpoint
  // is continued. `committed` is the generation of the store that is there, 0
  // if there is none. `damage` says why a checkpoint that is there cannot be
  // read; it is empty otherwise. An error leaves the files as they are.
  using BeginAnew = std::function<absl::Status(uint64_t committed,
                                               const std::string& damage)>;

  static absl::StatusOr<std::unique_ptr<StoreBuilder>> Create(
      const std::string& path, StoreManifest manifest,
      const BeginAnew& begin_anew = nullptr);
  // Creates a builder whose progress is saved from time to time. DataLoss or
  // NotFound if the files do not match an accepted checkpoint; they are then
  // removed, unless begin_anew() has an error, which is then returned. After
  // other errors, they stay. REQUIRES: manifest.block_bytes <= 65536.
  static absl::StatusOr<std::unique_ptr<StoreBuilder>> CreateToSave(
      const std::string& path, StoreManifest manifest, const Accept& accept,
      const BeginAnew& begin_anew = nullptr);

  // Writes tokens past the page cache from now on, if the file system allows
  // it. Use it for large stores of many pieces: writes of several threads then
  // no longer wait for each other, but each waits for the disk. Call it before
  // the first WriteTokens(). `expected` is the expected size of all tokens of
  // the store in bytes; 0 if unknown.
  void WriteDirectly(uint64_t expected);
  bool writes_directly() const { return direct_ != nullptr; }

  StoreBuilder(const StoreBuilder&) = delete;
  StoreBuilder& operator=(const StoreBuilder&) = delete;

  // Writes `bytes`, which are the store's bytes from token `first` on.
  absl::StatusOr<PieceChecksums> WriteTokens(
      uint64_t first, std::span<const std::byte> bytes) const;
  // Do the same in two steps, of which only the second waits for the disk.
  // REQUIRES: writes_directly().
  absl::StatusOr<PieceChecksums> StageTokens(uint64_t first,
                                             std::span<const std::byte> bytes,
                                             DirectWriter::Pages* pages) const;
  absl::Status WriteStaged(const DirectWriter::Pages& pages) const {
    return direct_->Write(pages);
  }
  // Starts to write tokens [begin, end) to the disk, without waiting.
  void StartWriting(uint64_t begin, uint64_t end) const;
  // Adds the next tokens in the order of the file. They must have been written.
  absl::Status AddTokens(const PieceChecksums& checksums);
  // Says which of the tokens from `first` on have loss, one bit each. The store
  // then has a loss mask; tokens that no call speaks of have loss. Call it in
  // the order of the tokens, before a Mark() that covers them.
  absl::Status AddLossBits(uint64_t first, const LossBits& bits);
  // Begins a document at the end of the previous one.
  absl::Status BeginDocument(std::string_view name);
  // Ends the current document before token `end`.
  absl::Status EndDocument(uint64_t end);

  // Returns the manifest with the counts so far.
  const StoreManifest& manifest() const { return manifest_; }

  // Writes what is buffered, and returns a checkpoint of what has been added.
  absl::StatusOr<StoreCheckpoint> Mark();
  // Makes everything up to the checkpoint durable, and then the checkpoint
  // itself.
  absl::Status Save(const StoreCheckpoint& mark) const;
  // Lets others read what a checkpoint covers, while the store is written
  // (docs/token_store_format.md). REQUIRES: the checkpoint is that of the last
  // Save(). FailedPrecondition if there is a loss mask, or a complete store.
  absl::Status Publish(const StoreCheckpoint& mark) const;
  void KeepForLater() { folder_->KeepForLater(); }
  // Records another library than that of the manifest of Create...(). Call it
  // before Finish().
  void RecordLibrary(std::string library) {
    described_.tokenizer_library = library;
    manifest_.tokenizer_library = std::move(library);
  }

  // Makes the store visible and durable. No other call may follow, whatever it
  // returns.
  absl::StatusOr<TokenStoreFacts> Finish();

 private:
  StoreBuilder(std::unique_ptr<StoreFolder> folder, StoreManifest manifest);

  PieceChecksums ChecksumsOf(uint64_t at,
                             std::span<const std::byte> bytes) const;
  absl::Status OpenFiles();
  // Opens the files as they were at the checkpoint.
  absl::Status Continue(const StoreCheckpoint& checkpoint);
  absl::Status ContinueFiles(const StoreCheckpoint& checkpoint);
  absl::Status ContinueLossMask(const StoreCheckpoint& checkpoint);
  absl::Status KeepScratchFiles(const StoreCheckpoint& checkpoint);
  absl::Status ObserveChecksums(std::span<const std::byte> bytes);
  absl::Status AddChecksum(uint32_t checksum);
  absl::Status PadTokens();
  absl::Status WriteDocuments();
  absl::Status WriteAndCommit();
  std::string CheckpointPath() const;

  std::unique_ptr<StoreFolder> folder_;
  StoreManifest described_;  // without counts
  StoreManifest manifest_;
  BlockHasher token_blocks_;
  BlockHasher document_blocks_;
  FileKey token_key_;
  FileKey document_key_;
  const std::string tokens_path_;
  OwnedFd tokens_;
  std::unique_ptr<DirectWriter> direct_;  // null: through the page cache
  std::unique_ptr<FileWriter> checksums_;
  std::unique_ptr<LossMaskWriter> loss_mask_;  // null: all tokens have loss
  // Whether the checksums that are observed belong to tokens of an earlier run.
  bool reads_checksums_ = false;
  SpillBuffer ends_;
  SpillBuffer name_ends_;
  SpillBuffer names_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_STORE_BUILDER_H_
