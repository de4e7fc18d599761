// SPDX-License-Identifier: Apache-2.0
// How long a loader has waited for the datasets that are not read from files.

#ifndef PONIENTE_LOADER_METRICS_DATASET_TIMES_H_
#define PONIENTE_LOADER_METRICS_DATASET_TIMES_H_

#include <chrono>
#include <string>
#include <vector>

#include "poniente/extend/busy_time.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/metrics.h"

namespace poniente::internal {

// Counts the time of all nodes of a tree that make items, and of all leaves
// that read no files. Another loader over the same datasets counts in the same
// places; each of them then has the time of both.
//
// Ownership: borrows the tree, which must outlive it.
// Thread safety: immutable; any number of threads.
class DatasetTimes {
 public:
  explicit DatasetTimes(const DatasetNode& root);

  // Returns the times since the creation of this object, depth first.
  std::vector<DatasetTime> Read(BusyTime::Clock::time_point now) const;

 private:
  struct Counted {
    DatasetTime known;  // path and name
    const BusyTime* time = nullptr;
    std::chrono::nanoseconds before{0};  // at the creation of this object
  };

  void Add(const DatasetNode& node, const std::string& path);

  std::vector<Counted> counted_;
};

// Returns the time of all datasets together. They may overlap.
double DatasetSeconds(const LoaderMetrics& interval);
// Returns "dataset 'mine' at 'small/mine' took 1.9 s of 2.0 s" for the slowest
// dataset, where 2.0 s is the time with a fetch in progress; empty if there is
// none.
std::string SlowestDatasetText(const LoaderMetrics& interval);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_DATASET_TIMES_H_
