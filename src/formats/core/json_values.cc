// SPDX-License-Identifier: Apache-2.0
#include "formats/core/json_values.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxKeys = 8;

class Handler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Handler(const JsonVisitor& visit) : visit_(visit) {}

  size_t error_byte() const { return error_byte_; }

  bool null() override { return Visit({}); }
  bool boolean(bool /*value*/) override { return Visit({}); }
  bool number_integer(int64_t /*value*/) override {
    return Visit({JsonValue::Kind::kNumber, std::nullopt, {}});
  }
  bool number_unsigned(uint64_t value) override {
    return Visit({JsonValue::Kind::kNumber, value, {}});
  }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return Visit({JsonValue::Kind::kNumber, std::nullopt, {}});
  }
  bool string(std::string& text) override {
    return Visit({JsonValue::Kind::kText, std::nullopt, text});
  }
  bool binary(nlohmann::json::binary_t& /*bytes*/) override { return true; }
  bool start_object(size_t /*elements*/) override {
    return Open(JsonValue::Kind::kObject);
  }
  bool start_array(size_t /*elements*/) override {
    return Open(JsonValue::Kind::kList);
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    if (depth_ <= kMaxKeys) at_.back() = name;
    return true;
  }
  bool parse_error(size_t byte, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    error_byte_ = byte;
    return false;
  }

 private:
  bool Visit(const JsonValue& value) {
    if (depth_ > kMaxKeys) return true;
    if (!elements_.empty() && elements_.back().has_value()) {
      at_.back() = absl::StrCat((*elements_.back())++);
    }
    visit_(at_, value);
    return true;
  }
  bool Open(JsonValue::Kind kind) {
    Visit({kind, std::nullopt, {}});
    if (++depth_ > kMaxKeys) return true;
    at_.emplace_back();
    elements_.emplace_back();
    if (kind == JsonValue::Kind::kList) elements_.back() = 0;
    return true;
  }
  bool Close() {
    if (depth_-- > kMaxKeys) return true;
    at_.pop_back();
    elements_.pop_back();
    return true;
  }

  const JsonVisitor& visit_;
  // For each open list or object, from the outermost: the key of the current
  // value, and for lists the number of elements so far.
  std::vector<std::string> at_;
  std::vector<std::optional<uint64_t>> elements_;
  uint64_t depth_ = 0;
  size_t error_byte_ = 0;
};

}  // namespace

absl::Status VisitJson(const std::string& path, std::string_view text,
                       const JsonVisitor& visit) {
  Handler handler(visit);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("'", path, "': no JSON at byte ", handler.error_byte(),
                   "; the file is damaged or was cut short"));
}

}  // namespace poniente::internal
