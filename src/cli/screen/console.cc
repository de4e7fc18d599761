// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/console.h"

#include <unistd.h>

#include <array>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "cli/screen/terminal.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

void Say(absl::string_view message) {
  std::cerr << Styled(STDERR_FILENO, Style::kError, "poniente:") << ' '
            << OneLine(std::string(message)) << '\n';
}

}  // namespace

int Fail(const absl::Status& status) {
  Say(status.message());
  return kExitError;
}

int FailUsage(std::string_view message) {
  Say(internal::Absl(message));
  return kExitUsage;
}

int FailConfig(const absl::Status& status) {
  const std::string text(status.message());
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    Fail(absl::Status(status.code(), line));
  }
  return kExitError;
}

void Warn(std::string_view message) {
  std::cerr << Styled(STDERR_FILENO, Style::kWarning, "poniente: warning:")
            << ' ' << OneLine(message) << '\n';
}

std::string Count(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string Bytes(double bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B",  "kB", "MB",
                                                 "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return absl::StrFormat("%.*f %s", unit == 0 ? 0 : 1, bytes, kUnits[unit]);
}

std::string Plural(uint64_t number, std::string_view thing) {
  return absl::StrCat(Count(number), " ", internal::Absl(thing),
                      number == 1 ? "" : "s");
}

}  // namespace poniente::cli
