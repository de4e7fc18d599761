// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/table.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "cli/screen/terminal.h"
#include "util/one_line.h"

namespace poniente::cli {

namespace {

// Code points: what a cell takes, roughly.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

void PrintTable(std::vector<std::vector<std::string>> rows, std::ostream& out) {
  for (auto& row : rows) {
    for (std::string& cell : row) cell = internal::OneLine(cell);
  }
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t pad = widths[i] - Width(row[i]);
      line.append(i == 0 ? 2 : 3 + pad, ' ');
      line += row[i];
      if (i == 0) line.append(pad, ' ');
    }
    const bool is_header = &row == &rows.front() && &out == &std::cout;
    text += is_header ? Styled(STDOUT_FILENO, Style::kHeader, line) : line;
    text += '\n';
  }
  out << text;
}

}  // namespace poniente::cli
