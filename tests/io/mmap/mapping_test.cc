// SPDX-License-Identifier: Apache-2.0
// Which regions of a mapped file are entered in the page table.
#include "io/mmap/mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "io/files/fault_hooks.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using testing::TempDir;

constexpr uint64_t kRegion = 512 << 10;

// Counts the calls, and enters nothing. `is_missing`: no page is in memory.
class CountEntries final : public FaultHooks {
 public:
  int Error(SystemCall call) override {
    if (call == SystemCall::kMincore) {
      ++looks;
      return is_missing ? EAGAIN : 0;
    }
    if (call != SystemCall::kPopulate) return 0;
    ++entries;
    return EFAULT;
  }

  std::atomic<bool> is_missing = false;
  std::atomic<int> looks = 0;
  std::atomic<int> entries = 0;
};

class MappingTest : public ::testing::Test {
 protected:
  // A file of 32 regions, all in memory.
  Mapping MapFile() {
    testing::WriteFile(folder_.path("f"), std::string(32 * kRegion, 'x'));
    return *Mapping::Map(*OpenFile::Open(folder_.path("f")));
  }

  const TempDir folder_;
};

TEST_F(MappingTest, EntersEachRegionOnce) {
  const Mapping mapping = MapFile();
  CountEntries hooks;
  const ScopedFaultHooks scope(&hooks);
  for (int time = 0; time < 2; ++time) {
    EXPECT_FALSE(mapping.Enter(kRegion + 1, 10));
    EXPECT_FALSE(mapping.Enter(3 * kRegion - 1, 2));
  }
  EXPECT_EQ(hooks.entries, 3);
}

TEST_F(MappingTest, OnceRegionsAreWholeFewPagesAreLookedAt) {
  const Mapping mapping = MapFile();
  CountEntries hooks;
  const ScopedFaultHooks scope(&hooks);
  mapping.Enter(0, 8 * kRegion);
  EXPECT_EQ(hooks.looks, 8);
  mapping.Enter(8 * kRegion, kRegion);
  EXPECT_EQ(hooks.looks, 8 + 4);
  hooks.is_missing = true;
  mapping.Enter(9 * kRegion, kRegion);
  EXPECT_EQ(hooks.looks, 8 + 4 + 1);
  EXPECT_EQ(hooks.entries, 9);
  hooks.is_missing = false;
  mapping.Enter(10 * kRegion, kRegion);  // all of its pages again
  EXPECT_EQ(hooks.looks, 8 + 4 + 1 + 1);
  EXPECT_EQ(hooks.entries, 10);
}

TEST_F(MappingTest, ReadsNoMissingPages) {
  const Mapping mapping = MapFile();
  const int fd = ::open(folder_.path("f").c_str(), O_RDWR);
  ASSERT_EQ(::fsync(fd), 0);
  // The page cache may hold pieces of 2 MiB, which are evicted as a whole.
  ::posix_fadvise(fd, 4 * kRegion, 28 * kRegion, POSIX_FADV_DONTNEED);
  ::close(fd);
  const auto missing = [&mapping] {
    std::vector<unsigned char> pages(32 * kRegion / 4096);
    ::mincore(const_cast<std::byte*>(mapping.begin()), 32 * kRegion,
              pages.data());
    return std::count_if(pages.begin(), pages.end(),
                         [](unsigned char page) { return (page & 1) == 0; });
  };
  const auto before = missing();
  if (before == 0) GTEST_SKIP() << "this file system evicts no pages";
  EXPECT_FALSE(mapping.Enter(0, 32 * kRegion));
  EXPECT_EQ(missing(), before);
}

}  // namespace
}  // namespace poniente::internal
