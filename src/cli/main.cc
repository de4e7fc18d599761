// SPDX-License-Identifier: Apache-2.0
// The command-line tool: finds the command and runs it.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/commands/help.h"
#include "cli/screen/console.h"
#include "poniente/version.h"
#include "util/nearest_name.h"

namespace poniente::cli {
namespace {

// A standard descriptor that the parent process has closed would be given to
// the next file that is opened, and what is printed would be written there. In
// its place stands one on which every read or write fails, as on none.
bool FillStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    const int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", flags) != fd) return false;
  }
  return true;
}

int RunTool(const std::vector<std::string>& args) {
  if (args.empty()) {
    std::cerr << ToolUsage(CommandSpecs());
    return kExitUsage;
  }
  if (args[0] == "--help" || args[0] == "-h") {
    std::cout << ToolUsage(CommandSpecs());
    return kExitOk;
  }
  if (args[0] == "--version") {
    std::cout << "poniente " << Version() << '\n';
    return kExitOk;
  }
  std::vector<std::string> names;
  for (const Command& command : Commands()) {
    names.push_back(command.spec().name);
    if (args[0] == names.back()) {
      return command.run({args.begin() + 1, args.end()});
    }
  }
  return FailUsage(absl::StrCat("unknown command '", args[0], "'",
                                internal::DidYouMean(args[0], names),
                                "; see `poniente --help`"));
}

}  // namespace
}  // namespace poniente::cli

namespace {

// Some code has no way to say that it has no memory: Asio's, for one.
[[noreturn]] void EndWithoutMemory() {
  try {
    if (std::current_exception())
      std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    constexpr char kWords[] = "poniente: out of memory\n";
    (void)!::write(STDERR_FILENO, kWords, sizeof(kWords) - 1);
    ::_exit(poniente::cli::kExitError);
  } catch (...) {
  }
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(EndWithoutMemory);
  if (!poniente::cli::FillStandardDescriptors()) {
    return poniente::cli::kExitError;  // there is nowhere to say it
  }
  // A reader that has gone away ends the tool without a word, also where the
  // parent process ignores the signal.
  std::signal(SIGPIPE, SIG_DFL);
  // A file that would pass the limit of sizes is an error that names it.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = poniente::cli::RunTool({argv + 1, argv + argc});
    if (std::cout.flush()) return code;
    return poniente::cli::Fail(
        absl::DataLossError("cannot write to standard output"));
  } catch (const std::bad_alloc&) {
    return poniente::cli::Fail(absl::ResourceExhaustedError("out of memory"));
  } catch (const std::exception& error) {
    // The library throws nothing; the standard library may be out of memory.
    return poniente::cli::Fail(absl::InternalError(error.what()));
  }
}
