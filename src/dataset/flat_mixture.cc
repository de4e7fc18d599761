// SPDX-License-Identifier: Apache-2.0
#include "poniente/flat_mixture.h"

#include "absl/strings/str_cat.h"
#include "dataset/final_lengths.h"
#include "index/flat_map.h"
#include "index/keyed_hash.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class Recipe final : public NodeRecipe {
 public:
  Recipe(const FlatMixtureOptions& options, std::vector<std::string> names)
      : options_(options), names_(std::move(names)) {}

  std::string_view kind() const override { return "flat_mixture"; }
  bool is_order() const override { return true; }
  std::optional<uint64_t> stated_seed() const override { return options_.seed; }
  uint64_t fingerprint() const override { return 0; }  // the names are covered

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
                              FlatMap::Create(finite, names_, seed));
    return MadeMap{std::move(map), true};
  }

 private:
  const FlatMixtureOptions options_;
  const std::vector<std::string> names_;
};

}  // namespace

std::shared_ptr<const NodeRecipe> FlatMixtureRecipe(
    const FlatMixtureOptions& options, std::vector<std::string> names) {
  return std::make_shared<Recipe>(options, std::move(names));
}

}  // namespace poniente::internal
