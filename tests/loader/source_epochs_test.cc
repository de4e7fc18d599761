// SPDX-License-Identifier: Apache-2.0
// Epochs of the sources: beside what a plain loop over the batches says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "loader/metrics/epoch_lines.h"
#include "poniente/flat_mixture.h"
#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using internal::EpochLines;
using internal::EpochNews;
using testing::CountingWindows;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;

// A big source, two small ones under one shuffle, and a mixture in a mixture.
DatasetPtr<TokenWindow> SmallSources() {
  const auto flat =
      *FlatMixture<TokenWindow>::Create({{"a", CountingWindows(7, kSeqLen)},
                                         {"b", CountingWindows(40, kSeqLen)}});
  // Samples are shuffled within a block, epochs of a small source included.
  MixtureOptions options;
  options.block_size = 10;
  const auto nested = *MixtureDataset<TokenWindow>::Create(
      {{"c", CountingWindows(11, kSeqLen), 0.5},
       {"d", CountingWindows(90, kSeqLen), 0.5}},
      options);
  return *MixtureDataset<TokenWindow>::Create(
      {{"big", CountingWindows(5000, kSeqLen), 0.6},
       {"flat", flat, 0.2},
       {"nested", nested, 0.2}},
      options);
}

struct Counted {
  uint64_t epoch = 0;
  uint64_t restarts = 0;
  bool is_seen = false;
};

// Serves `steps` steps, and compares the metrics after each with what the
// samples say. `is_beginning`: the loader begins at step 0.
void ServeAndCompare(Loader* loader, int steps, bool is_beginning,
                     std::map<uint32_t, Counted>* counted) {
  for (int step = 0; step < steps; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const SampleProvenance& from = batch.provenance(i);
      Counted& source = (*counted)[from.source];
      if (is_beginning) source.is_seen = true;
      if (source.is_seen && from.epoch > source.epoch) {
        source.restarts += from.epoch - source.epoch;
      }
      source.is_seen = true;
      source.epoch = std::max(source.epoch, from.epoch);
    }
    const LoaderMetrics metrics = loader->metrics();
    for (uint32_t i = 0; i < metrics.sources.size(); ++i) {
      EXPECT_EQ(metrics.sources[i].epoch, (*counted)[i].epoch) << i;
      EXPECT_EQ(metrics.sources[i].restarts, (*counted)[i].restarts) << i;
    }
  }
}

class SourceEpochsTest : public ::testing::Test {
 protected:
  // Keeps the lines about epochs in lines_.
  LoaderOptions Options(uint32_t rank = 0, uint32_t ranks = 1) {
    LoaderOptions options;
    options.rank = rank;
    options.ranks = ranks;
    options.log_sink = [this](std::string_view line) {
      lines_.emplace_back(line);
    };
    return options;
  }

  std::vector<std::string> lines_;
};

TEST_F(SourceEpochsTest, AreThoseOfTheSamplesHandedOut) {
  const auto loader = Open(SmallSources(), MakeSchedule(0, 8), Options());
  std::map<uint32_t, Counted> counted;
  ServeAndCompare(loader.get(), 200, true, &counted);
  // 1600 samples: 320 of the 47 windows of `flat`, 160 of the 11 of `c`.
  EXPECT_EQ(loader->metrics().sources[0].epoch, 0u);
  EXPECT_EQ(counted[1].restarts, 6u);
  EXPECT_EQ(counted[2].restarts, 6u);
  EXPECT_EQ(counted[3].restarts, 14u);
  EXPECT_EQ(counted[4].restarts, 1u);
}

TEST_F(SourceEpochsTest, OfARankAreThoseOfItsOwnSamples) {
  std::vector<uint64_t> latest(5);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const auto loader =
        Open(SmallSources(), MakeSchedule(0, 8), Options(rank, 3));
    std::map<uint32_t, Counted> counted;
    ServeAndCompare(loader.get(), 200, true, &counted);
    for (size_t i = 0; i < latest.size(); ++i) {
      latest[i] = std::max(latest[i], loader->metrics().sources[i].epoch);
    }
  }
  EXPECT_THAT(latest, ElementsAre(0, 6, 6, 14, 1));
}

TEST_F(SourceEpochsTest, AResumedLoaderGoesOnWithoutCountingWhatWasBefore) {
  std::string state;
  {
    const auto loader = Open(SmallSources(), MakeSchedule(0, 8), Options());
    std::map<uint32_t, Counted> counted;
    ServeAndCompare(loader.get(), 120, true, &counted);
    state = loader->State();
  }
  lines_.clear();
  const auto loader = Open(SmallSources(), MakeSchedule(0, 8), Options());
  ASSERT_THAT(loader->Resume(state), IsOk());
  std::map<uint32_t, Counted> counted;
  ServeAndCompare(loader.get(), 80, false, &counted);
  EXPECT_EQ(loader->metrics().sources[3].epoch, 14u) << "as without a break";
  EXPECT_LT(loader->metrics().sources[3].restarts, 8u);
  ASSERT_FALSE(lines_.empty());
  EXPECT_EQ(lines_[0].substr(0, 41),
            "step 120: continues in a later epoch: fla");
}

TEST_F(SourceEpochsTest, StartStepIsLikeAResumeAndSeekBackBeginsAnew) {
  LoaderOptions options = Options();
  options.start_step = 150;
  const auto loader = Open(SmallSources(), MakeSchedule(0, 8), options);
  std::map<uint32_t, Counted> counted;
  ServeAndCompare(loader.get(), 20, false, &counted);
  const uint64_t restarts = loader->metrics().sources[3].restarts;
  EXPECT_LE(restarts, 2u);
  ASSERT_THAT(loader->Seek(0), IsOk());
  EXPECT_EQ(loader->metrics().sources[3].epoch, 0u);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_EQ(loader->metrics().sources[3].epoch, 0u);
  EXPECT_EQ(loader->metrics().sources[3].restarts, restarts);
}

TEST_F(SourceEpochsTest, RankZeroAloneSaysWhichSourceBeginsAgain) {
  const auto root = *Repeat(CountingWindows(40, kSeqLen, 0, "forty"));
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const auto loader = Open(root, MakeSchedule(30, 4), Options(rank, 2));
    for (int step = 0; step < 30; ++step) {
      ASSERT_THAT(loader->NextBlocking(), IsOk());
    }
    EXPECT_THAT(lines_, ElementsAre("step 10: begins again: forty (epoch 1)",
                                    "step 20: begins again: forty (epoch 2)"));
  }
}

EpochNews Restart(const std::string& path, uint64_t epoch) {
  return {path, epoch, true};
}

std::vector<std::string> LinesOf(
    const std::map<uint64_t, std::vector<EpochNews>>& news, uint64_t steps) {
  EpochLines lines;
  std::vector<std::string> written;
  for (uint64_t step = 0; step < steps; ++step) {
    if (const auto at = news.find(step); at != news.end()) {
      lines.Add(step, at->second);
    }
    if (const auto line = lines.AfterStep(step)) written.push_back(*line);
  }
  return written;
}

TEST(EpochLinesTest, WhatComesWithinTenStepsIsOneLine) {
  EXPECT_THAT(
      LinesOf({{5, {Restart("a", 1)}},
               {7, {Restart("b", 1), {"c", 4, false}}},
               {9, {Restart("b", 2)}},
               {40, {Restart("a", 2)}}},
              60),
      ElementsAre("step 5: begins again: a (epoch 1)",
                  "steps 7 to 15: begins again: b (epoch 2); continues in a "
                  "later epoch: c (epoch 4)",
                  "step 40: begins again: a (epoch 2)"));
}

TEST(EpochLinesTest, ASourceOfManyEpochsIsNamedEverMoreSeldom) {
  std::map<uint64_t, std::vector<EpochNews>> news;
  for (uint64_t epoch = 1; epoch <= 40; ++epoch) {
    news[20 * epoch] = {Restart("tiny", epoch)};
  }
  std::vector<std::string> epochs;
  for (const std::string& line : LinesOf(news, 1000)) {
    epochs.push_back(line.substr(line.find("epoch ") + 6));
  }
  EXPECT_THAT(epochs, ElementsAre("1)", "2)", "3)", "4)", "8)", "16)", "32)"));
}

TEST(EpochLinesTest, EightSourcesAreNamed) {
  std::vector<EpochNews> all;
  for (int i = 0; i < 11; ++i)
    all.push_back(Restart(std::string(1, 'a' + i), 1));
  EXPECT_THAT(LinesOf({{3, all}}, 20),
              ElementsAre("step 3: begins again: a (epoch 1), b (epoch 1), c "
                          "(epoch 1), d (epoch 1), e (epoch 1), f (epoch 1), "
                          "g (epoch 1), h (epoch 1) and 3 more"));
  EXPECT_THAT(LinesOf({}, 20), IsEmpty());
}

}  // namespace
}  // namespace poniente
