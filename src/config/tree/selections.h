// SPDX-License-Identifier: Apache-2.0
// Makes the selections and orders that a configuration describes.

#ifndef PONIENTE_CONFIG_TREE_SELECTIONS_H_
#define PONIENTE_CONFIG_TREE_SELECTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "poniente/config.h"
#include "poniente/score_file.h"
#include "poniente/score_order.h"
#include "poniente/selection.h"

namespace poniente::internal {

// Reads the files that filters and orders name. Relative paths are relative to
// `folder`. Errors begin with the place of the filter or order.
class SelectionReader {
 public:
  explicit SelectionReader(std::string folder) : folder_(std::move(folder)) {}

  // Returns the filter's selection from `size` items.
  absl::StatusOr<Selection> Read(const NodeFilter& filter, uint64_t size);
  absl::StatusOr<ScoreOrder> Read(const NodeOrder& order);
  // Does the same, and keeps the order: nodes that ask for it again share it.
  absl::StatusOr<ScoreOrder> ReadShared(const NodeOrder& order);

  // Names what states the thresholds that are read from now on, where it is not
  // the filter itself: "data.stages[1].thresholds.web". Empty: the filter.
  void SetThresholdKey(std::string key) { threshold_key_ = std::move(key); }
  // Returns the thresholds that were computed from scores so far.
  const std::vector<ComputedThreshold>& computed() const { return computed_; }

 private:
  // Returns the lowest score that is chosen.
  absl::StatusOr<double> LowestScore(const NodeFilter& filter,
                                     const Scores& scores) const;
  void Keep(const NodeFilter& filter, double value, const Selection& chosen);
  absl::StatusOr<Selection> ReadUnlocated(const NodeFilter& filter,
                                          uint64_t size);
  absl::StatusOr<ScoreOrder> ReadUnlocated(const NodeOrder& order);
  // Reads a file of scores. Keeps the last one, because stages ask for it again
  // with other thresholds.
  absl::StatusOr<const Scores*> ReadFile(const std::string& path,
                                         ScoreFormat format);
  std::string Located(const std::string& path) const;

  const std::string folder_;
  std::string path_;  // of scores_
  ScoreFormat format_ = ScoreFormat::kAuto;
  Scores scores_;
  std::map<std::string, ScoreOrder> shared_orders_;
  std::string threshold_key_;
  std::vector<ComputedThreshold> computed_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SELECTIONS_H_
