// SPDX-License-Identifier: Apache-2.0
#include "config/tree/infilled_sources.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/tree/schedule_builder.h"
#include "dataset/joined_path.h"
#include "poniente/extend/infilled_dataset.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

struct Found {
  InfilledSource source;
  const SourceLocation* location = nullptr;  // of the setting
};

class Finder {
 public:
  Finder(const Run& run, const Schedule& schedule)
      : run_(run), schedule_(schedule) {
    for (const Node& child : Used(run.data).children) {
      components_.insert(child.name);
    }
  }

  std::vector<Found> Find() {
    Visit(run_.data, nullptr, "");
    return std::move(found_);
  }

 private:
  void Visit(const Node& node, const NodeInfilling* above,
             const std::string& path) {
    const NodeInfilling* const own =
        node.fill_in_the_middle ? &*node.fill_in_the_middle : above;
    const bool is_root_mixture =
        node.kind == NodeKind::kMixture && &node == &Used(run_.data);
    for (const Node& child : node.children) {
      if (is_root_mixture) component_ = &child.name;
      Visit(child, own, JoinedPath(path, child.name));
    }
    if (!node.children.empty() || node.kind == NodeKind::kDeclared) return;
    if (own == nullptr || !own->is_infilled) return;
    found_.push_back({{path, own->options, {}}, &own->location});
    AddRates(&found_.back().source);
  }

  // Returns the rate that a stage states for the node, or for the nearest one
  // above it, up to the component; `own` if it states none.
  double RateIn(const RunStage& stage, const std::string& path,
                double own) const {
    if (stage.fim_rates.empty()) return own;
    for (size_t end = path.size(); end != std::string::npos && end > 0;
         end = path.rfind('/', end - 1)) {
      const auto stated = stage.fim_rates.find(path.substr(0, end));
      if (stated == stage.fim_rates.end()) continue;
      // A component's name may have slashes: it is not another's path, then.
      const bool is_component = components_.contains(stated->first);
      if (!is_component || stated->first == *component_) return stated->second;
    }
    return own;
  }

  void AddRates(InfilledSource* source) const {
    if (component_ == nullptr) return;
    const double own = source->options.rate;
    double before = own;
    for (size_t i = 0; i < run_.stages.size(); ++i) {
      const double rate = RateIn(run_.stages[i], source->path, own);
      const uint64_t start = PlannedStageOf(schedule_, run_, i).start_sample;
      if (start == 0) {
        source->options.rate = rate;
      } else if (rate != before) {
        source->rates.push_back({start, rate});
      }
      before = rate;
    }
  }

  const Run& run_;
  const Schedule& schedule_;
  std::set<std::string_view> components_;   // of the root mixture
  const std::string* component_ = nullptr;  // the one that is visited
  std::vector<Found> found_;
};

// Names may have slashes, so two sources may have one path. OK if none do.
absl::Status CheckPaths(const std::vector<Found>& found) {
  std::map<std::string_view, const SourceLocation*> stated;
  for (const Found& one : found) {
    const auto [other, is_new] =
        stated.try_emplace(one.source.path, one.location);
    if (is_new) continue;
    const std::string at = ToString(*one.location);
    const std::string before = ToString(*other->second);
    return absl::InvalidArgumentError(absl::StrCat(
        at, ": fill_in_the_middle is stated twice for '", one.source.path, "'",
        before == at ? "" : absl::StrCat(", also at ", before),
        ": two sources have this path; rename one of them"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> FillInTheMiddle(
    const Run& run, const Schedule& schedule, DatasetPtr<TokenWindow> dataset) {
  const std::vector<Found> found = Finder(run, schedule).Find();
  if (found.empty()) return dataset;
  PONIENTE_RETURN_IF_ERROR(CheckPaths(found));
  std::vector<InfilledSource> sources;
  for (const Found& one : found) sources.push_back(one.source);
  absl::StatusOr<DatasetPtr<TokenWindow>> made =
      InfilledDataset::Create(dataset, std::move(sources));
  if (made.ok()) return made;
  for (const Found& one : found) {
    const absl::Status alone =
        InfilledDataset::Create(dataset, {one.source}).status();
    if (!alone.ok()) return Prepend(alone, ToString(*one.location));
  }
  return made;
}

}  // namespace poniente::internal
