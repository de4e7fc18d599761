// SPDX-License-Identifier: Apache-2.0
// What differs between two runs, and from which step on; `poniente diff` prints
// it.

#ifndef PONIENTE_DIFF_H_
#define PONIENTE_DIFF_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/run_trace.h"
#include "poniente/trace.h"

namespace poniente {

struct FirstDifference {
  uint64_t step = 0;
  uint64_t position = 0;
  // What each run reads there; nullopt if its step has no such sample.
  std::optional<SampleOrigin> a = std::nullopt;
  std::optional<SampleOrigin> b = std::nullopt;
};

struct ComparedSamples {
  // The number of steps that both runs have.
  uint64_t steps = 0;
  // nullopt if no sample of these steps differs.
  std::optional<FirstDifference> first = std::nullopt;
};

// Called from time to time during the comparison.
using ComparisonProgress =
    std::function<void(uint64_t samples_done, uint64_t samples_total)>;

// Returns the first difference. Samples are the same if they are the same
// tokens of stores with the same content; stores with different content differ
// in every token. Datasets of the program's own are compared by path,
// fingerprint and item, not by what the items hold: with another fingerprint
// they differ in every token. So do items of Map() and MapBatches() whose
// functions have other names. If a source is only a number of tokens, path and
// number must be the same. ResourceExhausted if `most_samples` were compared
// one by one without a difference, but later samples may differ.
absl::StatusOr<ComparedSamples> FindFirstDifference(
    const TracedRun& a, const TracedRun& b, uint64_t most_samples,
    const ComparisonProgress& progress = nullptr);

// monostate if a run has no such value.
using DiffValue = std::variant<std::monostate, uint64_t, double, std::string>;

struct RunDifference {
  std::string what = {};  // "weight of 'prose/words'"
  DiffValue a = {};
  DiffValue b = {};
  // The first step in which it may matter; nullopt if that is in no step that
  // both runs have.
  std::optional<uint64_t> from_step = std::nullopt;
  // Whether it can change tokens: false for labels, and for the way tokens are
  // read.
  bool decides_tokens = false;
  // For weights on ramps: the lengths of the ramps at whose ends the values
  // hold. Empty where there is no ramp.
  std::string ramp_a = {};
  std::string ramp_b = {};
};

struct RunDiff {
  ComparedSamples compared = {};
  // Differences that decide tokens come first. `a` and `b` of each differ, or
  // its ramps do.
  std::vector<RunDifference> differences = {};
};

// Compares two runs. `most_samples` and errors as in FindFirstDifference().
absl::StatusOr<RunDiff> DiffRuns(const TracedRun& a, const TracedRun& b,
                                 uint64_t most_samples,
                                 const ComparisonProgress& progress = nullptr);

}  // namespace poniente

#endif  // PONIENTE_DIFF_H_
