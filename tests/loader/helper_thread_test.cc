// SPDX-License-Identifier: Apache-2.0
#include "loader/helper_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "util/usable_cores.h"

namespace poniente::internal {
namespace {

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
    while (left() > 0) std::this_thread::yield();
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
  helper.Join();
  pile_.Add(3);
  helper.Call();
  helper.Join();
  EXPECT_EQ(pile_.left(), 3);
  HelperThread never_called([this] { return pile_.Take(); });
  never_called.Join();
  never_called.Call();
  EXPECT_EQ(pile_.left(), 3);
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
    if (i % 2 == 0) helper->Join();
    for (std::thread& caller : callers) caller.join();
    if (i % 2 != 0) pile_.AwaitEmpty();
    while (pile_.Take()) {
    }
  }
}

}  // namespace
}  // namespace poniente::internal
