// SPDX-License-Identifier: Apache-2.0
#include "config/parse/threshold_parser.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "config/parse/by_component.h"

namespace poniente::internal {

std::optional<ScoreThreshold> ParseThreshold(TableReader& table,
                                             std::string_view key) {
  if (!table.IsTable(key)) {
    const std::optional<double> score = table.Number(key);
    if (!score) return std::nullopt;
    return ScoreThreshold(*score);
  }
  TableReader stated(*table.Table(key), table.LocationOf(key), table.errors(),
                     {KeyTable::kThreshold});
  const bool is_quantile = stated.Has("quantile");
  if (is_quantile == stated.Has("sigmas")) {
    stated.ErrorHere("needs one of quantile or sigmas");
    if (is_quantile) {
      stated.Abandon();
    } else {
      stated.Finish();  // names a misspelt key
    }
    return std::nullopt;
  }
  const std::string_view name = is_quantile ? "quantile" : "sigmas";
  const std::optional<double> number = stated.Number(name);
  const double value = number.value_or(0);
  const bool is_allowed =
      is_quantile ? value >= 0 && value <= 1 : std::isfinite(value);
  if (!is_allowed) {
    stated.Error(name, absl::StrCat(is_quantile ? "must be 0 to 1, got "
                                                : "must be finite, got ",
                                    value));
  }
  stated.Finish();
  if (!number.has_value() || !is_allowed) return std::nullopt;
  return is_quantile ? Quantile(value) : Sigmas(value);
}

std::map<std::string, ScoreThreshold> ParseThresholds(TableReader& stage,
                                                      std::string_view key,
                                                      const Node& mixture) {
  std::map<std::string, ScoreThreshold> thresholds;
  ForEachComponent(stage, key, mixture,
                   [&](TableReader& table, const std::string& name) {
                     // A wrong one is reported, and must not look like none.
                     thresholds[name] =
                         ParseThreshold(table, name).value_or(ScoreThreshold());
                   });
  for (const Node& child : mixture.children) {
    if (!thresholds.contains(child.name) || HasThreshold(child)) continue;
    stage.Error(key, absl::StrCat("names ", child.name,
                                  ", which has no filter by scores of its "
                                  "own"));
  }
  return thresholds;
}

}  // namespace poniente::internal
