// SPDX-License-Identifier: Apache-2.0
// Random journals of every kind of change, beside the slow twin of the run
// that they change: components in full shuffles, a flat mixture, a mixture
// below the root, one stage; with samples that are items, and with samples of
// lengths that change (then without the mixture below). Shuffles by eras and
// chunks, views, mixtures below mixtures below the root and parts that are
// nodes have tests of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataset/steering/steered_run.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/opened_component.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/flat_mixture.h"
#include "poniente/journal.h"
#include "poniente/mixture_dataset.h"
#include "poniente/schedule.h"
#include "poniente/selection.h"
#include "poniente/transforms.h"
#include "tests/dataset/items_of_run.h"
#include "tests/dataset/slow_run.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::IsOk;
using testing::ItemsOfRun;
using testing::SlowItems;
using testing::SlowMixtureRun;
using testing::SlowPath;
using testing::SlowRunItem;
using testing::SlowSample;

constexpr uint64_t kRunSeed = 42;
constexpr uint32_t kWindow = 4;
constexpr uint32_t kPaddingId = 0;

uint32_t IdOf(uint64_t token) { return static_cast<uint32_t>(1 + token % 250); }

// Windows of a source of documents.
class WindowsOfDocuments final : public AsyncDataset<TokenWindow>,
                                 public PiecewiseItems {
 public:
  // `ends`: of the documents, in tokens.
  WindowsOfDocuments(std::string source, std::vector<uint64_t> ends)
      : source_(std::move(source)), ends_(std::move(ends)) {}

  uint64_t items() const { return ends_.back() / kWindow; }
  uint64_t documents() const { return ends_.size(); }
  uint64_t DocumentAt(uint64_t token) const {
    return static_cast<uint64_t>(
        std::upper_bound(ends_.begin(), ends_.end(), token) - ends_.begin());
  }

  std::string name() const override { return source_; }
  const Vocabulary* vocabulary() const override { return &vocabulary_; }
  uint32_t item_tokens() const override { return kWindow; }
  uint32_t padding_id() const override { return kPaddingId; }
  uint64_t fingerprint() const override {
    return std::hash<std::string>()(source_);
  }
  LengthState length_now() const override {
    return LengthState::Final(items());
  }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    std::vector<TokenWindow> windows;
    for (const Index index : indices) {
      std::vector<uint32_t> tokens;
      for (uint32_t t = 0; t < kWindow; ++t) {
        tokens.push_back(IdOf(index * kWindow + t));
      }
      windows.emplace_back(std::move(tokens));
    }
    co_return windows;
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    std::vector<ItemPiece> pieces;
    const uint64_t begin = position.index * kWindow + position.part_begin;
    const uint64_t end = begin + std::min(position.part_length, kWindow);
    for (uint64_t at = begin; at < end;) {
      const uint64_t document = DocumentAt(at);
      const uint64_t piece_end = std::min(ends_[document], end);
      pieces.push_back({document, at, piece_end});
      at = piece_end;
    }
    return pieces;
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    if (document >= documents()) return absl::OutOfRangeError("no document");
    std::vector<PieceOfItem> parts;
    const uint64_t end = std::min(ends_[document], items() * kWindow);
    for (uint64_t at = BeginOf(document); at < end;) {
      const uint64_t item = at / kWindow;
      const uint64_t part_end = std::min(end, (item + 1) * kWindow);
      parts.push_back(
          {item, static_cast<uint32_t>(at % kWindow), at, part_end});
      at = part_end;
    }
    return parts;
  }

 private:
  uint64_t BeginOf(uint64_t document) const {
    return document == 0 ? 0 : ends_[document - 1];
  }

  const std::string source_;
  const std::vector<uint64_t> ends_;
  const Vocabulary vocabulary_ = {"counting", 251};
};

using Source = std::shared_ptr<const WindowsOfDocuments>;

// A component of one source, as the run reads it.
struct Leaf {
  Source source;
  std::string mixture;           // path of the mixture
  std::string name;              // in the mixture
  std::string source_name = {};  // below a flat mixture
  // The items it was made of; of the source's items.
  std::set<SlowRunItem> items = {};
  // What is or will be dropped of it.
  std::set<SlowRunItem> dropped = {};
  bool is_retired = false;

  std::string component() const { return SlowPath(mixture, name); }
  std::string path() const { return SlowPath(component(), source_name); }
};

struct Mask {
  std::string path;
  uint64_t sample;
  std::set<uint64_t> documents;
};

// A run of the components web, code, small/a, small/b and, where samples are
// items, mixed/x and mixed/y, a random journal of it, and its slow twin.
class RandomJournal {
 public:
  // `is_cut`: samples are items or parts of them.
  RandomJournal(uint64_t seed, bool is_cut) : random_(seed) {
    if (is_cut) MakeLengths();
    block_ = 1 + random_() % 30;
    nested_block_ = 1 + random_() % 12;
    stage_ = 100 + random_() % 700;
    for (const auto& [path, items] :
         std::map<std::string, uint64_t>{{"web", 150},
                                         {"code", 47},
                                         {"small/a", 20},
                                         {"small/b", 63},
                                         {"mixed/x", 35},
                                         {"mixed/y", 40}}) {
      sources_[path] = MakeSource(path, items);
    }
    const uint64_t mixed_seed = testing::SlowChildSeed(kRunSeed, "mixed");
    mixed_ = std::make_shared<SlowMixtureRun>(mixed_seed, nested_block_);
    twin_ = std::make_shared<SlowMixtureRun>(kRunSeed, block_, group_);
    for (const auto& [start, parts] : parts_) twin_->SetParts(start, parts);
    for (const std::string name : {"x", "y"}) {
      if (!has_mixed()) break;
      AddLeaf({sources_.at("mixed/" + name), "mixed", name});
      mixed_->Add(name, name == "x" ? 1 : 2,
                  SlowItems(mixed_seed, name, ItemsOf(leaves_.back())));
    }
    for (const std::string name : {"web", "code"}) {
      AddLeaf({sources_.at(name), "", name});
      twin_->Add(name, name == "web" ? 0.5 : 0.2,
                 SlowItems(kRunSeed, name, ItemsOf(leaves_.back())));
    }
    std::vector<SlowRunItem> small;
    for (const std::string name : {"a", "b"}) {
      AddLeaf({sources_.at("small/" + name), "", "small", name});
      for (const SlowRunItem& item : ItemsOf(leaves_.back())) {
        small.push_back(item);
      }
    }
    twin_->Add("small", 0.2, SlowItems(kRunSeed, "small", small, true));
    if (has_mixed()) twin_->Add("mixed", 0.1, mixed_);
    twin_->SetStage(stage_, {{"web", 0.1}, {"code", 0.4}});
  }

  SteeredRun Begin() const {
    MixtureOptions nested;
    nested.block_size = nested_block_;
    auto mixed = MixtureDataset<TokenWindow>::Create(
        {{.name = "x", .dataset = sources_.at("mixed/x"), .weight = 1},
         {.name = "y", .dataset = sources_.at("mixed/y"), .weight = 2}},
        nested);
    EXPECT_THAT(mixed, IsOk());
    auto small = FlatMixture<TokenWindow>::Create(
        {{"a", sources_.at("small/a")}, {"b", sources_.at("small/b")}});
    EXPECT_THAT(small, IsOk());
    MixtureOptions options;
    options.block_size = block_;
    options.seed = kRunSeed;
    options.stages = {
        {.start = stage_, .weights = {{"web", 0.1}, {"code", 0.4}}}};
    if (!parts_.empty()) options.max_seq_len = kWindow;
    for (const auto& [start, parts] : parts_) {
      options.seq_lens.push_back({start, kWindow / parts});
    }
    options.group_items = group_;
    std::vector<MixtureComponent<TokenWindow>> components = {
        {.name = "web", .dataset = sources_.at("web"), .weight = 0.5},
        {.name = "code", .dataset = sources_.at("code"), .weight = 0.2},
        {.name = "small", .dataset = *small, .weight = 0.2}};
    if (has_mixed()) {
      components.push_back({.name = "mixed", .dataset = *mixed, .weight = 0.1});
    }
    auto root = MixtureDataset<TokenWindow>::Create(components, options);
    EXPECT_THAT(root, IsOk());
    ScheduleOptions run;
    run.batch_size = kBatch;
    run.seq_len = kWindow;
    run.max_seq_len = kWindow;
    for (const auto& [start, parts] : parts_) {
      SeqLenStage length;
      length.start = RunPoint::Step(static_cast<int64_t>(start / kBatch));
      length.seq_len = kWindow / parts;
      if (start == 0) {
        run.seq_len = length.seq_len;
      } else {
        run.seq_lens.push_back(length);
      }
    }
    run.steps = kSteps;
    return {*root, *Schedule::Create(run)};
  }

  absl::StatusOr<SteeredRun> Steer(
      SteeredRun run, std::span<const JournalEntry> entries) const {
    return Steered(
        std::move(run), entries,
        [this](const std::string& mixture,
               const ComponentText& text) -> absl::StatusOr<OpenedComponent> {
          OpenedComponent opened;
          opened.part.component = opened_.at(SlowPath(mixture, text.name));
          return opened;
        });
  }

  // Decides random changes while the twin is read, and reads on after them.
  void Run() {
    SteeredRun run = Begin();
    const uint64_t changes = 1 + random_() % 9;
    for (uint64_t i = 0; i < changes; ++i) {
      ReadTo(samples_.size() + random_() % 200);
      Decision decision;
      if (!Decide(&decision)) continue;
      // The run has served these samples, so the change holds after them.
      const uint64_t served = samples_.size();
      const uint64_t sample =
          EarliestChange(*run.dataset, decision.change, served);
      if (decision.change.kind == RunChange::Kind::kDrop && served == 0) {
        ASSERT_EQ(sample, 0u);
      } else {
        ReadTo(std::max<uint64_t>(served, 1));
        while (!twin_->IsBetweenBlocks()) ReadTo(samples_.size() + 1);
        ASSERT_EQ(sample, samples_.size());
      }
      const auto line =
          journal_.LineOf(decision.change, sample, served / kBatch);
      ASSERT_THAT(line, IsOk());
      const auto entry = journal_.Append(*line);
      ASSERT_THAT(entry, IsOk());
      kinds_.insert(KindOf(decision.change));
      decision.make(sample);
      auto next = Steer(run, std::span(&*entry, 1));
      ASSERT_THAT(next, IsOk()) << *line;
      run = *std::move(next);
    }
    ReadTo(samples_.size() + 600);
    steered_ = std::move(run);
  }

  const Journal& journal() const { return journal_; }
  const SteeredRun& steered() const { return *steered_; }
  const std::vector<SlowSample>& samples() const { return samples_; }
  uint64_t steps() const { return steps_; }
  const std::set<std::string>& kinds() const { return kinds_; }

  // The tokens of a sample.
  std::vector<uint32_t> TokensOf(uint64_t number) const {
    const SlowSample& sample = samples_[number];
    const auto leaf = std::find_if(
        leaves_.begin(), leaves_.end(),
        [&](const Leaf& one) { return one.path() == sample.path; });
    std::vector<uint32_t> tokens;
    const uint32_t length = kWindow / sample.parts;
    for (uint32_t t = 0; t < length; ++t) {
      const uint64_t token = sample.item * kWindow + sample.part * length + t;
      tokens.push_back(IdOf(token));
      for (const Mask& mask : masks_) {
        if (mask.path == sample.path && mask.sample <= number &&
            mask.documents.contains(leaf->source->DocumentAt(token))) {
          tokens.back() = kPaddingId;
        }
      }
    }
    return tokens;
  }

 private:
  static constexpr uint64_t kSteps = 100'000;
  static constexpr uint64_t kBatch = 8;

  bool has_mixed() const { return parts_.empty(); }

  // Some lengths, each another than the one before it.
  void MakeLengths() {
    group_ = random_() % 6;
    uint32_t before = 0;
    for (uint64_t start = 0; start < 900;
         start += kBatch * (1 + random_() % 80)) {
      const uint32_t parts = std::array{1u, 2u, 4u}[random_() % 3];
      if (parts != before) parts_[start] = before = parts;
    }
  }

  struct Decision {
    RunChange change;
    std::function<void(uint64_t sample)> make;  // in the twin
  };

  static std::string KindOf(const RunChange& change) {
    const char* const path = change.path.empty() ? " root" : " below";
    switch (change.kind) {
      case RunChange::Kind::kWeights:
        return absl::StrCat("weights", path);
      case RunChange::Kind::kTemperature:
        return absl::StrCat("temperature", path);
      case RunChange::Kind::kRetire:
        return absl::StrCat("retire", path);
      case RunChange::Kind::kExtend:
        return "extend";
      case RunChange::Kind::kDrop:
        return change.masks         ? "mask"
               : change.drops_items ? "drop items"
                                    : "drop documents";
      case RunChange::Kind::kAdd:
        return absl::StrCat("add", path);
      case RunChange::Kind::kSplit:
        return absl::StrCat("split", path);
    }
    return "";
  }

  Source MakeSource(const std::string& name, uint64_t items) {
    std::vector<uint64_t> ends;
    uint64_t end = 0;
    while (end < items * kWindow) {
      end = std::min(end + 1 + random_() % 14, items * kWindow);
      ends.push_back(end);
    }
    return std::make_shared<WindowsOfDocuments>(name, std::move(ends));
  }

  void AddLeaf(Leaf leaf) {
    for (uint64_t i = 0; leaf.items.size() < leaf.source->items(); ++i) {
      leaf.items.insert({leaf.source_name, i});
    }
    leaves_.push_back(std::move(leaf));
  }

  static std::vector<SlowRunItem> ItemsOf(const Leaf& leaf) {
    return {leaf.items.begin(), leaf.items.end()};
  }

  void ReadTo(uint64_t sample) {
    while (samples_.size() < sample) samples_.push_back(twin_->Next());
  }

  SlowMixtureRun& TwinOf(const std::string& mixture) {
    return mixture.empty() ? *twin_ : *mixed_;
  }

  double Weight() { return static_cast<double>(1 + random_() % 9) / 10; }

  // Components of a mixture that are drawn.
  std::vector<std::string> Drawn(const std::string& mixture) const {
    std::set<std::string> names;
    if (mixture.empty() && has_mixed()) names.insert("mixed");
    for (const Leaf& leaf : leaves_) {
      if (leaf.mixture == mixture && !leaf.is_retired) names.insert(leaf.name);
    }
    return {names.begin(), names.end()};
  }

  std::string OneOf(const std::vector<std::string>& names) {
    return names[random_() % names.size()];
  }

  // Returns false if nothing of the chosen kind can be changed.
  bool Decide(Decision* decision) {
    // What was masked is often split.
    if (const auto masked = std::exchange(masked_, std::nullopt);
        masked && random_() % 2 == 0) {
      return DecideSplit(*masked, decision);
    }
    const std::string mixture =
        has_mixed() && random_() % 3 == 0 ? "mixed" : "";
    switch (random_() % 9) {
      case 0:
        return DecideWeights(mixture, decision);
      case 1: {
        const double temperature = std::array{0.5, 2.0, 5.0}[random_() % 3];
        decision->change = RunChange::Temperature(temperature);
        return Stage(mixture, decision, [temperature](SlowMixtureRun* run) {
          run->SetTemperature(temperature);
        });
      }
      case 2:
        return DecideRetire(mixture, decision);
      case 3:
        steps_ += 1 + random_() % 100;
        decision->change = RunChange::Extend(steps_, "more");
        decision->make = [](uint64_t) {};
        return true;
      case 4:
      case 5:
        return DecideDrop(decision);
      case 6:
        return DecideMask(decision);
      case 7:
        return DecideAdd(mixture, decision);
      default:
        return DecideSplit(random_() % leaves_.size(), decision);
    }
  }

  bool Stage(const std::string& mixture, Decision* decision,
             std::function<void(SlowMixtureRun*)> make) {
    decision->change.path = mixture;
    decision->make = [this, mixture, make = std::move(make)](uint64_t) {
      TwinOf(mixture).Decide({true, false, make});
    };
    return true;
  }

  bool DecideWeights(const std::string& mixture, Decision* decision) {
    std::map<std::string, double> weights;
    const std::vector<std::string> drawn = Drawn(mixture);
    for (uint64_t i = 0; i < 1 + random_() % 2; ++i) {
      weights[OneOf(drawn)] = Weight();
    }
    decision->change = RunChange::Weights(weights, "losses");
    return Stage(mixture, decision,
                 [weights](SlowMixtureRun* run) { run->Weigh(weights); });
  }

  bool DecideRetire(const std::string& mixture, Decision* decision) {
    const std::vector<std::string> drawn = Drawn(mixture);
    const std::string name = OneOf(drawn);
    if (drawn.size() < 3 || name == "mixed" || name == "web") return false;
    for (Leaf& leaf : leaves_) {
      leaf.is_retired |= leaf.mixture == mixture && leaf.name == name;
    }
    decision->change = RunChange::Retire({name});
    return Stage(mixture, decision,
                 [name](SlowMixtureRun* run) { run->Retire(name); });
  }

  // A run of documents of a source.
  static NumberRange SomeDocuments(const Leaf& leaf, uint64_t random) {
    const uint64_t first = random % leaf.source->documents();
    return {first,
            std::min(first + 1 + random / 7919 % 3, leaf.source->documents())};
  }

  bool DecideDrop(Decision* decision) {
    Leaf& leaf = leaves_[random_() % leaves_.size()];
    std::set<SlowRunItem> items;
    if (random_() % 2 == 0) {
      std::vector<NumberRange> ranges;
      for (uint64_t i = 0; i < leaf.source->items(); ++i) {
        if (random_() % 15 != 0) continue;
        ranges.push_back({i, i + 1});
        items.insert({leaf.source_name, i});
      }
      if (ranges.empty()) return false;
      decision->change = RunChange::DropItems(leaf.path(), ranges);
    } else {
      const NumberRange documents = SomeDocuments(leaf, random_());
      decision->change = RunChange::DropDocuments(leaf.path(), {documents});
      for (uint64_t d = documents.begin; d < documents.end; ++d) {
        const auto parts = leaf.source->ItemsOf(d);
        for (const PieceOfItem& part : *parts) {
          items.insert({leaf.source_name, part.item});
        }
      }
    }
    // Something has to be left.
    std::set<SlowRunItem> dropped = leaf.dropped;
    dropped.insert(items.begin(), items.end());
    if (std::all_of(leaf.items.begin(), leaf.items.end(),
                    [&](const auto& one) { return dropped.contains(one); })) {
      return false;
    }
    leaf.dropped = std::move(dropped);
    decision->make = [this, items, mixture = leaf.mixture,
                      name = leaf.name](uint64_t) {
      TwinOf(mixture).Decide({false, true, [items, name](SlowMixtureRun* run) {
                                run->items(name).Drop(items);
                              }});
    };
    return true;
  }

  bool DecideMask(Decision* decision) {
    masked_ = random_() % leaves_.size();
    const Leaf& leaf = leaves_[*masked_];
    const NumberRange documents = SomeDocuments(leaf, random_());
    decision->change = RunChange::MaskDocuments(leaf.path(), {documents});
    Mask mask = {leaf.path(), 0, {}};
    for (uint64_t d = documents.begin; d < documents.end; ++d) {
      mask.documents.insert(d);
    }
    decision->make = [this, mask](uint64_t sample) {
      masks_.push_back({mask.path, sample, mask.documents});
    };
    return true;
  }

  bool DecideAdd(const std::string& mixture, Decision* decision) {
    // Names before, between and behind those that are there.
    const std::string name =
        absl::StrCat(std::string(1, "0apz"[random_() % 4]), ++added_);
    const Source source =
        MakeSource(SlowPath(mixture, name), 1 + random_() % 90);
    const double weight = Weight();
    AddLeaf({source, mixture, name});
    opened_[SlowPath(mixture, name)] = {
        .name = name, .dataset = source, .weight = weight};
    const SlowItems items(TwinOf(mixture).seed(), name,
                          ItemsOf(leaves_.back()));
    decision->change = RunChange::Add(name, "{}", "week three");
    return Stage(mixture, decision,
                 [=](SlowMixtureRun* run) { run->Add(name, weight, items); });
  }

  bool DecideSplit(size_t which, Decision* decision) {
    const Leaf whole = leaves_[which];
    if (whole.is_retired || !whole.source_name.empty()) return false;
    struct Part {
      std::string name;
      std::set<SlowRunItem> items;
      double weight;
    };
    std::vector<Part> parts;
    for (uint64_t p = 0; p < 2 + random_() % 2; ++p) {
      parts.push_back({absl::StrCat(whole.name, "_", p), {}, Weight()});
    }
    for (const SlowRunItem& item : whole.items) {
      // Some are of no part any more.
      const uint64_t part = random_() % (parts.size() * 8 + 1) / 8;
      if (part < parts.size()) parts[part].items.insert(item);
    }
    for (const Part& part : parts) {
      // Each has to have something.
      if (std::all_of(part.items.begin(), part.items.end(),
                      [&](const SlowRunItem& item) {
                        return whole.dropped.contains(item);
                      })) {
        return false;
      }
    }
    std::vector<ComponentText> texts;
    leaves_[which].is_retired = true;
    for (const Part& part : parts) {
      texts.push_back({part.name, "{}"});
      Leaf leaf = {whole.source, whole.mixture, part.name, "", part.items};
      leaf.dropped = whole.dropped;
      std::vector<uint64_t> numbers;
      for (const SlowRunItem& item : part.items) numbers.push_back(item.item);
      auto selection =
          Selection::FromIndices(whole.source->items(), std::move(numbers));
      EXPECT_THAT(selection, IsOk());
      auto filtered =
          Filter(DatasetPtr<TokenWindow>(whole.source), *std::move(selection));
      EXPECT_THAT(filtered, IsOk());
      opened_[leaf.path()] = {.name = part.name,
                              .dataset = *std::move(filtered),
                              .weight = part.weight};
      leaves_.push_back(std::move(leaf));
    }
    decision->change = RunChange::Split(whole.name, std::move(texts));
    decision->change.path = whole.mixture;
    decision->make = [=, this](uint64_t) {
      TwinOf(whole.mixture).Decide({true, false, [=](SlowMixtureRun* run) {
                                      const SlowItems from =
                                          run->items(whole.name);
                                      for (const Part& part : parts) {
                                        run->Add(
                                            part.name, part.weight,
                                            from.Part(part.name, part.items));
                                      }
                                      run->Retire(whole.name);
                                    }});
      // Parts are masked as the whole was.
      const std::vector<Mask> masks = masks_;
      for (const Mask& mask : masks) {
        if (mask.path != whole.path()) continue;
        for (const Part& part : parts) {
          masks_.push_back({SlowPath(whole.mixture, part.name), mask.sample,
                            mask.documents});
        }
      }
    };
    return true;
  }

  std::mt19937_64 random_;
  uint64_t group_ = 0;                  // items; 0: the default
  std::map<uint64_t, uint32_t> parts_;  // of an item, by sample; empty: 1
  uint64_t block_ = 1;
  uint64_t nested_block_ = 1;
  uint64_t stage_ = 0;
  std::map<std::string, Source> sources_;
  std::map<std::string, MixtureComponent<TokenWindow>> opened_;  // by path
  std::vector<Leaf> leaves_;
  std::vector<Mask> masks_;
  std::shared_ptr<SlowMixtureRun> mixed_;
  std::shared_ptr<SlowMixtureRun> twin_;
  std::vector<SlowSample> samples_;
  Journal journal_;
  std::optional<SteeredRun> steered_;
  std::set<std::string> kinds_;
  uint64_t steps_ = kSteps;
  uint64_t added_ = 0;
  std::optional<size_t> masked_;  // by the last change
};

void ExpectIsTwin(const RandomJournal& journal, std::mt19937_64* random) {
  const SteeredRun& run = journal.steered();
  const std::vector<SlowSample>& expected = journal.samples();
  const DatasetTree tree(*run.dataset);
  const std::vector<LeafPosition> items = ItemsOfRun(tree, expected.size());
  for (uint64_t s = 0; s < expected.size(); ++s) {
    const LeafPosition& item = items[s];
    const uint32_t length = std::min(item.position.part_length, kWindow);
    const SlowSample got = {
        tree.leaves()[item.leaf].path, item.position.index, item.position.epoch,
        item.position.part_begin / length, kWindow / length};
    ASSERT_EQ(got, expected[s]) << "sample " << s;
  }
  EXPECT_EQ(run.schedule.steps(), journal.steps());
  // All entries at once, as a resumed run opens them, from the journal's bytes.
  const auto parsed = Journal::Parse(journal.journal().bytes());
  ASSERT_THAT(parsed, IsOk());
  const auto at_once = journal.Steer(journal.Begin(), parsed->entries());
  ASSERT_THAT(at_once, IsOk());
  ASSERT_EQ(ItemsOfRun(*at_once->dataset, expected.size()), items);
  // And back; and the tokens.
  std::vector<Position> positions;
  std::vector<uint64_t> looked;
  for (int look = 0; look < 100; ++look) {
    const uint64_t s = (*random)() % expected.size();
    const auto found = tree.Find(items[s]);
    ASSERT_THAT(found, IsOk());
    ASSERT_TRUE(found->has_value()) << "sample " << s;
    ASSERT_EQ((*found)->index, s);
    looked.push_back(s);
    positions.push_back({.index = s});
  }
  const auto windows = RunBlocking(at_once->dataset->GetAt(positions));
  ASSERT_THAT(windows, IsOk());
  for (size_t i = 0; i < looked.size(); ++i) {
    ASSERT_EQ((*windows)[i].tokens, journal.TokensOf(looked[i]))
        << "sample " << looked[i];
  }
}

// `expected`: kinds of changes of which none may be left out.
void CompareJournals(uint64_t seed_of_seeds, bool are_cut,
                     const std::vector<std::string>& expected) {
  std::mt19937_64 random(seed_of_seeds);
  std::map<std::string, int> kinds;
  const int rounds = testing::TestRounds(150);
  for (int round = 0; round < rounds; ++round) {
    const uint64_t seed = random();
    RandomJournal journal(seed, are_cut);
    journal.Run();
    if (!::testing::Test::HasFatalFailure()) ExpectIsTwin(journal, &random);
    if (::testing::Test::HasFatalFailure()) {
      FAIL() << "journal of seed " << seed << ", round " << round << ":\n"
             << journal.journal().bytes();
    }
    for (const std::string& kind : journal.kinds()) ++kinds[kind];
  }
  if (rounds < 100) return;
  for (const std::string& kind : expected) EXPECT_GT(kinds[kind], 0) << kind;
}

TEST(RandomJournalsTest, EveryKindOfChangeIsThatOfTheSlowTwin) {
  CompareJournals(
      testing::TestSeed(97), /*are_cut=*/false,
      {"weights root", "weights below", "temperature root", "temperature below",
       "retire root", "retire below", "extend", "drop items", "drop documents",
       "mask", "add root", "add below", "split root", "split below"});
}

TEST(RandomJournalsTest, SoItIsWhereLengthsChange) {
  CompareJournals(
      testing::TestSeed(98), /*are_cut=*/true,
      {"weights root", "temperature root", "retire root", "extend",
       "drop items", "drop documents", "mask", "add root", "split root"});
}

}  // namespace
}  // namespace poniente::internal
