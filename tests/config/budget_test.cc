// SPDX-License-Identifier: Apache-2.0
// Simulated epoching: runs whose sources are cut to a budget.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/dataset_tree.h"
#include "poniente/packing.h"
#include "poniente/run.h"
#include "poniente/run_trace.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

using Item = std::pair<std::string, uint64_t>;

class BudgetTest : public testing::SmallStores {
 protected:
  absl::StatusOr<Config> Try(const std::string& text) const {
    return Config::Parse(text, "t.toml", dir_.path());
  }
  Config Parsed(const std::string& text) const {
    absl::StatusOr<Config> config = Try(text);
    EXPECT_TRUE(config.ok()) << config.status() << '\n' << text;
    return *std::move(config);
  }

  // How often each item is read.
  static std::map<Item, uint64_t> ReadsOf(const Config& config) {
    const RunTrace trace(*config.dataset(), config.schedule());
    std::map<Item, uint64_t> reads;
    for (uint64_t step = 0; config.schedule().Has(step); ++step) {
      const auto samples = trace.Resolve(step);
      for (const SampleOrigin& sample : *samples) {
        ++reads[{sample.path, sample.item}];
      }
    }
    return reads;
  }
  static std::set<Item> ItemsOf(const Config& config) {
    std::set<Item> items;
    for (const auto& [item, count] : ReadsOf(config)) items.insert(item);
    return items;
  }
};

std::string MixtureText(uint64_t steps, const std::string& budget) {
  return absl::StrCat("[data]\nseed = 3\nsteps = ", steps,
                      "\nbatch_size = 10\nseq_len = 20\nblock_size = 10\n",
                      budget,
                      "[data.mixture]\na = { path = 'a', weight = 6 }\n"
                      "c = { path = 'c', weight = 3 }\n"
                      "x = { weight = 1, flat = { b = { path = 'b' }, d = { "
                      "path = 'c', slice = [0, 50] } } }\n");
}

TEST_F(BudgetTest, AShortRunRepeatsItsDataAsOftenAsTheLongOne) {
  // 500 windows of a, 150 of c; 38 of b and 50 of c. 1200 samples of a: 2.4
  // epochs, of c 600: 4, of the rest 200: 2.27.
  const Config lengthy = Parsed(MixtureText(200, ""));
  const Config brief = Parsed(
      MixtureText(20, "budget = { experiment = 4_000, target = 40_000 }\n"));
  const auto items = [](const Config& config) {
    std::map<std::string, std::pair<uint64_t, uint64_t>> by_source;
    for (const auto& [item, count] : ReadsOf(config)) {
      auto& [distinct, reads] = by_source[item.first];
      ++distinct;
      reads += count;
    }
    return by_source;
  };
  const auto all = items(lengthy);
  const auto kept = items(brief);
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(kept.at("a"), (std::pair<uint64_t, uint64_t>(50, 120)));
  EXPECT_EQ(kept.at("c"), (std::pair<uint64_t, uint64_t>(15, 60)));
  EXPECT_EQ(all.at("a"), (std::pair<uint64_t, uint64_t>(500, 1200)));
  EXPECT_EQ(all.at("c"), (std::pair<uint64_t, uint64_t>(150, 600)));
  EXPECT_EQ(kept.at("x/b").first, 4u);
  EXPECT_EQ(kept.at("x/d").first, 5u);
  // Only the items of its slice.
  for (const auto& [path, item] : ItemsOf(brief)) {
    EXPECT_TRUE(path != "x/d" || item < 50) << item;
  }
}

TEST_F(BudgetTest, SmallerBudgetsAreSubsetsOfLargerOnes) {
  std::set<Item> before;
  for (const uint64_t experiment : {500, 4000, 9000, 40'000}) {
    const std::set<Item> items = ItemsOf(Parsed(
        MixtureText(200, absl::StrCat("budget = { experiment = ", experiment,
                                      ", target = 40_000 }\n"))));
    EXPECT_GT(items.size(), before.size());
    EXPECT_TRUE(
        std::includes(items.begin(), items.end(), before.begin(), before.end()))
        << experiment;
    before = items;
  }
  // Another seed keeps others.
  const auto seeded = [](uint64_t seed) {
    return MixtureText(200, absl::StrCat("budget = { experiment = 4_000, "
                                         "target = 40_000, seed = ",
                                         seed, " }\n"));
  };
  EXPECT_NE(ItemsOf(Parsed(seeded(1))), ItemsOf(Parsed(seeded(0))));
}

TEST_F(BudgetTest, ABudgetOfAllIsTheRunWithoutIt) {
  EXPECT_EQ(
      Parsed(MixtureText(20, "budget = { experiment = 5e3, target = 5e3 }\n"))
          .dataset()
          ->fingerprint(),
      Parsed(MixtureText(20, "")).dataset()->fingerprint());
}

TEST_F(BudgetTest, ASourceIsCutAfterWhatChoosesItsItems) {
  const std::string text =
      "[data]\nsteps = 60\nbatch_size = 10\nseq_len = 20\nblock_size = 10\n"
      "budget = { experiment = 1, target = 5 }\n[data.nodes]\n"
      "half = { path = 'a', filter = { fraction = 0.5 } }\n[data.mixture]\n"
      "held = { use = 'half', weight = 1, slice = [0, 100] }\n"
      "rest = { path = 'a', weight = 1, filter = { fraction = 0.5, invert = "
      "true } }\n";
  std::string whole = text;
  whole.replace(whole.find("target = 5"), 10, "target = 1");
  const std::set<Item> kept = ItemsOf(Parsed(text));
  const std::set<Item> all = ItemsOf(Parsed(whole));
  EXPECT_TRUE(std::includes(all.begin(), all.end(), kept.begin(), kept.end()));
  uint64_t held = 0;
  for (const Item& item : kept) held += item.first == "held" ? 1 : 0;
  EXPECT_EQ(held, 20u) << "of 100";
}

TEST_F(BudgetTest, OfPackedSourcesDocumentsAreCut) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"proof", 250};
  ASSERT_OK_AND_ASSIGN(auto writer,
                       TokenStoreWriter::Create(dir_.path("docs"), options));
  for (uint32_t i = 0; i < 90; ++i) {
    ASSERT_THAT(writer->AddDocument(std::vector<uint32_t>(1 + i % 13, i),
                                    absl::StrCat("d", i)),
                IsOk());
  }
  ASSERT_THAT(writer->Finish(), IsOk());
  const auto summary = [&](const std::string& more) {
    const Config config = Parsed(
        "[data]\nsteps = 5\nbatch_size = 2\nseq_len = 20\npath = 'docs'\n"
        "pack_documents = true\n" +
        more);
    const DatasetTree tree(*config.dataset());
    return PackedItemsOf(*tree.leaves()[0].node)->packing_summary().documents;
  };
  EXPECT_EQ(summary(""), 90u);
  EXPECT_EQ(summary("budget = { experiment = 1, target = 9 }\n"), 10u);
  EXPECT_EQ(summary("budget = { experiment = 9, target = 9 }\n"), 90u);
  std::vector<float> scores(90);
  for (size_t i = 0; i < 90; ++i) scores[i] = static_cast<float>(i);
  std::ofstream(dir_.path("d.f32"), std::ios::binary)
      .write(reinterpret_cast<const char*>(scores.data()), 360);
  EXPECT_EQ(summary("documents = { scores = 'd.f32', at_least = 60 }\n"
                    "budget = { experiment = 1, target = 3 }\n"),
            10u);
}

TEST_F(BudgetTest, ItIsWrittenAndReadAgain) {
  const Config config = Parsed(MixtureText(
      20, "budget = { experiment = 4e3, target = 4e4, seed = 7 }\n"));
  const Config again = Parsed(config.ToToml());
  EXPECT_EQ(again.ToToml(), config.ToToml());
  EXPECT_EQ(again.dataset()->fingerprint(), config.dataset()->fingerprint());
  ASSERT_OK_AND_ASSIGN(const std::string stated, ToToml(config.run()));
  EXPECT_THAT(stated, HasSubstr("\nbudget = { experiment = 4000, target = "
                                "40000, seed = 7 }\n"));
  EXPECT_TRUE(Parsed(stated).run().budget == config.run().budget);
}

TEST_F(BudgetTest, WhatABudgetCannotCutIsRefused) {
  const auto refused = [&](const std::string& rest, const std::string& why,
                           const std::string& budget =
                               "{ experiment = 1, target = 5 }") {
    EXPECT_THAT(
        Try(absl::StrCat("[data]\nsteps = 6\nbatch_size = 2\nseq_len = 20\n"
                         "budget = ",
                         budget, "\n", rest)),
        StatusIs(kInvalid, HasSubstr(why)))
        << rest;
  };
  refused("path = 'a'\n",
          "t.toml:5:25: data.budget.experiment must be at most target, 4, got "
          "5",
          "{ experiment = 5, target = 4 }");
  refused("path = 'a'\n", "t.toml:5:10: data.budget needs target",
          "{ experiment = 5 }");
  refused("path = 'a'\n", "data.budget.experiment must be",
          "{ experiment = 0, target = 4 }");
  refused("take = 9\nflat = { a = { path = 'a' }, b = { path = 'b' } }\n",
          "data has a filter, order, slice or take, and several sources "
          "below, each of which data.budget cuts: state it for the sources");
  refused(
      "flat = { m = { take = 50, mixture = { a = { path = 'a', weight = 1 "
      "} } } }\n",
      "data.flat.m has a filter, order, slice or take, and several");
  refused("pack_documents = true\npath = 'a'\nslice = [0, 5]\n",
          "data has a filter, order, slice or take of packed windows");
  refused("use = 'n'\ntake = 5\n[data.nodes]\nn = { path = 'a', repeat = 2 }\n",
          "data.nodes.n is repeated or shuffled below a filter");
}

TEST_F(BudgetTest, GoldenItems) {
  const std::set<Item> items = ItemsOf(
      Parsed("[data]\nsteps = 10\nbatch_size = 2\nseq_len = 20\npath = 'a'\n"
             "budget = { experiment = 1, target = 100 }\n"));
  std::set<uint64_t> numbers;
  for (const Item& item : items) numbers.insert(item.second);
  EXPECT_THAT(numbers, ::testing::ElementsAre(30, 45, 140, 280, 307));
}

}  // namespace
}  // namespace poniente
