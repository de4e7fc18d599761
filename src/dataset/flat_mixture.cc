// SPDX-License-Identifier: Apache-2.0
#include "poniente/flat_mixture.h"

#include "dataset/final_lengths.h"
#include "index/keyed_hash.h"
#include "index/maps/flat_map.h"
#include "index/permutation/item_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class FlatMixtureNodeRecipe final : public NodeRecipe {
 public:
  FlatMixtureNodeRecipe(std::optional<uint64_t> seed, const OrderSpec& order,
                        std::vector<std::string> names)
      : seed_(seed), order_(order), names_(std::move(names)) {}

  std::string_view kind() const override { return "flat_mixture"; }
  bool is_order() const override { return true; }
  std::optional<uint64_t> stated_seed() const override { return seed_; }
  // Does not include the names, which the node's fingerprint covers.
  uint64_t fingerprint() const override { return OrderFingerprint(order_); }

  uint64_t ChildSeed(uint64_t seed, std::string_view name) const override {
    return internal::ChildSeed(seed, name);
  }

  absl::Status CheckLengths(
      std::span<const LengthState> lengths) const override {
    return FinalLengths(lengths, names_).status();
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t seed) const override {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> finite,
                              FinalLengths(lengths, names_));
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const IndexMap> map,
                              FlatMap::Create(finite, names_, seed, order_));
    return MadeMap{std::move(map), true};
  }

 private:
  const std::optional<uint64_t> seed_;
  const OrderSpec order_;
  const std::vector<std::string> names_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const NodeRecipe>> FlatMixtureRecipe(
    const FlatMixtureOptions& options, std::span<const NamedNode> children) {
  // Checked first: children that do not match must not be reported as a wrong
  // chunk size.
  PONIENTE_RETURN_IF_ERROR(CheckChildren("flat_mixture", children));
  const absl::StatusOr<OrderSpec> order =
      ResolveShuffle(options.shuffle, SharedItemTokens(children));
  if (!order.ok()) return Prepend(order.status(), "flat_mixture");
  std::vector<std::string> names;
  for (const NamedNode& child : children) names.push_back(child.name);
  return std::make_shared<FlatMixtureNodeRecipe>(options.seed, *order,
                                                 std::move(names));
}

}  // namespace poniente::internal
