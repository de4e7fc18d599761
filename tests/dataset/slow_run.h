// SPDX-License-Identifier: Apache-2.0
// The slow twin of a run that is changed while it goes on: mixtures that deal
// sample by sample, of components whose items are lists. Written from
// docs/index-math.md 2 and docs/journal.md. Of the library it takes weights as
// integers, nothing else.

#ifndef PONIENTE_TESTS_DATASET_SLOW_RUN_H_
#define PONIENTE_TESTS_DATASET_SLOW_RUN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "index/mixture/weights.h"
#include "tests/index/slow_dealer.h"
#include "tests/support/slow_permutation.h"

namespace poniente::testing {

// An item of a source.
struct SlowRunItem {
  std::string source;  // name below the component; empty if it has one source
  uint64_t item = 0;

  friend auto operator<=>(const SlowRunItem&, const SlowRunItem&) = default;
};

// What a sample is.
struct SlowSample {
  std::string path;
  uint64_t item = 0;
  uint64_t epoch = 0;
  uint32_t part = 0;

  friend bool operator==(const SlowSample&, const SlowSample&) = default;
  friend void PrintTo(const SlowSample& one, std::ostream* out) {
    *out << one.path << " item " << one.item << " of epoch " << one.epoch
         << ", part " << one.part;
  }
};

// How a mixture cuts the items of its components into samples.
struct SlowCut {
  uint32_t parts = 1;  // of an item
  // Items whose parts are shuffled together; 0: 1024, or a 16th of all.
  uint64_t group = 0;
};

inline std::string SlowPath(const std::string& above, const std::string& name) {
  return above.empty() || name.empty() ? above + name : above + "/" + name;
}

// The items of a component, dealt out epoch by epoch.
class SlowItems {
 public:
  SlowItems() = default;
  // `is_flat`: a flat mixture, which shuffles by its own rule.
  SlowItems(uint64_t mixture_seed, std::string name,
            std::vector<SlowRunItem> items, bool is_flat = false)
      : seed_(mixture_seed),
        name_(std::move(name)),
        is_flat_(is_flat),
        kept_(std::move(items)) {}
  // Before the first sample.
  void Cut(const SlowCut& cut) { cut_ = cut; }

  const std::vector<SlowRunItem>& kept() const { return kept_; }

  SlowSample Next() {  // path: the source's name
    if (left_.empty()) BeginEpoch();
    const auto [item, part] = left_.front();
    left_.pop_front();
    read_.insert(item);
    return {item.source, item.item, epochs_ - 1, part};
  }

  void Drop(const std::set<SlowRunItem>& items) {
    const auto is_dropped = [&](const SlowRunItem& one) {
      return items.contains(one);
    };
    std::erase_if(kept_, is_dropped);
    EraseLeft(is_dropped);
  }

  // A part of it, which goes on with what it has not read of its epoch.
  SlowItems Part(std::string name, const std::set<SlowRunItem>& items) const {
    std::vector<SlowRunItem> has;
    for (const SlowRunItem& item : kept_) {
      if (items.contains(item)) has.push_back(item);
    }
    const auto is_read = [&](const SlowRunItem& item) {
      return read_.contains(item);
    };
    SlowItems part(seed_, std::move(name), std::move(has));
    part.Cut(cut_);
    // Between two epochs of the whole; nothing or all of the part was read.
    if (left_.empty() ||
        std::none_of(part.kept_.begin(), part.kept_.end(), is_read) ||
        std::all_of(part.kept_.begin(), part.kept_.end(), is_read)) {
      return part;
    }
    part.BeginEpoch();
    part.read_ = read_;
    part.EraseLeft(is_read);
    return part;
  }

 private:
  void BeginEpoch() {
    const uint64_t items = kept_.size();
    const uint64_t own_key = SlowComponentKey(seed_, name_, epochs_);
    const uint64_t key =
        is_flat_ ? SlowEpochKey(SlowChildSeed(seed_, name_), "flat", epochs_)
                 : own_key;
    const std::vector<uint64_t> order = SlowPermutation(items, key);
    read_.clear();
    const uint64_t group = cut_.group != 0
                               ? cut_.group
                               : std::min<uint64_t>(1024, (items + 15) / 16);
    for (uint64_t first = 0; first < items; first += group) {
      const uint64_t numbers = std::min(group, items - first) * cut_.parts;
      std::vector<uint64_t> numbered(numbers);
      for (uint64_t i = 0; i < numbers; ++i) numbered[i] = i;
      if (cut_.parts > 1) {
        numbered =
            SlowPermutation(numbers, SlowEpochKey(own_key, "subw", first));
      }
      for (const uint64_t number : numbered) {
        left_.push_back({kept_[order[first + number / cut_.parts]],
                         static_cast<uint32_t>(number % cut_.parts)});
      }
    }
    ++epochs_;
  }

  template <class IsGone>
  void EraseLeft(const IsGone& is_gone) {
    std::erase_if(left_, [&](const auto& one) { return is_gone(one.first); });
  }

  uint64_t seed_ = 0;
  std::string name_;
  bool is_flat_ = false;
  std::vector<SlowRunItem> kept_;
  SlowCut cut_;
  std::deque<std::pair<SlowRunItem, uint32_t>> left_;  // parts of the epoch
  // Any part of it, in the epoch, or in that of the whole.
  std::set<SlowRunItem> read_;
  uint64_t epochs_ = 0;  // begun
};

// A mixture without an end. Changes hold from the next block on, in the order
// in which they were decided.
class SlowMixtureRun {
 public:
  // What a change does to the mixture.
  struct Change {
    // Another stage begins with it.
    bool is_stage = true;
    // It may hold before anything has been served.
    bool from_first_sample = false;
    std::function<void(SlowMixtureRun*)> make;
  };

  SlowMixtureRun(uint64_t seed, uint64_t block, SlowCut cut = {})
      : seed_(seed), block_(block), cut_(cut) {}

  uint64_t seed() const { return seed_; }
  uint64_t served() const { return served_; }
  // Whether the next sample begins a block.
  bool IsBetweenBlocks() const { return ready_.empty(); }

  void Add(const std::string& name, double weight, SlowItems items) {
    first_[name] = weight;
    weights_[name] = weight;
    items_[name] = std::move(items);
    items_[name].Cut(cut_);
  }
  void Add(const std::string& name, double weight,
           std::shared_ptr<SlowMixtureRun> below) {
    first_[name] = weight;
    weights_[name] = weight;
    below_[name] = std::move(below);
  }
  // A stage of the description.
  void SetStage(uint64_t start, std::map<std::string, double> weights) {
    stages_[start] = std::move(weights);
  }

  void Decide(Change change) { decided_.push_back(std::move(change)); }

  // What changes do when they hold.
  void Weigh(const std::map<std::string, double>& weights) {
    for (const auto& [name, weight] : weights) weights_[name] = weight;
  }
  void SetTemperature(double temperature) { temperature_ = temperature; }
  void Retire(const std::string& name) { retired_.insert(name); }
  SlowItems& items(const std::string& name) { return items_.at(name); }

  SlowSample Next() {
    if (ready_.empty()) DealBlock();
    SlowSample sample = std::move(ready_.front());
    ready_.pop_front();
    return sample;
  }

 private:
  // Returns whether a stage begins.
  bool MakeChanges() {
    bool is_stage = served_ == 0;
    if (const auto stage = stages_.find(served_); stage != stages_.end()) {
      is_stage = true;
      weights_ = first_;
      temperature_ = 1;
      for (const auto& [name, weight] : stage->second) weights_[name] = weight;
    }
    std::deque<Change> later;
    for (Change& change : std::exchange(decided_, {})) {
      if (served_ == 0 && !change.from_first_sample) {
        later.push_back(std::move(change));
        continue;
      }
      change.make(this);
      is_stage |= change.is_stage;
    }
    decided_ = std::move(later);
    return is_stage;
  }

  void BeginStage() {
    std::vector<double> weights;
    std::vector<int64_t> debts;
    names_.clear();
    for (const auto& [name, weight] : weights_) {  // in canonical order
      names_.push_back(name);
      weights.push_back(retired_.contains(name) ? 0 : weight);
      debts.push_back(static_cast<int64_t>(owed_[name] >> 14));
    }
    auto quanta = internal::QuantaFromPowers(weights, temperature_);
    EXPECT_TRUE(quanta.ok()) << quanta.status();
    quanta_ = *std::move(quanta);
    dealer_ = std::make_unique<SlowDealer>(quanta_, debts);
  }

  void DealBlock() {
    const bool is_stage = MakeChanges();
    if (is_stage) BeginStage();
    uint64_t size = block_;
    if (const auto next = stages_.upper_bound(served_); next != stages_.end()) {
      size = std::min(size, next->first - served_);
    }
    std::map<uint32_t, std::vector<SlowSample>> drawn;
    for (uint64_t i = 0; i < size; ++i) {
      const uint32_t component = dealer_->Deal();
      drawn[component].push_back(Draw(names_[component]));
      for (size_t c = 0; c < names_.size(); ++c) {
        owed_[names_[c]] += static_cast<Wide>(quanta_[c]);
      }
      owed_[names_[component]] -= Wide{1} << 62;
    }
    std::vector<SlowSample> slots;
    for (const uint32_t leaf : dealer_->Leaves()) {
      for (SlowSample& sample : drawn[leaf]) slots.push_back(std::move(sample));
    }
    for (const uint64_t slot :
         SlowPermutation(size, SlowEpochKey(seed_, "bloc", served_))) {
      ready_.push_back(slots[slot]);
    }
    served_ += size;
  }

  SlowSample Draw(const std::string& name) {
    if (const auto below = below_.find(name); below != below_.end()) {
      SlowSample sample = below->second->Next();
      sample.path = SlowPath(name, sample.path);
      return sample;
    }
    SlowSample sample = items_.at(name).Next();
    sample.path = SlowPath(name, sample.path);
    return sample;
  }

  const uint64_t seed_;
  const uint64_t block_;
  const SlowCut cut_;
  std::map<std::string, double> first_;    // as described
  std::map<std::string, double> weights_;  // as stated last
  double temperature_ = 1;
  std::set<std::string> retired_;
  std::map<uint64_t, std::map<std::string, double>> stages_;
  std::map<std::string, SlowItems> items_;
  std::map<std::string, std::shared_ptr<SlowMixtureRun>> below_;
  std::deque<Change> decided_;  // that do not hold yet
  std::vector<std::string> names_;
  std::vector<uint64_t> quanta_;
  std::map<std::string, Wide> owed_;  // 2^-62 samples: ideal minus actual
  std::unique_ptr<SlowDealer> dealer_;
  uint64_t served_ = 0;  // samples of the blocks that were begun
  std::deque<SlowSample> ready_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_DATASET_SLOW_RUN_H_
