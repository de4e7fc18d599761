// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace poniente::cli {

void PrintTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      absl::StrAppend(&line, i == 0 ? "  " : "   ", i == 0 ? row[i] : pad,
                      i == 0 ? pad : row[i]);
    }
    std::cout << line << '\n';
  }
}

}  // namespace poniente::cli
