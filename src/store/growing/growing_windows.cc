// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "store/growing/growing_store.h"
#include "store/read/token_datasets.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente {
namespace internal {
namespace {

// Answers with the windows of what the store has now.
class WindowsThatGrow final : public AsyncDataset<TokenWindow>,
                              public PiecewiseItems {
 public:
  WindowsThatGrow(std::shared_ptr<GrowingStore> store, uint32_t length)
      : store_(std::move(store)), length_(length) {
    const TokenSource& source = *store_->Now()->source;
    vocabulary_ = *source.known_vocabulary();
    padding_id_ = source.end_of_document().value_or(0);
  }

  std::string name() const override { return store_->path(); }
  const Vocabulary* vocabulary() const override { return &vocabulary_; }
  uint64_t fingerprint() const override {
    return Now()->windows->fingerprint();
  }
  std::optional<uint64_t> BeginFingerprint(uint64_t items) const override {
    return Now()->windows->BeginFingerprint(items);
  }
  LengthState length_now() const override {
    const std::shared_ptr<const Part> now = Now();
    return now->state->is_final ? LengthState::Final(now->length)
                                : LengthState::Growing(now->length);
  }
  uint32_t item_tokens() const override { return length_; }
  bool reads_files() const override { return true; }
  // Only once they stay where they are.
  const RangeSource* ranges() const override {
    const std::shared_ptr<const Part> now = Now();
    return now->state->is_final ? now->windows->ranges() : nullptr;
  }

  Task<uint64_t> WaitForLength(uint64_t n) const override {
    while (true) {
      const std::shared_ptr<const Part> now = Now();
      if (now->state->is_final || now->length >= n) co_return now->length;
      absl::Status grown = co_await store_->WaitPast(now->state);
      if (!grown.ok()) co_return grown;
    }
  }

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    const std::vector<Position> positions = WholeItems(indices);
    absl::StatusOr<std::vector<TokenWindow>> items = co_await GetAt(positions);
    co_return items;
  }
  Task<std::vector<TokenWindow>> GetAt(
      std::span<const Position> positions) const override {
    const uint64_t needed = LengthNeeded(positions);
    absl::StatusOr<uint64_t> length = co_await WaitForLength(needed);
    if (!length.ok()) co_return length.status();
    const std::shared_ptr<const Part> now = Now();
    absl::StatusOr<std::vector<TokenWindow>> items =
        co_await now->windows->GetAt(positions);
    co_return items;
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    return Now()->pieces().Pieces(position);
  }
  bool HasPiecesInMemory(const Position& position) const override {
    return Now()->pieces().HasPiecesInMemory(position);
  }
  uint32_t padding_id() const override { return padding_id_; }
  absl::StatusOr<bool> FindGoesOn(const ItemPiece& piece, bool may_read,
                                  bool* goes_on) const override {
    return Now()->pieces().FindGoesOn(piece, may_read, goes_on);
  }
  absl::StatusOr<bool> FindEnds(const ItemPiece& piece, bool may_read,
                                PieceEnds* ends) const override {
    return Now()->pieces().FindEnds(piece, may_read, ends);
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    const std::shared_ptr<const Part> now = Now();
    PONIENTE_ASSIGN_OR_RETURN(std::vector<PieceOfItem> items,
                              now->pieces().ItemsOf(document));
    std::erase_if(items, [&now](const PieceOfItem& piece) {
      return piece.item >= now->length;
    });
    return items;
  }

 private:
  // What the store has at one moment.
  struct Part {
    std::shared_ptr<const GrowingStore::State> state;
    DatasetPtr<TokenWindow> windows;
    uint64_t length = 0;

    const PiecewiseItems& pieces() const { return *PiecesOf(*windows); }
  };

  std::shared_ptr<const Part> Now() const {
    // Under the lock, so that no part is replaced by one of an earlier state:
    // those of the last state are used for ever.
    MutexLock lock(&mu_);
    const std::shared_ptr<const GrowingStore::State> state = store_->Now();
    if (part_ != nullptr && part_->state == state) return part_;
    auto made = std::make_shared<Part>();
    made->state = state;
    made->windows = MakeWindows(state->source, length_, WindowRule());
    made->length = state->readable_tokens / length_;
    if (!state->is_final && state->readable_tokens > 0) {
      // Whoever reads a window may read the token behind it, as a label.
      made->length = (state->readable_tokens - 1) / length_;
    }
    part_ = made;
    return made;
  }

  const std::shared_ptr<GrowingStore> store_;
  const uint32_t length_;
  Vocabulary vocabulary_;  // constant, as is padding_id_
  uint32_t padding_id_ = 0;
  mutable Mutex mu_;
  mutable std::shared_ptr<const Part> part_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> WindowsOfGrowing(
    std::shared_ptr<GrowingStore> store, uint64_t length) {
  const std::shared_ptr<const GrowingStore::State> now = store->Now();
  if (now->is_final) return now->source->Windows(length);
  if (length == 0 || length >= kWholeItem) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", store->path(), "': windows of ", length,
                     " tokens: the length must be from 1 to 2^32 - 2"));
  }
  return DatasetPtr<TokenWindow>(std::make_shared<WindowsThatGrow>(
      std::move(store), static_cast<uint32_t>(length)));
}

}  // namespace internal

absl::StatusOr<DatasetPtr<TokenWindow>> GrowingWindows(
    const std::string& path, uint64_t length,
    const TokenStoreOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<internal::GrowingStore> store,
                            internal::GrowingStore::Open(path, options));
  return internal::WindowsOfGrowing(std::move(store), length);
}

}  // namespace poniente
