// SPDX-License-Identifier: Apache-2.0
// Short reads, interruptions and errors, brought about where the kernel's
// answer comes in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>

#include "io/files/fault_hooks.h"
#include "poniente/byte_reader.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::Read;
using ::poniente::testing::StatusIs;
using ::poniente::testing::Windows;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ReadResultHook final : public internal::FaultHooks {
 public:
  using Function = std::function<int64_t(int call, int64_t result)>;
  explicit ReadResultHook(Function function) : function_(std::move(function)) {}
  int64_t ReadResult(internal::SystemCall, int64_t result) override {
    return function_(calls_++, result);
  }

 private:
  const Function function_;
  std::atomic<int> calls_ = 0;
};

class ReadFaultsTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    if (testing::UsesUring(GetParam())) PONIENTE_NEEDS_URING();
    testing::WriteProvenFile(path_, 0, 100'000);
    auto reader = ByteReader::Open({path_}, {GetParam()});
    ASSERT_THAT(reader, IsOk());
    reader_ = *reader;
    for (uint64_t i = 0; i < 64; ++i) {
      windows_.Add(*reader_, 0, i * 1500, 1000, 0);
    }
  }
  absl::Status ReadWith(ReadResultHook::Function function) {
    ReadResultHook hook(std::move(function));
    internal::ScopedFaultHooks scope(&hook);
    return Read(windows_);
  }

  testing::TempDir dir_;
  const std::string path_ = dir_.path("f");
  std::shared_ptr<const ByteReader> reader_;
  Windows windows_;
};

INSTANTIATE_TEST_SUITE_P(Backends, ReadFaultsTest,
                         ::testing::Values(IoBackend::kBuffered,
                                           IoBackend::kPread),
                         [](const auto& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

TEST_P(ReadFaultsTest, ShortReadsGoOnWhereTheyStopped) {
  ASSERT_THAT(ReadWith([](int, int64_t result) {
                return std::min<int64_t>(result, 300);
              }),
              IsOk());
  EXPECT_EQ(windows_.FirstWrongByte(), "");
  EXPECT_EQ(reader_->counters().Total().reads, 64);
  EXPECT_EQ(reader_->counters().Total().bytes_read, 64'000);
}

TEST_P(ReadFaultsTest, InterruptionsAreRetried) {
  for (const int error : {EINTR, EAGAIN, ECANCELED, EFAULT}) {
    windows_.Fill(std::byte{0});
    ASSERT_THAT(ReadWith([error](int call, int64_t result) {
                  return call % 3 == 0 ? result : -error;
                }),
                IsOk())
        << std::strerror(error);
    EXPECT_EQ(windows_.FirstWrongByte(), "") << std::strerror(error);
  }
}

TEST_P(ReadFaultsTest, RetriesEnd) {
  EXPECT_THAT(ReadWith([](int, int64_t) { return -EAGAIN; }),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(path_), HasSubstr("offset 0:"),
                             HasSubstr(std::strerror(EAGAIN)))));
}

TEST_P(ReadFaultsTest, AnErrorNamesTheReadAndTheNextBatchWorks) {
  // Ready at once, so that the completions come in the order of requests.
  ASSERT_THAT(Read(windows_), IsOk());
  for (const int failing : {0, 1, 63}) {
    EXPECT_THAT(ReadWith([failing](int call, int64_t result) {
                  return call == failing ? -ESTALE : result;
                }),
                StatusIs(absl::ErrnoToStatusCode(ESTALE),
                         AllOf(HasSubstr(path_), HasSubstr("1000 bytes"),
                               HasSubstr(std::strerror(ESTALE)),
                               HasSubstr("re-open"))));
    windows_.Fill(std::byte{0});
    ASSERT_THAT(Read(windows_), IsOk());
    EXPECT_EQ(windows_.FirstWrongByte(), "");
  }
}

TEST_P(ReadFaultsTest, AnErrorDoesNotCutTheOtherReadsShort) {
  ASSERT_FALSE(ReadWith([](int call, int64_t result) {
                 return call == 0 ? -ESTALE : result;
               }).ok());
  EXPECT_EQ(reader_->counters().Total().bytes_read, 63'000);
}

TEST_P(ReadFaultsTest, AnErrorOfTheDiskIsTriedAgainAndCounted) {
  ASSERT_THAT(ReadWith([](int call, int64_t result) {
                return call < 3 ? -EIO : result;
              }),
              IsOk());
  EXPECT_EQ(windows_.FirstWrongByte(), "");
  EXPECT_EQ(reader_->counters().Total().retries, 3);
  EXPECT_THAT(
      ReadWith([](int, int64_t) { return -EIO; }),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(path_), HasSubstr("4 times"),
                     HasSubstr(std::strerror(EIO)), HasSubstr("dmesg"))));
}

TEST_P(ReadFaultsTest, TheEndOfTheFileInTheMiddleOfAReadIsDataLoss) {
  EXPECT_THAT(ReadWith([](int, int64_t result) {
                return int64_t{result == 1000 ? 10 : 0};
              }),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(path_), HasSubstr("ends at 10,"))));
}

}  // namespace
}  // namespace poniente
