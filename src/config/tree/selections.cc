// SPDX-License-Identifier: Apache-2.0
#include "config/tree/selections.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

absl::Status At(const SourceLocation& location, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(ToString(location), ": ",
                                   OneLine(std::string(status.message()))));
}

}  // namespace

std::string SelectionReader::Located(const std::string& path) const {
  return (std::filesystem::path(folder_) / path).lexically_normal();
}

absl::StatusOr<const Scores*> SelectionReader::ReadFile(const std::string& path,
                                                        ScoreFormat format) {
  const std::string located = Located(path);
  if (located != path_ || format != format_) {
    path_.clear();
    PONIENTE_ASSIGN_OR_RETURN(scores_, ReadScores(located, format));
    path_ = located;
    format_ = format;
  }
  return &scores_;
}

absl::StatusOr<Selection> SelectionReader::ReadUnlocated(
    const NodeFilter& filter, uint64_t size) {
  switch (filter.kind) {
    case NodeFilter::Kind::kBitmap:
      return ReadBitmap(Located(filter.path), size);
    case NodeFilter::Kind::kIndices:
      return ReadIndexList(Located(filter.path), size);
    case NodeFilter::Kind::kFraction:
      return Selection::ByHash(size, filter.fraction, filter.seed);
    case NodeFilter::Kind::kScores:
      break;
  }
  PONIENTE_ASSIGN_OR_RETURN(const Scores* scores,
                            ReadFile(filter.path, filter.format));
  if (scores->size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path_, "' has ", scores->size(), " scores for ", size,
                     " items: it must have one score per item"));
  }
  PONIENTE_ASSIGN_OR_RETURN(const double lowest, LowestScore(filter, *scores));
  absl::StatusOr<Selection> chosen = scores->AtLeast(lowest);
  if (chosen.ok()) Keep(filter, lowest, *chosen);
  return chosen;
}

absl::StatusOr<double> SelectionReader::LowestScore(
    const NodeFilter& filter, const Scores& scores) const {
  const ScoreThreshold& threshold = filter.at_least;
  absl::StatusOr<double> lowest = threshold.value;
  if (threshold.unit == ScoreThreshold::Unit::kQuantile) {
    lowest = scores.Quantile(threshold.value);
  } else if (threshold.unit == ScoreThreshold::Unit::kSigmas) {
    lowest = scores.MeanPlusSigmas(threshold.value);
  }
  if (lowest.ok()) return lowest;
  return Prepend(lowest.status(), absl::StrCat("'", path_, "'"));
}

void SelectionReader::Keep(const NodeFilter& filter, double value,
                           const Selection& chosen) {
  if (filter.at_least.unit == ScoreThreshold::Unit::kScore) return;
  ComputedThreshold made;
  made.key = threshold_key_.empty() ? filter.location.key : threshold_key_;
  made.stated = filter.at_least;
  made.value = value;
  made.chosen = filter.invert ? chosen.size() - chosen.count() : chosen.count();
  made.items = chosen.size();
  // Nodes may be made more than once.
  if (std::find(computed_.begin(), computed_.end(), made) == computed_.end()) {
    computed_.push_back(std::move(made));
  }
}

absl::StatusOr<Selection> SelectionReader::Read(const NodeFilter& filter,
                                                uint64_t size) {
  absl::StatusOr<Selection> selection = ReadUnlocated(filter, size);
  if (selection.ok() && filter.invert) selection = selection->Complement();
  if (!selection.ok()) return At(filter.location, selection.status());
  return selection;
}

absl::StatusOr<ScoreOrder> SelectionReader::ReadUnlocated(
    const NodeOrder& order) {
  if (order.is_table) return OrderFile::Open(Located(order.path));
  PONIENTE_ASSIGN_OR_RETURN(const Scores* scores,
                            ReadFile(order.path, order.format));
  return scores->Order(order.direction);
}

absl::StatusOr<ScoreOrder> SelectionReader::Read(const NodeOrder& order) {
  absl::StatusOr<ScoreOrder> made = ReadUnlocated(order);
  if (!made.ok()) return At(order.location, made.status());
  return made;
}

absl::StatusOr<ScoreOrder> SelectionReader::ReadShared(const NodeOrder& order) {
  const std::string key = absl::StrCat(
      order.is_table ? "table" : "scores", " ", static_cast<int>(order.format),
      " ", static_cast<int>(order.direction), " ", Located(order.path));
  const auto found = shared_orders_.find(key);
  if (found != shared_orders_.end()) return found->second;
  absl::StatusOr<ScoreOrder> made = Read(order);
  if (made.ok()) shared_orders_.emplace(key, *made);
  return made;
}

}  // namespace poniente::internal
