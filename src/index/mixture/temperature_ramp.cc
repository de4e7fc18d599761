// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/temperature_ramp.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

constexpr int kUnitBits = 40;

// floor(T * 2^40): exact, because scaling by a power of two is.
uint64_t InUnits(double temperature) {
  return static_cast<uint64_t>(std::ldexp(temperature, kUnitBits));
}

bool IsAllowed(double temperature) {
  return temperature >= 0x1p-10 && temperature <= kMaxRampTemperature;
}

}  // namespace

double TemperatureOnRamp(double from, double to, uint64_t s, uint64_t S) {
  PONIENTE_CHECK(s < S && S <= uint64_t{1} << 32) << s << " of " << S;
  PONIENTE_CHECK(IsAllowed(from) && IsAllowed(to)) << from << ' ' << to;
  // (U0 * (2S - 2s - 1) + U1 * (2s + 1)) / 2S: the middle of the step.
  const Uint128 line = Uint128{InUnits(from)} * (2 * S - 2 * s - 1) +
                       Uint128{InUnits(to)} * (2 * s + 1);
  const auto units = static_cast<uint64_t>(line / (2 * S));
  // Below 2^60; the conversion rounds to the nearest double.
  return std::ldexp(static_cast<double>(units), -kUnitBits);
}

double TemperatureOf(const MixtureOptions& options, size_t s) {
  return options.stages[s].temperature.value_or(options.temperature);
}

double TemperatureBefore(const MixtureOptions& options, size_t s) {
  return s == 0 ? options.temperature : TemperatureOf(options, s - 1);
}

absl::Status CheckTemperatureRamp(
    const MixtureOptions& options, size_t s,
    const std::vector<WeightedComponent>& components,
    std::span<const double> weights_before, std::span<const double> weights,
    const std::string& label, const std::string& before,
    std::optional<uint64_t> ramp_end) {
  const MixtureStage& stage = options.stages[s];
  if (stage.ramp_samples == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        label, " has no ramp in which the temperature could move: state one"));
  }
  const double from = TemperatureBefore(options, s);
  const double to = TemperatureOf(options, s);
  if (from > kMaxRampTemperature || to > kMaxRampTemperature) {
    return absl::InvalidArgumentError(absl::StrCat(
        label, ": a ramp of the temperature goes from ", from, " to ", to,
        ", but each must be at most 2^20, which makes shares all but equal"));
  }
  for (size_t c = 0; c < components.size(); ++c) {
    if (weights[c] == weights_before[c]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        label, ": a ramp of the temperature keeps the weights, but that of '",
        components[c].name, "' changes from ", weights_before[c], " to ",
        weights[c],
        "; state the weights of the stage before it, or let the ramp move the "
        "shares"));
  }
  if (!ramp_end || *ramp_end <= stage.start) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      label, ": a ramp of the temperature cannot begin while the ramp of ",
      before, " still runs, until sample ", *ramp_end,
      "; start it later, or shorten that ramp"));
}

}  // namespace poniente::internal
