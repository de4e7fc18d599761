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

// What a sample is: part `part` of an item that is cut into `parts`.
struct SlowSample {
  std::string path;
  uint64_t item = 0;
  uint64_t epoch = 0;
  uint32_t part = 0;
  uint32_t parts = 1;

  friend bool operator==(const SlowSample&, const SlowSample&) = default;
  friend void PrintTo(const SlowSample& one, std::ostream* out) {
    *out << one.path << " item " << one.item << " of epoch " << one.epoch
         << ", part " << one.part << " of " << one.parts;
  }
};

inline std::string SlowPath(const std::string& above, const std::string& name) {
  return above.empty() || name.empty() ? above + name : above + "/" + name;
}

// The items of a component, dealt out epoch by epoch, in groups of items whose
// parts are shuffled.
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

  // Before the first sample. 0: 1024, or a 16th of all items.
  void SetGroup(uint64_t items) { stated_group_ = items; }
  // Samples have another length from now on.
  void Cut(uint32_t parts) {
    parts_ = parts;
    // What was begun of a group is over.
    if (std::exchange(has_drawn_, false) && is_open_) EndGroup();
  }

  SlowSample Next() {  // path: the source's name
    while (group_.empty()) {
      if (is_open_) EndGroup();
      if (order_.empty()) BeginEpoch();
      OpenGroup();
    }
    const auto [item, part] = group_.front();
    group_.pop_front();
    read_.insert(item);
    has_drawn_ = true;
    if (group_.empty()) EndGroup();
    return {item.source, item.item, epochs_ - 1, part, parts_};
  }

  void Drop(const std::set<SlowRunItem>& items) {
    std::erase_if(kept_, [&](const auto& one) { return items.contains(one); });
    LeaveOut(items);
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
    part.SetGroup(stated_group_);
    part.Cut(parts_);
    // Between two epochs of the whole; nothing or all of the part was read.
    if (!HasLeft() ||
        std::none_of(part.kept_.begin(), part.kept_.end(), is_read) ||
        std::all_of(part.kept_.begin(), part.kept_.end(), is_read)) {
      return part;
    }
    part.BeginEpoch();
    part.read_ = read_;
    part.LeaveOut(read_);
    return part;
  }

 private:
  void BeginEpoch() {
    const uint64_t key =
        is_flat_ ? SlowEpochKey(SlowChildSeed(seed_, name_), "flat", epochs_)
                 : SlowComponentKey(seed_, name_, epochs_);
    read_.clear();
    gone_.clear();
    for (const uint64_t place : SlowPermutation(kept_.size(), key)) {
      order_.push_back(kept_[place]);
    }
    first_ = 0;
    ++epochs_;
  }

  uint64_t GroupItems() const {
    const uint64_t items = order_.size();
    const uint64_t group = stated_group_ != 0
                               ? stated_group_
                               : std::min<uint64_t>(1024, (items + 15) / 16);
    return std::min(group, items - first_);
  }

  void OpenGroup() {
    is_open_ = true;
    const uint64_t numbers = GroupItems() * parts_;
    const uint64_t key = SlowEpochKey(
        SlowComponentKey(seed_, name_, epochs_ - 1), "subw", first_);
    std::vector<uint64_t> all(numbers);
    for (uint64_t i = 0; i < numbers; ++i) all[i] = i;
    if (parts_ > 1) all = SlowPermutation(numbers, key);
    for (const uint64_t number : all) {
      const SlowRunItem& item = order_[first_ + number / parts_];
      if (gone_.contains(item)) continue;
      group_.push_back({item, static_cast<uint32_t>(number % parts_)});
    }
  }

  void EndGroup() {
    first_ += GroupItems();
    group_.clear();
    is_open_ = false;
    if (first_ == order_.size()) order_.clear();
  }

  // Of the epoch in progress.
  void LeaveOut(const std::set<SlowRunItem>& items) {
    gone_.insert(items.begin(), items.end());
    std::erase_if(group_,
                  [&](const auto& one) { return items.contains(one.first); });
    if (is_open_ && group_.empty()) EndGroup();
    if (!HasLeft()) order_.clear();
  }

  bool HasLeft() const {
    return !group_.empty() ||
           std::any_of(order_.begin() +
                           static_cast<ptrdiff_t>(order_.empty() ? 0 : first_),
                       order_.end(), [&](const SlowRunItem& item) {
                         return !is_open_ && !gone_.contains(item);
                       });
  }

  uint64_t seed_ = 0;
  std::string name_;
  bool is_flat_ = false;
  std::vector<SlowRunItem> kept_;
  uint64_t stated_group_ = 0;
  uint32_t parts_ = 1;
  uint64_t epochs_ = 0;  // begun
  // The epoch in progress; empty between two.
  std::vector<SlowRunItem> order_;
  uint64_t first_ = 0;          // place where the next group begins
  std::set<SlowRunItem> gone_;  // that are left out
  // Any part of it, in the epoch, or in that of the whole.
  std::set<SlowRunItem> read_;
  // The group in progress.
  bool is_open_ = false;
  std::deque<std::pair<SlowRunItem, uint32_t>> group_;  // parts that are left
  bool has_drawn_ = false;  // since the length changed
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

  // `group`: as SlowItems::SetGroup().
  SlowMixtureRun(uint64_t seed, uint64_t block, uint64_t group = 0)
      : seed_(seed), block_(block), group_(group) {}

  uint64_t seed() const { return seed_; }
  uint64_t served() const { return served_; }
  // Whether the next sample begins a block.
  bool IsBetweenBlocks() const { return ready_.empty(); }

  void Add(const std::string& name, double weight, SlowItems items) {
    first_[name] = weight;
    weights_[name] = weight;
    items_[name] = std::move(items);
    items_[name].SetGroup(group_);
    items_[name].Cut(parts_);
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

  // From sample `start` on, items are cut into `parts`, others than before.
  void SetParts(uint64_t start, uint32_t parts) { lengths_[start] = parts; }

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
    bool is_stage = false;
    if (const auto length = lengths_.find(served_); length != lengths_.end()) {
      is_stage = true;
      parts_ = length->second;
      for (auto& [name, items] : items_) items.Cut(parts_);
    }
    is_stage |= MakeChanges();
    if (is_stage) BeginStage();
    uint64_t size = block_;
    if (const auto next = lengths_.upper_bound(served_);
        next != lengths_.end()) {
      size = std::min(size, next->first - served_);
    }
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
  const uint64_t group_;
  std::map<uint64_t, uint32_t> lengths_;   // parts of an item, by sample
  uint32_t parts_ = 1;                     // now
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
