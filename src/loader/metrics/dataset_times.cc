// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/dataset_times.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "dataset/joined_path.h"
#include "loader/metrics/fetch_times.h"

namespace poniente::internal {
namespace {

// Returns the dataset with the most time; null if there is none.
const DatasetTime* SlowestDataset(const LoaderMetrics& interval) {
  const auto slowest =
      std::max_element(interval.datasets.begin(), interval.datasets.end(),
                       [](const DatasetTime& a, const DatasetTime& b) {
                         return a.seconds < b.seconds;
                       });
  return slowest == interval.datasets.end() ? nullptr : &*slowest;
}

}  // namespace

DatasetTimes::DatasetTimes(const DatasetNode& root) { Add(root, ""); }

void DatasetTimes::Add(const DatasetNode& node, const std::string& path) {
  const std::vector<NamedNode> children = node.children();
  if (node.makes_items() || (children.empty() && !node.reads_files())) {
    node.CountTime();
    const BusyTime& time = *node.busy_time();
    const std::string name = node.name();
    counted_.push_back({{path.empty() ? name : path, name},
                        &time,
                        time.Until(BusyTime::Clock::now())});
  }
  for (const NamedNode& child : children) {
    Add(*child.node, JoinedPath(path, child.name));
  }
}

std::vector<DatasetTime> DatasetTimes::Read(
    BusyTime::Clock::time_point now) const {
  std::vector<DatasetTime> times;
  times.reserve(counted_.size());
  for (const Counted& counted : counted_) {
    times.push_back(counted.known);
    times.back().seconds = Seconds(counted.time->Until(now) - counted.before);
  }
  return times;
}

double DatasetSeconds(const LoaderMetrics& interval) {
  double seconds = 0;
  for (const DatasetTime& one : interval.datasets) seconds += one.seconds;
  return seconds;
}

std::string SlowestDatasetText(const LoaderMetrics& interval) {
  const DatasetTime* const slowest = SlowestDataset(interval);
  if (slowest == nullptr) return "";
  std::string text = absl::StrCat("dataset '", slowest->name, "'");
  if (slowest->path != slowest->name) {
    absl::StrAppend(&text, " at '", slowest->path, "'");
  }
  absl::StrAppendFormat(&text, " took %.1f s of %.1f s", slowest->seconds,
                        interval.fetching_seconds);
  return text;
}

}  // namespace poniente::internal
