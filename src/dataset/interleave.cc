// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "index/keyed_hash.h"
#include "index/maps/interleave_map.h"
#include "poniente/transforms.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class InterleaveNodeRecipe final : public NodeRecipe {
 public:
  explicit InterleaveNodeRecipe(uint64_t block_items)
      : block_items_(block_items) {}

  std::string_view kind() const override { return "interleave"; }
  bool follows_growth() const override { return true; }
  bool keeps_endless() const override { return true; }
  bool is_sequence() const override { return true; }
  uint64_t fingerprint() const override {
    return Derive(block_items_, Tag("ilv"));
  }

  uint64_t ChildSeed(uint64_t seed, std::string_view name) const override {
    return internal::ChildSeed(seed, name);
  }

  // The child that has the fewest items holds up the next round.
  size_t WaitsFor(std::span<const LengthState> lengths) const override {
    size_t least = lengths.size();
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i].is_final) continue;
      if (least == lengths.size() ||
          lengths[i].readable < lengths[least].readable) {
        least = i;
      }
    }
    return least;
  }

  // A round can be read once every child that still grows fills its block.
  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t) const override {
    std::vector<std::optional<uint64_t>> items;
    std::optional<uint64_t> rounds;
    for (const LengthState& length : lengths) {
      if (!length.is_final && block_items_ > 0) {
        const uint64_t whole = length.readable / block_items_;
        rounds = std::min(rounds.value_or(whole), whole);
      }
      std::optional<uint64_t>& one = items.emplace_back();
      if (!length.is_endless) one = length.readable;
    }
    PONIENTE_ASSIGN_OR_RETURN(
        std::shared_ptr<const IndexMap> map,
        InterleaveMap::Create(std::move(items), block_items_, rounds));
    return MadeMap{std::move(map), !rounds.has_value()};
  }

 private:
  const uint64_t block_items_;
};

}  // namespace

std::shared_ptr<const NodeRecipe> InterleaveRecipe(uint64_t block_items) {
  return std::make_shared<InterleaveNodeRecipe>(block_items);
}

}  // namespace poniente::internal
