// SPDX-License-Identifier: Apache-2.0
// The writer replaces scratch-growth.json at each Publish(), and removes it
// after it has renamed manifest.json into its place. So a reader that finds
// neither the one nor, after that, the other has lost the store.
#include "store/growing/growing_store.h"

#include <unistd.h>

#include <exception>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/manifest/known_store.h"
#include "store/manifest/manifest_text.h"
#include "store/manifest/store_folder.h"
#include "store/posix_file.h"
#include "store/read/token_store_access.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Clock = std::chrono::steady_clock;

// A commit, or a writer that begins anew, may remove files between two reads:
// nothing is there only if so many looks find nothing.
constexpr int kLooks = 40;
constexpr std::chrono::milliseconds kBetweenLooks(5);

std::string GrowthPath(const std::string& path) {
  return absl::StrCat(path, "/", Absl(kGrowthName));
}

}  // namespace

GrowingStore::GrowingStore(std::string path, const TokenStoreOptions& options,
                           const GrowthTimes& times)
    : path_(std::move(path)),
      location_(LocationOf(path_)),
      options_(options),
      times_(times) {}

absl::StatusOr<std::shared_ptr<GrowingStore>> GrowingStore::Open(
    const std::string& path, const TokenStoreOptions& options,
    const GrowthTimes& times) {
  std::shared_ptr<GrowingStore> store(new GrowingStore(path, options, times));
  PONIENTE_ASSIGN_OR_RETURN(State found, store->Find());
  const bool is_final = found.is_final;
  store->Set(std::move(found));
  if (!is_final) PONIENTE_RETURN_IF_ERROR(store->StartFollowing());
  return store;
}

absl::Status GrowingStore::StartFollowing() {
  MutexLock lock(&following_mu_);
  if (following_process_ == ::getpid()) return absl::OkStatus();
  Leave(std::move(follower_));
  follower_ = FolderFollower::OfProcess();
  const absl::Status added = follower_->Add(this, location_);
  if (!added.ok()) {
    return Prepend(added, absl::StrCat("cannot follow '", path_, "'"));
  }
  following_process_ = ::getpid();
  return absl::OkStatus();
}

GrowingStore::~GrowingStore() {
  std::shared_ptr<FolderFollower> follower;
  {
    MutexLock lock(&following_mu_);
    follower = std::move(follower_);
  }
  Leave(std::move(follower));
}

void GrowingStore::Leave(std::shared_ptr<FolderFollower> follower) {
  if (follower == nullptr) return;
  if (follower->IsOfThisProcess()) {
    follower->Remove(this);
  } else {
    // That of the process that this one was forked from stays as it is.
    (void)new auto(std::move(follower));
  }
}

std::shared_ptr<const GrowingStore::State> GrowingStore::Now() const {
  MutexLock lock(&mu_);
  return state_;
}

Task<> GrowingStore::WaitPast(std::shared_ptr<const State> seen) {
  if (following_process_.load() != ::getpid() && !seen->is_final) {
    absl::Status followed = StartFollowing();
    if (!followed.ok()) co_return followed;
  }
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
  PONIENTE_ASSIGN_OR_RETURN(
      const std::shared_ptr<const TokenStore> store,
      TokenStore::Open(grown_ == nullptr ? path_ : location_, options_));
  if (grown_ != nullptr && !IsLike(TokenStoreAccess::Manifest(*store))) {
    return OtherStore();
  }
  if (HasRead()) {
    const uint64_t generation = TokenStoreAccess::Manifest(*store).generation;
    PONIENTE_ASSIGN_OR_RETURN(const FileNumber tokens,
                              ReadFileNumber(StoreFilePath(
                                  location_, StoreFile::kTokens, generation)));
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
  if (!growth.ok()) return Prepend(growth.status(), GrowthPath(location_));
  if (grown_ != nullptr &&
      (!IsLike(*growth) ||
       (HasRead() && growth->generation != growth_.generation))) {
    return OtherStore();
  }
  if (grown_ == nullptr || *growth != growth_) {
    absl::StatusOr<std::shared_ptr<const GrownTokens>> grown =
        GrownTokens::Open(location_, *growth, options_.io, begins_);
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

bool GrowingStore::IsLike(const StoreManifest& other) const {
  return other.vocabulary == growth_.vocabulary &&
         other.token_type == growth_.token_type &&
         other.end_of_document == growth_.end_of_document;
}

absl::StatusOr<GrowingStore::State> GrowingStore::Find() {
  absl::StatusOr<State> found = FindOnce();
  for (int look = 1; look < kLooks && absl::IsNotFound(found.status());
       ++look) {
    std::error_code ignored;
    if (!std::filesystem::exists(GrowthPath(location_), ignored) &&
        !std::filesystem::exists(
            absl::StrCat(location_, "/", Absl(kManifestName)), ignored)) {
      break;  // nothing is there
    }
    std::this_thread::sleep_for(kBetweenLooks);
    found = FindOnce();
  }
  return found;
}

absl::Status GrowingStore::Gone() const {
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path_, "' is gone: after ", grown_->num_tokens(),
      " tokens, its writer gave it up, or its folder was removed or renamed; "
      "put it back, or pack it again and begin the run anew"));
}

absl::StatusOr<GrowingStore::State> GrowingStore::FindOnce() {
  const absl::StatusOr<std::string> text = ReadSmallFile(
      GrowthPath(location_), "the state of a growing store", kMaxManifestBytes);
  // Read after the other: a commit comes before that one goes.
  const absl::Status manifest = ReadManifestText(location_).status();
  if (manifest.ok()) return LookAtCommitted();
  if (!absl::IsNotFound(manifest)) return manifest;
  if (text.ok()) return LookAtGrowth(*text);
  if (!absl::IsNotFound(text.status())) return text.status();
  return absl::NotFoundError(absl::StrCat(
      "'", path_,
      "' holds no token store, and none that grows: begin it with `poniente "
      "pack --growing`, or a TokenStoreWriter that publishes"));
}

absl::Status GrowingStore::CheckWriter() {
  const Clock::time_point now = Clock::now();
  if (HasWriter(location_)) writer_seen_ = now;
  if (now - writer_seen_ < times_.without_writer) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path_, "' is not complete, has ", grown_->num_tokens(),
      " tokens so far, and no process writes it: start its writer again; a "
      "pack of files resumes with the same command, and then this run does, "
      "too"));
}

absl::StatusOr<std::optional<GrowingStore::State>> GrowingStore::FindNews() {
  const std::shared_ptr<const GrownTokens> before = grown_;
  absl::StatusOr<State> found = FindOnce();
  if (absl::IsNotFound(found.status())) {
    if (++misses_ < kLooks) return std::nullopt;
    misses_ = kLooks;  // until something is found again
    return Gone();
  }
  misses_ = 0;
  PONIENTE_RETURN_IF_ERROR(found.status());
  if (!found->is_final && grown_ == before) {
    PONIENTE_RETURN_IF_ERROR(CheckWriter());
  }
  return *std::move(found);
}

std::optional<std::chrono::milliseconds> GrowingStore::Look() try {
  absl::StatusOr<std::optional<State>> found = FindNews();
  if (!found.ok()) {
    Set(found.status());
    return times_.between_looks;
  }
  if (!found->has_value()) return kBetweenLooks;
  const bool is_final = (*found)->is_final;
  Set(**std::move(found));
  if (!is_final) return times_.between_looks;
  grown_.reset();  // gives back its files
  return std::nullopt;
} catch (...) {
  return times_.between_looks;  // no memory; perhaps there is some then
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
