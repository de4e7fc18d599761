// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/epoch_lines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "util/one_line.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxNamesInLine = 8;
constexpr uint64_t kEachEpochUntil = 4;

// The smallest epoch above `epoch` at which a source is named again.
uint64_t NextToName(uint64_t epoch) {
  if (epoch < kEachEpochUntil) return epoch + 1;
  uint64_t next = kEachEpochUntil;
  while (next <= epoch && next <= UINT64_MAX / 2) next *= 2;
  return next;
}

// "web (epoch 1), code (epoch 3) and 4 more"
class EpochNames {
 public:
  void Add(const std::string& path, uint64_t epoch) {
    if (++count_ > kMaxNamesInLine) return;
    absl::StrAppend(&text_, count_ == 1 ? "" : ", ",
                    path.empty() ? "the data" : OneLine(path), " (epoch ",
                    epoch, ")");
  }
  std::string Text() const {
    if (count_ <= kMaxNamesInLine) return text_;
    return absl::StrCat(text_, " and ", count_ - kMaxNamesInLine, " more");
  }
  bool empty() const { return count_ == 0; }

 private:
  std::string text_;
  size_t count_ = 0;
};

}  // namespace

void EpochLines::Add(uint64_t step, std::span<const EpochNews> news) {
  for (const EpochNews& one : news) {
    uint64_t& next = next_epochs_.try_emplace(one.path, 1).first->second;
    if (one.is_restart && one.epoch < next) continue;
    next = NextToName(one.epoch);
    if (pending_.empty()) first_step_ = step;
    Pending& pending = pending_[one.path];
    pending.epoch = one.epoch;
    pending.is_restart |= one.is_restart;
  }
}

std::optional<std::string> EpochLines::AfterStep(uint64_t step) {
  if (pending_.empty()) return std::nullopt;
  // After a Seek() backwards, too.
  const bool is_due = !last_line_.has_value() || step < *last_line_ ||
                      step - *last_line_ >= kStepsPerLine;
  if (!is_due) return std::nullopt;
  EpochNames restarted;
  EpochNames continued;
  for (const auto& [path, pending] : pending_) {
    (pending.is_restart ? restarted : continued).Add(path, pending.epoch);
  }
  std::string line = first_step_ >= step
                         ? absl::StrCat("step ", step)
                         : absl::StrCat("steps ", first_step_, " to ", step);
  if (!restarted.empty()) {
    absl::StrAppend(&line, ": begins again: ", restarted.Text());
  }
  if (!continued.empty()) {
    absl::StrAppend(&line, restarted.empty() ? ": " : "; ",
                    "continues in a later epoch: ", continued.Text());
  }
  pending_.clear();
  last_line_ = step;
  return line;
}

}  // namespace poniente::internal
