// SPDX-License-Identifier: Apache-2.0
#include "poniente/run_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::CountingWindows;
using ::testing::HasSubstr;
using testing::StatusIs;

constexpr uint32_t kMaxLen = 16;

// Lengths 16, 4, 8 and batches of 6, 9; two stages, one along a ramp.
Schedule MakeSchedule() {
  ScheduleOptions options;
  options.steps = 300;
  options.batch_size = 6;
  options.seq_len = kMaxLen;
  options.stages = {{.start = RunPoint::Step(120),
                     .name = "late",
                     .weights = {{"prose", 0.2}, {"code", 3}},
                     .ramp = RunPoint::Step(40)}};
  options.batch_sizes = {{RunPoint::Step(70), 9}};
  options.seq_lens = {{RunPoint::Step(50), 4}, {RunPoint::Step(200), 8}};
  options.mixture.block_size = 64;
  options.mixture.seed = 7;
  return *Schedule::Create(options);
}

// A nested FlatMixture, a finite part of a nested mixture, and a Concat; "code"
// becomes another view of itself at a stage.
DatasetPtr<TokenWindow> MakeTree(const Schedule& schedule) {
  const auto prose = *FlatMixture<TokenWindow>::Create(
      {{"words", CountingWindows(70, kMaxLen)},
       {"fortunes", CountingWindows(300, kMaxLen)}});
  const auto notes = *MixtureDataset<TokenWindow>::Create(
      {{"old", CountingWindows(20, kMaxLen), 1},
       {"new", CountingWindows(33, kMaxLen), 2}});
  const auto code = *Concat<TokenWindow>({{"c", CountingWindows(11, kMaxLen)},
                                          {"h", CountingWindows(6, kMaxLen)}});
  return *MixtureDataset<TokenWindow>::Create(
      {{"prose", prose, 1}, {"notes", *Take(notes, 40), 1}, {"code", code, 1}},
      schedule.mixture_options(),
      {{"code", 1080, *Slice<TokenWindow>(code, 3, 17)}});
}

class RunTraceTest : public ::testing::Test {
 protected:
  const Schedule schedule_ = MakeSchedule();
  const DatasetPtr<TokenWindow> root_ = MakeTree(schedule_);
  const RunTrace trace_{*root_, schedule_};
};

TEST_F(RunTraceTest, ResolvesToTheTokensThatAreRead) {
  for (uint64_t step = 0; step < 300; ++step) {
    const StepPlan plan = schedule_.At(step);
    ASSERT_OK_AND_ASSIGN(const auto origins, trace_.Resolve(step));
    ASSERT_EQ(origins.size(), plan.batch_size);
    for (uint64_t i = 0; i < origins.size(); ++i) {
      const SampleOrigin& origin = origins[i];
      ASSERT_EQ(origin.position, i);
      ASSERT_EQ(origin.sample, plan.first_sample + i);
      ASSERT_EQ(origin.token_end - origin.token_begin, plan.seq_len);
      ASSERT_LE(origin.token_end, kMaxLen);
      ASSERT_EQ(origin.path, trace_.tree().leaves()[origin.leaf].path);
      ASSERT_OK_AND_ASSIGN(const TokenWindow window,
                           root_->GetBlocking(origin.sample));
      std::vector<uint32_t> expected;
      for (uint32_t t = origin.token_begin; t < origin.token_end; ++t) {
        expected.push_back((origin.item * kMaxLen + t) % 251);
      }
      ASSERT_EQ(window.tokens, expected) << "sample " << origin.sample;
    }
  }
}

TEST_F(RunTraceTest, RanksShareAStep) {
  ASSERT_OK_AND_ASSIGN(const auto whole, trace_.Resolve(100));
  std::vector<SampleOrigin> joined;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    ASSERT_OK_AND_ASSIGN(const auto part, trace_.Resolve(100, rank, 4));
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, whole);
}

// All readings of every item, collected the slow way.
TEST_F(RunTraceTest, FindsExactlyTheStepsThatReadAnItem) {
  using Item = std::pair<std::string, Index>;
  std::map<Item, std::vector<Reading>> all;
  for (uint64_t step = 20; step < 290; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto origins, trace_.Resolve(step));
    for (const SampleOrigin& origin : origins) {
      all[{origin.path, origin.item}].push_back(
          {step, origin.position, origin.sample, origin.epoch,
           origin.token_begin, origin.token_end});
    }
  }
  const std::map<std::string, uint64_t> lengths = {
      {"prose/words", 70}, {"prose/fortunes", 300}, {"notes/old", 20},
      {"notes/new", 33},   {"code/c", 11},          {"code/h", 6}};
  for (const auto& [path, length] : lengths) {
    for (Index item = 0; item < length; ++item) {
      ASSERT_OK_AND_ASSIGN(const auto found, trace_.Find(path, item, 20, 290));
      const std::vector<Reading> expected = all[{path, item}];
      ASSERT_EQ(found, expected) << path << ' ' << item;
    }
  }
}

TEST_F(RunTraceTest, NothingIsReadTwiceInAnEpoch) {
  std::map<std::tuple<std::string, uint64_t, Index>, uint32_t> tokens;
  for (uint64_t step = 0; step < 300; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto origins, trace_.Resolve(step));
    for (const SampleOrigin& origin : origins) {
      if (origin.path.starts_with("notes")) continue;  // epochs of its parent
      uint32_t& read = tokens[{origin.path, origin.epoch, origin.item}];
      for (uint32_t t = origin.token_begin; t < origin.token_end; ++t) {
        ASSERT_EQ(read >> t & 1, 0u) << origin.path << ' ' << origin.item;
        read |= 1u << t;
      }
    }
  }
}

// "code" is two views, so each of its paths leads to two leaves.
TEST_F(RunTraceTest, LeavesOfOnePathAreSearchedApart) {
  ASSERT_OK_AND_ASSIGN(const auto both, trace_.Find("code/c", 5, 0, 300));
  std::vector<Reading> joined;
  size_t leaves = 0;
  for (uint32_t leaf = 0; leaf < trace_.tree().leaves().size(); ++leaf) {
    if (trace_.tree().leaves()[leaf].path != "code/c") continue;
    ++leaves;
    ASSERT_OK_AND_ASSIGN(const auto found, trace_.FindInLeaf(leaf, 5, 0, 300));
    EXPECT_FALSE(found.empty());
    EXPECT_LT(found.size(), both.size());
    for (const Reading& reading : found) {
      ASSERT_OK_AND_ASSIGN(const auto origins, trace_.Resolve(reading.step));
      EXPECT_EQ(origins[reading.position].leaf, leaf);
    }
    joined.insert(joined.end(), found.begin(), found.end());
    EXPECT_THAT(trace_.FindInLeaf(leaf, 11, 0, 300),
                StatusIs(absl::StatusCode::kOutOfRange,
                         HasSubstr("item 11 of 'code/c', which has 11")));
  }
  EXPECT_EQ(leaves, 2u);
  EXPECT_EQ(joined, both);  // the second view begins where the first ends
}

TEST_F(RunTraceTest, RefusesWhatIsNotThere) {
  EXPECT_THAT(trace_.Resolve(300),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("step 300")));
  EXPECT_THAT(trace_.Find("prose/word", 0, 0, 10),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("did you mean 'prose/words'")));
  EXPECT_THAT(trace_.Find("code/c", 11, 0, 10),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("item 11 of 'code/c', which has 11")));
  ASSERT_OK_AND_ASSIGN(const auto none, trace_.Find("code/c", 1, 5, 5));
  EXPECT_TRUE(none.empty());
}

TEST(RunTraceEndTest, AFiniteDatasetEndsWithAShortStep) {
  ScheduleOptions options;
  options.batch_size = 4;
  options.seq_len = kMaxLen;
  const auto root =
      *Shuffle<TokenWindow>(CountingWindows(10, kMaxLen, 0, "only"));
  const RunTrace trace(*root, *Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const auto last, trace.Resolve(2));
  EXPECT_EQ(last.size(), 2u);
  EXPECT_THAT(trace.Resolve(3),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("no step 3")));
  size_t found = 0;
  for (Index item = 0; item < 10; ++item) {
    found += trace.Find("only", item, 0, 1000)->size();
  }
  EXPECT_EQ(found, 10u);
}

// Endless datasets below roots that cut items, and below endless shuffles: the
// search must keep to what the steps can reach, or it never ends.
class EndlessTraceTest : public ::testing::Test {
 protected:
  static DatasetPtr<TokenWindow> Endless() {
    return *MixtureDataset<TokenWindow>::Create(
        {{"a", CountingWindows(9, kMaxLen), 1},
         {"b", CountingWindows(31, kMaxLen), 2}});
  }

  static void ExpectFindsAll(const DatasetPtr<TokenWindow>& root,
                             const Schedule& schedule) {
    const RunTrace trace(*root, schedule);
    std::map<std::pair<std::string, Index>, std::vector<Reading>> all;
    for (uint64_t step = 5; step < 120; ++step) {
      ASSERT_OK_AND_ASSIGN(const auto origins, trace.Resolve(step));
      for (const SampleOrigin& origin : origins) {
        all[{origin.path, origin.item}].push_back(
            {step, origin.position, origin.sample, origin.epoch,
             origin.token_begin, origin.token_end});
      }
    }
    for (const TreeLeaf& leaf : trace.tree().leaves()) {
      const uint64_t length = leaf.node->length_now().readable;
      for (Index item = 0; item < length; ++item) {
        ASSERT_OK_AND_ASSIGN(const auto found,
                             trace.Find(leaf.path, item, 5, 120));
        const std::vector<Reading> expected = all[{leaf.path, item}];
        ASSERT_EQ(found, expected) << leaf.path << ' ' << item;
      }
    }
  }

  static Schedule Plain() {
    ScheduleOptions options;
    options.steps = 300;
    options.batch_size = 8;
    options.seq_len = kMaxLen;
    return *Schedule::Create(options);
  }
};

TEST_F(EndlessTraceTest, BelowAMixtureThatCuts) {
  const Schedule schedule = MakeSchedule();
  const auto root = *MixtureDataset<TokenWindow>::Create(
      {{"prose", Endless(), 1},
       {"code", *Repeat<TokenWindow>(CountingWindows(7, kMaxLen)), 2}},
      schedule.mixture_options());
  ExpectFindsAll(root, schedule);
}

TEST_F(EndlessTraceTest, BelowACut) {
  const Schedule schedule = MakeSchedule();
  ExpectFindsAll(
      *Cut<TokenWindow>(*Repeat<TokenWindow>(CountingWindows(7, kMaxLen)),
                        schedule.mixture_options()),
      schedule);
  ExpectFindsAll(*Cut<TokenWindow>(Endless(), schedule.mixture_options()),
                 schedule);
}

TEST_F(EndlessTraceTest, BelowAnEraShuffle) {
  ExpectFindsAll(*EraShuffle<TokenWindow>(Endless(), 50), Plain());
  ExpectFindsAll(*EraShuffle<TokenWindow>(
                     *Repeat<TokenWindow>(CountingWindows(7, kMaxLen)), 100),
                 Plain());
}

TEST_F(EndlessTraceTest, BelowAShuffleOfALongPart) {
  const auto root = *Shuffle<TokenWindow>(*Take(Endless(), 10000000000));
  const RunTrace trace(*root, Plain());
  ASSERT_OK_AND_ASSIGN(const auto origins, trace.Resolve(40));
  ASSERT_OK_AND_ASSIGN(const auto found,
                       trace.Find(origins[0].path, origins[0].item, 40, 41));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].sample, origins[0].sample);
}

TEST_F(EndlessTraceTest, OnlyWhatARunDrawsCountsAgainstMaxEpochs) {
  const auto limited = *MixtureDataset<TokenWindow>::Create(
      {{"books", CountingWindows(1024, kMaxLen), 1, ShuffleOptions::Full(), 2},
       {"web", CountingWindows(500, kMaxLen), 1}});
  const auto endless = *MixtureDataset<TokenWindow>::Create(
      {{"limited", limited, 1}, {"other", CountingWindows(50, kMaxLen), 1}});
  const Schedule schedule = MakeSchedule();
  const auto root = *MixtureDataset<TokenWindow>::Create(
      {{"prose", endless, 1}, {"code", CountingWindows(99, kMaxLen), 2}},
      schedule.mixture_options());
  EXPECT_TRUE(DatasetTree(*root).CheckEpochs(schedule.samples()).ok());
  EXPECT_FALSE(DatasetTree(*root).CheckEpochs(10000000).ok());
  const auto eras = *EraShuffle<TokenWindow>(endless, 100);
  EXPECT_TRUE(DatasetTree(*eras).CheckEpochs(2000).ok());
  EXPECT_FALSE(DatasetTree(*eras).CheckEpochs(20000).ok());
}

TEST(RunTraceEpochsTest, MaxEpochsAreCheckedThroughTheTree) {
  const auto limited = [](uint64_t max_epochs) {
    return *MixtureDataset<TokenWindow>::Create(
        {{"books", CountingWindows(50, kMaxLen), 1, ShuffleOptions::Full(),
          max_epochs},
         {"web", CountingWindows(500, kMaxLen), 1}});
  };
  const auto root = *FlatMixture<TokenWindow>::Create(
      {{"inner", *Take(limited(5000), 4096)},
       {"other", CountingWindows(100, kMaxLen)}});
  EXPECT_TRUE(DatasetTree(*root).CheckEpochs(1000000).ok());
  const auto repeated = *Repeat<TokenWindow>(limited(100));
  const DatasetTree tree(*repeated);
  EXPECT_TRUE(tree.CheckEpochs(8192).ok());
  EXPECT_THAT(tree.CheckEpochs(12000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::AllOf(HasSubstr("component 'books'"),
                                        HasSubstr("epochs (100)"))));
}

}  // namespace
}  // namespace poniente
