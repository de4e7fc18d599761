// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace poniente::cli {
namespace {

std::string_view Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

const char* Code(Style style) {
  switch (style) {
    case Style::kError:
      return "\033[1;31m";
    case Style::kWarning:
      return "\033[33m";
    case Style::kHeader:
      return "\033[1m";
  }
  return "";
}

}  // namespace

bool IsTerminal(int fd) {
  const std::string_view term = Environment("TERM");
  return !term.empty() && term != "dumb" && ::isatty(fd) == 1;
}

size_t LettersPerLine(int fd) {
  winsize size = {};
  const bool is_known = ::ioctl(fd, TIOCGWINSZ, &size) == 0;
  return is_known && size.ws_col > 1 ? size.ws_col - 1u : 79u;
}

bool HasColours(int fd) {
  return Environment("NO_COLOR").empty() && IsTerminal(fd);
}

std::string Styled(int fd, Style style, std::string_view text) {
  if (!HasColours(fd)) return std::string(text);
  return std::string(Code(style)).append(text).append("\033[0m");
}

}  // namespace poniente::cli
