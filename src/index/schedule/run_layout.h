// SPDX-License-Identifier: Apache-2.0
// Where in a run things begin that are placed by steps, samples, tokens or
// shares, while batch sizes and lengths change.

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
  // It begins half of this earlier. Of the same dimension as `at`.
  std::optional<RunPoint> centred_ramp = std::nullopt;
  std::optional<uint64_t> batch_size = std::nullopt;
  std::optional<uint32_t> seq_len = std::nullopt;
  // Begins messages about it.
  std::string label = {};
};

struct RunEnd {
  // At most one of the two is above 0.
  uint64_t steps = 0;
  uint64_t tokens = 0;

  bool is_endless() const { return steps == 0 && tokens == 0; }
};

// The run as a walk over its stretches. Positions beyond the end are those of
// the last stretch going on.
class RunLayout {
 public:
  struct Start {
    uint64_t step = 0;
    // Exact for counts from the beginning; else the step's first.
    uint64_t sample = 0;
  };

  // InvalidArgument, with the mark's label, as Schedule::Create() says.
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

  // Returns the samples that an amount of the run takes from a mark's start on.
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
  // What shares of tokens are shares of.
  Uint128 stated_tokens_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SCHEDULE_RUN_LAYOUT_H_
