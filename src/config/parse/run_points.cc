// SPDX-License-Identifier: Apache-2.0
#include "config/parse/run_points.h"

#include "absl/strings/str_cat.h"
#include "index/max_samples.h"
#include "util/status_macros.h"

namespace poniente::internal {

std::optional<RunPoint> ParsePoint(TableReader& table, const PointKeys& keys,
                                   ShareOf share_of, PointKind kind) {
  const bool is_position = kind == PointKind::kPosition;
  std::optional<RunPoint> point;
  std::string_view stated;
  const auto is_alone = [&](std::string_view key) {
    if (key.empty() || !table.Has(key)) return false;
    if (!stated.empty()) {
      table.Error(key, absl::StrCat("cannot be combined with ", Absl(stated)));
      return false;
    }
    stated = key;
    return true;
  };
  const auto count = [&](std::string_view key, RunPoint (*make)(int64_t)) {
    if (!is_alone(key)) return;
    if (is_position) {
      if (const auto value = table.Signed(key, kMaxSamples)) {
        point = make(*value);
      }
    } else if (const auto value = table.Unsigned(key, 0, kMaxSamples)) {
      point = make(static_cast<int64_t>(*value));
    }
  };
  count(keys.step, RunPoint::Step);
  count(keys.sample, RunPoint::Sample);
  count(keys.token, RunPoint::Token);
  if (is_alone(keys.share)) {
    const std::optional<double> share = table.Number(keys.share);
    // A share that ends the run would begin nothing.
    const bool is_fine = share.has_value() && *share >= 0 &&
                         (is_position ? *share < 1 : *share <= 1);
    if (is_fine) {
      point = ShareOfRun(*share, share_of);
    } else if (share.has_value()) {
      table.Error(keys.share,
                  absl::StrCat("must be at least 0 and ",
                               is_position ? "below 1" : "at most 1", ", got ",
                               *share));
    }
  }
  return point;
}

bool HasPoint(TableReader& table, const PointKeys& keys) {
  return table.Has(keys.step) || table.Has(keys.sample) ||
         table.Has(keys.token) ||
         (!keys.share.empty() && table.Has(keys.share));
}

RunPoint ShareOfRun(double share, ShareOf share_of) {
  return share_of == ShareOf::kTokens ? RunPoint::ShareOfTokens(share)
                                      : RunPoint::ShareOfSteps(share);
}

bool IsShare(const RunPoint& point) {
  return point.unit == RunPoint::Unit::kShareOfSteps ||
         point.unit == RunPoint::Unit::kShareOfTokens;
}

std::string_view KeyOf(const RunPoint& point, const PointKeys& keys) {
  switch (point.unit) {
    case RunPoint::Unit::kSteps:
      return keys.step;
    case RunPoint::Unit::kSamples:
      return keys.sample;
    case RunPoint::Unit::kTokens:
      return keys.token;
    default:
      return keys.share;
  }
}

void StartOrder::Check(TableReader& table, std::string_view key,
                       const RunPoint& start) {
  const auto [before, is_first] =
      before_.try_emplace(std::pair(start.unit, start.count < 0), start);
  if (!is_first) {
    const RunPoint& least = before->second;
    if (IsShare(start) && start.share <= least.share) {
      table.Error(key, absl::StrCat("must be above ", least.share,
                                    ", to come after the one before it, got ",
                                    start.share));
    } else if (!IsShare(start) && start.count <= least.count) {
      table.Error(key, absl::StrCat("must be at least ", least.count + 1,
                                    ", to come after the one before it, got ",
                                    start.count));
    }
    before->second = start;
  } else if (before_.size() > 1 && IsStartOfRun(start)) {
    table.Error(key, "must lie after the one before it");
  }
  CheckEnd(table, start);
}

void StartOrder::CheckEnd(TableReader& table, const RunPoint& start) const {
  if (start.unit == RunPoint::Unit::kSteps && run_.steps != 0) {
    const auto steps = static_cast<int64_t>(run_.steps);
    if (start.count >= steps) {
      table.ErrorHere(absl::StrCat("starts at step ", start.count,
                                   ", but the run ends after step ",
                                   steps - 1));
    } else if (start.count < -steps) {
      table.ErrorHere(absl::StrCat("starts ", -start.count,
                                   " steps before the end of a run of ",
                                   steps));
    }
  } else if (start.unit == RunPoint::Unit::kTokens && run_.total_tokens != 0 &&
             start.count >= static_cast<int64_t>(run_.total_tokens)) {
    table.ErrorHere(absl::StrCat("starts at token ", start.count,
                                 ", but the run has ", run_.total_tokens));
  } else if (start.unit == RunPoint::Unit::kSteps &&
             start.count >
                 static_cast<int64_t>(kMaxSamples / run_.batch_size)) {
    table.ErrorHere(absl::StrCat("starts at step ", start.count,
                                 ", which is after the last of 2^62 samples"));
  }
  const bool needs_end = IsShare(start) ? start.share > 0 : start.count < 0;
  if (needs_end && run_.steps == 0 && run_.total_tokens == 0) {
    table.ErrorHere(
        "has a start that is a share of the run or counted from its end, but "
        "the run has no end: state data.steps or data.total_tokens");
  }
}

}  // namespace poniente::internal
