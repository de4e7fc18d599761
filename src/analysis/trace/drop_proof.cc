// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/drop_proof.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataset/steering/change_places.h"
#include "dataset/steering/dropped_source.h"
#include "poniente/dataset_tree.h"
#include "poniente/mixture_dataset.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// More readings than these say nothing new.
constexpr size_t kMaxReadings = 10;

using Mixture = MixtureDataset<TokenWindow>;

// What an entry drops from a leaf.
struct Dropped {
  uint64_t change = 0;
  // The first sample without the items: of the mixture that draws the source's
  // component, which lies `depth` mixtures below the root.
  uint64_t start = 0;
  size_t depth = 0;
  std::vector<uint64_t> items = {};  // ascending
};

// Sets where the entry holds (docs/journal.md): the root from its sample on, a
// mixture below from its first block on that the samples before have not begun.
absl::Status FindStart(const DatasetNode& root, const JournalEntry& entry,
                       Dropped* dropped) {
  const std::vector<std::string> names = absl::StrSplit(entry.change.path, '/');
  dropped->start = entry.sample;
  const auto* mixture = dynamic_cast<const Mixture*>(&BelowInfilling(root));
  for (size_t depth = 0; mixture != nullptr && depth < names.size(); ++depth) {
    PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, mixture->plan());
    if (depth > 0) {
      dropped->start = BeginOf(plan, entry.change, dropped->start);
    }
    dropped->depth = depth;
    const DatasetPtr<TokenWindow> below = mixture->component(names[depth]);
    const auto number = plan.Find(names[depth]);
    if (below == nullptr || !number || below->IsFinite()) break;
    dropped->start = ServedBelow(plan, *number, *below, dropped->start);
    mixture = dynamic_cast<const Mixture*>(below.get());
  }
  return absl::OkStatus();
}

// Returns which sample of the mixture `depth` mixtures below the root a sample
// of the root is.
uint64_t SampleBelow(const DatasetNode& root, uint64_t sample, size_t depth) {
  const DatasetNode* node = &BelowInfilling(root);
  Position position = {.index = sample};
  for (; depth > 0; --depth) {
    ChildPosition below;
    node->map()->Resolve(std::span(&position, 1), std::span(&below, 1));
    node = node->children()[below.child].node;
    position = below.position;
  }
  return position.index;
}

}  // namespace

absl::StatusOr<DropProof> ProveDropped(const Journal& journal,
                                       const TracedRun& run, StepRange steps) {
  const std::span<const TreeLeaf> leaves = run.trace().tree().leaves();
  std::vector<std::vector<Dropped>> of_leaf(leaves.size());
  DropProof proof;
  if (run.steps()) steps.end = std::min(steps.end, *run.steps());
  const Schedule& schedule = run.schedule();
  const uint64_t end_sample = schedule.Has(steps.end)
                                  ? schedule.FirstSample(steps.end)
                                  : schedule.samples();
  for (const JournalEntry& entry : journal.entries()) {
    if (entry.change.kind != RunChange::Kind::kDrop) continue;
    if (entry.sample >= end_sample) break;
    ++proof.changes;
    bool is_known = false;
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      if (leaves[leaf].path != entry.change.path) continue;
      is_known = true;
      Dropped dropped = {.change = entry.number};
      PONIENTE_RETURN_IF_ERROR(FindStart(run.dataset(), entry, &dropped));
      PONIENTE_ASSIGN_OR_RETURN(
          dropped.items, DroppedItemsOf(*leaves[leaf].node, entry.change));
      of_leaf[leaf].push_back(std::move(dropped));
    }
    if (is_known) continue;
    return absl::InternalError(absl::StrCat("change ", entry.number,
                                            " drops from '", entry.change.path,
                                            "', which is no source"));
  }
  for (const std::vector<Dropped>& changes : of_leaf) {
    std::set<uint64_t> items;
    for (const Dropped& one : changes) {
      items.insert(one.items.begin(), one.items.end());
    }
    proof.items += items.size();
  }
  if (proof.changes == 0) {
    return absl::FailedPreconditionError(
        "no change of the journal drops anything before the end of these "
        "steps, so there is nothing to prove");
  }
  for (uint64_t step = steps.begin; step < std::max(steps.end, steps.begin + 1);
       ++step) {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<SampleOrigin> origins,
                              run.trace().Resolve(step));
    proof.samples += origins.size();
    for (const SampleOrigin& origin : origins) {
      for (const Dropped& dropped : of_leaf[origin.leaf]) {
        if (proof.readings.size() == kMaxReadings ||
            !std::binary_search(dropped.items.begin(), dropped.items.end(),
                                origin.item) ||
            SampleBelow(run.dataset(), origin.sample, dropped.depth) <
                dropped.start) {
          continue;
        }
        proof.readings.push_back({dropped.change, origin});
      }
    }
  }
  proof.steps = {steps.begin, std::max(steps.end, steps.begin + 1)};
  return proof;
}

}  // namespace poniente::internal
