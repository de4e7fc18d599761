// SPDX-License-Identifier: Apache-2.0
#include "loader/prefetch_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint64_t> StartAll(PrefetchWindow& window) {
  std::vector<uint64_t> started;
  while (const auto step = window.Start()) started.push_back(*step);
  return started;
}

TEST(PrefetchWindowTest, TheFirstStepGoesAlone) {
  PrefetchWindow window(5, 3);
  EXPECT_THAT(StartAll(window), ElementsAre(5));
  EXPECT_TRUE(window.Arrive(window.generation()));
  EXPECT_THAT(StartAll(window), ElementsAre(6, 7));
}

TEST(PrefetchWindowTest, NoMoreThanTheLimitIsUndelivered) {
  PrefetchWindow window(0, 2);
  StartAll(window);
  window.Arrive(0);
  EXPECT_THAT(StartAll(window), ElementsAre(1));
  window.Arrive(0);
  EXPECT_THAT(StartAll(window), IsEmpty());
  window.Deliver();
  EXPECT_THAT(StartAll(window), ElementsAre(2));
  EXPECT_EQ(window.next(), 1u);
}

TEST(PrefetchWindowTest, ARestartForgetsWhatIsUnderWay) {
  PrefetchWindow window(0, 3);
  StartAll(window);
  window.Arrive(0);
  StartAll(window);
  window.Restart(100);
  EXPECT_EQ(window.under_way(), 2u);
  EXPECT_THAT(StartAll(window), ElementsAre(100));
  EXPECT_FALSE(window.Arrive(0)) << "of the generation before";
  EXPECT_TRUE(window.Arrive(1));
  EXPECT_EQ(window.next(), 100u);
}

TEST(PrefetchWindowTest, StaleStepsCountUntilTheyHaveArrived) {
  PrefetchWindow window(0, 2);
  StartAll(window);
  window.Arrive(0);
  StartAll(window);
  window.Restart(10);
  EXPECT_THAT(StartAll(window), ElementsAre(10));
  window.Restart(20);
  EXPECT_THAT(StartAll(window), IsEmpty()) << "two are under way still";
  EXPECT_FALSE(window.Arrive(0));
  EXPECT_THAT(StartAll(window), ElementsAre(20));
}

TEST(PrefetchWindowTest, NothingStartsAtOrPastTheEnd) {
  PrefetchWindow window(0, 8);
  window.EndAt(2);
  StartAll(window);
  window.Arrive(0);
  EXPECT_THAT(StartAll(window), ElementsAre(1));
  EXPECT_FALSE(window.at_end());
  window.Deliver();
  window.Deliver();
  EXPECT_TRUE(window.at_end());
  window.EndAt(5);
  EXPECT_TRUE(window.at_end()) << "an end never moves back";
}

}  // namespace
}  // namespace poniente::internal
