// SPDX-License-Identifier: Apache-2.0
#include "config/parse/weights_sum.h"

#include <cmath>
#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "config/parse/run_points.h"

namespace poniente::internal {
namespace {

// What a sum may be off by, as a share of it: three or four weights that were
// rounded to six places.
constexpr double kSumError = 2e-6;
// Weights that a message lists.
constexpr size_t kMaxListed = 12;

// Enough digits to tell a wrong sum from a right one.
std::string Digits(double number) { return absl::StrFormat("%.9g", number); }

class SumChecker {
 public:
  explicit SumChecker(ErrorList* errors) : errors_(errors) {}

  void Check(const Node& node, const std::vector<RunStage>& stages) {
    if (node.kind == NodeKind::kMixture) CheckMixture(node, stages);
    for (const Node& child : node.children) Check(child, child.stages);
  }

  void CheckMixture(const Node& mixture, const std::vector<RunStage>& stages) {
    const std::optional<double> usual = mixture.mixture.weights_sum;
    // The weights of a stage that starts the run have become the components'.
    const RunStage* const first =
        !stages.empty() && IsStartOfRun(stages[0].start) ? &stages[0] : nullptr;
    const std::optional<double> at_first =
        first != nullptr && first->weights_sum ? first->weights_sum : usual;
    if (at_first) {
      CheckSum(mixture, {}, *at_first,
               first != nullptr ? first->location : mixture.location);
    }
    for (const RunStage& stage : stages) {
      if (&stage == first) continue;
      if (stage.weights.empty()) {
        if (!stage.weights_sum) continue;
        errors_->Add(stage.location,
                     "states weights_sum, but no weights: state them, or leave "
                     "it out");
        continue;
      }
      const std::optional<double> sum =
          stage.weights_sum ? stage.weights_sum : usual;
      if (sum) CheckSum(mixture, stage.weights, *sum, stage.location);
    }
  }

 private:
  void CheckSum(const Node& mixture,
                const std::map<std::string, double>& stated, double wanted,
                const SourceLocation& location) {
    double sum = 0;
    std::string listed;
    size_t count = 0;
    for (const Node& child : mixture.children) {
      const auto found = stated.find(child.name);
      const bool is_stated = found != stated.end();
      const double weight = is_stated ? found->second : WeightOf(child);
      sum += weight;
      if (++count > kMaxListed) continue;
      absl::StrAppend(&listed, listed.empty() ? "" : " + ", Digits(weight),
                      " (", child.name,
                      is_stated || stated.empty() ? "" : ", not named here",
                      ")");
    }
    if (std::abs(sum - wanted) <= kSumError * wanted) return;
    if (count > kMaxListed) {
      absl::StrAppend(&listed, " + ", count - kMaxListed, " more");
    }
    errors_->Add(location,
                 absl::StrCat("has weights that sum to ", Digits(sum), ", not ",
                              Digits(wanted), " as weights_sum says: ", listed,
                              "; correct the weights, or leave weights_sum "
                              "out"));
  }

  ErrorList* const errors_;
};

void RefuseScores(const Node& node, const std::vector<RunStage>& stages,
                  ErrorList* errors) {
  for (const Node& child : node.children) {
    RefuseScores(child, child.stages, errors);
  }
  if (node.kind != NodeKind::kMixture ||
      node.mixture.weight_rule != WeightRule::kScores) {
    return;
  }
  constexpr std::string_view kWhy =
      "states weights_sum, but with weight_rule = \"scores\" weights have no "
      "sum that means anything: leave it out";
  if (node.mixture.weights_sum) errors->Add(node.location, kWhy);
  for (const RunStage& stage : stages) {
    if (stage.weights_sum) errors->Add(stage.location, kWhy);
  }
}

}  // namespace

std::optional<double> ParseWeightsSum(TableReader& table,
                                      std::string_view key) {
  const std::optional<double> sum = table.Number(key);
  if (!sum || (std::isfinite(*sum) && *sum > 0)) return sum;
  table.Error(key, absl::StrCat("must be finite and above 0, got ", *sum));
  return std::nullopt;
}

void CheckWeightsSums(const Run& run, ErrorList* errors) {
  const Node& root = Used(run.data);
  if (!errors->empty()) return;
  RefuseScores(root, run.stages, errors);
  for (const RunEval& eval : run.evals) {
    RefuseScores(Used(eval.data), {}, errors);
  }
  if (!errors->empty()) return;
  SumChecker(errors).Check(root, run.stages);
  for (const RunEval& eval : run.evals) {
    SumChecker(errors).Check(Used(eval.data), {});
  }
}

}  // namespace poniente::internal
