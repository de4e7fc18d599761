// SPDX-License-Identifier: Apache-2.0
#include "formats/core/bounded_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxJsonValues = 300'000;

}  // namespace

absl::StatusOr<nlohmann::json> ParseBoundedJson(const std::string& path,
                                                std::string_view text) {
  using Json = nlohmann::json;
  using Event = Json::parse_event_t;
  bool too_deep = false;
  uint64_t values = 0;
  const auto keep = [&](int depth, Event event, Json&) {
    if (event == Event::value || event == Event::object_start ||
        event == Event::array_start) {
      ++values;
    }
    too_deep = too_deep || depth > kMaxJsonDepth;
    return !too_deep && values <= kMaxJsonValues;
  };
  Json json =
      Json::parse(text.begin(), text.end(), keep, /*allow_exceptions=*/false);
  if (too_deep) {
    return absl::DataLossError(absl::StrCat(
        "'", path, "': its JSON is nested more than ", kMaxJsonDepth, " deep"));
  }
  if (values > kMaxJsonValues) {
    return absl::DataLossError(
        absl::StrCat("'", path, "': its JSON has ", values,
                     " values, expected at most ", kMaxJsonValues));
  }
  if (json.is_discarded()) {
    return absl::DataLossError(absl::StrCat(
        "'", path, "': its ", text.size(),
        " bytes are not valid JSON; the file was cut short or overwritten"));
  }
  if (!json.is_object()) {
    return absl::DataLossError(absl::StrCat("'", path, "': its JSON is ",
                                            json.type_name(),
                                            ", expected an object"));
  }
  return json;
}

}  // namespace poniente::internal
