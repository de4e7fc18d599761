// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/source_epochs.h"

#include <cstddef>

namespace poniente::internal {

void SourceEpochs::Add(std::span<const TreeLeaf> leaves) {
  for (size_t l = state_of_leaf_.size(); l < leaves.size(); ++l) {
    const std::string& path = leaves[l].path;
    const auto [entry, is_new] =
        numbers_.try_emplace(path, static_cast<uint32_t>(numbers_.size()));
    if (is_new) paths_.push_back(path);
    state_of_leaf_.push_back(entry->second);
  }
  states_.resize(paths_.size());
  changed_.reserve(paths_.size());
}

void SourceEpochs::MoveTo(uint64_t step) {
  for (State& state : states_) state = {.epoch = 0, .is_known = step == 0};
  changed_.clear();
}

uint64_t SourceEpochs::Change(uint32_t number, uint64_t epoch) {
  State& state = states_[number];
  const bool is_restart = state.is_known;
  const uint64_t restarts = is_restart ? epoch - state.epoch : 0;
  state.is_known = true;
  state.epoch = epoch;
  if (epoch == 0) return 0;
  if (!state.is_changed) changed_.push_back(number);
  state.is_restart = is_restart || (state.is_changed && state.is_restart);
  state.is_changed = true;
  return restarts;
}

std::vector<EpochNews> SourceEpochs::TakeNews() {
  std::vector<EpochNews> news;
  news.reserve(changed_.size());
  for (const uint32_t number : changed_) {
    State& state = states_[number];
    news.push_back({paths_[number], state.epoch, state.is_restart});
  }
  for (const uint32_t number : changed_) states_[number].is_changed = false;
  changed_.clear();
  return news;
}

}  // namespace poniente::internal
