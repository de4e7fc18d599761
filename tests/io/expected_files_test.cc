// SPDX-License-Identifier: Apache-2.0
// Files that a reader opens at their first use, through every backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/files/fault_hooks.h"
#include "tests/io/checksummed_file.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using internal::SystemCall;
using ::poniente::testing::IsOk;
using ::poniente::testing::OpenDescriptors;
using ::poniente::testing::Read;
using ::poniente::testing::StatusIs;
using ::poniente::testing::Windows;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kExpectedBytes = 300'000;
constexpr uint64_t kBlock = 65536;

class ExpectedFilesTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    if (testing::UsesUring(GetParam())) PONIENTE_NEEDS_URING();
  }

  ByteReaderOptions options() const {
    ByteReaderOptions options;
    options.backend = GetParam();
    return options;
  }
  std::string path(uint64_t number) const {
    return folder_.path(absl::StrCat("file", number));
  }
  // Proven file `number` with its checksums, to be opened later.
  ByteFile Later(uint64_t number,
                 std::function<absl::Status()> check = nullptr) const {
    ByteFile file = testing::WriteChecksummedFile(path(number), number,
                                                  kExpectedBytes, kBlock);
    file.expected = ExpectedFile{kExpectedBytes, std::move(check)};
    return file;
  }
  absl::StatusOr<std::shared_ptr<const ByteReader>> Open(ByteFile file) const {
    std::vector<ByteFile> files;
    files.push_back(std::move(file));
    return ByteReader::Open(std::move(files), options());
  }
  static Windows OneWindow(const ByteReader& reader, uint64_t number,
                           uint32_t file = 0) {
    Windows windows;
    windows.Add(reader, file, 70'000, 5000, number);
    return windows;
  }

  const testing::TempDir folder_;
};

TEST_P(ExpectedFilesTest, AreNotTouchedBeforeTheirFirstRead) {
  int checks = 0;
  ByteFile file = Later(1, [&checks] {
    ++checks;
    return absl::OkStatus();
  });
  std::filesystem::rename(path(1), path(2));
  std::filesystem::rename(path(1) + ".crc", path(2) + ".crc");
  const size_t before = OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const auto reader, Open(std::move(file)));
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(reader->size(0), kExpectedBytes);
  EXPECT_EQ(reader->path(0), path(1));
  EXPECT_NE(reader->backend(), IoBackend::kAuto);
  EXPECT_EQ(checks, 0);

  const Windows windows = OneWindow(*reader, 1);
  EXPECT_THAT(Read(windows), StatusIs(absl::StatusCode::kNotFound,
                                      HasSubstr(path(1) + ": cannot open")));
  EXPECT_EQ(checks, 1);
  // The file is there again: the next read finds it.
  std::filesystem::rename(path(2), path(1));
  std::filesystem::rename(path(2) + ".crc", path(1) + ".crc");
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
  EXPECT_EQ(checks, 2);
  EXPECT_GT(reader->counters().blocks_verified, 0u);
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(checks, 2) << "an open file is not checked again";
}

TEST_P(ExpectedFilesTest, BytesOtherThanExpectedAreAnError) {
  ByteFile file = Later(1);
  file.expected->bytes = kExpectedBytes - 1;
  ASSERT_OK_AND_ASSIGN(const auto reader, Open(std::move(file)));
  EXPECT_THAT(Read(OneWindow(*reader, 1)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path(1)), HasSubstr("300000"),
                             HasSubstr("299999"))));
}

TEST_P(ExpectedFilesTest, TheErrorOfTheirCheckIsThatOfTheRead) {
  absl::Status answer = absl::FailedPreconditionError("it is another file");
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       Open(Later(1, [&answer] { return answer; })));
  const Windows windows = OneWindow(*reader, 1);
  const size_t before = OpenDescriptors();
  EXPECT_EQ(Read(windows), answer);
  EXPECT_EQ(OpenDescriptors(), before);
  answer = absl::OkStatus();
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
}

TEST_P(ExpectedFilesTest, ReadsOfNothingAndBeyondTheEndOpenNothing) {
  ByteFile file = Later(1);
  std::filesystem::remove(path(1));
  ASSERT_OK_AND_ASSIGN(const auto reader, Open(std::move(file)));
  Windows nothing;
  nothing.Add(*reader, 0, 5, 0, 1);
  EXPECT_THAT(Read(nothing), IsOk());
  Windows beyond;
  beyond.Add(*reader, 0, kExpectedBytes - 1, 2, 1);
  EXPECT_THAT(Read(beyond),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("300000")));
}

TEST_P(ExpectedFilesTest, DamageIsFoundAsInFilesThatAreOpenedAtOnce) {
  ByteFile file = Later(1);
  testing::FlipBit(path(1), 71'000);
  ASSERT_OK_AND_ASSIGN(const auto reader, Open(std::move(file)));
  EXPECT_THAT(Read(OneWindow(*reader, 1)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 1")));
}

TEST_P(ExpectedFilesTest, StandBesideFilesThatAreOpen) {
  std::vector<ByteFile> files;
  files.push_back(
      testing::WriteChecksummedFile(path(0), 0, 2 * kExpectedBytes, kBlock));
  files.push_back(Later(1));
  files.push_back(Later(2));
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ByteReader::Open(std::move(files), options()));
  EXPECT_EQ(reader->size(0), 2 * kExpectedBytes);
  std::mt19937_64 random(testing::TestSeed(5));
  for (int batch = 0; batch < 20; ++batch) {
    Windows windows;
    windows.AddRandom(*reader, 0, 20, 20'000, &random);
    ASSERT_THAT(Read(windows), IsOk());
    ASSERT_EQ(windows.FirstWrongByte(), "");
  }
}

// Whatever fails once while a file is opened, the read says so or survives it,
// and the next one works.
TEST_P(ExpectedFilesTest, WhatFailsOnceIsTriedAgain) {
  class Fail final : public internal::FaultHooks {
   public:
    Fail(SystemCall call, int nth) : call_(call), nth_(nth) {}
    int Error(SystemCall call) override {
      return call == call_ && calls_++ == nth_ ? ENOMEM : 0;
    }
    bool happened() const { return calls_ > nth_; }

   private:
    const SystemCall call_;
    const int nth_;
    std::atomic<int> calls_ = 0;
  };
  int failed = 0;
  for (const SystemCall call :
       {SystemCall::kOpen, SystemCall::kFstat, SystemCall::kFcntl,
        SystemCall::kReadChecksum, SystemCall::kMapFile,
        SystemCall::kOpenDirect}) {
    bool happened = true;
    for (int nth = 0; happened; ++nth) {
      ASSERT_LT(nth, 10);
      ASSERT_OK_AND_ASSIGN(const auto reader, Open(Later(1)));
      const Windows windows = OneWindow(*reader, 1);
      {
        Fail hooks(call, nth);
        const internal::ScopedFaultHooks installed(&hooks);
        failed += Read(windows).ok() ? 0 : 1;
        happened = hooks.happened();
      }
      ASSERT_THAT(Read(windows), IsOk())
          << static_cast<int>(call) << " " << nth;
      ASSERT_EQ(windows.FirstWrongByte(), "");
    }
  }
  EXPECT_GE(failed, 3);
}

TEST_P(ExpectedFilesTest, AreOpenedOnceHoweverManyThreadsReadThemFirst) {
  constexpr uint64_t kFiles = 12;
  std::atomic<int> checks = 0;
  std::vector<std::shared_ptr<const ByteReader>> readers;
  const size_t before = OpenDescriptors();
  for (uint64_t i = 0; i < kFiles; ++i) {
    ASSERT_OK_AND_ASSIGN(auto reader, Open(Later(i, [&checks] {
                           ++checks;
                           return absl::OkStatus();
                         })));
    readers.push_back(std::move(reader));
  }
  EXPECT_EQ(OpenDescriptors(), before);
  std::vector<absl::Status> statuses(8);
  std::vector<std::string> wrong(8);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < statuses.size(); ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        for (int batch = 0; batch < 10 && statuses[t].ok(); ++batch) {
          Windows windows;
          for (uint64_t i = 0; i < 2 * kFiles; ++i) {
            const uint64_t file = random() % kFiles;
            windows.AddRandom(*readers[file], file, 1, 20'000, &random);
            (void)readers[file]->backend();
          }
          statuses[t] = Read(windows);
          if (wrong[t].empty()) wrong[t] = windows.FirstWrongByte();
        }
      });
    }
  }
  for (size_t t = 0; t < statuses.size(); ++t) {
    EXPECT_THAT(statuses[t], IsOk());
    EXPECT_EQ(wrong[t], "");
  }
  EXPECT_EQ(checks, static_cast<int>(kFiles));
}

INSTANTIATE_TEST_SUITE_P(Backends, ExpectedFilesTest,
                         ::testing::ValuesIn(testing::kAllBackends),
                         [](const ::testing::TestParamInfo<IoBackend>& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

}  // namespace
}  // namespace poniente
