// SPDX-License-Identifier: Apache-2.0
// Resolves places in a run that are stated in steps, samples, tokens or shares,
// while batch sizes and sequence lengths change.

#ifndef PONIENTE_INDEX_SCHEDULE_RUN_LAYOUT_H_
#define PONIENTE_INDEX_SCHEDULE_RUN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "index/int128.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Something that begins at a place in the run, and what it changes.
struct StageMark {
  RunPoint at;
  // If set, the mark begins half of this amount before `at`. Both must have the
  // same dimension.
  std::optional<RunPoint> centred_ramp = std::nullopt;
  std::optional<uint64_t> batch_size = std::nullopt;
  std::optional<uint32_t> seq_len = std::nullopt;
  // Begins messages about it.
  std::string label = {};
};

// Returns where the mark begins, as it was stated: "step 20", "step 20 less
// half its ramp of 8 steps".
std::string StatedStart(const StageMark& mark);

struct RunEnd {
  // At most one of the two is above 0.
  uint64_t steps = 0;
  uint64_t tokens = 0;

  bool is_endless() const { return steps == 0 && tokens == 0; }
};

// The stretches of a run, and where its marks lie. Positions beyond the end are
// computed as if the last stretch continued.
class RunLayout {
 public:
  // Returns share * total, rounded to the nearest integer, halves up. Exact.
  // REQUIRES: 0 <= share <= 1, total <= 2^74.
  static Uint128 CountOfShare(double share, Uint128 total);

  struct Start {
    uint64_t step = 0;
    // The exact sample for a count from the beginning; otherwise the first
    // sample of the step.
    uint64_t sample = 0;
  };

  // Returns the layout. InvalidArgument, with the mark's label, in the cases
  // that Schedule::Create() lists.
  static absl::StatusOr<RunLayout> Make(const RunEnd& end, uint64_t batch_size,
                                        uint32_t seq_len,
                                        const std::vector<StageMark>& marks);

  const std::vector<Stretch>& stretches() const { return stretches_; }
  // Returns the starts of the marks, in their order.
  const std::vector<Start>& starts() const { return starts_; }
  // Returns the steps in the run; 0 if it is endless.
  uint64_t steps() const { return steps_; }
  uint64_t samples() const { return samples_; }
  Uint128 tokens() const { return tokens_; }

  // Returns the number of samples in `amount` of the run, counted from `start`
  // on.
  absl::StatusOr<uint64_t> SamplesFrom(const Start& start,
                                       const RunPoint& amount) const;

 private:
  friend class RunWalker;

  std::vector<Stretch> stretches_;
  std::vector<Uint128> first_tokens_;  // of the stretches
  std::vector<Start> starts_;
  uint64_t steps_ = 0;
  uint64_t samples_ = 0;
  Uint128 tokens_ = 0;
  // The total that shares of tokens refer to.
  Uint128 stated_tokens_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SCHEDULE_RUN_LAYOUT_H_
