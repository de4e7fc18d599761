// SPDX-License-Identifier: Apache-2.0
#include "cli/console.h"

#include <array>
#include <cstdio>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "util/status_macros.h"

namespace poniente::cli {

int Fail(const absl::Status& status) {
  std::cerr << "poniente: " << OneLine(std::string(status.message())) << '\n';
  return kExitError;
}

int FailUsage(std::string_view message) {
  std::cerr << "poniente: " << OneLine(message) << '\n';
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
  std::cerr << "poniente: warning: " << OneLine(message) << '\n';
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
  return absl::StrFormat(unit == 0 ? "%.0f %s" : "%.1f %s", bytes,
                         kUnits[unit]);
}

std::string Plural(uint64_t number, std::string_view thing) {
  return absl::StrCat(Count(number), " ", internal::Absl(thing),
                      number == 1 ? "" : "s");
}

}  // namespace poniente::cli
