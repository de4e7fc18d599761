// SPDX-License-Identifier: Apache-2.0
#include "store/read/selected_windows.h"

#include <optional>
#include <utility>
#include <vector>

#include "index/keyed_hash.h"
#include "store/read/concatenated_windows.h"
#include "store/read/selected_tokens.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Of the selected documents, in stored order.
class SelectedWindows final : public ConcatenatedWindows {
 public:
  SelectedWindows(std::shared_ptr<const TokenSource> store, uint32_t length,
                  SelectedTokens tokens)
      : ConcatenatedWindows(std::move(store), length, tokens.total()),
        tokens_(std::move(tokens)) {}

  uint64_t fingerprint() const override {
    return Derive(store().fingerprint(), Tag("selwin"), length(),
                  tokens_.selection().fingerprint());
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    PONIENTE_ASSIGN_OR_RETURN(const TokenRange part, TokensAt(position));
    return tokens_.Pieces(store(), part.begin, part.end);
  }

 private:
  absl::StatusOr<std::optional<SelectedTokens::DocumentLocation>> FindDocument(
      uint64_t document) const override {
    return tokens_.Find(store(), document);
  }

  const SelectedTokens tokens_;
};

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> MakeSelectedWindows(
    std::shared_ptr<const TokenSource> store, uint32_t length,
    Selection documents) {
  PONIENTE_ASSIGN_OR_RETURN(
      SelectedTokens tokens,
      SelectedTokens::Create(*store, std::move(documents)));
  return DatasetPtr<TokenWindow>(std::make_shared<SelectedWindows>(
      std::move(store), length, std::move(tokens)));
}

}  // namespace poniente::internal
