// SPDX-License-Identifier: Apache-2.0
// What happens where io_uring is forbidden, at once or later.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>

#include "io/files/fault_hooks.h"
#include "poniente/byte_reader.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::ReadInNewContext;
using ::poniente::testing::StatusIs;
using ::poniente::testing::TempDir;
using ::poniente::testing::Windows;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ForbidUring final : public internal::FaultHooks {
 public:
  explicit ForbidUring(int error) : error_(error) {}
  int Error(internal::SystemCall call) override {
    return call == internal::SystemCall::kUringSetup ? error_ : 0;
  }

 private:
  const int error_;
};

// The n-th submission, from 0, and `times - 1` more give `error`.
class FailSubmission final : public internal::FaultHooks {
 public:
  FailSubmission(int nth, int times, int error)
      : nth_(nth), times_(times), error_(error) {}
  int Error(internal::SystemCall call) override {
    if (call != internal::SystemCall::kUringEnter) return 0;
    const int number = calls_++;
    return number >= nth_ && number - nth_ < times_ ? error_ : 0;
  }

 private:
  const int nth_;
  const int times_;
  const int error_;
  std::atomic<int> calls_ = 0;
};

class FallbackTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    testing::WriteProvenFile(path_, 0, 500'000);
    testing::DropFromCache(path_);
  }
  Windows SomeWindows(const ByteReader& reader, int count) {
    Windows windows;
    windows.AddRandom(reader, 0, count, 3000, &random_);
    return windows;
  }

  TempDir dir_;
  const std::string path_ = dir_.path("f");
  std::mt19937_64 random_{7};
};

INSTANTIATE_TEST_SUITE_P(Errno, FallbackTest,
                         ::testing::Values(EPERM, ENOSYS, ENOMEM),
                         [](const auto& tested) {
                           return std::string(strerrorname_np(tested.param));
                         });

TEST_P(FallbackTest, AutoReadsByPreadAndSaysWhy) {
  ForbidUring forbid(GetParam());
  internal::ScopedFaultHooks scope(&forbid);
  ByteReaderOptions options;
  options.cache_bytes = 0;  // a policy of its own
  ASSERT_OK_AND_ASSIGN(const auto reader, ByteReader::Open({path_}, options));
  EXPECT_EQ(reader->backend(), IoBackend::kPread);
  EXPECT_EQ(reader->fallback_reason(),
            std::string("buffered -> pread: io_uring_setup: ") +
                std::strerror(GetParam()));
  const Windows windows = SomeWindows(*reader, 64);
  ASSERT_THAT(testing::Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
  EXPECT_EQ(reader->counters().Total().submissions, 0);
  EXPECT_EQ(reader->counters().Total().bytes_asked, windows.bytes());
}

TEST_P(FallbackTest, UringAskedForByNameIsUnavailable) {
  ForbidUring forbid(GetParam());
  internal::ScopedFaultHooks scope(&forbid);
  for (const auto backend : {IoBackend::kBuffered, IoBackend::kDirect}) {
    EXPECT_THAT(ByteReader::Open({path_}, {backend}),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr(IoBackendName(backend).data()),
                               HasSubstr(std::strerror(GetParam())),
                               HasSubstr("choose 'auto'"))));
  }
}

TEST_P(FallbackTest, AContextWithoutARingReadsByPreadAndIsCounted) {
  PONIENTE_NEEDS_URING();
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ByteReader::Open({path_}, {IoBackend::kBuffered}));
  Windows windows = SomeWindows(*reader, 63);
  windows.Add(*reader, 0, 9, 9, 0);
  {
    ForbidUring forbid(GetParam());
    internal::ScopedFaultHooks scope(&forbid);
    ASSERT_THAT(ReadInNewContext(windows.requests()), IsOk());
  }
  EXPECT_EQ(windows.FirstWrongByte(), "");
  EXPECT_EQ(reader->backend(), IoBackend::kBuffered);
  EXPECT_THAT(reader->fallback_reason(), HasSubstr(std::strerror(GetParam())));
  const uint64_t fallback_reads = reader->counters().pread.reads;
  EXPECT_GT(fallback_reads, 0);
  EXPECT_EQ(reader->counters().Total().submissions, 0);

  // Another context has its ring.
  windows.Fill(std::byte{0});
  ASSERT_THAT(ReadInNewContext(windows.requests()), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
  EXPECT_EQ(reader->counters().pread.reads, fallback_reads);
  EXPECT_EQ(reader->counters().Total().submissions, 2);
}

// 3000 reads are three submissions and more.
TEST(SubmissionFaultTest, ARingThatBreaksLeavesTheRestToPread) {
  PONIENTE_NEEDS_URING();
  TempDir dir;
  testing::WriteProvenFile(dir.path("f"), 0, 500'000);
  for (int nth = 0; nth < 4; ++nth) {
    testing::DropFromCache(dir.path("f"));
    ASSERT_OK_AND_ASSIGN(
        const auto reader,
        ByteReader::Open({dir.path("f")}, {IoBackend::kBuffered}));
    Windows windows;
    for (uint64_t i = 0; i < 3000; ++i) {
      windows.Add(*reader, 0, i * 160, 150, 0);
    }
    FailSubmission fail(nth, 1, EBADF);
    internal::ScopedFaultHooks scope(&fail);
    ASSERT_THAT(ReadInNewContext(windows.requests()), IsOk()) << nth;
    EXPECT_EQ(windows.FirstWrongByte(), "") << nth;
    EXPECT_EQ(reader->counters().Total().bytes_read, windows.bytes());
    if (nth < 3) {
      EXPECT_GT(reader->counters().pread.reads, 0) << nth;
      EXPECT_THAT(reader->fallback_reason(),
                  HasSubstr("io_uring_enter: Bad file"));
    }
  }
}

TEST(SubmissionFaultTest, ShortRefusalsAreWaitedOut) {
  PONIENTE_NEEDS_URING();
  TempDir dir;
  testing::WriteProvenFile(dir.path("f"), 0, 500'000);
  for (const int error : {EAGAIN, EBUSY, EINTR}) {
    for (int nth = 0; nth < 4; ++nth) {
      testing::DropFromCache(dir.path("f"));
      ASSERT_OK_AND_ASSIGN(
          const auto reader,
          ByteReader::Open({dir.path("f")}, {IoBackend::kBuffered}));
      Windows windows;
      for (uint64_t i = 0; i < 3000; ++i) {
        windows.Add(*reader, 0, i * 160, 150, 0);
      }
      FailSubmission fail(nth, 5, error);
      internal::ScopedFaultHooks scope(&fail);
      ASSERT_THAT(ReadInNewContext(windows.requests()), IsOk())
          << error << ' ' << nth;
      EXPECT_EQ(windows.FirstWrongByte(), "") << error << ' ' << nth;
      EXPECT_EQ(reader->counters().pread.reads, 0) << error << ' ' << nth;
    }
  }
}

}  // namespace
}  // namespace poniente
