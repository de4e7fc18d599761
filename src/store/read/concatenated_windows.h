// SPDX-License-Identifier: Apache-2.0
// The base of windows that are cut from some documents of a store, end to end
// in some order.

#ifndef PONIENTE_STORE_READ_CONCATENATED_WINDOWS_H_
#define PONIENTE_STORE_READ_CONCATENATED_WINDOWS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"
#include "store/read/selected_tokens.h"
#include "store/read/source_loss_mask.h"

namespace poniente::internal {

// Item w is tokens [w * length, (w + 1) * length) of the concatenation; the
// tail is dropped.
class ConcatenatedWindows : public AsyncDataset<TokenWindow>,
                            public PiecewiseItems {
 public:
  std::string name() const override { return store_->path(); }
  const Vocabulary* vocabulary() const override {
    return store_->known_vocabulary();
  }
  const LossMaskSource* loss_mask() const override { return loss_mask_.get(); }
  bool reads_files() const override { return true; }
  uint32_t padding_id() const override {
    return store_->end_of_document().value_or(0);
  }
  LengthState length_now() const override {
    return LengthState::Final(num_items_);
  }

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override;
  Task<std::vector<TokenWindow>> GetAt(
      std::span<const Position> positions) const override;

  absl::StatusOr<bool> FindEnds(const ItemPiece& piece, bool may_read,
                                PieceEnds* ends) const override;
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override;

 protected:
  // `tokens`: of the concatenation.
  ConcatenatedWindows(std::shared_ptr<const TokenSource> store, uint32_t length,
                      uint64_t tokens);

  const TokenSource& store() const { return *store_; }
  uint32_t length() const { return length_; }
  // Returns the tokens of the concatenation that the position asks for.
  absl::StatusOr<TokenRange> TokensAt(const Position& position) const;

 private:
  // Returns where a document of the store lies; nullopt if it is left out.
  // REQUIRES: the store has it.
  virtual absl::StatusOr<std::optional<SelectedTokens::DocumentLocation>>
  FindDocument(uint64_t document) const = 0;

  const std::shared_ptr<const TokenSource> store_;
  const SourceLossMask loss_mask_;
  const uint32_t length_;
  const uint64_t num_items_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_CONCATENATED_WINDOWS_H_
