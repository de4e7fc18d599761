// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/sizes.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "cli/screen/console.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr std::array<std::pair<const char*, uint64_t>, 9> kUnits = {{
    {"TiB", uint64_t{1} << 40},
    {"GiB", uint64_t{1} << 30},
    {"MiB", uint64_t{1} << 20},
    {"KiB", uint64_t{1} << 10},
    {"TB", 1000000000000},
    {"GB", 1000000000},
    {"MB", 1000000},
    {"kB", 1000},
    {"", 1},
}};
constexpr size_t kBinaryUnits = 4;

}  // namespace

std::string BinarySize(uint64_t bytes) {
  for (size_t i = 0; i < kBinaryUnits; ++i) {
    const auto& [unit, size] = kUnits[i];
    if (bytes >= size && bytes % size == 0) {
      return absl::StrCat(bytes / size, " ", unit);
    }
  }
  return Bytes(static_cast<double>(bytes));
}

absl::StatusOr<std::vector<uint64_t>> ParseSizes(std::string_view text,
                                                 uint64_t min, uint64_t max) {
  std::vector<uint64_t> sizes;
  for (const absl::string_view word :
       absl::StrSplit(internal::Absl(text), ',')) {
    absl::string_view digits = absl::StripAsciiWhitespace(word);
    uint64_t unit_bytes = 1;
    for (const auto& [unit, bytes] : kUnits) {
      if (absl::ConsumeSuffix(&digits, unit)) {
        unit_bytes = bytes;
        break;
      }
    }
    uint64_t number = 0;
    if (!absl::SimpleAtoi(digits, &number) || number > max / unit_bytes ||
        number * unit_bytes < min) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sizes must be from ", BinarySize(min), " to ", BinarySize(max),
          ", such as 64KiB,1MiB; got '", word, "'"));
    }
    sizes.push_back(number * unit_bytes);
  }
  return sizes;
}

}  // namespace poniente::cli
