// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/console.h"
#include "cli/terminal.h"

namespace poniente::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawn(200);
constexpr std::chrono::milliseconds kPlain(5000);

}  // namespace

Progress::Progress(std::string what, uint64_t total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      quiet_(quiet),
      terminal_(IsTerminal(STDERR_FILENO)),
      start_(Clock::now()),
      next_(start_ + (terminal_ ? kRedrawn : kPlain)) {}

Progress::~Progress() {
  if (drawn_ && terminal_) std::cerr << "\r\033[K" << std::flush;
}

void Progress::Update(uint64_t bytes) {
  const Clock::time_point now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now + (terminal_ ? kRedrawn : kPlain);
  std::string line =
      absl::StrCat(what_, ": ", Bytes(static_cast<double>(bytes)));
  if (total_ > 0) {
    absl::StrAppend(&line, " of ", Bytes(static_cast<double>(total_)), " (",
                    std::min<uint64_t>(100, bytes / (total_ / 100 + 1)), "%)");
  }
  absl::StrAppend(&line, ", ", Bytes(static_cast<double>(bytes) / seconds()),
                  "/s");
  if (terminal_) {
    std::cerr << '\r' << line << "\033[K" << std::flush;
  } else {
    std::cerr << line << '\n';
  }
  drawn_ = true;
}

double Progress::seconds() const {
  return std::max(1e-6,
                  std::chrono::duration<double>(Clock::now() - start_).count());
}

}  // namespace poniente::cli
