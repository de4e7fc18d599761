// SPDX-License-Identifier: Apache-2.0
#include "io/files/page_cache.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/made_up_system.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

class PageCacheTest : public testing::MadeUpSystem {
 protected:
  uint64_t Available() { return AvailableMemoryBytes(root()); }
};

TEST_F(PageCacheTest, IsWhatTheMachineHas) {
  Write("/proc/meminfo",
        "MemTotal: 33554432 kB\nMemFree: 1 kB\nMemAvailable:   16777216 kB\n");
  EXPECT_EQ(Available(), 16 * kGib);
}

TEST_F(PageCacheTest, IsWhatTheTightestControlGroupLeaves) {
  Write("/proc/meminfo", "MemAvailable: 16777216 kB\n");
  Write("/proc/self/cgroup", "1:name=systemd:/x\n0::/jobs/mine\n");
  Write("/sys/fs/cgroup/jobs/mine/memory.max", "max\n");
  Write("/sys/fs/cgroup/jobs/memory.max", "8589934592\n");
  Write("/sys/fs/cgroup/jobs/memory.stat", "anon 2147483648\nfile 999\n");
  EXPECT_EQ(Available(), 6 * kGib);
  Write("/sys/fs/cgroup/jobs/mine/memory.max", "1073741824\n");
  EXPECT_EQ(Available(), kGib);
  Write("/sys/fs/cgroup/jobs/mine/memory.stat", "anon 2147483648\n");
  EXPECT_EQ(Available(), 0);
}

TEST_F(PageCacheTest, GroupsOfVersion1LimitItToo) {
  Write("/proc/meminfo", "MemAvailable: 16777216 kB\n");
  Write("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/jobs/mine\n0::/\n");
  const std::string groups = "/sys/fs/cgroup/memory";
  Write(groups + "/jobs/mine/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Available(), 16 * kGib);
  Write(groups + "/jobs/memory.limit_in_bytes", "8589934592\n");
  Write(groups + "/jobs/memory.stat", "rss 7\ntotal_rss 2147483648\n");
  EXPECT_EQ(Available(), 6 * kGib);
}

// A container whose groups have the paths that they have on the host.
TEST_F(PageCacheTest, TheRootOfAContainerLimitsIt) {
  Write("/proc/meminfo", "MemAvailable: 16777216 kB\n");
  for (const std::string version : {"4:memory:", "0::"}) {
    SCOPED_TRACE(version);
    Write("/proc/self/cgroup", version + "/docker/0123\n");
    EXPECT_EQ(Available(), 16 * kGib);
    const std::string limit =
        version == "0::" ? "memory.max" : "memory/memory.limit_in_bytes";
    Write("/sys/fs/cgroup/" + limit, "2147483648\n");
    EXPECT_EQ(Available(), 2 * kGib);
  }
}

TEST_F(PageCacheTest, AnyTextIsSurvived) {
  EXPECT_EQ(Available(), uint64_t{1} << 63);  // nothing to read
  Write("/proc/meminfo", "MemAvailable: lots\n");
  Write("/proc/self/cgroup",
        "0::/\n0::/a/../..//b\n0::/a\n0::\n::\n:memory\n"
        "4:memory:a\n4:,memory,:\n");
  Write("/sys/fs/cgroup/a/memory.max", "99999999999999999999999999999\n");
  Write("/sys/fs/cgroup/a/memory.stat", "anon\n");
  EXPECT_GE(Available(), uint64_t{1} << 59);
}

TEST(AvailableMemoryTest, OfThisMachineIsPlausible) {
  const uint64_t bytes = AvailableMemoryBytes();
  EXPECT_GT(bytes, uint64_t{1} << 20);
  EXPECT_LT(bytes, uint64_t{1} << 50);
}

}  // namespace
}  // namespace poniente::internal
