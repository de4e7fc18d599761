// SPDX-License-Identifier: Apache-2.0
// Continuing after a kill: Save() makes durable, in this order, the tokens, the
// checksums, the loss mask and the scratch files, and then the file
// scratch-checkpoint, which states the sizes of the others at the mark. A
// rename replaces that file, so either the previous checkpoint or the new one
// exists. A writer that continues cuts off everything after the mark and writes
// it again. Any other writer removes these files as leftovers of a dead writer.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/manifest_text.h"
#include "store/write/store_builder.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

absl::StatusOr<uint64_t> SizeOf(int fd, const std::string& path) {
  struct stat facts;
  if (::fstat(fd, &facts) != 0) return ErrnoError(path, "stat");
  return static_cast<uint64_t>(facts.st_size);
}

// Replaces a file, so that others find either text whole.
absl::Status ReplaceText(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  {
    PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd,
                              OpenFd(temporary, O_WRONLY | O_CREAT | O_TRUNC));
    PONIENTE_RETURN_IF_ERROR(
        WriteAll(fd.get(), temporary, 0, std::as_bytes(std::span(text))));
    PONIENTE_RETURN_IF_ERROR(SyncFd(fd.get(), temporary));
  }
  if (::rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return ErrnoError(path, "rename");
}

// Returns nullopt, with the reason in `*damage` if there is a file, if the
// checkpoint cannot be used.
absl::StatusOr<std::optional<StoreCheckpoint>> ReadCheckpoint(
    const std::string& path, std::string* damage) {
  const absl::StatusOr<std::string> text =
      ReadSmallFile(path, "a checkpoint", kMaxCheckpointBytes);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  if (absl::IsInvalidArgument(text.status())) {
    *damage = std::string(text.status().message());
    return std::nullopt;
  }
  PONIENTE_RETURN_IF_ERROR(text.status());
  std::optional<StoreCheckpoint> checkpoint = ParseCheckpoint(*text);
  if (!checkpoint) {
    *damage = absl::StrCat("the checkpoint '", path, "' of ", text->size(),
                           " bytes is damaged, or of another version");
  }
  return checkpoint;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreBuilder>> StoreBuilder::CreateToSave(
    const std::string& path, StoreManifest manifest, const Accept& accept,
    const BeginAnew& begin_anew) {
  PONIENTE_CHECK(manifest.block_bytes <= kKeyBlockBytes)
      << manifest.block_bytes;
  StoreCheckpoint checkpoint;
  uint64_t store = 0;
  const auto choose = [&](const StoreFolder& folder,
                          std::optional<uint64_t> committed)
      -> absl::StatusOr<std::optional<uint64_t>> {
    store = committed.value_or(0);
    std::string damage;
    PONIENTE_ASSIGN_OR_RETURN(
        const std::optional<StoreCheckpoint> left,
        ReadCheckpoint(folder.ScratchPath("checkpoint"), &damage));
    // A writer that dies right after its commit leaves its last checkpoint.
    if (left && committed && left->generation > *committed) {
      PONIENTE_ASSIGN_OR_RETURN(const bool accepted, accept(left->caller));
      if (accepted) {
        checkpoint = *left;
        return left->generation;
      }
    }
    if (begin_anew != nullptr) {
      PONIENTE_RETURN_IF_ERROR(begin_anew(store, damage));
    }
    return std::nullopt;
  };
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<StoreFolder> folder,
                            StoreFolder::Lock(path, choose));
  const bool continues = folder->continues();
  std::unique_ptr<StoreBuilder> builder(
      new StoreBuilder(std::move(folder), std::move(manifest)));
  if (!continues) {
    PONIENTE_RETURN_IF_ERROR(builder->OpenFiles());
    PONIENTE_RETURN_IF_ERROR(builder->KeepScratchFiles({}));
    return builder;
  }
  const absl::Status continued = builder->Continue(checkpoint);
  if (continued.ok()) return builder;
  absl::Status kept = continued;
  if (absl::IsDataLoss(continued) || absl::IsNotFound(continued)) {
    kept = begin_anew == nullptr ? absl::OkStatus() : begin_anew(store, "");
  }
  if (kept.ok()) return continued;
  builder->KeepForLater();
  return kept;
}

absl::Status StoreBuilder::Continue(const StoreCheckpoint& checkpoint) {
  PONIENTE_RETURN_IF_ERROR(ContinueFiles(checkpoint));
  return KeepScratchFiles(checkpoint);
}

absl::Status StoreBuilder::ContinueFiles(const StoreCheckpoint& checkpoint) {
  if (checkpoint.block_bytes != manifest_.block_bytes) {
    return absl::DataLossError(absl::StrCat(
        tokens_path_, ": was begun with checksums over ",
        checkpoint.block_bytes, " bytes, not ", manifest_.block_bytes));
  }
  manifest_.tokens = checkpoint.tokens;
  manifest_.documents = checkpoint.documents;
  manifest_.name_bytes = checkpoint.name_bytes;
  const uint64_t bytes = checkpoint.tokens * manifest_.width();
  reads_checksums_ = true;
  PONIENTE_ASSIGN_OR_RETURN(
      checksums_, FileWriter::Continue(folder_->PathOf(StoreFile::kChecksums),
                                       bytes / manifest_.block_bytes * 4,
                                       [this](std::span<const std::byte> read) {
                                         return ObserveChecksums(read);
                                       }));
  reads_checksums_ = false;
  const uint64_t begun = bytes % manifest_.block_bytes;
  PONIENTE_RETURN_IF_ERROR(
      token_key_.AddPiece(checkpoint.block_checksum, begun));
  PONIENTE_RETURN_IF_ERROR(
      token_blocks_.AddPiece(checkpoint.block_checksum, begun));

  PONIENTE_ASSIGN_OR_RETURN(tokens_, OpenFd(tokens_path_, O_WRONLY));
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t there,
                            SizeOf(tokens_.get(), tokens_path_));
  if (there < bytes) return EndsEarly(tokens_path_, there, bytes - there);
  PONIENTE_RETURN_IF_ERROR(CutFile(tokens_.get(), tokens_path_, bytes));
  ::unlink(folder_->PathOf(StoreFile::kDocuments).c_str());
  return ContinueLossMask(checkpoint);
}

absl::Status StoreBuilder::ContinueLossMask(const StoreCheckpoint& checkpoint) {
  const std::string path = folder_->PathOf(StoreFile::kLossMask);
  if (!checkpoint.has_loss_mask) {
    // A mask that was begun after the checkpoint.
    ::unlink(path.c_str());
    return absl::OkStatus();
  }
  manifest_.has_loss_mask = true;
  PONIENTE_ASSIGN_OR_RETURN(
      loss_mask_,
      LossMaskWriter::Continue(
          path, folder_->ScratchPath("loss-mask"), manifest_.block_bytes,
          {checkpoint.tokens, checkpoint.loss_mask_checksum,
           checkpoint.loss_mask_last_byte}));
  return absl::OkStatus();
}

absl::Status StoreBuilder::KeepScratchFiles(const StoreCheckpoint& checkpoint) {
  PONIENTE_RETURN_IF_ERROR(
      ends_.KeepFile(checkpoint.ends_bytes, checkpoint.ends_checksum));
  PONIENTE_RETURN_IF_ERROR(name_ends_.KeepFile(checkpoint.name_ends_bytes,
                                               checkpoint.name_ends_checksum));
  return names_.KeepFile(checkpoint.name_bytes, checkpoint.names_checksum);
}

std::string StoreBuilder::CheckpointPath() const {
  return folder_->ScratchPath("checkpoint");
}

absl::StatusOr<StoreCheckpoint> StoreBuilder::Mark() {
  PONIENTE_RETURN_IF_ERROR(checksums_->Flush());
  PONIENTE_RETURN_IF_ERROR(ends_.Flush());
  PONIENTE_RETURN_IF_ERROR(name_ends_.Flush());
  PONIENTE_RETURN_IF_ERROR(names_.Flush());
  StoreCheckpoint mark;
  if (loss_mask_ != nullptr) {
    PONIENTE_RETURN_IF_ERROR(loss_mask_->FillTo(manifest_.tokens));
    PONIENTE_ASSIGN_OR_RETURN(const LossMaskWriter::State state,
                              loss_mask_->Flush());
    PONIENTE_CHECK(state.bits == manifest_.tokens) << state.bits;
    mark.has_loss_mask = true;
    mark.loss_mask_checksum = state.checksum;
    mark.loss_mask_last_byte = state.last_byte;
  }
  mark.generation = manifest_.generation;
  mark.tokens = manifest_.tokens;
  mark.documents = manifest_.documents;
  mark.name_bytes = manifest_.name_bytes;
  mark.block_bytes = manifest_.block_bytes;
  mark.block_checksum = token_blocks_.checksum();
  mark.ends_bytes = ends_.size();
  mark.name_ends_bytes = name_ends_.size();
  mark.ends_checksum = ends_.checksum();
  mark.name_ends_checksum = name_ends_.checksum();
  mark.names_checksum = names_.checksum();
  return mark;
}

absl::Status StoreBuilder::Save(const StoreCheckpoint& mark) const {
  if (direct_ != nullptr) {
    PONIENTE_RETURN_IF_ERROR(
        direct_->WriteKept(mark.tokens * manifest_.width()));
  }
  PONIENTE_RETURN_IF_ERROR(SyncFd(tokens_.get(), tokens_path_));
  PONIENTE_RETURN_IF_ERROR(checksums_->SyncWritten());
  PONIENTE_RETURN_IF_ERROR(ends_.SyncWritten());
  PONIENTE_RETURN_IF_ERROR(name_ends_.SyncWritten());
  PONIENTE_RETURN_IF_ERROR(names_.SyncWritten());
  // Without a mask in the mark, another thread may be creating one now.
  if (mark.has_loss_mask) PONIENTE_RETURN_IF_ERROR(loss_mask_->SyncWritten());
  const std::string path = CheckpointPath();
  PONIENTE_RETURN_IF_ERROR(ReplaceText(path, EncodeCheckpoint(mark)));
  return SyncFolder(ParentOf(path));
}

absl::Status StoreBuilder::Publish(const StoreCheckpoint& mark) const {
  if (folder_->has_store()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", ParentOf(tokens_path_),
        "' holds a store already, which readers would find instead of the one "
        "that grows: remove it, write into another folder, or do not publish "
        "(leave out --growing)"));
  }
  if (mark.has_loss_mask) {
    return absl::FailedPreconditionError(absl::StrCat(
        tokens_path_,
        ": its documents have a loss mask, which a store that is "
        "read while it grows cannot have; leave the mask out (--loss-mask "
        "drop), or let nobody read the store before it is complete"));
  }
  StoreManifest growth = described_;
  growth.generation = mark.generation;
  growth.tokens = mark.tokens;
  growth.documents = mark.documents;
  growth.name_bytes = mark.name_bytes;
  return ReplaceText(folder_->ScratchPath("growth.json"), EncodeGrowth(growth));
}

}  // namespace poniente::internal
