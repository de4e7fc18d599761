// SPDX-License-Identifier: Apache-2.0
// A place in a run, and what decided the samples before it: as a value, as
// text, and what differs between two of them.
//
// The text is made of lines, the last of which is a checksum of those before
// it; docs/compatibility.md has an example. It is bounded: of many batch sizes
// the last are listed and the others hashed, and many sources become groups by
// the hash of their path.

#ifndef PONIENTE_LOADER_RUN_STATE_H_
#define PONIENTE_LOADER_RUN_STATE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataset/tree_past.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Steps of one batch size and length, up to the next such.
struct PastBatches {
  uint64_t first_step = 0;
  uint64_t batch_size = 1;
  uint32_t seq_len = 1;

  friend bool operator==(const PastBatches&, const PastBatches&) = default;
};

struct RunState {
  static constexpr size_t kMaxBatches = 8;
  static constexpr size_t kGroups = 16;
  using Groups = std::array<uint32_t, kGroups>;

  // The next step, and its first sample: of a run that ends before it, the
  // number of its samples.
  uint64_t step = 0;
  uint64_t sample = 0;
  uint32_t order_version = 0;
  uint32_t max_seq_len = 0;
  // Parts of items were left out in the past.
  bool is_trimmed = false;
  // The last ones that begin before the step; how many lie before them, and a
  // hash of those.
  std::vector<PastBatches> batches;
  uint64_t earlier_batches = 0;
  uint64_t earlier_hash = 0;
  // Sources are listed here, unless they are too many: then there is their
  // number, and a hash of each group.
  TreePast tree;
  uint64_t grouped_sources = 0;
  Groups groups = {};

  friend bool operator==(const RunState&, const RunState&) = default;
};

// With all sources listed, however many.
RunState RunStateAt(const DatasetNode& root, const Schedule& schedule,
                    uint64_t step);

size_t GroupOf(std::string_view path);
RunState::Groups GroupsOf(const std::vector<PastSource>& sources);

// Equal states give equal text.
std::string PrintRunState(RunState state);

// InvalidArgument, naming the line, for what PrintRunState() does not give.
absl::StatusOr<RunState> ParseRunState(std::string_view text);

// FailedPrecondition, naming all that differs, unless a run that was saved as
// `saved` can go on with this tree and schedule.
absl::Status CheckGoesOn(const RunState& saved, const DatasetNode& root,
                         const Schedule& schedule);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_RUN_STATE_H_
