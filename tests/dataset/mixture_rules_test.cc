// SPDX-License-Identifier: Apache-2.0
// Mixtures that end, that cut items by a schedule of lengths, whose components
// change, or whose shares follow from sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "poniente/dataset_tree.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Counting;
using testing::CountingWindows;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using ::testing::ElementsAre;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::Indices;
using testing::IsOkAndHolds;
using testing::StatusIs;

using testing::kInvalid;
constexpr auto kOutOfRange = absl::StatusCode::kOutOfRange;

using Component = MixtureComponent<uint64_t>;
using View = ComponentView<uint64_t>;
using Mixture = MixtureDataset<uint64_t>;
using WindowMixture = MixtureDataset<TokenWindow>;

MixtureOptions BlockOptions(uint64_t block_size,
                            StopRule stop_rule = StopRule::kRestart) {
  MixtureOptions options;
  options.block_size = block_size;
  options.stop_rule = stop_rule;
  options.seed = 42;
  return options;
}

template <class T>
std::vector<T> Read(const DatasetPtr<T>& dataset, uint64_t begin,
                    uint64_t end) {
  return *dataset->GetBatchBlocking(Indices(begin, end));
}

// Halves of 10 items (0..) and 25 (1000..).
std::vector<Component> Halves() {
  return {{"a", Counting(10), 1}, {"b", Counting(25, 1000), 1}};
}

INSTANTIATE_TEST_SUITE_P(
    FiniteMixture, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{"FirstExhausted",
                    [] {
                      return *Mixture::Create(
                          Halves(), BlockOptions(4, StopRule::kFirstExhausted));
                    },
                    20},
        DatasetCase{"AllExhausted",
                    [] {
                      return *Mixture::Create(
                          Halves(), BlockOptions(4, StopRule::kAllExhausted));
                    },
                    52},
        DatasetCase{"SizeProportional",
                    [] {
                      MixtureOptions options = BlockOptions(7);
                      options.weight_rule = WeightRule::kSizeProportional;
                      return *Mixture::Create(Halves(), options);
                    },
                    std::nullopt},
        DatasetCase{"Views",
                    [] {
                      return *Mixture::Create(Halves(), BlockOptions(4),
                                              {{"a", 9, Counting(3, 50)}});
                    },
                    std::nullopt}),
    testing::CaseName);

TEST(MixtureRulesTest, EndsAreFinalLengths) {
  const auto first =
      *Mixture::Create(Halves(), BlockOptions(4, StopRule::kFirstExhausted));
  EXPECT_TRUE(first->IsFinite());
  EXPECT_EQ(first->CurrentLength(), 20u);
  EXPECT_THAT(RunBlocking(first->FinalLength()), IsOkAndHolds(20u));
  EXPECT_TRUE(first->GetBlocking(19).ok());
  EXPECT_THAT(first->GetBlocking(20),
              StatusIs(kOutOfRange, AllOf(HasSubstr("20"))));
  EXPECT_THAT(first->GetBatchBlocking(std::vector<Index>{0, UINT64_MAX}),
              StatusIs(kOutOfRange, ::testing::_));
  const auto all =
      *Mixture::Create(Halves(), BlockOptions(4, StopRule::kAllExhausted));
  EXPECT_THAT(RunBlocking(all->FinalLength()), IsOkAndHolds(52u));
  std::map<uint64_t, int> seen;
  for (const uint64_t item : Read(all, 0, 52)) {
    ++seen[item];
  }
  EXPECT_EQ(seen.size(), 35u);
  for (const auto& [item, count] : seen) {
    EXPECT_GE(count, item >= 1000 ? 1 : 2);
    EXPECT_LE(count, item >= 1000 ? 2 : 3);
  }
}

TEST(MixtureRulesTest, MaxEpochsEndTheMixtureBeforeTheNextEpoch) {
  std::vector<Component> components = Halves();
  components[0].max_epochs = 3;
  const auto mixture = *Mixture::Create(components, BlockOptions(4));
  EXPECT_THAT(RunBlocking(mixture->FinalLength()), IsOkAndHolds(60u));
  std::map<uint64_t, int> seen;
  for (const uint64_t item : Read(mixture, 0, 60)) {
    ++seen[item];
  }
  for (uint64_t item = 0; item < 10; ++item) EXPECT_EQ(seen[item], 3);
  // One that is never drawn to its end ends nothing.
  components[0].weight = 0;
  const auto endless = *Mixture::Create(components, BlockOptions(4));
  EXPECT_TRUE(endless->GetBlocking(1000000).ok());
}

TEST(MixtureRulesTest, EpochsOfAFiniteMixtureCountItsDrawsOn) {
  const auto mixture =
      *Mixture::Create(Halves(), BlockOptions(4, StopRule::kFirstExhausted));
  std::map<uint64_t, int> seen;
  for (const uint64_t epoch : {0, 1, 2, 3, 4}) {
    for (const uint64_t item : Epoch(mixture, epoch, 20)) ++seen[item];
  }
  for (uint64_t item = 0; item < 10; ++item) EXPECT_EQ(seen[item], 5);
  for (uint64_t item = 1000; item < 1025; ++item) EXPECT_EQ(seen[item], 2);
}

TEST(MixtureRulesTest, AFiniteMixtureMayStandBelowAFlatOne) {
  const auto mixture =
      *Mixture::Create(Halves(), BlockOptions(4, StopRule::kFirstExhausted));
  ASSERT_OK_AND_ASSIGN(const auto flat,
                       FlatMixture<uint64_t>::Create(
                           {{"m", mixture}, {"c", Counting(5, 2000)}}));
  EXPECT_THAT(RunBlocking(flat->FinalLength()), IsOkAndHolds(25u));
  std::set<uint64_t> seen;
  for (const uint64_t item : Epoch(flat, 0, 25)) seen.insert(item);
  EXPECT_EQ(seen.size(), 25u);  // All of a, 10 of b, all of c.
}

TEST(MixtureRulesTest, RestartsGrowingChildrenOnlyOnceTheyAreFinal) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto mixture = *Mixture::Create(
      {{"a", growing, 1}}, BlockOptions(4, StopRule::kFirstExhausted));
  EXPECT_TRUE(mixture->IsFinite());
  EXPECT_EQ(mixture->CurrentLength(), 0u);
  EXPECT_TRUE(growing->Append({1, 2, 3, 4, 5, 6}).ok());
  EXPECT_EQ(mixture->CurrentLength(), 0u);
  std::thread later([&] { growing->Finish(); });
  EXPECT_THAT(RunBlocking(mixture->FinalLength()), IsOkAndHolds(4u));
  later.join();
}

TEST(MixtureRulesTest, SharesBySizeWaitForFinalLengths) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  MixtureOptions options = BlockOptions(8);
  options.weight_rule = WeightRule::kSizeProportional;
  const auto mixture = *Mixture::Create(
      {{"a", growing, 1}, {"b", Counting(30, 1000), 0.5}}, options);
  EXPECT_TRUE(growing->Append({1, 2, 3}).ok());
  EXPECT_EQ(mixture->map(), nullptr);
  EXPECT_FALSE(mixture->IsFinite());
  std::vector<uint64_t> items;
  std::thread reader([&] { items = Read(mixture, 0, 40); });
  EXPECT_TRUE(growing->Append({4, 5}).ok());
  growing->Finish();
  reader.join();
  // 1 x 5 to 0.5 x 30 of 40.
  EXPECT_EQ(std::count_if(items.begin(), items.end(),
                          [](uint64_t item) { return item < 1000; }),
            10);
}

TEST(MixtureRulesTest, SharesBySizeCoverEverythingEvenly) {
  MixtureOptions options = BlockOptions(35, StopRule::kFirstExhausted);
  options.weight_rule = WeightRule::kSizeProportional;
  const auto mixture = *Mixture::Create(Halves(), options);
  EXPECT_THAT(RunBlocking(mixture->FinalLength()), IsOkAndHolds(35u));
  std::set<uint64_t> seen;
  for (const uint64_t item : Epoch(mixture, 0, 35)) seen.insert(item);
  EXPECT_EQ(seen.size(), 35u);
}

TEST(MixtureRulesTest, AViewBeginsANewEpochOverItsOwnItems) {
  const auto mixture = *Mixture::Create(
      {{"a", Counting(10), 1}}, BlockOptions(1), {{"a", 13, Counting(5, 100)}});
  const auto items = Read(mixture, 0, 23);
  const std::set<uint64_t> first(items.begin(), items.begin() + 10);
  EXPECT_EQ(first.size(), 10u);
  // The epoch that 13 samples had begun, 1, is cut; 2 and 3 are the view's.
  for (const int epoch : {2, 3}) {
    const auto order =
        testing::SlowPermutation(5, testing::SlowComponentKey(42, "a", epoch));
    std::multiset<uint64_t> expected, got;
    for (int i = 0; i < 5; ++i) {
      expected.insert(100 + order[i]);
      got.insert(items[13 + (epoch - 2) * 5 + i]);
    }
    EXPECT_EQ(got, expected);
  }
  for (int i = 0; i < 13; ++i) EXPECT_LT(items[i], 100u);
  ASSERT_EQ(mixture->children().size(), 2u);
  EXPECT_EQ(mixture->children()[1].name, "a");
  EXPECT_EQ(mixture->children()[1].view, 1u);
}

TEST(MixtureRulesTest, ViewsChangeNothingBeforeThem) {
  const auto plain = *Mixture::Create(Halves(), BlockOptions(4));
  const auto viewed = *Mixture::Create(Halves(), BlockOptions(4),
                                       {{"b", 16, Counting(3, 50)},
                                        {"a", 24, Counting(4, 70)},
                                        {"b", 32, Counting(6, 90)}});
  EXPECT_EQ(plain->fingerprint(), viewed->fingerprint());
  EXPECT_EQ(Read(plain, 0, 16), Read(viewed, 0, 16));
  const auto within = [&](uint64_t begin, uint64_t end) {
    std::set<uint64_t> tens;
    for (const uint64_t item : Read(viewed, begin, end)) {
      tens.insert(item / 10 * 10);
    }
    return tens;
  };
  EXPECT_THAT(within(16, 24), ElementsAre(0, 50));
  EXPECT_THAT(within(24, 32), ElementsAre(50, 70));
  EXPECT_THAT(within(32, 100), ElementsAre(70, 90));
}

// Item i of `count` is tokens 20 * i to 20 * i + 19.
DatasetPtr<TokenWindow> NumberedWindows(uint64_t count, uint64_t first = 0) {
  return CountingWindows(count, 20, first);
}

TEST(MixtureRulesTest, LengthsCutItemsAndRepeatNoToken) {
  for (const uint64_t group : {0, 1, 4}) {
    MixtureOptions options = BlockOptions(5);
    options.max_seq_len = 20;
    options.seq_lens = {{0, 5}, {14, 20}, {17, 7}, {24, 10}};
    options.group_items = group;
    const auto mixture =
        *WindowMixture::Create({{"a", NumberedWindows(12), 1}}, options);
    const auto samples = Read(mixture, 0, 30);
    std::set<uint32_t> seen;
    for (uint64_t k = 0; k < samples.size(); ++k) {
      const size_t length = k < 14 ? 5 : k < 17 ? 20 : k < 24 ? 7 : 10;
      ASSERT_EQ(samples[k].tokens.size(), length) << "sample " << k;
      const uint32_t in_item = samples[k].tokens[0] % 20;
      EXPECT_EQ(in_item % length, 0u);
      for (size_t t = 1; t < length; ++t) {
        ASSERT_EQ(samples[k].tokens[t], samples[k].tokens[0] + t);
      }
      // 12 items hold 48 samples of 5; an epoch is not over before 240 tokens.
      if (k >= 20) continue;
      for (const uint32_t token : samples[k].tokens) {
        ASSERT_TRUE(seen.insert(token).second) << "sample " << k;
      }
    }
  }
}

// Windows of L + 1 tokens, cut into samples of M + 1: every token but the first
// of a window is the label of exactly one sample of an epoch.
TEST(MixtureRulesTest, SamplesThatShareATokenLoseNone) {
  constexpr uint64_t kItems = 6;
  for (const uint64_t group : {0, 1, 4}) {
    for (const uint32_t length : {2, 9, 17, 33}) {
      SCOPED_TRACE(length);
      MixtureOptions options = BlockOptions(2);
      options.max_seq_len = 33;
      options.seq_lens = {{0, length}};
      options.sample_overlap = 1;
      options.group_items = group;
      const auto mixture = *WindowMixture::Create(
          {{"a", CountingWindows(kItems, 33), 1}}, options);
      const uint64_t samples = kItems * 32 / (length - 1);
      std::multiset<uint32_t> labels;
      const auto read = Read(mixture, 0, samples);
      for (uint64_t k = 0; k < samples; ++k) {
        ASSERT_EQ(read[k].tokens.size(), length);
        // The same one by one as at once.
        EXPECT_EQ(Read(mixture, k, k + 1)[0].tokens, read[k].tokens);
        EXPECT_EQ(read[k].tokens[0] % 33 % (length - 1), 0u);
        labels.insert(read[k].tokens.begin() + 1, read[k].tokens.end());
      }
      std::multiset<uint32_t> all;
      for (uint32_t t = 0; t < kItems * 33; ++t) {
        if (t % 33 != 0) all.insert(t);
      }
      EXPECT_EQ(labels, all);
      const DatasetTree tree(*mixture);
      for (uint64_t k = 0; k < samples; ++k) {
        const Position position = {.index = k};
        LeafPosition at;
        ASSERT_TRUE(tree.Resolve({&position, 1}, {&at, 1}).ok());
        EXPECT_EQ((*tree.Find(at))->index, k);
        const auto parts = *tree.FindParts(0, at.position.index, 0);
        EXPECT_EQ(parts.size(), 32 / (length - 1));
        EXPECT_TRUE(
            std::any_of(parts.begin(), parts.end(), [&](const FoundPart& part) {
              return part.position.index == k &&
                     part.part_begin == at.position.part_begin;
            }));
      }
    }
  }
}

TEST(MixtureRulesTest, SharedTokensArePartOfTheOrder) {
  const auto with = [](uint32_t overlap) {
    MixtureOptions options = BlockOptions(2);
    options.max_seq_len = 33;
    options.seq_lens = {{0, 9}, {20, 17}, {35, 33}};
    options.sample_overlap = overlap;
    return WindowMixture::Create({{"a", CountingWindows(7, 33), 1}}, options);
  };
  EXPECT_NE((*with(0))->fingerprint(), (*with(1))->fingerprint());
  EXPECT_THAT(with(2), StatusIs(kInvalid, HasSubstr("sample_overlap")));
  // 28 samples of an epoch are 4 to a window; the change goes on with the next
  // group of one window.
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const TokenWindow& sample : Read(*with(1), 0, 24)) {
    for (size_t t = 1; t < sample.tokens.size(); ++t) {
      EXPECT_TRUE(seen.insert({sample.tokens[t - 1], sample.tokens[t]}).second);
    }
  }
}

TEST(MixtureRulesTest, GroupsKeepOrScatterThePartsOfAnItem) {
  const auto items_of = [](uint64_t group) {
    MixtureOptions options = BlockOptions(1);
    options.max_seq_len = 20;
    options.seq_lens = {{0, 5}};
    options.group_items = group;
    const auto mixture =
        *WindowMixture::Create({{"a", NumberedWindows(12), 1}}, options);
    std::set<uint32_t> items;  // that the first four samples are parts of
    for (const TokenWindow& sample : Read(mixture, 0, 4)) {
      items.insert(sample.tokens[0] / 20);
    }
    return items.size();
  };
  EXPECT_EQ(items_of(1), 1u);
  EXPECT_GT(items_of(12), 1u);
}

TEST(MixtureRulesTest, TrimServesTheBeginningOfEachItem) {
  MixtureOptions options = BlockOptions(4);
  options.max_seq_len = 20;
  options.seq_lens = {{0, 8}};
  options.trim = true;
  const auto mixture =
      *WindowMixture::Create({{"a", NumberedWindows(12), 1}}, options);
  std::set<uint32_t> begins;
  for (const TokenWindow& sample : Read(mixture, 0, 12)) {
    EXPECT_EQ(sample.tokens.size(), 8u);
    EXPECT_EQ(sample.tokens[0] % 20, 0u);
    EXPECT_TRUE(begins.insert(sample.tokens[0]).second);
  }
}

TEST(MixtureRulesTest, LengthsReachThroughANestedMixture) {
  MixtureOptions options = BlockOptions(5);
  options.max_seq_len = 20;
  options.seq_lens = {{0, 10}};
  const auto inner = *WindowMixture::Create(
      {{"x", NumberedWindows(4), 1}, {"y", NumberedWindows(4, 80), 1}},
      BlockOptions(4));
  const auto mixture = *WindowMixture::Create(
      {{"in", inner, 1}, {"z", NumberedWindows(4, 160), 1}}, options);
  std::map<uint32_t, int> seen;
  for (const TokenWindow& sample : Read(mixture, 0, 20)) {
    ASSERT_EQ(sample.tokens.size(), 10u);
    ++seen[sample.tokens[0]];
  }
  // Ten of z, an epoch of 8 and two more; ten of the nested one.
  for (uint32_t begin = 160; begin < 240; begin += 10) {
    EXPECT_GE(seen[begin], 1) << begin;
  }
}

TEST(MixtureRulesTest, ItemsShorterThanTheirPartsAreOutOfRange) {
  MixtureOptions options = BlockOptions(5);
  options.max_seq_len = 40;
  options.seq_lens = {{0, 10}};
  const auto mixture =
      *WindowMixture::Create({{"a", NumberedWindows(12), 1}}, options);
  EXPECT_THAT(mixture->GetBatchBlocking(Indices(0, 40)),
              StatusIs(kOutOfRange, AllOf(HasSubstr("a"), HasSubstr("which has "
                                                                    "20"))));
}

TEST(MixtureRulesTest, ItemsWithoutTokensCannotBeCut) {
  MixtureOptions options = BlockOptions(5);
  options.max_seq_len = 40;
  options.seq_lens = {{0, 10}};
  const auto mixture = *Mixture::Create(Halves(), options);
  EXPECT_FALSE(mixture->GetBlocking(0).ok());
}

TEST(MixtureRulesTest, FingerprintsTellRulesApart) {
  std::set<uint64_t> prints;
  MixtureOptions options = BlockOptions(4);
  const auto add = [&] {
    prints.insert((*Mixture::Create(Halves(), options))->fingerprint());
  };
  add();
  options.max_seq_len = 20;
  add();
  options.seq_lens = {{0, 10}};
  add();  // The schedule may be edited: no new one.
  EXPECT_EQ(prints.size(), 2u);
  options.trim = true;
  add();
  options.group_items = 3;
  add();
  options = BlockOptions(4, StopRule::kAllExhausted);
  add();
  options = BlockOptions(4);
  options.weight_rule = WeightRule::kSizeProportional;
  add();
  options.temperature = 2;
  add();
  EXPECT_EQ(prints.size(), 7u);
}

TEST(MixtureRulesErrorTest, NamesComponentsAndSamples) {
  std::vector<Component> none = Halves();
  none[1].max_epochs = 0;
  EXPECT_THAT(Mixture::Create(none, BlockOptions(4)),
              StatusIs(kInvalid, AllOf(HasSubstr("'b'"), HasSubstr("got 0"))));
  EXPECT_THAT(
      Mixture::Create(Halves(), BlockOptions(64, StopRule::kFirstExhausted)),
      StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("block"))));
  std::vector<Component> few = Halves();
  few[0].max_epochs = 1;
  EXPECT_THAT(Mixture::Create(few, BlockOptions(4, StopRule::kAllExhausted)),
              StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("52"))));
  const auto nested = *Mixture::Create(Halves(), BlockOptions(4));
  EXPECT_THAT(
      Mixture::Create({{"in", nested, 1}, {"a", Counting(5), 1}},
                      BlockOptions(4, StopRule::kAllExhausted)),
      StatusIs(kInvalid, AllOf(HasSubstr("'in'"), HasSubstr("endless"))));
  MixtureOptions sizes = BlockOptions(4);
  sizes.weight_rule = WeightRule::kSizeProportional;
  EXPECT_THAT(
      Mixture::Create({{"in", nested, 1}, {"a", Counting(5), 1}}, sizes),
      StatusIs(kInvalid, AllOf(HasSubstr("'in'"), HasSubstr("endless"))));
}

TEST(MixtureRulesErrorTest, NamesViews) {
  const auto with = [](std::vector<View> views) {
    return Mixture::Create(Halves(), BlockOptions(4), std::move(views));
  };
  EXPECT_THAT(with({{"c", 8, Counting(3)}}),
              StatusIs(kInvalid, AllOf(HasSubstr("view"), HasSubstr("'c'"))));
  EXPECT_THAT(with({{"a", 0, Counting(3)}}),
              StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("0"))));
  EXPECT_THAT(with({{"a", 8, Counting(3)}, {"a", 8, Counting(3)}}),
              StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("8"))));
  EXPECT_THAT(with({{"a", uint64_t{1} << 62, Counting(3)}}),
              StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("2^62"))));
  EXPECT_THAT(
      with({{"a", 8, nullptr}}),
      StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("no "
                                                           "dataset"))));
  EXPECT_THAT(with({{"a", 8, Counting(0)}}),
              StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("empty"))));
  EXPECT_THAT(
      with({{"a", 8, *Mixture::Create(Halves(), BlockOptions(4))}}),
      StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("endless"))));
  EXPECT_THAT(
      Mixture::Create({{"a", Counting(3), 1}, {"a", Counting(3), 1}},
                      BlockOptions(4), {{"a", 8, Counting(3)}}),
      StatusIs(kInvalid, AllOf(HasSubstr("two components"), HasSubstr("'a'"))));
}

TEST(MixtureRulesErrorTest, LateErrorsAreStatuses) {
  // What a growing child turns out to be is known only later.
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto mixture = *Mixture::Create(
      {{"a", growing, 1}}, BlockOptions(4, StopRule::kFirstExhausted));
  growing->Finish();
  EXPECT_THAT(mixture->GetBlocking(0),
              StatusIs(kInvalid, AllOf(HasSubstr("'a'"), HasSubstr("empty"))));
  EXPECT_THAT(RunBlocking(mixture->FinalLength()),
              StatusIs(kInvalid, HasSubstr("'a'")));
}

}  // namespace
}  // namespace poniente
