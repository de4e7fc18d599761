// SPDX-License-Identifier: Apache-2.0
// The sequence lengths of a run, for sources that are packed for each of them.

#ifndef PONIENTE_CONFIG_TREE_PACKED_LENGTHS_H_
#define PONIENTE_CONFIG_TREE_PACKED_LENGTHS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "poniente/run.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// A sequence length, from a sample of a node on.
struct LengthFrom {
  uint64_t start = 0;
  uint32_t tokens = 0;

  friend bool operator==(const LengthFrom&, const LengthFrom&) = default;
};

// Returns the lengths of a schedule, in samples of the run. Neighbours differ;
// the first starts at 0.
std::vector<LengthFrom> LengthsOf(const Schedule& schedule);

// Returns the same in samples of a mixture below the root. `before` returns how
// many of its samples come before a sample of the run.
std::vector<LengthFrom> LengthsBelow(
    const std::vector<LengthFrom>& lengths,
    const std::function<uint64_t(uint64_t)>& before);

// What changes for a component from a sample of its mixture on: the threshold
// of its filter, the length of its packed windows, or both.
struct ViewChange {
  std::optional<ScoreThreshold> threshold;
  std::string threshold_key = {};  // where it is stated
  std::optional<uint32_t> tokens = std::nullopt;
};
using ViewChanges = std::map<uint64_t, ViewChange>;

// Returns the thresholds that stages, which begin at `starts`, state for a
// component.
ViewChanges ThresholdsOf(const Node& component,
                         const std::vector<RunStage>& stages,
                         const std::vector<uint64_t>& starts);
// Adds the changes of length.
void AddLengths(const std::vector<LengthFrom>& lengths, ViewChanges* changes);

// Which of the sources at or below a node have their documents packed.
enum class Packs { kNone, kSome, kAll };

// `is_packed`: what the nodes above say.
Packs PacksOf(const Node& node, bool is_packed);

// Checks that packed sources stand where the lengths can change: at the root,
// or below nothing but mixtures, packed by chunks. InvalidArgument, with the
// place and the remedy, if not. `max_seq_len`: tokens of the windows of sources
// that are not packed.
absl::Status CheckPackedLengths(const Run& run,
                                const std::vector<LengthFrom>& lengths,
                                uint32_t max_seq_len);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_PACKED_LENGTHS_H_
