// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "cli/terminal.h"

namespace poniente::cli {

void PrintTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const std::string& cell = rows[r][i];
      const std::string pad(widths[i] - cell.size(), ' ');
      absl::StrAppend(&line, i == 0 ? "  " : "   ", i == 0 ? cell : pad,
                      i == 0 ? pad : cell);
    }
    std::cout << (r == 0 ? Styled(STDOUT_FILENO, Style::kHeader, line) : line)
              << '\n';
  }
}

}  // namespace poniente::cli
