// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/command_output.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/measure/require.h"

namespace poniente::bench {

std::string ShellQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

absl::StatusOr<std::string> OutputOf(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::UnavailableError("popen failed");
  std::string output;
  std::array<char, 4096> part;
  while (const size_t got = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), got);
  }
  if (pclose(pipe) != 0) {
    return absl::UnavailableError(absl::StrCat("failed: ", command));
  }
  return output;
}

double NumberFromSelf(const std::vector<std::string>& arguments) {
  std::error_code error;
  const std::string self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    Require(absl::UnavailableError("/proc/self/exe: " + error.message()));
  }
  std::string command = ShellQuoted(self);
  for (const std::string& argument : arguments) {
    absl::StrAppend(&command, " ", ShellQuoted(argument));
  }
  const std::string output = Require(OutputOf(command));
  double number = 0;
  if (!absl::SimpleAtod(output, &number)) {
    Require(absl::InternalError(
        absl::StrCat("'", output, "' is no number, from: ", command)));
  }
  return number;
}

}  // namespace poniente::bench
