// SPDX-License-Identifier: Apache-2.0
// The fields of a line of a journal.

#ifndef PONIENTE_INDEX_JOURNAL_LINE_FIELDS_H_
#define PONIENTE_INDEX_JOURNAL_LINE_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace poniente::internal {

// Returns the text in double quotes, with the escapes of C.
std::string QuotedField(std::string_view text);
// Returns the shortest decimal that reads back as the same number.
std::string NumberField(double number);
// Returns the length of the inline table of TOML that a text begins with, from
// '{' to the '}' that closes it; 0 if it begins with none.
size_t TableLength(std::string_view text);

// Takes fields, which are separated by spaces, off the front of a line.
// Errors: InvalidArgument, with what was expected.
class LineFields {
 public:
  explicit LineFields(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  absl::string_view rest() const { return {rest_.data(), rest_.size()}; }
  // Returns whether no space stood between two of the fields.
  bool runs_together() const { return runs_together_; }
  bool HasNumber() const;
  bool HasText() const { return !rest_.empty() && rest_.front() == '"'; }

  absl::StatusOr<std::string> Word(absl::string_view what);
  absl::Status Expect(absl::string_view word);
  absl::StatusOr<uint64_t> Count(absl::string_view what);
  absl::StatusOr<double> Number(absl::string_view what);
  // A text of QuotedField(), and an inline table of TOML.
  absl::StatusOr<std::string> Text(absl::string_view what);
  absl::StatusOr<std::string> Table(absl::string_view what);
  // 16 hexadecimal digits.
  absl::StatusOr<uint64_t> Fingerprint(absl::string_view what);

 private:
  absl::Status Missing(absl::string_view what) const;
  void Pass(size_t bytes);

  std::string_view rest_;
  bool runs_together_ = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_JOURNAL_LINE_FIELDS_H_
