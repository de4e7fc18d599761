// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/screen/console.h"
#include "cli/screen/terminal.h"

namespace poniente::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawn(200);
constexpr std::chrono::milliseconds kPlain(5000);
constexpr int kBarLetters = 20;

std::string Amount(ProgressUnit unit, uint64_t amount) {
  return unit == ProgressUnit::kBytes ? Bytes(static_cast<double>(amount))
                                      : Count(amount);
}

std::string Rate(ProgressUnit unit, double rate) {
  if (unit == ProgressUnit::kBytes) return Bytes(rate) + "/s";
  return unit == ProgressUnit::kSteps ? absl::StrFormat("%.1f steps/s", rate)
                                      : absl::StrFormat("%.0f samples/s", rate);
}

}  // namespace

std::string ProgressLine(std::string_view what, ProgressUnit unit,
                         uint64_t done, uint64_t total, double share,
                         double seconds, bool has_bar) {
  const int percent = static_cast<int>(100 * std::min(share, 1.0));
  std::string line(what);
  if (has_bar && share >= 0) {
    const int filled = percent * kBarLetters / 100;
    absl::StrAppend(&line, " [", std::string(filled, '#'),
                    std::string(kBarLetters - filled, '.'), "] ", percent,
                    "%, ");
  } else {
    line += ": ";
  }
  line += Amount(unit, done);
  if (total > 0) absl::StrAppend(&line, " of ", Amount(unit, total));
  if (unit == ProgressUnit::kSteps) line += " steps";
  if (unit == ProgressUnit::kSamples) line += " samples";
  if (!has_bar && share >= 0) absl::StrAppend(&line, " (", percent, "%)");
  return absl::StrCat(line, ", ",
                      Rate(unit, static_cast<double>(done) / seconds));
}

Progress::Progress(std::string what, uint64_t total, bool quiet,
                   ProgressUnit unit)
    : what_(std::move(what)),
      total_(total),
      quiet_(quiet),
      unit_(unit),
      terminal_(IsTerminal(STDERR_FILENO)),
      start_(Clock::now()),
      next_(start_ + (terminal_ ? kRedrawn : kPlain)) {}

Progress::~Progress() {
  if (drawn_ && terminal_) std::cerr << "\r\033[K" << std::flush;
}

void Progress::Update(uint64_t done) {
  Update(done, total_ == 0
                   ? -1.0
                   : static_cast<double>(done) / static_cast<double>(total_));
}

void Progress::Update(uint64_t done, double share) {
  const Clock::time_point now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now + (terminal_ ? kRedrawn : kPlain);
  std::string line =
      ProgressLine(what_, unit_, done, total_, share, seconds(), terminal_);
  if (terminal_) {
    line.resize(std::min(line.size(), LettersPerLine(STDERR_FILENO)));
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
