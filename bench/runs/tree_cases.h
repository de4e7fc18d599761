// SPDX-License-Identifier: Apache-2.0
// All ways of reading the windows of one tree, beside each other.

#ifndef PONIENTE_BENCH_RUNS_TREE_CASES_H_
#define PONIENTE_BENCH_RUNS_TREE_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/readers/comparison.h"
#include "bench/readers/fio.h"
#include "bench/readers/loader_reader.h"
#include "bench/readers/page_cache.h"
#include "bench/readers/windows.h"
#include "bench/runs/bench_tree.h"

namespace poniente::bench {

// Makes the stores of the tree if they are not there.
class TreeCases {
 public:
  // `seconds`: of one measurement, at most.
  TreeCases(BenchTree tree, double seconds);

  // The cases borrow this object.
  void AddCold(Comparison* comparison);
  void AddHot(Comparison* comparison);

  void AppendBars(const Comparison& comparison, std::vector<Bar>* bars) const;

  // Removes the stores and writes them again, to other places of the disk.
  void MakeAnew() const;

  // Brings all of the stores into the page cache, or none.
  void Prepare(CacheState state) const;

  const std::string& name() const { return tree_.name; }
  // fio over all of the stores, with the page cache dropped.
  absl::StatusOr<Sample> MeasureFio() const;

 private:
  std::string Name(CacheState state, const std::string& what) const;
  absl::StatusOr<Sample> Measure(CacheState state,
                                 const OpenReader& open) const;
  FioJob Fio() const;

  void Add(CacheState state, const std::string& what,
           const std::string& baseline, OpenReader open,
           Comparison* comparison) const;
  void AddLoader(CacheState state, const std::string& what,
                 const std::string& baseline, const LoaderCase& one,
                 Comparison* comparison) const;
  // The case as `what`, and each option's cost beside it.
  void AddLoaderWithOptions(CacheState state, const std::string& what,
                            const std::string& baseline, const LoaderCase& one,
                            Comparison* comparison) const;
  // The cost of each tensor beside the tokens.
  void AddTensors(CacheState state, const std::string& what,
                  const LoaderCase& one, Comparison* comparison) const;

  const BenchTree tree_;
  const double seconds_;
  uint64_t epoch_batches_ = 0;
  ServedWindows served_;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_TREE_CASES_H_
