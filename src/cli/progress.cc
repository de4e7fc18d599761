// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/console.h"

namespace poniente::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawn(200);
constexpr std::chrono::milliseconds kPlain(5000);

}  // namespace

Progress::Progress(std::string what, uint64_t total, bool quiet, Unit unit)
    : what_(std::move(what)),
      total_(total),
      quiet_(quiet),
      unit_(unit),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      next_(start_ + (terminal_ ? kRedrawn : kPlain)) {}

Progress::~Progress() {
  if (drawn_ && terminal_) std::cerr << "\r\033[K" << std::flush;
}

std::string Progress::Amount(double number) const {
  if (unit_ == Unit::kBytes) return Bytes(number);
  return absl::StrCat(Count(static_cast<uint64_t>(number)), " samples");
}

void Progress::Update(uint64_t done) {
  const Clock::time_point now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now + (terminal_ ? kRedrawn : kPlain);
  std::string line =
      absl::StrCat(what_, ": ", Amount(static_cast<double>(done)));
  if (total_ > 0) {
    absl::StrAppend(&line, " of ", Amount(static_cast<double>(total_)), " (",
                    std::min<uint64_t>(100, done / (total_ / 100 + 1)), "%)");
  }
  absl::StrAppend(&line, ", ", Amount(static_cast<double>(done) / seconds()),
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
