// SPDX-License-Identifier: Apache-2.0
// A schedule and a root that were described separately must say the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "poniente/flat_mixture.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::CountingWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kSeqLen;
using testing::StatusIs;

using Weights = std::vector<std::pair<std::string, double>>;

DatasetPtr<TokenWindow> Mix(const Weights& weights,
                            const MixtureOptions& options) {
  std::vector<MixtureComponent<TokenWindow>> components;
  for (const auto& [name, weight] : weights) {
    components.push_back({.name = name,
                          .dataset = CountingWindows(100, kSeqLen),
                          .weight = weight});
  }
  auto mixture = MixtureDataset<TokenWindow>::Create(components, options);
  EXPECT_THAT(mixture, IsOk());
  return *std::move(mixture);
}

// A run whose weights change at step 50, which is sample 200.
ScheduleOptions Described(const Weights& weights) {
  ScheduleOptions options;
  options.steps = 100;
  options.batch_size = 4;
  options.seq_len = kSeqLen;
  options.mixture.block_size = 20;
  for (const auto& [name, weight] : weights) {
    options.components.push_back({.name = name, .weight = weight});
  }
  options.stages = {{.start = RunPoint::Step(50),
                     .name = "late",
                     .weights = {{weights[0].first, 2}}}};
  return options;
}

absl::Status Create(const DatasetPtr<TokenWindow>& root,
                    const Schedule& schedule) {
  return Loader::Create(root, schedule).status();
}

const Weights kWeights = {{"web", 0.6}, {"code", 0.4}};

TEST(ScheduleAgreementTest, WhatIsSaidTheSameIsServed) {
  const Schedule schedule = *Schedule::Create(Described(kWeights));
  const auto root = Mix(kWeights, schedule.mixture_options());
  EXPECT_THAT(Create(root, schedule), IsOk());
  // The order of declaration decides nothing.
  EXPECT_THAT(
      Create(Mix({{"code", 0.4}, {"web", 0.6}}, schedule.mixture_options()),
             schedule),
      IsOk());
  EXPECT_THAT(Create(*Take(root, 300), schedule), IsOk());
  const auto same = [](TokenWindow window) { return window; };
  EXPECT_THAT(Create(Map<TokenWindow>("same", root, same), schedule), IsOk());
}

TEST(ScheduleAgreementTest, TheSameRatioInOtherNumbersIsTheSame) {
  const Schedule schedule = *Schedule::Create(Described(kWeights));
  const auto root = [&](const Weights& weights, double web_later) {
    MixtureOptions options = schedule.mixture_options();
    options.stages[0].weights = {{"web", web_later}};
    return Mix(weights, options);
  };
  EXPECT_THAT(Create(root({{"web", 3}, {"code", 2}}, 10), schedule), IsOk());
  EXPECT_THAT(Create(root({{"web", 60}, {"code", 40}}, 200), schedule), IsOk());
}

TEST(ScheduleAgreementTest, WhatCannotBeComparedIsServed) {
  const Schedule schedule = *Schedule::Create(Described(kWeights));
  MixtureOptions short_blocks = schedule.mixture_options();
  short_blocks.block_size = 10;
  const auto other = Mix(kWeights, short_blocks);
  EXPECT_FALSE(Create(other, schedule).ok());
  // A leaf that may mix by itself; parts of one after the other; an epoch that
  // is repeated.
  EXPECT_THAT(Create(CountingWindows(1000, kSeqLen), schedule), IsOk());
  const auto joined = Concat<TokenWindow>(
      {{"a", CountingWindows(10, kSeqLen)}, {"b", *Take(other, 500)}});
  ASSERT_THAT(joined, IsOk());
  EXPECT_THAT(Create(*joined, schedule), IsOk());
  EXPECT_THAT(Create(*Repeat(*Take(other, 50)), schedule), IsOk());
}

TEST(ScheduleAgreementTest, OtherWeightsAreNamedWithBothShares) {
  const Schedule schedule = *Schedule::Create(Described(kWeights));
  const auto root =
      Mix({{"web", 0.1}, {"code", 0.9}}, schedule.mixture_options());
  EXPECT_THAT(Create(root, schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("from step 0 (sample 0) on"),
                             HasSubstr("'code' has the share 0.4"),
                             HasSubstr("gives it 0.9"),
                             HasSubstr("Schedule::mixture_options()"))));
  const auto wrapped = *Take(root, 300);
  EXPECT_THAT(Create(wrapped, schedule),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0.9")));
}

TEST(ScheduleAgreementTest, AMixtureWithoutTheStagesIsRefused) {
  const Schedule schedule = *Schedule::Create(Described(kWeights));
  MixtureOptions without;
  without.block_size = 20;
  EXPECT_THAT(Create(Mix(kWeights, without), schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("from step 50 (sample 200) on"),
                             HasSubstr("'code' has the share 0.16666666666"),
                             HasSubstr("gives it 0.4"))));
  // Also of a schedule that does not know the components.
  ScheduleOptions unknown = Described(kWeights);
  unknown.components.clear();
  const Schedule other = *Schedule::Create(unknown);
  EXPECT_THAT(
      Create(Mix(kWeights, without), other),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("step 50 (sample 200)"), HasSubstr("'late'"),
                     HasSubstr("no stage that begins there"))));
  EXPECT_THAT(Create(Mix(kWeights, other.mixture_options()), other), IsOk());
}

TEST(ScheduleAgreementTest, AMisspeltComponentIsNamed) {
  const Schedule schedule =
      *Schedule::Create(Described({{"wbe", 0.6}, {"code", 0.4}}));
  MixtureOptions options;
  options.block_size = 20;
  EXPECT_THAT(Create(Mix(kWeights, options), schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("has a component 'wbe'"),
                             HasSubstr("(it has code, web)"))));
  const Schedule fewer = *Schedule::Create(Described({{"web", 1}}));
  EXPECT_THAT(Create(Mix(kWeights, options), fewer),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the root mixture has a component 'code'")));
}

TEST(ScheduleAgreementTest, OtherSeedsAndBlocksAreNamed) {
  ScheduleOptions options = Described(kWeights);
  options.mixture.seed = 7;
  const Schedule schedule = *Schedule::Create(options);
  MixtureOptions mixture = schedule.mixture_options();
  EXPECT_THAT(Create(Mix(kWeights, mixture), schedule), IsOk());
  mixture.seed = 8;
  EXPECT_THAT(Create(Mix(kWeights, mixture), schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("seed 7"), HasSubstr("seed 8"))));
  mixture.seed = 7;
  mixture.block_size = 10;
  EXPECT_THAT(Create(Mix(kWeights, mixture), schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("block_size 20"), HasSubstr("has 10"))));
}

TEST(ScheduleAgreementTest, LengthsThatDifferAreNamed) {
  ScheduleOptions options = Described(kWeights);
  options.seq_len = kSeqLen / 2;
  options.seq_lens = {{RunPoint::Step(60), kSeqLen}};
  const Schedule schedule = *Schedule::Create(options);
  MixtureOptions mixture = schedule.mixture_options();
  EXPECT_THAT(Create(Mix(kWeights, mixture), schedule), IsOk());
  mixture.seq_lens[1].start += 8;
  EXPECT_THAT(Create(Mix(kWeights, mixture), schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("from sample 240 on"),
                             HasSubstr("from sample 248 on"))));
  mixture.seq_lens.clear();
  mixture.max_seq_len = 0;
  EXPECT_THAT(Create(Mix(kWeights, mixture), schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the root mixture of one length")));
}

TEST(ScheduleAgreementTest, ARootThatIsNoMixtureHasNoShares) {
  const Schedule schedule = *Schedule::Create(Described(kWeights));
  const auto flat = FlatMixture<TokenWindow>::Create(
      {{"web", CountingWindows(900, kSeqLen)},
       {"code", CountingWindows(100, kSeqLen)}});
  ASSERT_THAT(flat, IsOk());
  EXPECT_THAT(Create(*flat, schedule),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("describes a mixture of code, web"),
                             HasSubstr("is not a mixture"))));
}

}  // namespace
}  // namespace poniente
