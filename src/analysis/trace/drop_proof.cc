// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/drop_proof.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataset/joined_path.h"
#include "dataset/steering/change_places.h"
#include "dataset/steering/dropped_source.h"
#include "index/journal/number_ranges.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/mixture_dataset.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// More readings than these say nothing new.
constexpr size_t kMaxReadings = 10;

// What an entry drops from a leaf.
struct Dropped {
  uint64_t change = 0;
  // The first sample of the run behind the change.
  uint64_t since = 0;
  // The first sample without the items: of the mixture that draws the source's
  // component, which lies `depth` mixtures below the root.
  uint64_t start = 0;
  size_t depth = 0;
  std::vector<uint64_t> items = {};  // ascending
};

// What an entry masks in a leaf, from a sample of the run on.
struct Masked {
  uint64_t change = 0;
  uint64_t start = 0;
  std::vector<NumberRange> documents = {};  // ascending

  bool Has(uint64_t document) const { return HasNumber(documents, document); }
};

// What the entries of a journal take from each leaf.
class Taken {
 public:
  explicit Taken(const TracedRun& run)
      : run_(run),
        leaves_(run.trace().tree().leaves()),
        dropped_(leaves_.size()),
        masked_(leaves_.size()) {}

  const std::vector<Dropped>& DroppedFrom(uint32_t leaf) const {
    return dropped_[leaf];
  }

  absl::Status Add(const JournalEntry& entry) {
    bool is_known = false;
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      if (leaves_[leaf].path != entry.change.path) continue;
      is_known = true;
      if (entry.change.masks) {
        masked_[leaf].push_back(
            {entry.number, entry.sample, entry.change.dropped});
        continue;
      }
      PONIENTE_ASSIGN_OR_RETURN(const ChangePlace place,
                                FindChangePlace(run_.dataset(), entry));
      Dropped one = {.change = entry.number,
                     .since = entry.sample,
                     .start = place.start,
                     .depth = place.depth};
      PONIENTE_ASSIGN_OR_RETURN(
          one.items, DroppedItemsOf(*leaves_[leaf].node, entry.change));
      dropped_[leaf].push_back(std::move(one));
    }
    if (is_known) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("change ", entry.number,
                                            " drops from '", entry.change.path,
                                            "', which is no source"));
  }

  // What was taken from a component is taken from the parts that read it.
  void Split(const JournalEntry& entry) {
    const auto below = [&](const std::string& path, const std::string& name) {
      return IsAtOrBelow(path, JoinedPath(entry.change.path, name));
    };
    for (size_t whole = 0; whole < leaves_.size(); ++whole) {
      if (!below(leaves_[whole].path, entry.change.components[0])) continue;
      for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
        const bool is_part =
            std::any_of(entry.change.added.begin(), entry.change.added.end(),
                        [&](const ComponentText& part) {
                          return below(leaves_[leaf].path, part.name);
                        });
        if (!is_part || leaves_[leaf].node->fingerprint() !=
                            leaves_[whole].node->fingerprint()) {
          continue;
        }
        for (Dropped one : dropped_[whole]) {
          // No sample before the split reads a part.
          one.since = 0;
          one.start = 0;
          one.depth = 0;
          dropped_[leaf].push_back(std::move(one));
        }
        masked_[leaf].insert(masked_[leaf].end(), masked_[whole].begin(),
                             masked_[whole].end());
      }
    }
  }

  // Counts items and documents, each once.
  void Count(DropProof* proof) const {
    std::map<uint64_t, std::set<uint64_t>> items;  // by content of a leaf
    std::map<uint64_t, std::set<uint64_t>> documents;
    for (size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const uint64_t print = leaves_[leaf].node->fingerprint();
      for (const Dropped& one : dropped_[leaf]) {
        items[print].insert(one.items.begin(), one.items.end());
      }
      for (const Masked& one : masked_[leaf]) {
        for (const NumberRange& range : one.documents) {
          for (uint64_t d = range.begin; d < range.end; ++d) {
            documents[print].insert(d);
          }
        }
      }
    }
    for (const auto& [print, of_leaf] : items) proof->items += of_leaf.size();
    for (const auto& [print, of_leaf] : documents) {
      proof->masked += of_leaf.size();
    }
  }

  // Returns the changes whose masked documents a sample serves.
  absl::StatusOr<std::set<uint64_t>> Unmasked(
      const SampleOrigin& origin) const {
    std::set<uint64_t> changes;
    if (masked_[origin.leaf].empty()) return changes;
    const PiecewiseItems* const leaf = PiecesOf(*leaves_[origin.leaf].node);
    Position position = {.index = origin.item, .epoch = origin.epoch};
    position.part_begin = origin.token_begin;
    position.part_length = origin.token_end - origin.token_begin;
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<ItemPiece> pieces,
                              leaf->Pieces(position));
    std::optional<std::vector<TokenWindow>> served;
    size_t at = 0;
    for (const ItemPiece& piece : pieces) {
      const size_t begin = at;
      at += piece.end - piece.begin;
      for (const Masked& one : masked_[origin.leaf]) {
        if (piece.is_padding() || origin.sample < one.start ||
            !one.Has(piece.document)) {
          continue;
        }
        if (!served) {
          const Index index = origin.sample;
          PONIENTE_ASSIGN_OR_RETURN(
              served, run_.dataset().GetBatchBlocking(std::span(&index, 1)));
        }
        const std::vector<uint32_t>& tokens = served->front().tokens;
        const bool is_padding =
            at <= tokens.size() &&
            std::all_of(tokens.begin() + static_cast<ptrdiff_t>(begin),
                        tokens.begin() + static_cast<ptrdiff_t>(at),
                        [&](uint32_t id) { return id == leaf->padding_id(); });
        if (!is_padding) changes.insert(one.change);
      }
    }
    return changes;
  }

 private:
  const TracedRun& run_;
  const std::span<const TreeLeaf> leaves_;
  std::vector<std::vector<Dropped>> dropped_;  // by leaf
  std::vector<std::vector<Masked>> masked_;
};

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
  Taken taken(run);
  DropProof proof;
  if (run.steps()) steps.end = std::min(steps.end, *run.steps());
  const Schedule& schedule = run.schedule();
  const uint64_t end_sample = schedule.Has(steps.end)
                                  ? schedule.FirstSample(steps.end)
                                  : schedule.samples();
  for (const JournalEntry& entry : journal.entries()) {
    if (entry.sample >= end_sample) break;
    if (entry.change.kind == RunChange::Kind::kSplit) taken.Split(entry);
    if (entry.change.kind != RunChange::Kind::kDrop) continue;
    ++proof.changes;
    PONIENTE_RETURN_IF_ERROR(taken.Add(entry));
  }
  taken.Count(&proof);
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
      PONIENTE_ASSIGN_OR_RETURN(const std::set<uint64_t> unmasked,
                                taken.Unmasked(origin));
      for (const uint64_t change : unmasked) {
        if (proof.readings.size() == kMaxReadings) break;
        proof.readings.push_back({change, true, origin});
      }
      for (const Dropped& dropped : taken.DroppedFrom(origin.leaf)) {
        if (proof.readings.size() == kMaxReadings ||
            origin.sample < dropped.since ||
            !std::binary_search(dropped.items.begin(), dropped.items.end(),
                                origin.item)) {
          continue;
        }
        const uint64_t below =
            SampleBelow(run.dataset(), origin.sample, dropped.depth);
        proof.readings.push_back(
            {dropped.change, below >= dropped.start, origin});
      }
    }
  }
  proof.steps = {steps.begin, std::max(steps.end, steps.begin + 1)};
  return proof;
}

}  // namespace poniente::internal
