// SPDX-License-Identifier: Apache-2.0
// Parses places in a run and amounts of it, as the keys ending in _step,
// _sample, _token and _share state them.

#ifndef PONIENTE_CONFIG_PARSE_RUN_POINTS_H_
#define PONIENTE_CONFIG_PARSE_RUN_POINTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"
#include "index/max_samples.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// The keys that state a place or an amount.
struct PointKeys {
  std::string_view step;
  std::string_view sample;
  std::string_view token;
  std::string_view share;  // "" if a share cannot be stated
};

inline constexpr PointKeys kStart = {"start_step", "start_sample",
                                     "start_token", "start_share"};
inline constexpr PointKeys kRamp = {"ramp_steps", "ramp_samples", "ramp_tokens",
                                    "ramp_share"};

// Whether a point is a place in the run or an amount of it. A place may be a
// count below 0, which is taken from the run's end; an amount may not.
enum class PointKind { kPosition, kAmount };

// Reads the key that is stated; nullopt if none is stated, or if its value is
// wrong. Stating several keys is an error.
std::optional<RunPoint> ParsePoint(TableReader& table, const PointKeys& keys,
                                   ShareOf share_of, PointKind kind);
bool HasPoint(TableReader& table, const PointKeys& keys);

RunPoint ShareOfRun(double share, ShareOf share_of);
bool IsShare(const RunPoint& point);
// Returns the key that states the point.
std::string_view KeyOf(const RunPoint& point, const PointKeys& keys = kStart);

// Checks that the starts in one list increase, as far as they can be compared
// before the length of the run is known.
class StartOrder {
 public:
  explicit StartOrder(const Run& run) : run_(run) {}

  // Checks the next start. Reports an error at `key`, or at the table, unless
  // the start lies after the previous ones and within the run.
  void Check(TableReader& table, std::string_view key, const RunPoint& start);

 private:
  void CheckEnd(TableReader& table, const RunPoint& start) const;

  const Run& run_;
  // The last start of each kind: by unit, and whether it counts from the end.
  // Only starts of one kind can be compared.
  std::map<std::pair<RunPoint::Unit, bool>, RunPoint> before_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_RUN_POINTS_H_
