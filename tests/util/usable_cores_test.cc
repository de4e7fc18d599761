// SPDX-License-Identifier: Apache-2.0
#include "util/usable_cores.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <thread>

#include "tests/support/made_up_system.h"
#include "tests/support/one_core.h"

namespace poniente::internal {
namespace {

TEST(UsableCoresTest, AreThoseThatAreLeftToTheThread) {
  const unsigned all = UsableCores();
  EXPECT_GE(all, 1u);
  EXPECT_LE(all, std::thread::hardware_concurrency());
  {
    const testing::OneCore bound;
    EXPECT_EQ(UsableCores(), 1u);
    unsigned others = 0;
    std::thread([&others] { others = UsableCores(); }).join();
    EXPECT_EQ(others, 1u) << "a thread that it starts";
  }
  EXPECT_EQ(UsableCores(), all);
}

class CoresOfQuotaTest : public testing::MadeUpSystem {
 protected:
  unsigned Cores() { return CoresOfQuota(root()); }
};

TEST_F(CoresOfQuotaTest, AreThoseOfTheTightestGroupRoundedUp) {
  EXPECT_EQ(Cores(), UINT_MAX);
  Write("/proc/self/cgroup", "0::/jobs/mine\n");
  EXPECT_EQ(Cores(), UINT_MAX);
  Write("/sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(Cores(), UINT_MAX);
  Write("/sys/fs/cgroup/jobs/cpu.max", "800000 100000\n");
  EXPECT_EQ(Cores(), 8u);
  Write("/sys/fs/cgroup/jobs/mine/cpu.max", "150000 100000\n");
  EXPECT_EQ(Cores(), 2u);
  Write("/sys/fs/cgroup/cpu.max", "5000 100000\n");
  EXPECT_EQ(Cores(), 1u);
}

TEST_F(CoresOfQuotaTest, AreThoseOfVersion1) {
  Write("/proc/self/cgroup", "3:cpu,cpuacct:/docker/0123\n0::/\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), UINT_MAX);
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(Cores(), 4u);
}

TEST_F(CoresOfQuotaTest, AnyTextIsSurvived) {
  Write("/proc/self/cgroup", "0::/a\n");
  for (const std::string text : {"", "\n", "lots of it", "-5 -5", "1 0",
                                 "99999999999999999999 1", "1e400 1"}) {
    Write("/sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(Cores(), UINT_MAX) << text;
  }
}

}  // namespace
}  // namespace poniente::internal
