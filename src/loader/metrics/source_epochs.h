// SPDX-License-Identifier: Apache-2.0
// Follows the epochs of the sources through the batches handed out.

#ifndef PONIENTE_LOADER_METRICS_SOURCE_EPOCHS_H_
#define PONIENTE_LOADER_METRICS_SOURCE_EPOCHS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "poniente/dataset_tree.h"

namespace poniente::internal {

// Something to say about the epoch of a source.
struct EpochNews {
  std::string path = {};
  uint64_t epoch = 0;
  // False: this is the first sample of the source since the loader began
  // somewhere in the run, and it is not in epoch 0.
  bool is_restart = true;

  friend bool operator==(const EpochNews&, const EpochNews&) = default;
};

// The views of a component of a mixture share a path, and count as one source.
//
// Determinism: follows from the batches and from where the loader began.
// Thread safety: one call at a time.
class SourceEpochs {
 public:
  explicit SourceEpochs(std::span<const TreeLeaf> leaves) { Add(leaves); }

  // Adds those of the leaves that are not known yet: all behind the known ones,
  // in epoch 0.
  void Add(std::span<const TreeLeaf> leaves);

  // The next batch is that of `step`. At step 0, all sources are in epoch 0;
  // elsewhere, their epochs are those of their next samples.
  void MoveTo(uint64_t step);

  // Returns how often the source of `leaf` has begun again before this sample
  // of `epoch`, since its last sample. Samples of a step may be of several
  // epochs, in any order.
  uint64_t Restarts(uint32_t leaf, uint64_t epoch) {
    const uint32_t state = state_of_leaf_[leaf];
    if (epoch <= states_[state].epoch && states_[state].is_known) return 0;
    return Change(state, epoch);
  }

  bool has_news() const { return !changed_.empty(); }
  // Returns the news since the last call, at most one entry per source.
  std::vector<EpochNews> TakeNews();

 private:
  struct State {
    uint64_t epoch = 0;
    bool is_known = true;
    bool is_changed = false;  // listed in changed_
    bool is_restart = false;
  };

  uint64_t Change(uint32_t number, uint64_t epoch);

  std::vector<uint32_t> state_of_leaf_;
  std::vector<State> states_;
  std::vector<std::string> paths_;                        // of the states
  std::map<std::string, uint32_t, std::less<>> numbers_;  // by path
  // States with news. Has room for all, so that counting a batch needs no
  // memory.
  std::vector<uint32_t> changed_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_SOURCE_EPOCHS_H_
