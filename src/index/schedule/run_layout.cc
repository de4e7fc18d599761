// SPDX-License-Identifier: Apache-2.0
// Shares, and counts from the end, need a total, which may itself depend on
// where stages begin. Example: the tokens of a run of N steps, if lengths
// change. Such a total is found by bisection. Starts are rounded to steps, so
// the resulting total changes in jumps of the tokens of a step, and may differ
// from every assumed total. The total found lies within one step's size per
// stage of a consistent one.
#include "index/schedule/run_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "index/max_samples.h"
#include "index/part_at.h"
#include "index/schedule/place_text.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// The largest total whose product with the 53 bits of a share fits in 128 bits.
constexpr Uint128 kMaxSharesTotal = Uint128{1} << 74;

enum Dimension { kStepCount, kSampleCount, kTokenCount };
constexpr std::array<const char*, 3> kDimensionNames = {"steps", "samples",
                                                        "tokens"};
// The totals of the run by dimension; nullopt if not known.
using Totals = std::array<std::optional<Uint128>, 3>;

Dimension DimensionOf(const RunPoint& point) {
  switch (point.unit) {
    case RunPoint::Unit::kSamples:
      return kSampleCount;
    case RunPoint::Unit::kTokens:
    case RunPoint::Unit::kShareOfTokens:
      return kTokenCount;
    case RunPoint::Unit::kSteps:
    case RunPoint::Unit::kShareOfSteps:
      break;
  }
  return kStepCount;
}

bool IsShare(const RunPoint& point) {
  return point.unit == RunPoint::Unit::kShareOfSteps ||
         point.unit == RunPoint::Unit::kShareOfTokens;
}

bool NeedsTotal(const RunPoint& point) {
  return IsShare(point) || point.count < 0;
}

std::string Text(Uint128 value) {
  if (value <= UINT64_MAX) return absl::StrCat(static_cast<uint64_t>(value));
  return "more than 2^64";
}

Uint128 CeilDivide(Uint128 value, Uint128 divisor) {
  return value / divisor + (value % divisor != 0);
}

uint64_t Saturated(Uint128 value) {
  return value > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(value);
}

// The place of a mark, as a count from the beginning of the run.
struct Target {
  Dimension dimension = kStepCount;
  Uint128 count = 0;
  // Whether the exact sample is needed, not only the step.
  bool is_exact = false;
};

absl::Status CheckPoint(const RunPoint& point, const std::string& label) {
  if (!IsShare(point)) return absl::OkStatus();
  if (point.share >= 0 && point.share <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      label, ": a share of the run must be 0 to 1, got ", point.share));
}

// Returns the count that a point stands for; negative if it lies before the
// run. REQUIRES: its total is known if it needs one.
Int128 CountOf(const RunPoint& point, const Totals& totals) {
  if (!NeedsTotal(point)) return point.count;
  const Uint128 total = std::min(*totals[DimensionOf(point)], kMaxSharesTotal);
  if (IsShare(point))
    return static_cast<Int128>(RunLayout::CountOfShare(point.share, total));
  return static_cast<Int128>(total) + point.count;
}

// Returns the same for a mark, which begins half of its centred ramp earlier.
Int128 CountOf(const StageMark& mark, const Totals& totals) {
  const Int128 count = CountOf(mark.at, totals);
  if (!mark.centred_ramp) return count;
  return count - CountOf(*mark.centred_ramp, totals) / 2;
}

}  // namespace

Uint128 RunLayout::CountOfShare(double share, Uint128 total) {
  int exponent;
  const double mantissa = std::frexp(share, &exponent);
  const auto digits = static_cast<uint64_t>(std::ldexp(mantissa, 53));
  const int shift = 53 - exponent;  // at least 52
  const Uint128 product = total * digits;
  if (shift > 127) return 0;
  return ((product >> (shift - 1)) + 1) >> 1;
}

std::string StatedStart(const StageMark& mark) {
  const std::string place = PlaceText(mark.at);
  if (!mark.centred_ramp) return place;
  return absl::StrCat(place, " less half its ramp of ",
                      AmountText(*mark.centred_ramp));
}

// Goes through the run once, when all places are known.
class RunWalker {
 public:
  RunWalker(const RunEnd& end, uint64_t batch_size, uint32_t seq_len,
            const std::vector<StageMark>& marks)
      : end_(end), batch_size_(batch_size), seq_len_(seq_len), marks_(marks) {}

  RunLayout Walk(const Totals& totals) const {
    RunLayout layout;
    layout.starts_.resize(marks_.size());
    std::vector<Target> targets;
    for (const StageMark& mark : marks_)
      targets.push_back(TargetOf(mark, totals));
    std::vector<bool> reached(marks_.size());
    At at = {0, 0, 0, batch_size_, seq_len_};
    layout.stretches_.push_back({0, 0, at.batch_size, at.seq_len});
    layout.first_tokens_.push_back(0);
    while (true) {
      std::optional<Uint128> next;
      for (size_t m = 0; m < marks_.size(); ++m) {
        if (reached[m]) continue;
        const Uint128 step = StepAt(at, targets[m]);
        if (!next || step < *next) next = step;
      }
      const std::optional<Uint128> end = EndFrom(at);
      if (!next || *next > UINT64_MAX || (end && *next >= *end)) break;
      const At before = at;
      Advance(&at, *next);
      for (size_t m = 0; m < marks_.size(); ++m) {
        if (reached[m] || StepAt(before, targets[m]) != *next) continue;
        reached[m] = true;
        layout.starts_[m] = {Saturated(*next),
                             SampleAt(before, at, targets[m])};
        if (marks_[m].batch_size) at.batch_size = *marks_[m].batch_size;
        if (marks_[m].seq_len) at.seq_len = *marks_[m].seq_len;
      }
      AddStretch(at, &layout);
    }
    for (size_t m = 0; m < marks_.size(); ++m) {
      if (!reached[m]) layout.starts_[m].step = kNever;
    }
    Finish(at, &layout);
    return layout;
  }

  static constexpr uint64_t kNever = UINT64_MAX;

 private:
  struct At {
    Uint128 step;
    Uint128 sample;
    Uint128 token;
    uint64_t batch_size;
    uint32_t seq_len;
  };

  static Target TargetOf(const StageMark& mark, const Totals& totals) {
    const Int128 count = CountOf(mark, totals);
    return {DimensionOf(mark.at), count < 0 ? 0 : static_cast<Uint128>(count),
            !NeedsTotal(mark.at)};
  }

  // Returns the first step from `at` on that begins at or after the target.
  static Uint128 StepAt(const At& at, const Target& target) {
    const std::array<Uint128, 3> now = {at.step, at.sample, at.token};
    const std::array<Uint128, 3> per_step = {
        1, at.batch_size, Uint128{at.batch_size} * at.seq_len};
    const Dimension d = target.dimension;
    if (target.count <= now[d]) return at.step;
    return at.step + CeilDivide(target.count - now[d], per_step[d]);
  }

  // Returns the sample of the target, which lies between `before` and step
  // `at`.
  static uint64_t SampleAt(const At& before, const At& at,
                           const Target& target) {
    Uint128 sample = at.sample;
    if (target.is_exact && target.dimension == kSampleCount) {
      sample = target.count;
    } else if (target.is_exact && target.dimension == kTokenCount) {
      const Uint128 more =
          target.count > before.token ? target.count - before.token : 0;
      sample = before.sample + CeilDivide(more, before.seq_len);
    }
    return Saturated(std::min(sample, at.sample));
  }

  static void Advance(At* at, Uint128 step) {
    const Uint128 samples = (step - at->step) * at->batch_size;
    at->step = step;
    at->sample += samples;
    at->token += samples * at->seq_len;
  }

  std::optional<Uint128> EndFrom(const At& at) const {
    if (end_.steps > 0) return end_.steps;
    if (end_.tokens == 0) return std::nullopt;
    return StepAt(at, {kTokenCount, end_.tokens, false});
  }

  static void AddStretch(const At& at, RunLayout* layout) {
    Stretch& last = layout->stretches_.back();
    if (last.batch_size == at.batch_size && last.seq_len == at.seq_len) return;
    if (last.first_step == at.step) {
      last.batch_size = at.batch_size;
      last.seq_len = at.seq_len;
      return;
    }
    layout->stretches_.push_back(
        {Saturated(at.step), Saturated(at.sample), at.batch_size, at.seq_len});
    layout->first_tokens_.push_back(at.token);
  }

  void Finish(At at, RunLayout* layout) const {
    const std::optional<Uint128> end = EndFrom(at);
    if (!end) return;
    Advance(&at, *end);
    layout->steps_ = Saturated(at.step);
    layout->samples_ = Saturated(at.sample);
    layout->tokens_ = at.token;
    layout->stated_tokens_ =
        end_.tokens > 0 ? Uint128{end_.tokens} : layout->tokens_;
  }

  const RunEnd& end_;
  const uint64_t batch_size_;
  const uint32_t seq_len_;
  const std::vector<StageMark>& marks_;
};

namespace {

// Begins messages about where a mark begins.
std::string StartsAt(const StageMark& mark) {
  return absl::StrCat(mark.label, " starts at ", StatedStart(mark));
}

absl::Status CheckMark(const StageMark& mark) {
  PONIENTE_RETURN_IF_ERROR(CheckPoint(mark.at, mark.label));
  if (mark.batch_size == uint64_t{0}) {
    return absl::InvalidArgumentError(
        absl::StrCat(mark.label, " at ", StatedStart(mark),
                     ": batch_size must be at least 1, got 0"));
  }
  if (mark.seq_len == uint32_t{0}) {
    return absl::InvalidArgumentError(
        absl::StrCat(mark.label, " at ", StatedStart(mark),
                     ": seq_len must be at least 1, got 0"));
  }
  if (!mark.centred_ramp) return absl::OkStatus();
  PONIENTE_RETURN_IF_ERROR(CheckPoint(*mark.centred_ramp, mark.label));
  if (DimensionOf(*mark.centred_ramp) == DimensionOf(mark.at)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      mark.label, ": a ramp of ", AmountText(*mark.centred_ramp),
      " that is centred on ", PlaceText(mark.at), " must be stated in ",
      kDimensionNames[DimensionOf(mark.at)], ", not in ",
      kDimensionNames[DimensionOf(*mark.centred_ramp)]));
}

// Sets the totals that are known before the walk. Returns the dimension whose
// total is needed but not known, if any.
absl::StatusOr<std::optional<Dimension>> FindUnknown(
    const RunEnd& end, const std::vector<StageMark>& marks, Totals* totals) {
  if (end.steps > 0) (*totals)[kStepCount] = end.steps;
  if (end.tokens > 0) (*totals)[kTokenCount] = end.tokens;
  std::optional<Dimension> unknown;
  for (const StageMark& mark : marks) {
    for (const RunPoint* point :
         {&mark.at, mark.centred_ramp ? &*mark.centred_ramp : &mark.at}) {
      const Dimension d = DimensionOf(*point);
      if (!NeedsTotal(*point) || (*totals)[d]) continue;
      if (end.is_endless()) {
        return absl::InvalidArgumentError(absl::StrCat(
            StartsAt(mark),
            ", but the run has no end; state its steps or tokens"));
      }
      if (unknown && *unknown != d) {
        return absl::InvalidArgumentError(absl::StrCat(
            StartsAt(mark), ", but the run's ", kDimensionNames[*unknown],
            " and ", kDimensionNames[d],
            " follow from each other here; place stages from the end, or by "
            "shares, in one of them only"));
      }
      unknown = d;
    }
  }
  return unknown;
}

Uint128 TotalOf(const RunLayout& layout, Dimension dimension) {
  switch (dimension) {
    case kStepCount:
      return layout.steps();
    case kSampleCount:
      return layout.samples();
    case kTokenCount:
      break;
  }
  return layout.tokens();
}

// Returns a total that is large enough for the run that follows from it, while
// the next smaller total is not.
Uint128 Solve(const RunWalker& walker, Dimension unknown, Totals totals) {
  Uint128 low = 0;
  Uint128 high = kMaxSharesTotal;
  while (low < high) {
    const Uint128 middle = low + (high - low) / 2;
    totals[unknown] = middle;
    if (TotalOf(walker.Walk(totals), unknown) <= middle) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Returns whether the samples up to the end of the step can be counted in an
// endless run.
bool IsCountable(const RunLayout& layout, uint64_t step) {
  const Stretch& stretch =
      PartAt(layout.stretches(), step, &Stretch::first_step);
  return stretch.first_sample < kMaxSamples &&
         Uint128{step - stretch.first_step + 1} * stretch.batch_size <=
             kMaxSamples - stretch.first_sample;
}

absl::Status CheckReached(const RunLayout& layout,
                          const std::vector<StageMark>& marks,
                          const Totals& totals) {
  for (size_t m = 0; m < marks.size(); ++m) {
    const Int128 count = CountOf(marks[m], totals);
    if (count < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          StartsAt(marks[m]), ", ", Text(static_cast<Uint128>(-count)), " ",
          kDimensionNames[DimensionOf(marks[m].at)], " before the run"));
    }
    const uint64_t step = layout.starts()[m].step;
    if (step != RunWalker::kNever) {
      if (layout.steps() > 0 || IsCountable(layout, step)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          StartsAt(marks[m]),
          ", in a step whose samples do not lie below 2^62; no run gets there: "
          "start it earlier, or leave it out"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        StartsAt(marks[m]),
        layout.steps() > 0
            ? absl::StrCat(", but the run ends after ", layout.steps(),
                           " steps, ", layout.samples(), " samples, ",
                           Text(layout.tokens()), " tokens")
            : std::string(", which no run can reach")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RunLayout> RunLayout::Make(const RunEnd& end,
                                          uint64_t batch_size, uint32_t seq_len,
                                          const std::vector<StageMark>& marks) {
  for (const StageMark& mark : marks) PONIENTE_RETURN_IF_ERROR(CheckMark(mark));
  Totals totals;
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<Dimension> unknown,
                            FindUnknown(end, marks, &totals));
  const RunWalker walker(end, batch_size, seq_len, marks);
  if (unknown) totals[*unknown] = Solve(walker, *unknown, totals);
  RunLayout layout = walker.Walk(totals);
  PONIENTE_RETURN_IF_ERROR(CheckReached(layout, marks, totals));
  const Stretch& last = layout.stretches_.back();
  if (layout.samples_ > kMaxSamples || last.first_sample > kMaxSamples) {
    return absl::InvalidArgumentError(
        absl::StrCat(layout.steps_, " steps of batch_size ", last.batch_size,
                     " are more than 2^62 samples"));
  }
  return layout;
}

absl::StatusOr<uint64_t> RunLayout::SamplesFrom(const Start& start,
                                                const RunPoint& amount) const {
  PONIENTE_RETURN_IF_ERROR(CheckPoint(amount, "ramp"));
  if (amount.count < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the length of a ramp must be at least 0, got ", AmountText(amount)));
  }
  if (IsShare(amount) && steps_ == 0) {
    return absl::InvalidArgumentError(
        "a ramp over a share of the run needs a run with an end");
  }
  const Dimension d = DimensionOf(amount);
  const Uint128 count =
      static_cast<Uint128>(CountOf(amount, {steps_, samples_, stated_tokens_}));
  if (count == 0 || d == kSampleCount) return Saturated(count);
  // Converts to the dimension of `amount` and back, each time by the stretch
  // that contains the place.
  const auto stretch_of = [&](Uint128 place, auto first_of) {
    size_t s = 0;
    while (s + 1 < stretches_.size() && first_of(s + 1) <= place) ++s;
    return s;
  };
  Uint128 end_sample;
  if (d == kStepCount) {
    const Uint128 step = start.step + count;
    const size_t s = stretch_of(
        step, [&](size_t i) { return Uint128{stretches_[i].first_step}; });
    end_sample = stretches_[s].first_sample +
                 (step - stretches_[s].first_step) * stretches_[s].batch_size;
  } else {
    const size_t from = stretch_of(start.sample, [&](size_t i) {
      return Uint128{stretches_[i].first_sample};
    });
    const Uint128 token =
        first_tokens_[from] +
        Uint128{start.sample - stretches_[from].first_sample} *
            stretches_[from].seq_len +
        count;
    const size_t s =
        stretch_of(token, [&](size_t i) { return first_tokens_[i]; });
    end_sample = stretches_[s].first_sample +
                 CeilDivide(token - first_tokens_[s], stretches_[s].seq_len);
  }
  return Saturated(end_sample - start.sample);
}

}  // namespace poniente::internal
