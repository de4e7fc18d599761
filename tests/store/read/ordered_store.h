// SPDX-License-Identifier: Apache-2.0
// A store whose documents have scores, and beside it a plain list of the same
// documents, sorted and joined.

#ifndef PONIENTE_TESTS_STORE_READ_ORDERED_STORE_H_
#define PONIENTE_TESTS_STORE_READ_ORDERED_STORE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "poniente/score_file.h"
#include "poniente/token_store.h"
#include "tests/store/read/joined_windows.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {

struct OrderCase {
  std::vector<uint64_t> lengths = {};
  std::vector<float> scores = {};
  ScoreDirection direction = ScoreDirection::kAscending;
  std::optional<std::vector<bool>> chosen = std::nullopt;
  bool in_file = false;              // whether the order is
  std::string first_name = "first";  // of document 0
};

// A store, an order of its documents, and the concatenation token by token.
class OrderedStore {
 public:
  explicit OrderedStore(OrderCase of) : case_(std::move(of)) {
    Documents documents = ProvenDocuments(case_.lengths, 257);
    documents[0].name = case_.first_name;
    EXPECT_THAT(WriteStore(folder_.path(), documents), IsOk());
    TokenStoreOptions options;
    options.io.verify = VerifyChecksums::kOff;
    store_ = *TokenStore::Open(folder_.path(), options);
    order_ = *ScoreOrder::FromScores(case_.scores, case_.direction);
    if (case_.in_file) {
      const std::string path = folder_.path("order");
      EXPECT_THAT(OrderFile::Write(path, *order_), IsOk());
      order_ = *OrderFile::Open(path);
    }
    std::vector<uint64_t> items;
    std::vector<uint64_t> begins;
    uint64_t begin = 0;
    for (uint64_t d = 0; d < documents.size(); ++d) {
      begins.push_back(begin);
      begin += documents[d].ids.size();
      if (!case_.chosen || (*case_.chosen)[d]) items.push_back(d);
    }
    if (case_.chosen) {
      selection_ = *Selection::FromIndices(documents.size(), items);
    }
    std::stable_sort(items.begin(), items.end(), [&](uint64_t a, uint64_t b) {
      const bool descends = case_.direction == ScoreDirection::kDescending;
      return descends ? case_.scores[a] > case_.scores[b]
                      : case_.scores[a] < case_.scores[b];
    });
    for (const uint64_t d : items) {
      for (uint64_t t = 0; t < documents[d].ids.size(); ++t) {
        tokens_.push_back({documents[d].ids[t], d, begins[d] + t});
      }
    }
  }

  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(uint64_t length) const {
    return selection_ ? store_->Windows(length, *order_, *selection_)
                      : store_->Windows(length, *order_);
  }

  void ExpectAll(uint64_t length) const {
    ASSERT_OK_AND_ASSIGN(const auto windows, Windows(length));
    ASSERT_EQ(windows->item_tokens(), length);
    ExpectJoinedWindows(*store_, *windows, tokens_, length);
    for (uint64_t w = 0; w < tokens_.size() / length; ++w) {
      ExpectGoesOn(*PiecesOf(*windows), w);
    }
  }

  const TempDir& folder() const { return folder_; }
  const TokenStore& store() const { return *store_; }
  const ScoreOrder& order() const { return *order_; }
  const Selection* selection() const {
    return selection_ ? &*selection_ : nullptr;
  }

 private:
  // Expects that each piece of a window knows whether its document goes on
  // behind it.
  void ExpectGoesOn(const PiecewiseItems& windows, uint64_t window) const {
    ASSERT_OK_AND_ASSIGN(const auto pieces, windows.Pieces({.index = window}));
    for (const ItemPiece& piece : pieces) {
      ASSERT_OK_AND_ASSIGN(const TokenRange document,
                           store_->DocumentRange(piece.document));
      bool goes_on = false;
      ASSERT_THAT(windows.FindGoesOn(piece, /*may_read=*/true, &goes_on),
                  IsOkAndHolds(true));
      ASSERT_EQ(goes_on, piece.end < document.end);
    }
  }

  const TempDir folder_;
  const OrderCase case_;
  std::shared_ptr<const TokenStore> store_;
  std::optional<ScoreOrder> order_;
  std::optional<Selection> selection_;
  std::vector<JoinedToken> tokens_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_STORE_READ_ORDERED_STORE_H_
