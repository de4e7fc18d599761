// SPDX-License-Identifier: Apache-2.0
#include "loader/helper_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/one_core.h"
#include "util/usable_cores.h"

namespace poniente::internal {
namespace {

constexpr std::chrono::seconds kLongest{60};

// Pieces of work that a helper takes one by one.
class Pile {
 public:
  void Add(int pieces) { left_ += pieces; }
  bool Take() {
    int left = left_.load();
    while (left > 0) {
      if (!left_.compare_exchange_weak(left, left - 1)) continue;
      ++taken_;
      return true;
    }
    return false;
  }
  int left() const { return left_; }
  int taken() const { return taken_; }
  void AwaitEmpty() const {
    const auto end = std::chrono::steady_clock::now() + kLongest;
    while (left() > 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    EXPECT_EQ(left(), 0);
  }

 private:
  std::atomic<int> left_ = 0;
  std::atomic<int> taken_ = 0;
};

class HelperThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (UsableCores() < 2) GTEST_SKIP() << "there is one core only";
  }
  Pile pile_;
};

TEST_F(HelperThreadTest, OneCallIsEnoughForAllThatThereIs) {
  std::thread::id helpers;
  HelperThread helper([&] {
    helpers = std::this_thread::get_id();
    return pile_.Take();
  });
  pile_.Add(1000);
  helper.Call();
  helper.StartIfCalled();
  pile_.AwaitEmpty();
  helper.Join();
  EXPECT_NE(helpers, std::this_thread::get_id());
}

TEST_F(HelperThreadTest, NoCallIsLostWhetherItSleepsOrSpins) {
  HelperThread helper([this] { return pile_.Take(); });
  constexpr int kTimes = 2000;
  for (int i = 0; i < kTimes; ++i) {
    pile_.Add(1);
    helper.Call();
    helper.StartIfCalled();
    pile_.AwaitEmpty();
    if (i % 100 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  helper.Join();
  EXPECT_EQ(pile_.taken(), kTimes);
}

TEST_F(HelperThreadTest, DoesNothingUntilItIsCalledAndAfterJoin) {
  HelperThread helper([this] { return pile_.Take(); });
  helper.Call();
  helper.StartIfCalled();
  helper.Join();
  pile_.Add(3);
  helper.Call();
  helper.StartIfCalled();
  helper.Join();
  EXPECT_EQ(pile_.left(), 3);
  HelperThread never_called([this] { return pile_.Take(); });
  never_called.StartIfCalled();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(pile_.left(), 3);
  never_called.Join();
  never_called.Call();
  never_called.StartIfCalled();
  EXPECT_EQ(pile_.left(), 3);
}

TEST_F(HelperThreadTest, JoinsWhereverTheThreadIs) {
  for (int i = 0; i < 3000; ++i) {
    HelperThread helper([this] { return pile_.Take(); });
    pile_.Add(i % 3);
    helper.Call();
    helper.StartIfCalled();
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::microseconds(i % 150);
    while (std::chrono::steady_clock::now() < end) {
    }
    helper.Join();
  }
}

TEST_F(HelperThreadTest, AnyThreadMayCallAndJoin) {
  for (int i = 0; i < 200; ++i) {
    std::optional<HelperThread> helper([this] { return pile_.Take(); });
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        pile_.Add(1);
        helper->Call();
      });
    }
    helper->StartIfCalled();
    if (i % 2 == 0) helper->Join();
    for (std::thread& caller : callers) caller.join();
    helper->StartIfCalled();
    if (i % 2 != 0) pile_.AwaitEmpty();
    while (pile_.Take()) {
    }
  }
}

TEST_F(HelperThreadTest, NoThreadIsStartedOnOneCore) {
  const testing::OneCore bound;
  HelperThread helper([this] { return pile_.Take(); });
  pile_.Add(1);
  helper.Call();
  helper.StartIfCalled();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  helper.Join();
  EXPECT_EQ(pile_.left(), 1);
}

}  // namespace
}  // namespace poniente::internal
