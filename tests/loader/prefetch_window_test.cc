// SPDX-License-Identifier: Apache-2.0
#include "loader/prefetch_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kAnyBytes = 1 << 30;

// Batches of 10 bytes; those of step 7 of 100.
uint64_t BytesOf(uint64_t step) { return step == 7 ? 100 : 10; }

std::vector<uint64_t> StartAll(PrefetchWindow& window) {
  std::vector<uint64_t> started;
  while (const auto step = window.Start(BytesOf)) started.push_back(*step);
  return started;
}

bool Arrive(PrefetchWindow& window, uint64_t step, uint64_t generation = 0) {
  return window.Arrive(step, generation, BytesOf(step));
}

TEST(PrefetchWindowTest, TheFirstStepGoesAlone) {
  PrefetchWindow window(5, 3, kAnyBytes);
  EXPECT_THAT(StartAll(window), ElementsAre(5));
  EXPECT_TRUE(Arrive(window, 5));
  EXPECT_THAT(StartAll(window), ElementsAre(6, 7));
}

TEST(PrefetchWindowTest, NoMoreThanTheLimitIsUndelivered) {
  PrefetchWindow window(0, 2, kAnyBytes);
  StartAll(window);
  Arrive(window, 0);
  EXPECT_THAT(StartAll(window), ElementsAre(1));
  Arrive(window, 1);
  EXPECT_THAT(StartAll(window), IsEmpty());
  window.Deliver();
  EXPECT_THAT(StartAll(window), ElementsAre(2));
  EXPECT_EQ(window.next(), 1u);
}

TEST(PrefetchWindowTest, NoMoreBytesThanTheLimitAreUndelivered) {
  PrefetchWindow window(0, 8, 25);
  StartAll(window);
  Arrive(window, 0);
  EXPECT_THAT(StartAll(window), ElementsAre(1)) << "20 of 25 bytes";
  Arrive(window, 1);
  window.Deliver();
  EXPECT_THAT(StartAll(window), ElementsAre(2));
}

TEST(PrefetchWindowTest, ABatchBeyondTheByteLimitGoesAlone) {
  PrefetchWindow window(6, 8, 25);
  StartAll(window);
  Arrive(window, 6);
  EXPECT_THAT(StartAll(window), IsEmpty()) << "step 7 has 100 bytes";
  window.Deliver();
  EXPECT_THAT(StartAll(window), ElementsAre(7));
  Arrive(window, 7);
  EXPECT_THAT(StartAll(window), IsEmpty());
  window.Deliver();
  EXPECT_THAT(StartAll(window), ElementsAre(8, 9));
}

TEST(PrefetchWindowTest, BytesOfStaleStepsCountUntilTheyHaveArrived) {
  PrefetchWindow window(0, 8, 40);
  StartAll(window);
  Arrive(window, 0);
  EXPECT_THAT(StartAll(window), ElementsAre(1, 2, 3));
  window.Restart(20);
  EXPECT_THAT(StartAll(window), ElementsAre(20)) << "30 stale bytes and 10";
  Arrive(window, 20, 1);
  EXPECT_THAT(StartAll(window), IsEmpty());
  for (const uint64_t step : {3, 1, 2}) EXPECT_FALSE(Arrive(window, step));
  EXPECT_THAT(StartAll(window), ElementsAre(21, 22, 23));
}

TEST(PrefetchWindowTest, StepsMayArriveInAnyOrder) {
  PrefetchWindow window(0, 4, kAnyBytes);
  StartAll(window);
  Arrive(window, 0);
  window.Deliver();
  EXPECT_THAT(StartAll(window), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(Arrive(window, 4));
  EXPECT_TRUE(Arrive(window, 2));
  window.Restart(100);
  EXPECT_EQ(window.in_flight(), 2u) << "steps 1 and 3";
}

TEST(PrefetchWindowTest, ARestartForgetsWhatIsUnderWay) {
  PrefetchWindow window(0, 3, kAnyBytes);
  StartAll(window);
  Arrive(window, 0);
  StartAll(window);
  window.Restart(100);
  EXPECT_EQ(window.in_flight(), 2u);
  EXPECT_THAT(StartAll(window), ElementsAre(100));
  EXPECT_FALSE(Arrive(window, 1)) << "of the generation before";
  EXPECT_TRUE(Arrive(window, 100, 1));
  EXPECT_EQ(window.next(), 100u);
}

TEST(PrefetchWindowTest, StaleStepsCountUntilTheyHaveArrived) {
  PrefetchWindow window(0, 2, kAnyBytes);
  StartAll(window);
  window.Restart(10);
  EXPECT_THAT(StartAll(window), ElementsAre(10));
  window.Restart(20);
  EXPECT_THAT(StartAll(window), IsEmpty()) << "two are under way still";
  EXPECT_FALSE(Arrive(window, 0));
  EXPECT_THAT(StartAll(window), ElementsAre(20));
}

TEST(PrefetchWindowTest, NothingStartsAtOrPastTheEnd) {
  PrefetchWindow window(0, 8, kAnyBytes);
  window.EndAt(2);
  StartAll(window);
  Arrive(window, 0);
  EXPECT_THAT(StartAll(window), ElementsAre(1));
  EXPECT_FALSE(window.at_end());
  window.Deliver();
  Arrive(window, 1);
  window.Deliver();
  EXPECT_TRUE(window.at_end());
  window.EndAt(5);
  EXPECT_TRUE(window.at_end()) << "an end never moves back";
}

}  // namespace
}  // namespace poniente::internal
