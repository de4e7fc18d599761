// SPDX-License-Identifier: Apache-2.0
// A JSON object with one member that is a long array of small records. It is
// read record by record, so that memory stays small for a text of any size.

#ifndef PONIENTE_FORMATS_CORE_JSON_RECORDS_H_
#define PONIENTE_FORMATS_CORE_JSON_RECORDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace poniente::internal {

// Most bytes of a record, or of all other members together; a larger text is
// not the description of a file.
inline constexpr uint64_t kMaxJsonRecordBytes = 1 << 20;

// `record` is an object; `at` is the byte at which it begins.
using JsonRecordVisitor =
    std::function<absl::Status(const nlohmann::json& record, uint64_t at)>;

// Visits the objects of the member `array` in order, and puts all other members
// into `others`. If the array exists, `others` gets a member of its name with
// the value true.
// Errors: InvalidArgument, naming path and byte, for any other JSON; those of
//     `visit`.
absl::Status ForEachJsonRecord(const std::string& path, std::string_view text,
                               std::string_view array,
                               const JsonRecordVisitor& visit,
                               nlohmann::json* others);

// Returns the first record from the first bytes of a text; null if they contain
// none.
nlohmann::json FirstJsonRecord(std::string_view head, std::string_view array);

// Returns the member `key` of `record`, a whole number below 2^63.
absl::StatusOr<uint64_t> JsonCount(const nlohmann::json& record,
                                   std::string_view key);
absl::StatusOr<std::string> JsonText(const nlohmann::json& record,
                                     std::string_view key);
// Returns the beginning of a value for messages, on one line.
std::string JsonForMessage(const nlohmann::json& value);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_JSON_RECORDS_H_
