// SPDX-License-Identifier: Apache-2.0
// The temperatures of a ramp that moves the temperature itself
// (docs/index-math.md 2.4). Part of the order.

#ifndef PONIENTE_INDEX_MIXTURE_TEMPERATURE_RAMP_H_
#define PONIENTE_INDEX_MIXTURE_TEMPERATURE_RAMP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "poniente/mixture_plan.h"

namespace poniente::internal {

// The highest temperature that a ramp may begin or end with: shares are then
// equal to about a millionth of the logarithm of their weights' ratio.
inline constexpr double kMaxRampTemperature = 0x1p20;

// Returns the temperature of step s of a ramp of S steps: that of the middle of
// the step on the straight line from one to the other, in units of 2^-40,
// rounded down. Integer arithmetic between two exact conversions, so the same
// on every machine. REQUIRES: s < S <= 2^32; 2^-10 <= from, to <=
// kMaxRampTemperature.
double TemperatureOnRamp(double from, double to, uint64_t s, uint64_t S);

// Return the temperature of options.stages[s], and of what comes before it.
double TemperatureOf(const MixtureOptions& options, size_t s);
double TemperatureBefore(const MixtureOptions& options, size_t s);

// Returns OK if options.stages[s] may move the temperature: its shares must
// begin where those before it are. `weights_before` and `weights` are stated
// before and in it, by component. `label` and `before` are how errors name the
// stage and the one before it, whose ramp ends at `ramp_end` if it has one.
absl::Status CheckTemperatureRamp(
    const MixtureOptions& options, size_t s,
    const std::vector<WeightedComponent>& components,
    std::span<const double> weights_before, std::span<const double> weights,
    const std::string& label, const std::string& before,
    std::optional<uint64_t> ramp_end);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_TEMPERATURE_RAMP_H_
