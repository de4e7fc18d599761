// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/maps/order_map.h"
#include "poniente/transforms.h"

namespace poniente::internal {
namespace {

class OrderNodeRecipe final : public NodeRecipe {
 public:
  OrderNodeRecipe(ScoreOrder order, uint64_t bucket_items,
                  std::optional<uint64_t> seed)
      : order_(std::move(order)), bucket_items_(bucket_items), seed_(seed) {}

  std::string_view kind() const override { return "order"; }
  bool is_order() const override { return true; }
  std::optional<uint64_t> stated_seed() const override { return seed_; }
  uint64_t fingerprint() const override {
    return Derive(order_.fingerprint(), Tag("buckets"), bucket_items_);
  }
  uint64_t ChildSeed(uint64_t seed, std::string_view name) const override {
    return internal::ChildSeed(seed, name);
  }

  absl::Status CheckLengths(
      std::span<const LengthState> lengths) const override {
    const LengthState& child = lengths[0];
    if (child.is_endless) {
      return absl::InvalidArgumentError(
          "an endless dataset cannot be ordered; order what lies below it, or "
          "Take() a finite part of it");
    }
    // A dataset that still grows may reach the expected size later.
    const uint64_t size = order_.size();
    if (child.is_final ? child.readable == size : child.readable <= size) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the order is of ", size, " items, the dataset has ", child.readable,
        "; make the order anew from scores of this dataset"));
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState>,
                                  uint64_t seed) const override {
    return MadeMap{std::make_shared<OrderMap>(order_, bucket_items_, seed),
                   true};
  }

 private:
  const ScoreOrder order_;
  const uint64_t bucket_items_;
  const std::optional<uint64_t> seed_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const NodeRecipe>> OrderRecipe(
    ScoreOrder order, const OrderOptions& options) {
  if (options.bucket_items != 0 && options.buckets != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "order: bucket_items is ", options.bucket_items, " and buckets is ",
        options.buckets, "; give one of them"));
  }
  uint64_t bucket_items = options.bucket_items;
  const uint64_t n = order.size();
  if (options.buckets != 0 && n != 0) {
    bucket_items = (n - 1) / options.buckets + 1;
  }
  // A bucket of one item is not shuffled; a bucket holds at most all items.
  if (bucket_items == 1) bucket_items = 0;
  if (bucket_items > n) bucket_items = n;
  return std::make_shared<const OrderNodeRecipe>(std::move(order), bucket_items,
                                                 options.seed);
}

}  // namespace poniente::internal
