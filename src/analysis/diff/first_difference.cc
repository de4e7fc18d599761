// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/diff/run_diff.h"
#include "index/keyed_hash.h"
#include "index/max_samples.h"
#include "loader/state/run_state.h"
#include "poniente/diff.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_source.h"
#include "util/status_macros.h"

// Everything that decides the samples before a step (RunState) can be compared
// at once. If it is the same before a step, it is the same before every earlier
// step, so a binary search finds the last such step. From there on, samples are
// compared one by one, for two reasons: a RunState reaches to the end of the
// block, and different parameters may still give the same samples.

namespace poniente::internal {
namespace {

// Samples that are resolved together.
constexpr uint64_t kChunk = 2048;

// The first step of [low, high) for which `is_past` holds, `high` if none does.
// REQUIRES: from there on it holds.
template <class IsPast>
uint64_t FirstStep(uint64_t low, uint64_t high, IsPast is_past) {
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (is_past(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

uint64_t EndOfRun(const TracedRun& run) {
  if (const auto steps = run.steps()) return *steps;
  return FirstStep(0, kMaxSamples,
                   [&](uint64_t step) { return !run.schedule().Has(step); });
}

// Returns a hash of the functions above a node's child: `above`, and the node's
// own if it makes items. A function may also read items of other children,
// whose fingerprints then count as a whole.
uint64_t FunctionsAbove(const DatasetNode& node, const NamedNode& child,
                        uint64_t above) {
  if (!node.makes_items()) return above;
  const std::optional<NodeIdentity> identity = node.identity();
  KeyHash hash(above);
  hash.Add(identity ? identity->parameters : node.fingerprint());
  for (const NamedNode& other : node.children()) {
    if (other.node != child.node) hash.Add(other.node->fingerprint());
  }
  return hash.key();
}

// Appends the functions above each leaf, depth first.
void AppendFunctions(const DatasetNode& node, uint64_t above,
                     std::vector<uint64_t>* functions) {
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) functions->push_back(above);
  for (const NamedNode& child : children) {
    if (child.shares_sources) continue;
    AppendFunctions(*child.node, FunctionsAbove(node, child, above), functions);
  }
}

// Returns a hash of the functions above each leaf, by number.
std::vector<uint64_t> FunctionsOf(const TracedRun& run) {
  const DatasetNode* top = &run.dataset();
  // What it makes is compared sample by sample.
  if (InfilledOf(*top) != nullptr) top = top->children()[0].node;
  std::vector<uint64_t> depth_first;
  AppendFunctions(*top, 0, &depth_first);
  const std::vector<uint32_t> numbers = run.trace().tree().LeavesDepthFirst();
  std::vector<uint64_t> functions(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    functions[numbers[i]] = depth_first[i];
  }
  return functions;
}

// Whether what two leaves give is the same.
class SameTokens {
 public:
  SameTokens(const TracedRun& a, const TracedRun& b)
      : a_(a),
        b_(b),
        functions_a_(FunctionsOf(a)),
        functions_b_(FunctionsOf(b)) {}

  // What each run serves as a sample.
  struct Sample {
    uint64_t number = 0;
    LeafPosition item = {};
  };

  absl::StatusOr<bool> operator()(const Sample& a, const Sample& b) {
    PONIENTE_ASSIGN_OR_RETURN(const bool is_same, HasSame(a.item, b.item));
    if (!is_same) return false;
    // The same tokens may be filled in the middle in other ways, or masked.
    PONIENTE_ASSIGN_OR_RETURN(const auto served_a, InfilledIn(a_, a.number));
    PONIENTE_ASSIGN_OR_RETURN(const auto served_b, InfilledIn(b_, b.number));
    return served_a == served_b;
  }

 private:
  // The pieces of a sample that are rearranged or masked.
  static absl::StatusOr<std::vector<ServedPiece>> InfilledIn(
      const TracedRun& run, uint64_t sample) {
    std::vector<ServedPiece> served;
    const InfilledDataset* const infilled = InfilledOf(run.dataset());
    if (infilled == nullptr) return served;
    PONIENTE_ASSIGN_OR_RETURN(served,
                              infilled->ServedPieces({.index = sample}));
    std::erase_if(served, [](const ServedPiece& one) {
      return !one.infilled.has_value() && one.piece.document != kMaskedDocument;
    });
    return served;
  }

  absl::StatusOr<bool> HasSame(const LeafPosition& a, const LeafPosition& b) {
    const Kind kind = KindOf(a.leaf, b.leaf);
    if (kind == Kind::kDifferent) return false;
    const Part part_a = PartOf(Node(a_, a.leaf), a.position);
    const Part part_b = PartOf(Node(b_, b.leaf), b.position);
    if (kind == Kind::kSameItems) {
      if (a.position.index != b.position.index) return false;
      if (part_a == part_b) return true;
    }
    if (kind == Kind::kSameNumber) {
      const uint64_t first_a =
          a.position.index * Node(a_, a.leaf).item_tokens() + part_a.begin;
      const uint64_t first_b =
          b.position.index * Node(b_, b.leaf).item_tokens() + part_b.begin;
      return first_a == first_b && part_a.length == part_b.length;
    }
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<ItemPiece> pieces_a,
                              PiecesAt(a_, a));
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<ItemPiece> pieces_b,
                              PiecesAt(b_, b));
    return !pieces_a.empty() && pieces_a == pieces_b;
  }

  enum class Kind {
    kDifferent,
    kSameItems,   // item by item
    kSameNumber,  // of tokens, in windows of other lengths
    kSameStore,   // in other windows
  };

  struct Part {
    uint32_t begin = 0;
    uint32_t length = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };

  static const DatasetNode& Node(const TracedRun& run, uint32_t leaf) {
    return *run.trace().tree().leaves()[leaf].node;
  }

  static Part PartOf(const DatasetNode& leaf, const Position& position) {
    if (position.part_length != kWholeItem) {
      return {position.part_begin, position.part_length};
    }
    const uint32_t tokens = leaf.item_tokens();
    return {0, tokens > 0 ? tokens : kWholeItem};
  }

  static absl::StatusOr<std::vector<ItemPiece>> PiecesAt(
      const TracedRun& run, const LeafPosition& at) {
    const PiecewiseItems* const pieces = PiecesOf(Node(run, at.leaf));
    if (pieces == nullptr) return std::vector<ItemPiece>();
    return pieces->Pieces(at.position);
  }

  Kind KindOf(uint32_t leaf_a, uint32_t leaf_b) {
    const uint64_t pair = (uint64_t{leaf_a} << 32) | leaf_b;
    const auto [kind, is_new] = kinds_.try_emplace(pair, Kind::kDifferent);
    if (is_new) kind->second = Compare(leaf_a, leaf_b);
    return kind->second;
  }

  Kind Compare(uint32_t leaf_a, uint32_t leaf_b) const {
    const ConfigSource& a = a_.sources()[leaf_a];
    const ConfigSource& b = b_.sources()[leaf_b];
    const SourceKind source = SourceKindOf(a);
    if (source != SourceKindOf(b)) return Kind::kDifferent;
    // Nothing but its path tells a number of tokens from another.
    if (source != SourceKind::kData && a.path != b.path) {
      return Kind::kDifferent;
    }
    if (functions_a_[leaf_a] != functions_b_[leaf_b]) return Kind::kDifferent;
    if (Node(a_, leaf_a).fingerprint() == Node(b_, leaf_b).fingerprint()) {
      return Kind::kSameItems;
    }
    switch (source) {
      case SourceKind::kData:
        if (a.data->fingerprint() == b.data->fingerprint()) {
          return Kind::kSameStore;
        }
        break;
      case SourceKind::kNumber:
        if (a.tokens == b.tokens) return Kind::kSameNumber;
        break;
      case SourceKind::kOwn:
        break;
    }
    return Kind::kDifferent;
  }

  const TracedRun& a_;
  const TracedRun& b_;
  // Above each leaf.
  const std::vector<uint64_t> functions_a_;
  const std::vector<uint64_t> functions_b_;
  std::unordered_map<uint64_t, Kind> kinds_;
};

class Search {
 public:
  Search(const TracedRun& a, const TracedRun& b, uint64_t most_samples,
         const ComparisonProgress& progress)
      : a_(a),
        b_(b),
        most_samples_(most_samples),
        progress_(progress),
        same_tokens_(a, b) {}

  absl::StatusOr<ComparedSamples> Run() {
    ComparedSamples compared;
    compared.steps = std::min(EndOfRun(a_), EndOfRun(b_));
    // Before it, both runs have as many samples in each step.
    const uint64_t end = FirstOtherSize(compared.steps);
    if (!IsSamePast(end)) {
      const uint64_t other =
          FirstStep(1, end, [&](uint64_t step) { return !IsSamePast(step); });
      PONIENTE_ASSIGN_OR_RETURN(
          const std::optional<uint64_t> sample,
          Scan(SamplesBefore(a_, other - 1), SamplesBefore(a_, end)));
      if (sample) {
        PONIENTE_ASSIGN_OR_RETURN(compared.first,
                                  DifferenceIn(a_.schedule().StepOf(*sample)));
        return compared;
      }
    }
    if (end < compared.steps) {
      PONIENTE_ASSIGN_OR_RETURN(compared.first, DifferenceIn(end));
    }
    return compared;
  }

 private:
  // Samples of the steps before `step`, as far as the data reaches.
  static uint64_t SamplesBefore(const TracedRun& run, uint64_t step) {
    if (step == 0) return 0;
    const StepPlan last = run.schedule().At(step - 1);
    const uint64_t samples = last.first_sample + last.batch_size;
    const LengthState length = run.dataset().length_now();
    return length.is_endless ? samples : std::min(samples, length.readable);
  }

  // The first of `steps` that differs in its number of samples or in their
  // length; `steps` if none does.
  uint64_t FirstOtherSize(uint64_t steps) const {
    const auto a = a_.schedule().stretches();
    const auto b = b_.schedule().stretches();
    size_t i = 0, k = 0;
    for (uint64_t step = 0; step < steps;) {
      if (a[i].batch_size != b[k].batch_size || a[i].seq_len != b[k].seq_len) {
        return step;
      }
      const auto next = [](const auto& stretches, size_t at) {
        return at + 1 < stretches.size() ? stretches[at + 1].first_step
                                         : UINT64_MAX;
      };
      step = std::min(next(a, i), next(b, k));
      if (next(a, i) == step) ++i;
      if (next(b, k) == step) ++k;
      if (step == UINT64_MAX) break;
    }
    // One may have less data for its last step.
    return steps > 0 && SamplesBefore(a_, steps) != SamplesBefore(b_, steps)
               ? steps - 1
               : steps;
  }

  bool IsSamePast(uint64_t step) const {
    if (step == 0) return true;
    const RunState a = RunStateAt(a_.dataset(), a_.schedule(), step);
    const RunState b = RunStateAt(b_.dataset(), b_.schedule(), step);
    return a.tree.structure.has_value() && a == b;
  }

  // The first sample of [begin, end) that differs.
  absl::StatusOr<std::optional<uint64_t>> Scan(uint64_t begin, uint64_t end) {
    std::vector<LeafPosition> items_a, items_b;
    for (uint64_t at = begin; at < end;) {
      if (at - begin >= most_samples_) return TooMany(begin, at);
      const uint64_t count =
          std::min({kChunk, end - at, most_samples_ - (at - begin)});
      PONIENTE_RETURN_IF_ERROR(Resolve(a_, at, count, &items_a));
      PONIENTE_RETURN_IF_ERROR(Resolve(b_, at, count, &items_b));
      for (uint64_t i = 0; i < count; ++i) {
        PONIENTE_ASSIGN_OR_RETURN(
            const bool is_same,
            same_tokens_({at + i, items_a[i]}, {at + i, items_b[i]}));
        if (!is_same) return at + i;
      }
      at += count;
      if (progress_) progress_(at - begin, end - begin);
    }
    return std::nullopt;
  }

  absl::Status TooMany(uint64_t begin, uint64_t at) const {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the two runs are configured differently from step ",
        a_.schedule().StepOf(begin), " on, but no sample before step ",
        a_.schedule().StepOf(at), " differs; compare more than ", most_samples_,
        " samples"));
  }

  absl::Status Resolve(const TracedRun& run, uint64_t first, uint64_t count,
                       std::vector<LeafPosition>* items) {
    positions_.resize(count);
    for (uint64_t i = 0; i < count; ++i) positions_[i].index = first + i;
    items->resize(count);
    return run.trace().tree().Resolve(positions_, *items);
  }

  // REQUIRES: the step differs.
  absl::StatusOr<FirstDifference> DifferenceIn(uint64_t step) {
    PONIENTE_ASSIGN_OR_RETURN(auto a, a_.trace().Resolve(step));
    PONIENTE_ASSIGN_OR_RETURN(auto b, b_.trace().Resolve(step));
    FirstDifference difference = {step, 0, std::nullopt, std::nullopt};
    uint64_t& position = difference.position;
    for (; position < std::min(a.size(), b.size()); ++position) {
      PONIENTE_ASSIGN_OR_RETURN(
          const bool is_same,
          same_tokens_({a[position].sample, ItemOf(a[position])},
                       {b[position].sample, ItemOf(b[position])}));
      if (!is_same) break;
    }
    if (position < a.size()) difference.a = std::move(a[position]);
    if (position < b.size()) difference.b = std::move(b[position]);
    return difference;
  }

  static LeafPosition ItemOf(const SampleOrigin& origin) {
    Position position = {.index = origin.item, .epoch = origin.epoch};
    position.part_begin = origin.token_begin;
    position.part_length = origin.token_end - origin.token_begin;
    return {origin.leaf, position};
  }

  const TracedRun& a_;
  const TracedRun& b_;
  const uint64_t most_samples_;
  const ComparisonProgress& progress_;
  SameTokens same_tokens_;
  std::vector<Position> positions_;
};

}  // namespace
}  // namespace poniente::internal

namespace poniente {

absl::StatusOr<ComparedSamples> FindFirstDifference(
    const TracedRun& a, const TracedRun& b, uint64_t most_samples,
    const ComparisonProgress& progress) {
  return internal::Search(a, b, most_samples, progress).Run();
}

}  // namespace poniente
