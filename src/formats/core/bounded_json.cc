// SPDX-License-Identifier: Apache-2.0
#include "formats/core/bounded_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

using Json = nlohmann::json;

// Counts values and levels without keeping any. Stops at the first that is too
// much. The library's parser with a callback would do it in one pass, but takes
// time in proportion to the square of the objects in an object.
class JsonBounds final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBounds(uint64_t most_values) : most_values_(most_values) {}

  bool is_too_deep() const { return is_too_deep_; }
  uint64_t values() const { return values_; }

  bool null() override { return Value(); }
  bool boolean(bool) override { return Value(); }
  bool number_integer(number_integer_t) override { return Value(); }
  bool number_unsigned(number_unsigned_t) override { return Value(); }
  bool number_float(number_float_t, const string_t&) override {
    return Value();
  }
  bool string(string_t&) override { return Value(); }
  bool binary(binary_t&) override { return Value(); }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return Begin(); }
  bool start_array(std::size_t) override { return Begin(); }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool Value() {
    ++values_;
    is_too_deep_ = is_too_deep_ || depth_ > kMaxJsonDepth;
    return !is_too_deep_ && values_ <= most_values_;
  }
  bool Begin() {
    const bool is_good = Value();
    ++depth_;
    return is_good;
  }
  bool End() {
    --depth_;
    return true;
  }

  const uint64_t most_values_;
  uint64_t values_ = 0;
  int depth_ = 0;
  bool is_too_deep_ = false;
};

}  // namespace

absl::StatusOr<nlohmann::json> ParseBoundedJson(const std::string& path,
                                                std::string_view text,
                                                uint64_t most_values) {
  JsonBounds bounds(most_values);
  const bool is_valid = Json::sax_parse(text.begin(), text.end(), &bounds);
  if (bounds.is_too_deep()) {
    return absl::DataLossError(absl::StrCat(
        "'", path, "': its JSON is nested more than ", kMaxJsonDepth, " deep"));
  }
  if (bounds.values() > most_values) {
    return absl::DataLossError(
        absl::StrCat("'", path, "': its JSON has ", bounds.values(),
                     " values, expected at most ", most_values));
  }
  Json json;
  if (is_valid) {
    json = Json::parse(text.begin(), text.end(), nullptr,
                       /*allow_exceptions=*/false);
  }
  if (!is_valid || json.is_discarded()) {
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
