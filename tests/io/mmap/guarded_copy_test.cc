// SPDX-License-Identifier: Apache-2.0
#include "io/mmap/guarded_copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "io/mmap/stream_copy.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 16 * kPage;

// A mapped file of ones.
class MappedFile {
 public:
  MappedFile() {
    fd_ = ::open(dir_.path("f").c_str(), O_RDWR | O_CREAT, 0600);
    Restore();
    void* const map = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd_, 0);
    begin_ = static_cast<const std::byte*>(map);
  }
  ~MappedFile() {
    ::munmap(const_cast<std::byte*>(begin_), kBytes);
    ::close(fd_);
  }

  void Truncate(size_t bytes) {
    ASSERT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes)), 0);
  }
  void Restore() {
    const std::vector<char> ones(kBytes, 1);
    ASSERT_EQ(::pwrite(fd_, ones.data(), kBytes, 0), kBytes);
  }
  const std::byte* begin() const { return begin_; }

 private:
  testing::TempDir dir_;
  int fd_;
  const std::byte* begin_;
};

TEST(GuardedCopyTest, CopiesWhatIsThereAndReportsWhatIsNot) {
  MappedFile file;
  std::vector<std::byte> to(2 * kPage);
  ASSERT_TRUE(GuardedCopy({file.begin() + 3, to.size()}, to.data()));
  EXPECT_EQ(to.front(), std::byte{1});
  EXPECT_EQ(to.back(), std::byte{1});
  file.Truncate(kPage);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(GuardedCopy({file.begin() + kPage, kPage}, to.data()));
    EXPECT_FALSE(GuardedCopy({file.begin() + 10, 2 * kPage}, to.data()));
    EXPECT_TRUE(GuardedCopy({file.begin(), kPage}, to.data()));
  }
}

TEST(GuardedCopyTest, AStreamCopyReportsWhatIsNotThere) {
  MappedFile file;
  std::vector<std::byte> to(2 * kPage);
  const std::span<const std::byte> next(file.begin() + 4 * kPage, 2 * kPage);
  const std::span<const std::byte> from(file.begin() + 10, to.size());
  std::byte last;
  ASSERT_TRUE(GuardedStreamCopy(from, to.data(), next, &last));
  EXPECT_EQ(std::count(to.begin(), to.end(), std::byte{1}), to.size());
  EXPECT_EQ(last, std::byte{1});
  file.Truncate(2 * kPage + 11);  // `next` is gone, which does not matter
  EXPECT_TRUE(GuardedStreamCopy(from, to.data(), next, &last));
  file.Truncate(2 * kPage + 5);
  EXPECT_TRUE(GuardedStreamCopy(from, to.data(), next, &last));
  EXPECT_EQ(last, std::byte{0});
  file.Truncate(kPage);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(GuardedStreamCopy(from, to.data(), next, &last));
  }
  FinishStreams();
}

TEST(GuardedCopyTest, SurvivesAThreadThatTruncates) {
  MappedFile file;
  std::atomic<bool> stop = false;
  std::thread truncating([&] {
    while (!stop) {
      file.Truncate(0);
      file.Restore();
    }
  });
  std::atomic<int> bad = 0;
  std::vector<std::thread> copying;
  for (int t = 0; t < 2; ++t) {
    copying.emplace_back([&] {
      std::vector<std::byte> to(2 * kPage);
      for (size_t i = 0; i < 4000 || (bad == 0 && i < 400'000); ++i) {
        const size_t from = (i * 977) % (kBytes - to.size());
        if (!GuardedCopy({file.begin() + from, to.size()}, to.data())) ++bad;
      }
    });
  }
  for (auto& thread : copying) thread.join();
  stop = true;
  truncating.join();
  EXPECT_GT(bad, 0) << "the file was never caught short: nothing was tested";
}

void ReadFromNowhere(const std::byte* at) {
  std::byte to;
  MappedFile other;
  GuardedCopy({other.begin(), 1}, &to);  // the handler is there
  std::memcpy(&to, at, 1);               // but no copy is running
}

TEST(GuardedCopyDeathTest, AFaultOfSomebodyElseStillKills) {
  MappedFile file;
  file.Truncate(0);
  // ASan and TSan report it in their own words and exit.
  EXPECT_DEATH(ReadFromNowhere(file.begin()), "");
}

volatile sig_atomic_t seen_by_previous = 0;

// In a process of its own, since the handler is installed once per process.
void CountSignalsOfAnEarlierHandler() {
  ::signal(SIGBUS, [](int) { seen_by_previous = seen_by_previous + 1; });
  MappedFile file;
  std::byte to;
  file.Truncate(0);
  if (GuardedCopy({file.begin(), 1}, &to)) ::_exit(1);
  if (seen_by_previous != 0) ::_exit(2);
  ::raise(SIGBUS);
  ::_exit(seen_by_previous == 1 ? 0 : 3);
}

TEST(GuardedCopyDeathTest, SignalsThatAreNotOursGoToTheEarlierHandler) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(CountSignalsOfAnEarlierHandler(), ::testing::ExitedWithCode(0),
              "");
}

}  // namespace
}  // namespace poniente::internal
