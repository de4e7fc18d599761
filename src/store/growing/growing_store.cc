// SPDX-License-Identifier: Apache-2.0
// The writer replaces scratch-growth.json at each Publish(), and removes it
// after it has renamed manifest.json into its place. So a reader that finds
// neither the one nor, after that, the other has lost the store.
#include "store/growing/growing_store.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/manifest_text.h"
#include "store/manifest/store_folder.h"
#include "store/posix_file.h"
#include "store/read/token_store_access.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Clock = std::chrono::steady_clock;

std::string GrowthPath(const std::string& path) {
  return absl::StrCat(path, "/", Absl(kGrowthName));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const GrowingStore>> GrowingStore::Open(
    const std::string& path, const TokenStoreOptions& options,
    const GrowthTimes& times) {
  std::shared_ptr<GrowingStore> store(new GrowingStore(path, options, times));
  // Before the first look, so that nothing is missed.
  store->watch_.emplace(path);
  PONIENTE_ASSIGN_OR_RETURN(State found, store->Look());
  const bool is_final = found.is_final;
  store->Set(std::move(found));
  if (!is_final) {
    GrowingStore* const self = store.get();
    try {
      store->thread_ = std::thread([self] { self->Follow(); });
    } catch (const std::exception& error) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "cannot start the thread that follows '", path, "': ", error.what(),
          "; raise the limit of processes (ulimit -u)"));
    }
  }
  return std::shared_ptr<const GrowingStore>(std::move(store));
}

GrowingStore::~GrowingStore() {
  if (!thread_.joinable()) return;
  watch_->Stop();
  thread_.join();
}

std::shared_ptr<const GrowingStore::State> GrowingStore::Now() const {
  MutexLock lock(&mu_);
  return state_;
}

Task<> GrowingStore::WaitPast(std::shared_ptr<const State> seen) const {
  while (true) {
    const uint64_t version = changed_.version();
    absl::Status ended;
    {
      MutexLock lock(&mu_);
      if (state_ != seen) co_return absl::OkStatus();
      ended = ended_;
    }
    if (!ended.ok()) co_return ended;
    absl::Status waited = co_await changed_.WaitPast(version);
    if (!waited.ok()) co_return waited;
  }
}

absl::Status GrowingStore::OtherStore() const {
  return absl::FailedPreconditionError(
      absl::StrCat("'", path_,
                   "' was begun anew, with other inputs or options, since it "
                   "was opened: what was read of it does not belong to what "
                   "comes; begin the run anew, too"));
}

absl::StatusOr<GrowingStore::State> GrowingStore::LookAtCommitted() const {
  PONIENTE_ASSIGN_OR_RETURN(const std::shared_ptr<const TokenStore> store,
                            TokenStore::Open(path_, options_));
  if (HasRead()) {
    const uint64_t generation = TokenStoreAccess::Manifest(*store).generation;
    PONIENTE_ASSIGN_OR_RETURN(
        const FileNumber tokens,
        ReadFileNumber(StoreFilePath(path_, StoreFile::kTokens, generation)));
    if (generation != growth_.generation || tokens != grown_->tokens_file() ||
        store->num_tokens() < grown_->num_tokens()) {
      return OtherStore();
    }
  }
  const uint64_t tokens = store->num_tokens();
  return State{store, tokens, /*is_final=*/true};
}

absl::StatusOr<GrowingStore::State> GrowingStore::LookAtGrowth(
    const std::string& text) {
  absl::StatusOr<StoreManifest> growth = ParseGrowth(text);
  if (!growth.ok()) return Prepend(growth.status(), GrowthPath(path_));
  if (HasRead() && growth->generation != growth_.generation) {
    return OtherStore();
  }
  if (grown_ == nullptr || *growth != growth_) {
    absl::StatusOr<std::shared_ptr<const GrownTokens>> grown =
        GrownTokens::Open(path_, *growth, options_.io);
    if (absl::IsNotFound(grown.status())) {
      return absl::FailedPreconditionError(absl::StrCat(
          "'", path_, "' is being begun anew at this moment: try again"));
    }
    PONIENTE_RETURN_IF_ERROR(grown.status());
    if (HasRead() && ((*grown)->tokens_file() != grown_->tokens_file() ||
                      (*grown)->num_tokens() < grown_->num_tokens())) {
      return OtherStore();
    }
    growth_ = *std::move(growth);
    grown_ = *std::move(grown);
    writer_seen_ = Clock::now();
  }
  return State{grown_, grown_->num_checked(), /*is_final=*/false};
}

absl::StatusOr<GrowingStore::State> GrowingStore::Look() {
  const absl::StatusOr<std::string> text = ReadSmallFile(
      GrowthPath(path_), "the state of a growing store", kMaxManifestBytes);
  // Read after the other: a commit comes before that one goes.
  const absl::Status manifest = ReadManifestText(path_).status();
  if (manifest.ok()) return LookAtCommitted();
  if (!absl::IsNotFound(manifest)) return manifest;
  if (text.ok()) return LookAtGrowth(*text);
  if (!absl::IsNotFound(text.status())) return text.status();
  if (grown_ == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "'", path_,
        "' holds no token store, and none that grows: begin it with `poniente "
        "pack --growing`, or a TokenStoreWriter that publishes"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path_, "' was given up by its writer after ", grown_->num_tokens(),
      " tokens: pack it again, and begin the run anew"));
}

absl::Status GrowingStore::CheckWriter() {
  const Clock::time_point now = Clock::now();
  if (HasWriter(path_)) writer_seen_ = now;
  if (now - writer_seen_ < times_.without_writer) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path_, "' is not complete, has ", grown_->num_tokens(),
      " tokens so far, and no process writes it: run the same `poniente pack "
      "--growing` again, which resumes, and then the run"));
}

void GrowingStore::Follow() {
  while (watch_->Wait(times_.between_looks)) {
    const std::shared_ptr<const GrownTokens> before = grown_;
    absl::StatusOr<State> found = Look();
    if (found.ok() && !found->is_final && grown_ == before) {
      const absl::Status written = CheckWriter();
      if (!written.ok()) found = written;
    }
    const bool is_final = found.ok() && found->is_final;
    Set(std::move(found));
    if (is_final) return;
  }
}

void GrowingStore::Set(absl::StatusOr<State> found) {
  {
    MutexLock lock(&mu_);
    ended_ = found.status();
    if (found.ok() && (state_ == nullptr || found->source != state_->source)) {
      state_ = std::make_shared<const State>(*std::move(found));
    }
  }
  changed_.NotifyAll();
}

}  // namespace poniente::internal
