// SPDX-License-Identifier: Apache-2.0
// What differs between two mixtures: blocks, weights and shares, and the rules
// by which they draw.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/diff/stated_options.h"
#include "analysis/diff/tree_differences.h"
#include "analysis/diff/weight_diff.h"
#include "dataset/joined_path.h"
#include "index/mixture/mixture_map.h"

namespace poniente::internal {
namespace {

constexpr IndexSpan kAll = {{.index = 0}, {.index = UINT64_MAX}};

// The mixture of one run.
struct ComparedMixture {
  const MixtureMap& map;
  std::vector<NamedNode> children;

  // By name: canonical number.
  std::map<std::string, uint32_t> Components() const {
    std::map<std::string, uint32_t> numbers;
    const std::vector<uint32_t>& declared = map.order().declared;
    for (uint32_t c = 0; c < declared.size(); ++c) {
      numbers[children[declared[c]].name] = c;
    }
    return numbers;
  }
  bool Draws(uint32_t component) const {
    return map.SpanBelow(map.order().declared[component], kAll).has_value();
  }
};

class MixtureDiff {
 public:
  // `is_run` as in AddMixtureDifferences().
  MixtureDiff(ComparedMixture a, ComparedMixture b, const std::string& path,
              bool is_run, TreeDifferences* found)
      : a_(std::move(a)),
        b_(std::move(b)),
        path_(path),
        is_run_(is_run),
        found_(found) {}

  void Compare() {
    const bool has_other_blocks =
        a_.map.plan().block_size() != b_.map.plan().block_size();
    if (has_other_blocks) {
      found_->Add("block_size of " + NodeWords(path_),
                  a_.map.plan().block_size(), b_.map.plan().block_size(),
                  found_->AfterBelow(path_));
    }
    const std::map<std::string, uint32_t> in_b = b_.Components();
    ComponentPairs both;
    for (const auto& [name, component] : a_.Components()) {
      const auto found = in_b.find(name);
      if (found != in_b.end()) both[name] = {component, found->second};
    }
    CompareWeights(std::move(both), has_other_blocks);
    CompareRules();
  }

 private:
  // Shuffles, starts of views and the end, where the same components are drawn.
  void CompareRules() {
    const std::map<std::string, uint32_t> in_a = a_.Components();
    const std::map<std::string, uint32_t> in_b = b_.Components();
    const bool are_same = std::equal(
        in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
        [&](const auto& x, const auto& y) {
          return x.first == y.first && a_.Draws(x.second) == b_.Draws(y.second);
        });
    if (!are_same ||
        a_.map.PrefixParameters(kAll) == b_.map.PrefixParameters(kAll))
      return;
    // A component's shuffle is stated for the component.
    bool are_told = found_->AddOptions(path_, found_->AfterBelow(path_));
    for (const std::string& below :
         PathsBelow(found_->a().run(), found_->b().run(), path_)) {
      are_told |= found_->AddOptions(below, found_->AfterBelow(below));
    }
    if (are_told) return;
    const auto words = [](const ComparedMixture& mixture) -> DiffValue {
      if (!mixture.map.length()) return std::string("endless");
      return absl::StrCat(*mixture.map.length(), " samples");
    };
    found_->Add("shuffles, views or end of " + NodeWords(path_), words(a_),
                words(b_), found_->AfterBelow(path_));
  }

  // What the stages state, then each component once, where its share first
  // differs. `is_explained`: whether the steps of ramps are known to differ.
  void CompareWeights(ComponentPairs components, bool is_explained) {
    std::optional<uint64_t> below;
    if (!is_run_) below = found_->AfterBelow(path_);
    const auto compare = [&](const char* what, auto member, auto words) {
      const auto other = DiffStated(a_.map.plan(), b_.map.plan(), member);
      if (!other.has_value()) return;
      is_explained = true;
      found_->Add(
          path_.empty() ? what : absl::StrCat(what, " of ", NodeWords(path_)),
          words(other->a->*member), words(other->b->*member),
          is_run_ ? found_->StepOf(other->sample) : below);
    };
    compare("temperature", &StatedStage::temperature,
            [](double value) -> DiffValue { return value; });
    compare("ramp_blocks", &StatedStage::ramp_blocks,
            [](uint32_t value) -> DiffValue {
              if (value == 0) return {};  // not stated
              return uint64_t{value};
            });
    compare("ramp_temperature", &StatedStage::ramps_temperature,
            [](bool value) -> DiffValue {
              return std::string(value ? "true" : "false");
            });
    for (const WeightDifference& one :
         DiffWeights(a_.map.plan(), b_.map.plan(), std::move(components))) {
      if (one.is_on_the_way && is_explained) continue;
      found_->Add({absl::StrCat(one.is_weight ? "weight of '" : "share of '",
                                JoinedPath(path_, one.component), "'"),
                   one.a, one.b, is_run_ ? found_->StepOf(one.sample) : below,
                   true, one.ramp_a, one.ramp_b});
    }
  }

  const ComparedMixture a_;
  const ComparedMixture b_;
  const std::string& path_;
  const bool is_run_;
  TreeDifferences* const found_;
};

}  // namespace

bool AddMixtureDifferences(const DatasetNode& a, const DatasetNode& b,
                           const std::string& path, bool is_run,
                           TreeDifferences* differences) {
  const std::shared_ptr<const IndexMap> map_a = a.map();
  const std::shared_ptr<const IndexMap> map_b = b.map();
  const auto* const mixture_a = dynamic_cast<const MixtureMap*>(map_a.get());
  const auto* const mixture_b = dynamic_cast<const MixtureMap*>(map_b.get());
  if (mixture_a == nullptr || mixture_b == nullptr) return false;
  MixtureDiff diff({*mixture_a, a.children()}, {*mixture_b, b.children()}, path,
                   is_run, differences);
  diff.Compare();
  return true;
}

}  // namespace poniente::internal
