// SPDX-License-Identifier: Apache-2.0
#include "poniente/score_order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "index/selection/order_table_hash.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using Table = std::vector<uint32_t>;

void LookUp(const Table& table, std::span<const uint64_t> in,
            std::span<uint64_t> out) {
  for (size_t i = 0; i < in.size(); ++i) out[i] = table[in[i]];
}

class TablesInMemory final : public OrderTables {
 public:
  explicit TablesInMemory(Table items) : items_(std::move(items)) {
    places_.resize(items_.size());
    internal::OrderTableHash hash(items_.size());
    for (size_t place = 0; place < items_.size(); ++place) {
      places_[items_[place]] = static_cast<uint32_t>(place);
      hash.Add(items_[place]);
    }
    fingerprint_ = hash.Finish();
  }

  uint64_t size() const override { return items_.size(); }
  void ItemsAt(std::span<const uint64_t> in,
               std::span<uint64_t> out) const override {
    LookUp(items_, in, out);
  }
  void PlacesOf(std::span<const uint64_t> in,
                std::span<uint64_t> out) const override {
    LookUp(places_, in, out);
  }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  const Table items_;  // by place
  Table places_;       // by item
  uint64_t fingerprint_;
};

// Sorts the items. Moves scores together with their items, so that the sort
// stays in the caches.
template <class Score>
Table SortedItems(std::span<const Score> scores, ScoreDirection direction) {
  struct Scored {
    Score score;
    uint32_t item;
  };
  std::vector<Scored> all(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    all[i] = {scores[i], static_cast<uint32_t>(i)};
  }
  // Items of equal score are ordered by index, so every sorting algorithm gives
  // the same result.
  if (direction == ScoreDirection::kAscending) {
    std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) {
      return a.score != b.score ? a.score < b.score : a.item < b.item;
    });
  } else {
    std::sort(all.begin(), all.end(), [](const Scored& a, const Scored& b) {
      return a.score != b.score ? a.score > b.score : a.item < b.item;
    });
  }
  Table items(all.size());
  for (size_t place = 0; place < all.size(); ++place) {
    items[place] = all[place].item;
  }
  return items;
}

template <class Score>
absl::StatusOr<ScoreOrder> Sorted(std::span<const Score> scores,
                                  ScoreDirection direction) {
  PONIENTE_RETURN_IF_ERROR(internal::CheckOrderSize(scores.size()));
  const auto bad = std::find_if(scores.begin(), scores.end(),
                                [](Score score) { return std::isnan(score); });
  if (bad != scores.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "score ", bad - scores.begin(), " of ", scores.size(),
        " is not a number; give items that have no score one that is, such as "
        "inf"));
  }
  try {
    return ScoreOrder(
        std::make_shared<TablesInMemory>(SortedItems(scores, direction)));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory for the ", 8 * scores.size(), " bytes of the order of ",
        scores.size(),
        " items; order parts of the dataset, or free some memory"));
  }
}

}  // namespace

OrderTables::~OrderTables() = default;

absl::StatusOr<ScoreOrder> ScoreOrder::FromScores(std::span<const float> scores,
                                                  ScoreDirection direction) {
  return Sorted(scores, direction);
}

absl::StatusOr<ScoreOrder> ScoreOrder::FromScores(
    std::span<const double> scores, ScoreDirection direction) {
  return Sorted(scores, direction);
}

ScoreOrder::ScoreOrder(std::shared_ptr<const OrderTables> tables)
    : tables_(std::move(tables)) {
  PONIENTE_CHECK(tables_ != nullptr);
}

uint64_t ScoreOrder::ItemAt(uint64_t place) const {
  ItemsAt({&place, 1}, {&place, 1});
  return place;
}

uint64_t ScoreOrder::PlaceOf(uint64_t item) const {
  PlacesOf({&item, 1}, {&item, 1});
  return item;
}

void ScoreOrder::Check(std::span<const uint64_t> in,
                       std::span<uint64_t> out) const {
  PONIENTE_CHECK(in.size() == out.size()) << in.size() << ' ' << out.size();
  const uint64_t n = size();
  for (const uint64_t entry : in) {
    PONIENTE_CHECK(entry < n) << entry << " of " << n;
  }
}

void ScoreOrder::ItemsAt(std::span<const uint64_t> in,
                         std::span<uint64_t> out) const {
  Check(in, out);
  tables_->ItemsAt(in, out);
}

void ScoreOrder::PlacesOf(std::span<const uint64_t> in,
                          std::span<uint64_t> out) const {
  Check(in, out);
  tables_->PlacesOf(in, out);
}

namespace internal {

absl::Status CheckOrderSize(uint64_t size) {
  if (size <= ScoreOrder::kMaxItems) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("an order of ", size,
                   " items, only 2^32 are possible; order longer windows, or "
                   "parts of the dataset"));
}

}  // namespace internal
}  // namespace poniente
