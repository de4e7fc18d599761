// SPDX-License-Identifier: Apache-2.0
// Runs that get a component while they go on, beside runs whose description had
// it from the beginning, with a weight of 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "index/keyed_hash.h"
#include "poniente/config.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/run.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

// The steps of these runs, and the one before which something is added.
constexpr uint64_t kGrownSteps = 300;
constexpr uint64_t kGrowsAt = 90;

using Served = std::vector<std::vector<uint32_t>>;

// Hashes of the tokens before each change, and at the end.
constexpr uint64_t kTokensOfEveryChange[] = {
    0xd3f589767016ab3cu, 0xcd4aeb1befbfe7f1u, 0x2b43199c2967d20du,
    0x2535f3c56ec40acau, 0x9efae109c743e55du, 0xac92d89ff4f5e268u,
    0xbedd180229b1118cu, 0x64b9543911a45b37u, 0x6acb677208bbec28u,
    0x600e3c07649bb775u, 0x2f300bc1bb643d22u, 0xf8324c145cbf41acu};

class AddedComponentTest : public testing::SmallStores {
 protected:
  void SetUp() override {
    testing::WriteDocuments(dir_.path("a"), 0, 10000);
    testing::WriteStore(dir_.path("b"), 1, 777);
    testing::WriteDocuments(dir_.path("d"), 3, 2500);
    testing::WriteDocuments(dir_.path("e"), 4, 900);
    std::ofstream(dir_.path("scores.bin"), std::ios::binary);
  }

  // Writes and opens a run; `more` goes behind [data], `components` behind
  // those that there are.
  Config Open(const std::string& name, const std::string& more = "",
              const std::string& components = "") const {
    std::ofstream(dir_.path(name + ".toml"))
        << "[data]\nseed = 7\nsteps = 300\nbatch_size = 8\nseq_len = 16\n"
        << "journal = \"" << name << ".journal\"\nblock_size = 32\n"
        << more << "\n[data.mixture]\na = { path = \"a\", weight = 0.5 }\n"
        << "b = { path = \"b\", weight = 0.2 }\n"
        << components;
    auto config = Config::Load(dir_.path(name + ".toml"));
    EXPECT_THAT(config, IsOk());
    return *std::move(config);
  }

  static std::vector<uint32_t> Step(Loader* loader) {
    auto batch = loader->NextBlocking();
    EXPECT_THAT(batch, IsOk());
    if (!batch.ok()) return {};
    const auto tokens = batch->tokens<uint32_t>();
    return {tokens.begin(), tokens.end()};
  }

  static std::unique_ptr<Loader> LoaderOf(const Config& config) {
    auto loader = config.OpenLoader();
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  // Serves the rest of the run.
  static Served Rest(Loader* loader) {
    Served served;
    while (loader->next_step() < kGrownSteps) served.push_back(Step(loader));
    return served;
  }

  // Adds a component to the run, and compares it with the run that has had it,
  // and gives it the weight at the same place: as it goes on, as it is opened
  // again, and resumed.
  void ExpectAsIfItHadBeenThere(const std::string& more,
                                const std::string& description,
                                double weight) const {
    const auto loader = LoaderOf(Open("grown", more));
    const auto twin = LoaderOf(Open(
        "twin", more,
        "new = " + absl::StrReplaceAll(description, {{"WEIGHT", "0"}}) + "\n"));
    for (uint64_t step = 0; step < kGrowsAt; ++step) {
      ASSERT_EQ(Step(loader.get()), Step(twin.get())) << "step " << step;
    }
    const std::string state = loader->State();
    const auto from = loader->Steer(RunChange::Add(
        "new",
        absl::StrReplaceAll(description, {{"WEIGHT", absl::StrCat(weight)}}),
        "week three"));
    ASSERT_THAT(from, IsOk());
    EXPECT_GE(*from, kGrowsAt);
    ASSERT_THAT(twin->Steer(RunChange::Weights({{"new", weight}})), IsOk());
    const Served served = Rest(loader.get());
    EXPECT_EQ(served, Rest(twin.get()));
    const Config again = Open("grown", more);
    EXPECT_GT(again.sources().size(), again.run().data.children.size());
    EXPECT_THAT(again.journal().bytes(), HasSubstr(" is "));
    const auto resumed = LoaderOf(again);
    ASSERT_THAT(resumed->Resume(state), IsOk());
    EXPECT_EQ(Rest(resumed.get()), served);
    // A state behind the change, on the run that is opened again.
    const auto later = LoaderOf(again);
    auto behind = resumed->State(200);
    ASSERT_THAT(behind, IsOk());
    ASSERT_THAT(later->Resume(*behind), IsOk());
    EXPECT_EQ(Step(later.get()), served[200 - kGrowsAt]);
    EXPECT_EQ(resumed->fingerprint(),
              LoaderOf(Open("old", more))->fingerprint());
    std::filesystem::remove(dir_.path("grown.journal"));
    std::filesystem::remove(dir_.path("twin.journal"));
  }
};

TEST_F(AddedComponentTest, OfAnyKindItIsAsIfItHadBeenThere) {
  for (const char* const description :
       {"{path = \"d\", weight = WEIGHT}",
        "{path = \"d\", weight = WEIGHT, shuffle = false, take = 50}",
        "{path = \"d\", weight = WEIGHT, filter = {fraction = 0.5}}",
        "{path = \"d\", weight = WEIGHT, documents = {fraction = 0.5, "
        "invert = true}}",
        "{flat = {x = {path = \"d\"}, y = {path = \"e\"}}, weight = WEIGHT}",
        "{path = \"d\", weight = WEIGHT, block_shuffle = {chunk_items = 4, "
        "window_chunks = 4}}"}) {
    SCOPED_TRACE(description);
    ExpectAsIfItHadBeenThere("", description, 0.4);
  }
}

TEST_F(AddedComponentTest, TheSettingsOfTheRunHoldForIt) {
  SCOPED_TRACE("lengths");
  ExpectAsIfItHadBeenThere(
      "seq_lens = [{start_step = 60, seq_len = 8}, {start_step = 150, seq_len "
      "= 4}]",
      "{path = \"d\", weight = WEIGHT}", 0.3);
  SCOPED_TRACE("packed windows of several lengths");
  ExpectAsIfItHadBeenThere(
      "seq_lens = [{start_step = 60, seq_len = 8}, {start_step = 150, seq_len "
      "= 4}]\n",
      "{path = \"d\", weight = WEIGHT, pack_documents = {chunk_documents = "
      "16}}",
      0.3);
  SCOPED_TRACE("packing above");
  ExpectAsIfItHadBeenThere("pack_documents = true",
                           "{path = \"d\", weight = WEIGHT}", 0.3);
  SCOPED_TRACE("filled in the middle");
  ExpectAsIfItHadBeenThere(
      "fill_in_the_middle = {rate = 0.5, prefix = 1, middle = 2, suffix = 3, "
      "pieces = \"all\", min_tokens = 8}",
      "{path = \"d\", weight = WEIGHT}", 0.3);
  SCOPED_TRACE("budget");
  ExpectAsIfItHadBeenThere("budget = {experiment = 38400, target = 60000}",
                           "{path = \"d\", weight = WEIGHT}", 0.3);
  SCOPED_TRACE("sizes, and a temperature");
  ExpectAsIfItHadBeenThere("weight_rule = \"sizes\"\ntemperature = 2",
                           "{path = \"d\", weight = WEIGHT}", 0.3);
}

TEST_F(AddedComponentTest, ItsTextSaysWhatTheValuesSay) {
  const auto text = [](const NodeComponent& component) {
    const auto change = AddComponent(component, "week three");
    EXPECT_THAT(change, IsOk());
    return change.ok() ? ToText(*change).value() : std::string();
  };
  EXPECT_EQ(text({"forum", 0.2, Source("stores/forum")}),
            R"(add "forum" { weight = 0.2, path = "stores/forum" } )"
            R"(why "week three")");
  EXPECT_EQ(
      text({"small talk", 1,
            Flat({{"a b", Source("a").Filter(Score("q.npy") >= 0.5)},
                  {"c", Concat({{"x", Source("x")}, {"", Source("y")}})}})
                .MaxEpochs(3)}),
      R"(add "small talk" { weight = 1.0, max_epochs = 3, )"
      R"(flat = { "a b" = { path = "a", filter = { scores = "q.npy", )"
      R"(at_least = 0.5 } }, c = { concat = [{ name = "x", path = "x" }, )"
      R"({ path = "y" }] } } } why "week three")");
  EXPECT_EQ(
      text({"m", 1,
            Mixture({{"p", 1, Source("p")}, {"q", 0, Source("q")}})
                .Stages({{.start = Samples(100), .weights = {{"q", 1}}}})}),
      R"(add "m" { weight = 1.0, mixture = { p = { weight = 1.0, )"
      R"(path = "p" }, q = { weight = 0.0, path = "q" } }, )"
      R"(stages = [{ start_sample = 100, weights = { q = 1.0 } }] } )"
      R"(why "week three")");
  // Alone, nothing would be drawn of these; their weights are checked later.
  EXPECT_EQ(text({"none", 0, Source("p")}),
            R"(add "none" { weight = 0.0, path = "p" } why "week three")");
  EXPECT_EQ(text({"unstated", {}, Source("p")}),
            R"(add "unstated" { path = "p" } why "week three")");
  EXPECT_THAT(AddComponent({"m", 1, Use("shared", Source("p"))}),
              StatusIs(kInvalid, HasSubstr("Use()")));
  EXPECT_THAT(AddComponent({"", 1, Source("p")}),
              StatusIs(kInvalid, HasSubstr("name")));
  const Config config = Open("run");
  EXPECT_THAT(AddComponent({"own", 1, Node(config.dataset())}),
              StatusIs(kInvalid, HasSubstr("component_opener")));
}

TEST_F(AddedComponentTest, AnIntegerThatNoTextCanStateIsRefused) {
  const std::string error =
      "data.mixture.m.take must be an integer from 1 to 4611686018427387904, "
      "got 18446744073709551615";
  const NodeComponent great = {"m", 0, Source("p").Take(UINT64_MAX)};
  EXPECT_THAT(AddComponent(great), StatusIs(kInvalid, error));
  EXPECT_THAT(SplitComponent("c", {{"n", 1, Source("n")}, great}),
              StatusIs(kInvalid, error));
}

TEST_F(AddedComponentTest, WhatIsWrongIsSaid) {
  const auto loader = LoaderOf(Open("run"));
  for (int i = 0; i < 5; ++i) Step(loader.get());
  const auto error = [&](const std::string& name,
                         const std::string& description) {
    const absl::Status status =
        loader->Steer(RunChange::Add(name, description)).status();
    EXPECT_EQ(loader->journal().size(), 0u);
    return status;
  };
  EXPECT_THAT(error("new", "{paht = \"d\", weight = 1}"),
              StatusIs(kInvalid, AllOf(HasSubstr("data.mixture.new.paht"),
                                       HasSubstr("did you mean 'path'?"))));
  EXPECT_THAT(error("new", "{path = \"d\"}"),
              StatusIs(kInvalid, HasSubstr("data.mixture.new needs a weight")));
  EXPECT_THAT(error("new", "{path = \"nowhere\", weight = 1}").message(),
              AllOf(HasSubstr("data.mixture.new"), HasSubstr("nowhere")));
  EXPECT_THAT(
      error("new", "{path = \"d\", weight = -1}"),
      StatusIs(kInvalid, HasSubstr("data.mixture.new.weight must be finite and "
                                   "at least 0, got -1")));
  EXPECT_THAT(error("new",
                    "{mixture = {x = {path = \"d\", weight = 2}}, "
                    "weights_sum = 1, weight = 0}"),
              StatusIs(kInvalid, HasSubstr("data.mixture.new has weights that "
                                           "sum to 2, not 1")));
  EXPECT_THAT(error("new", "{use = \"d\", weight = 1}"),
              StatusIs(kInvalid, HasSubstr("data.nodes does not have")));
  EXPECT_THAT(error("new", "{tokens = 100, weight = 1}"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("'new' cannot be read")));
  EXPECT_THAT(error("new", "{path = \"d\", weight = 1, seed = \"}"),
              StatusIs(kInvalid, HasSubstr("one inline table")));
  EXPECT_THAT(error("a", "{path = \"d\", weight = 1}"),
              StatusIs(kInvalid, HasSubstr("a component 'a' already")));
  EXPECT_THAT(error("new",
                    "{mixture = {x = {path = \"d\", weight = 1}}, weight = 1, "
                    "stages = [{start_step = 200, weights = {x = 2}}]}"),
              StatusIs(kInvalid, HasSubstr("state start_sample")));
  // Of another tokenizer, and shorter than a window.
  testing::WriteStore(dir_.path("other"), 5, 500, {"other", 250});
  EXPECT_THAT(error("new", "{path = \"other\", weight = 1}"),
              StatusIs(kInvalid, HasSubstr("other")));
  testing::WriteStore(dir_.path("five"), 5, 5);
  EXPECT_THAT(error("new", "{path = \"five\", weight = 1}").message(),
              HasSubstr("longer than every source"));
  RunChange change = RunChange::Add("new", "{path = \"d\", weight = 1}");
  change.path = "a";
  EXPECT_THAT(loader->Steer(change),
              StatusIs(kInvalid, HasSubstr("'a' is no mixture")));
  // The run goes on as it was, and takes one that is right.
  change.path.clear();
  EXPECT_THAT(loader->Steer(change), IsOk());
  EXPECT_THAT(loader->Steer(change),
              StatusIs(kInvalid, HasSubstr("a component 'new' already")));
}

TEST_F(AddedComponentTest, OtherDataIsRefusedWhenTheRunIsOpened) {
  {
    const auto loader = LoaderOf(Open("run"));
    ASSERT_THAT(
        loader->Steer(RunChange::Add("new", "{path = \"d\", weight = 1}")),
        IsOk());
  }
  std::filesystem::rename(dir_.path("d"), dir_.path("d.old"));
  EXPECT_EQ(Config::Load(dir_.path("run.toml")).status().code(),
            absl::StatusCode::kNotFound);
  std::filesystem::rename(dir_.path("e"), dir_.path("d"));
  EXPECT_THAT(Config::Load(dir_.path("run.toml")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("run.toml:6:11: data.journal"),
                             HasSubstr("'new' is other data now"))));
}

TEST_F(AddedComponentTest, RanksAddByOneLine) {
  const Config config = Open("run");
  std::vector<std::unique_ptr<Loader>> ranks;
  for (uint32_t r = 0; r < 2; ++r) {
    LoaderOptions options = config.loader_options();
    options.rank = r;
    options.ranks = 2;
    auto loader = config.OpenLoader(options);
    ASSERT_THAT(loader, IsOk());
    ranks.push_back(*std::move(loader));
  }
  const auto change = AddComponent({"new", 0.5, Source("d").LossWeight(1)});
  ASSERT_THAT(change, IsOk());
  const auto line = ranks[0]->Propose(*change);
  ASSERT_FALSE(line.ok());  // the run's batches have no loss weights
  const auto plain =
      ranks[0]->Propose(RunChange::Add("new", "{path = \"d\", weight = 1}"));
  ASSERT_THAT(plain, IsOk());
  EXPECT_THAT(*plain, HasSubstr(" is "));
  uint64_t from[2];
  for (int r = 0; r < 2; ++r) {
    const auto step = ranks[r]->Steer(*plain);
    ASSERT_THAT(step, IsOk());
    from[r] = *step;
  }
  EXPECT_EQ(from[0], from[1]);
  uint64_t of_new = 0;
  for (uint64_t step = 0; step < from[0] + 40; ++step) {
    for (const auto& loader : ranks) {
      auto batch = loader->NextBlocking();
      ASSERT_THAT(batch, IsOk());
      for (uint32_t i = 0; i < batch->num_samples(); ++i) {
        of_new += batch->source(i) == 2;
        ASSERT_LE(batch->source(i), step < from[0] ? 1u : 2u);
      }
    }
  }
  EXPECT_GT(of_new, 100u);
  for (const auto& loader : ranks) {
    EXPECT_EQ(loader->sources()[2].path, "new");
    EXPECT_EQ(loader->metrics().sources[2].path, "new");
    EXPECT_GT(loader->metrics().sources[2].samples, 50u);
  }
}

TEST_F(AddedComponentTest, ItDoesNotReadWhatIsHeldOut) {
  const std::string held_out = "hold_out = {documents = 0.1}";
  const auto loader = LoaderOf(Open("run", held_out));
  // A mixture above says so for it, too.
  ASSERT_THAT(
      loader->Steer(RunChange::Add("same", "{path = \"a\", weight = 1}")),
      IsOk());
  EXPECT_THAT(loader->Steer(RunChange::Add(
                  "all",
                  "{path = \"a\", weight = 1, hold_out = {documents = "
                  "0.1, seed = 5}}")),
              StatusIs(kInvalid, HasSubstr("hold")));
  const Config config = Open("run", held_out);
  EXPECT_EQ(config.sources().back().path, "same");
  EXPECT_TRUE(config.sources().back().hold_out.has_value());
}

// The parts of items that the samples before `end` read of some sources, with
// the epochs of these.
using Reads = std::vector<std::pair<std::string, LeafPosition>>;

Reads ReadsOf(const Config& config, uint64_t begin, uint64_t end) {
  const DatasetTree tree(*config.dataset());
  std::vector<Position> positions;
  for (uint64_t s = begin; s < end; ++s) positions.push_back({.index = s});
  std::vector<LeafPosition> items(positions.size());
  EXPECT_THAT(tree.Resolve(positions, items), IsOk());
  Reads reads;
  for (const LeafPosition& item : items) {
    reads.emplace_back(tree.leaves()[item.leaf].path, item);
  }
  return reads;
}

TEST_F(AddedComponentTest, PartsOfASplitComponentReadNothingTwice) {
  for (const std::string more :
       {"", "seq_lens = [{start_step = 60, seq_len = 8}]\ngroup_items = 4"}) {
    SCOPED_TRACE(more);
    const auto loader = LoaderOf(Open("run", more));
    for (uint64_t step = 0; step < kGrowsAt; ++step) Step(loader.get());
    const std::string state = loader->State();
    const auto change = SplitComponent(
        "a", {{"good", 0.4, Source("a").Filter(Fraction(0.5))},
              {"rest", 0.1, Source("a").Filter(!Fraction(0.5))}});
    ASSERT_THAT(change, IsOk());
    const auto from = loader->Steer(*change);
    ASSERT_THAT(from, IsOk());
    const uint64_t sample = loader->journal().sample(0);
    const Served served = Rest(loader.get());
    const Config again = Open("run", more);
    const auto resumed = LoaderOf(again);
    ASSERT_THAT(resumed->Resume(state), IsOk());
    EXPECT_EQ(Rest(resumed.get()), served);

    // The epoch of `a` at the change, and the first one of its parts.
    uint64_t epoch = 0;
    for (const auto& [path, item] : ReadsOf(again, 0, sample)) {
      if (path == "a") epoch = std::max(epoch, item.position.epoch);
    }
    std::set<std::pair<uint64_t, uint32_t>> seen;
    for (const auto& [path, item] : ReadsOf(again, 0, sample)) {
      if (path != "a" || item.position.epoch != epoch) continue;
      EXPECT_TRUE(
          seen.insert({item.position.index, item.position.part_begin}).second);
    }
    ASSERT_GT(seen.size(), 20u);
    std::map<std::string, uint64_t> first_epoch;
    std::set<uint64_t> items;
    for (const auto& [index, part] : seen) items.insert(index);
    for (const auto& [path, item] :
         ReadsOf(again, sample, again.schedule().samples())) {
      EXPECT_NE(path, "a");
      if (path == "b" || item.position.epoch > 0) continue;
      EXPECT_TRUE(
          seen.insert({item.position.index, item.position.part_begin}).second)
          << path << " reads item " << item.position.index << " again";
      items.insert(item.position.index);
      ++first_epoch[path];
    }
    EXPECT_GT(first_epoch["good"], 20u);
    EXPECT_GT(first_epoch["rest"], 20u);
    // 10000 tokens are 625 windows; both parts have come to their second epoch.
    if (more.empty()) {
      EXPECT_EQ(items.size(), 625u);
    }
    std::filesystem::remove(dir_.path("run.journal"));
  }
}

// Golden values: part of the order (CONTRIBUTING.md). One change of each kind,
// at the root and below it.
TEST_F(AddedComponentTest, ARunWithEveryKindOfChangeHasTheTokensItAlwaysHad) {
  const auto loader =
      LoaderOf(Open("golden", "",
                    "m = { weight = 0.3, block_size = 16, mixture = "
                    "{ x = { path = \"d\", weight = 1 },"
                    " y = { path = \"e\", weight = 1 } } }\n"));
  const auto below = [](RunChange change) {
    change.path = "m";
    return change;
  };
  const std::map<uint64_t, RunChange> changes = {
      {20, RunChange::Weights({{"a", 0.2}, {"b", 0.3}})},
      {40, RunChange::DropDocuments("a", {{20, 60}})},
      {60, RunChange::Add("new", "{path = \"e\", weight = 0.3}")},
      {80, below(RunChange::Weights({{"x", 3}}))},
      {100, RunChange::MaskDocuments("m/x", {{0, 30}})},
      {120, RunChange::Split("a", {{"part",
                                    "{path = \"a\", weight = 0.4, "
                                    "slice = [100, 400]}"}})},
      {140, below(RunChange::Add("z", "{path = \"b\", weight = 1}"))},
      {160, RunChange::DropItems("m/y", {{2, 3}, {5, 9}})},
      {180, RunChange::Temperature(2)},
      {200, RunChange::Retire({"b"})},
      {220, RunChange::Extend(400)}};
  std::vector<uint64_t> found;
  uint64_t hash = 0;
  for (uint64_t step = 0; step < 400; ++step) {
    const auto change = changes.find(step);
    if (change != changes.end()) {
      found.push_back(hash);
      ASSERT_THAT(loader->Steer(change->second), IsOk()) << step;
    }
    for (const uint32_t token : Step(loader.get())) {
      hash = internal::Absorb(hash, token);
    }
  }
  found.push_back(hash);
  EXPECT_THAT(found, ::testing::ElementsAreArray(kTokensOfEveryChange));
}

TEST_F(AddedComponentTest, WhatCannotBeSplitIsSaid) {
  const auto loader = LoaderOf(Open(
      "run", "",
      "m = { weight = 0.1, mixture = { x = { path = \"d\", weight = 1 } } }\n"
      "p = { weight = 0.1, path = \"d\", pack_documents = true }\n"));
  for (int i = 0; i < 5; ++i) Step(loader.get());
  const auto error = [&](const std::string& component,
                         const std::string& description) {
    const absl::Status status =
        loader->Steer(RunChange::Split(component, {{"part", description}}))
            .status();
    EXPECT_EQ(loader->journal().size(), 0u);
    return status;
  };
  const std::string of_d = "{path = \"d\", weight = 1, take = 20}";
  EXPECT_THAT(error("aa", of_d),
              StatusIs(kInvalid, HasSubstr("unknown component 'aa'")));
  EXPECT_THAT(error("m", of_d),
              StatusIs(kInvalid, HasSubstr("split one of its components")));
  EXPECT_THAT(error("p", of_d),
              StatusIs(kInvalid, HasSubstr("packed documents")));
  EXPECT_THAT(error("a", of_d),
              StatusIs(kInvalid, AllOf(HasSubstr("part 'part' of 'a'"),
                                       HasSubstr("does not have"))));
  EXPECT_THAT(error("a", "{path = \"a\", weight = 1, repeat = 2}"),
              StatusIs(kInvalid, HasSubstr("several times in an epoch")));
  EXPECT_THAT(error("a",
                    "{path = \"a\", weight = 1, documents = {fraction = "
                    "0.5}}"),
              StatusIs(kInvalid, HasSubstr("with the same documents")));
  EXPECT_THAT(error("a", "{paht = \"a\", weight = 1}"),
              StatusIs(kInvalid, HasSubstr("data.mixture.part.paht")));
  // A component below the root.
  RunChange change = RunChange::Split("x", {{"part", of_d}}, "half of it");
  change.path = "m";
  EXPECT_THAT(loader->Steer(change), IsOk());
  EXPECT_EQ(loader->sources().back().path, "m/part");
}

// Documents of `a` that samples of a run read from a sample on.
std::set<uint64_t> DocumentsFrom(const Config& config, uint64_t sample) {
  const DatasetTree tree(*config.dataset());
  std::set<uint64_t> documents;
  for (const auto& [path, item] :
       ReadsOf(config, sample, config.schedule().samples())) {
    if (path == "b") continue;
    for (const TreeLeaf& leaf : tree.leaves()) {
      if (leaf.path != path) continue;
      const auto pieces = PiecesOf(*leaf.node)->Pieces(item.position);
      EXPECT_THAT(pieces, IsOk());
      for (const ItemPiece& piece : *pieces) documents.insert(piece.document);
      break;
    }
  }
  return documents;
}

TEST_F(AddedComponentTest, WhatWasDroppedOrFilteredOutDoesNotComeBack) {
  struct Case {
    const char* whole;  // what `a` says besides its path and weight
    const char* part;
  };
  for (const Case& one : std::vector<Case>{
           {"", "{path = \"a\", weight = 1}"},
           {"",
            "{weight = 1, concat = [{path = \"a\", slice = [300, 625]}, "
            "{path = \"a\", slice = [0, 300]}]}"},
           {"",
            "{weight = 1, flat = {x = {path = \"a\", filter = {fraction = "
            "0.5}}, y = {path = \"a\", filter = {fraction = 0.5, invert = "
            "true}}}}"},
           {", filter = {fraction = 0.5}", "{path = \"a\", weight = 1}"},
           {", filter = {fraction = 0.5}",
            "{path = \"a\", weight = 1, filter = {fraction = 0.7, seed = "
            "3}}"}}) {
    SCOPED_TRACE(absl::StrCat(one.whole, " into ", one.part));
    std::ofstream(dir_.path("run.toml"))
        << "[data]\nseed = 7\nsteps = 900\nbatch_size = 8\nseq_len = 16\n"
        << "journal = \"run.journal\"\nblock_size = 32\n[data.mixture]\n"
        << "a = { path = \"a\", weight = 0.5" << one.whole << " }\n"
        << "b = { path = \"b\", weight = 0.2 }\n";
    const auto open = [&] {
      auto config = Config::Load(dir_.path("run.toml"));
      EXPECT_THAT(config, IsOk());
      return *std::move(config);
    };
    const Config whole = open();
    std::set<uint64_t> has;  // items
    for (const auto& [path, item] : ReadsOf(whole, 0, 7200)) {
      if (path == "a") has.insert(item.position.index);
    }
    const auto loader = LoaderOf(whole);
    for (int step = 0; step < 20; ++step) Step(loader.get());
    ASSERT_THAT(loader->Steer(RunChange::DropDocuments("a", {{50, 200}})),
                IsOk());
    for (int step = 0; step < 20; ++step) Step(loader.get());
    ASSERT_THAT(loader->Steer(RunChange::Split("a", {{"part", one.part}})),
                IsOk());
    const Config config = open();
    const uint64_t sample = config.journal().sample(1);
    for (const uint64_t document : DocumentsFrom(config, sample)) {
      ASSERT_FALSE(50 <= document && document < 200) << document;
    }
    std::set<uint64_t> reads;
    for (const auto& [path, item] : ReadsOf(config, sample, 7200)) {
      if (path == "b") continue;
      ASSERT_TRUE(has.contains(item.position.index)) << item.position.index;
      reads.insert(item.position.index);
    }
    EXPECT_GT(reads.size(), 100u);
    std::filesystem::remove(dir_.path("run.journal"));
  }
}

TEST_F(AddedComponentTest, WhatWasRefusedLeavesNothingBehind) {
  testing::WriteDocuments(dir_.path("news"), 9, 2000);
  const auto loader = LoaderOf(Open("run"));
  Step(loader.get());
  const auto add = [&](const std::string& name, const std::string& rest) {
    return RunChange::Add(name,
                          absl::StrCat("{weight = 1, path = ", rest, "}"));
  };
  const std::string holds_out = "\"d\", hold_out = {documents = 0.1}";
  // Only proposed: it is not there.
  ASSERT_THAT(loader->Propose(add("f1", "\"d\"")), IsOk());
  ASSERT_THAT(loader->Propose(add("f2", holds_out)), IsOk());
  ASSERT_THAT(loader->Steer(add("f1", "\"d\"")), IsOk());
  // Refused, as its name is there: f1 still reads d.
  EXPECT_FALSE(loader->Steer(add("f1", "\"news\"")).ok());
  EXPECT_THAT(loader->Steer(add("f2", holds_out)),
              StatusIs(kInvalid, HasSubstr("hold")));
  EXPECT_EQ(Open("run").journal().size(), 1u);
  // What lies there now is opened, not what was proposed.
  ASSERT_THAT(loader->Propose(add("f3", "\"e\"")), IsOk());
  std::filesystem::remove_all(dir_.path("e"));
  std::filesystem::rename(dir_.path("news"), dir_.path("e"));
  ASSERT_THAT(loader->Steer(add("f3", "\"e\"")), IsOk());
  EXPECT_EQ(Open("run").journal().size(), 2u);
}

TEST_F(AddedComponentTest, WhatAnEvaluationReadsIsSaid) {
  const Config config =
      Open("run", "", "[data.eval.held]\npath = \"d\"\nmax_samples = 20\n");
  LoaderOptions options = config.loader_options();
  std::vector<std::string> warnings;
  options.warning_sink = [&](std::string_view line) {
    warnings.emplace_back(line);
  };
  auto loader = config.OpenLoader(options);
  ASSERT_THAT(loader, IsOk());
  ASSERT_THAT(
      (*loader)->Steer(RunChange::Add("new", "{path = \"d\", weight = 1}")),
      IsOk());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("data.eval.held"),
                                 HasSubstr("training source 'new'")));
}

TEST_F(AddedComponentTest, AnEnormousComponentIsNotLookedThrough) {
  std::ofstream(dir_.path("run.toml"))
      << "[data]\nsteps = 100\nbatch_size = 8\nseq_len = 16\n"
      << "journal = \"run.journal\"\nblock_size = 32\n"
      << "[data.mixture]\nw = { tokens = 1000000000000000, weight = 1 }\n";
  Journal journal;
  const auto line = journal.LineOf(
      RunChange::Split("w", {{"p", "{tokens = 16000, weight = 1}"}}), 64, 8);
  ASSERT_THAT(line, IsOk());
  ASSERT_THAT(journal.Append(*line), IsOk());
  std::ofstream(dir_.path("run.journal"), std::ios::binary) << journal.bytes();
  EXPECT_THAT(Config::Load(dir_.path("run.toml")),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("change 1"),
                             HasSubstr("more than 8589934592 items"))));
}

}  // namespace
}  // namespace poniente
