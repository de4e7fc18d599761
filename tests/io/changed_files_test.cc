// SPDX-License-Identifier: Apache-2.0
// Files that are changed in place while a reader has them open.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "io/block_checksums.h"
#include "io/files/fault_hooks.h"
#include "tests/io/checksummed_file.h"
#include "tests/io/needs_uring.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::Read;
using ::poniente::testing::StatusIs;
using ::poniente::testing::Windows;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kChangedBytes = 100'000;
constexpr uint64_t kChangedBlock = 4096;
constexpr uint64_t kChangedBlocks = 25;

// Until a change has settled, and the file system's clock has gone on.
void LetItSettle() {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

// The same bytes, changed at another time.
void Touch(const std::string& path, int64_t seconds) {
  const timespec times[2] = {{0, UTIME_OMIT}, {seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

class ChangedFilesTest
    : public ::testing::TestWithParam<std::tuple<IoBackend, VerifyChecksums>> {
 protected:
  void SetUp() override {
    const auto [backend, verify] = GetParam();
    if (testing::UsesUring(backend)) PONIENTE_NEEDS_URING();
    internal::change_settles_nanoseconds = 20'000'000;
    file_ = testing::WriteChecksummedFile(dir_.path("f"), 0, kChangedBytes,
                                          kChangedBlock);
    ASSERT_OK_AND_ASSIGN(reader_, ByteReader::Open(std::vector<ByteFile>{file_},
                                                   {backend, verify}));
    ASSERT_THAT(ReadAt(0, kChangedBytes), IsOk());
    ASSERT_EQ(TakeVerified(), kChangedBlocks);
    LetItSettle();
  }

  void TearDown() override { internal::change_settles_nanoseconds = before_; }

  static bool IsAlways() {
    return std::get<1>(GetParam()) == VerifyChecksums::kAlways;
  }
  // Blocks verified since the last call.
  uint64_t TakeVerified() {
    const uint64_t all = reader_->counters().blocks_verified;
    return all - std::exchange(verified_, all);
  }
  // OK only with the bytes that were there first.
  absl::Status ReadAt(uint64_t offset, size_t bytes) {
    return testing::ReadProven(*reader_, offset, bytes);
  }
  void WriteAt(uint64_t offset, const std::string& bytes) const {
    const int fd = ::open(file_.path.c_str(), O_WRONLY);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(
        ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
        static_cast<ssize_t>(bytes.size()));
    ::close(fd);
  }
  void WriteRight(uint64_t offset, uint64_t bytes) const {
    std::string text(static_cast<size_t>(bytes), '\0');
    testing::FillProven(0, offset, std::as_writable_bytes(std::span(text)));
    WriteAt(offset, text);
  }

  const testing::TempDir dir_;
  ByteFile file_;
  std::shared_ptr<const ByteReader> reader_;
  uint64_t verified_ = 0;

 private:
  const int64_t before_ = internal::change_settles_nanoseconds;
};

INSTANTIATE_TEST_SUITE_P(
    Ways, ChangedFilesTest,
    ::testing::Combine(::testing::ValuesIn(testing::kAllBackends),
                       ::testing::Values(VerifyChecksums::kFirstTouch,
                                         VerifyChecksums::kAlways)),
    [](const auto& tested) {
      return std::string(IoBackendName(std::get<0>(tested.param))) + "_" +
             std::string(VerifyChecksumsName(std::get<1>(tested.param)));
    });

TEST_P(ChangedFilesTest, BytesRotatedInPlaceAreNeverServed) {
  std::string bytes = testing::ReadFile(file_.path);
  std::rotate(bytes.begin(), bytes.begin() + 2, bytes.end());
  WriteAt(0, bytes);
  std::mt19937_64 random(testing::TestSeed(120));
  for (int i = 0; i < 100; ++i) {
    const uint64_t offset = random() % (kChangedBytes - 300);
    EXPECT_THAT(ReadAt(offset, 300),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(file_.path),
                               HasSubstr("checksum mismatch in block"))));
  }
}

TEST_P(ChangedFilesTest, OneBlockFailsWhileItIsDamaged) {
  for (int round = 0; round < 3; ++round) {
    WriteAt(5 * kChangedBlock + 100, "x");
    EXPECT_THAT(ReadAt(5 * kChangedBlock + 3000, 10),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 5")));
    EXPECT_THAT(ReadAt(3 * kChangedBlock, 2 * kChangedBlock), IsOk());
    WriteRight(5 * kChangedBlock + 100, 1);
    EXPECT_THAT(ReadAt(0, kChangedBytes), IsOk());
  }
}

TEST_P(ChangedFilesTest, ZerosAfterATruncationAreNeverServed) {
  ASSERT_EQ(::truncate(file_.path.c_str(), 50'000), 0);
  ASSERT_EQ(::truncate(file_.path.c_str(), kChangedBytes), 0);
  EXPECT_THAT(ReadAt(60'000, 100),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(file_.path)));
  EXPECT_THAT(ReadAt(1000, 100), IsOk());
  WriteRight(50'000, 50'000);
  EXPECT_THAT(ReadAt(0, kChangedBytes), IsOk());
}

TEST_P(ChangedFilesTest, WhatIsTheSameAsBeforeIsVerifiedUntilItHasSettled) {
  internal::change_settles_nanoseconds = 100'000'000;
  Touch(file_.path, 1);
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(ReadAt(0, kChangedBytes), IsOk());
    EXPECT_EQ(TakeVerified(), kChangedBlocks);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
  }
  ASSERT_THAT(ReadAt(0, kChangedBytes), IsOk());
  EXPECT_EQ(TakeVerified(), IsAlways() ? kChangedBlocks : 0);
}

// As a long write does, whose bytes come after the file's times are set.
TEST_P(ChangedFilesTest, WhatIsWrittenLongAfterTheTimesAreSetIsNeverServed) {
  internal::change_settles_nanoseconds = 10'000'000'000;
  const int fd = ::open(file_.path.c_str(), O_RDWR);
  void* const mapped =
      ::mmap(nullptr, kChangedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const bytes = static_cast<volatile char*>(mapped);
  bytes[0] = bytes[0];  // this one sets them, where mappings do
  ASSERT_EQ(::fchmod(fd, 0600), 0);
  LetItSettle();
  ASSERT_THAT(ReadAt(0, kChangedBytes), IsOk());
  LetItSettle();
  ASSERT_THAT(ReadAt(0, kChangedBytes), IsOk());
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  EXPECT_THAT(ReadAt(0, 200),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 0")));
  ::munmap(mapped, kChangedBytes);
  ::close(fd);
}

TEST_P(ChangedFilesTest, WhatChangesForEverIsVerifiedAtEachTouch) {
  internal::change_settles_nanoseconds = 0;
  for (int i = 0; i < 600; ++i) {
    Touch(file_.path, i);
    for (int j = 0; j < 2; ++j) ASSERT_THAT(ReadAt(10'000, 10), IsOk());
  }
  TakeVerified();
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(ReadAt(10'000, 10), IsOk());
    EXPECT_EQ(TakeVerified(), 1);
  }
}

TEST_P(ChangedFilesTest, WhatHasGrownIsRead) {
  WriteAt(kChangedBytes, "more");
  LetItSettle();
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(ReadAt(kChangedBytes - 10, 10), IsOk());
    EXPECT_EQ(TakeVerified(), 1);
  }
  // Another reader of the longer file has another last block.
  testing::WriteChecksummedFile(dir_.path("g"), 0, kChangedBytes + 8192,
                                kChangedBlock);
  std::string bytes = testing::ReadFile(dir_.path("g"));
  WriteAt(0, bytes);
  file_.checksums->path = dir_.path("g.crc");
  const auto [backend, verify] = GetParam();
  ASSERT_OK_AND_ASSIGN(
      const auto longer,
      ByteReader::Open(std::vector<ByteFile>{file_}, {backend, verify}));
  Windows windows;
  windows.Add(*longer, 0, 0, kChangedBytes + 8192, 0);
  EXPECT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
}

TEST_P(ChangedFilesTest, NothingWrongIsServedWhileAnotherThreadChangesIt) {
  constexpr size_t kRounds = 12;
  std::atomic<uint64_t> reads = 0;
  std::atomic<bool> ends = false;
  // One that began later has ended.
  const auto let_it_read = [&reads] {
    const uint64_t before = reads;
    while (reads < before + 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  std::thread writer([&] {
    std::mt19937_64 random(testing::TestSeed(121));
    for (size_t i = 0; i < kRounds; ++i) {
      const uint64_t at = random() % kChangedBytes;
      WriteAt(at, std::string(1, '\0'));
      let_it_read();
      WriteRight(at, 1);
      let_it_read();
      if (i % 3 == 0) LetItSettle();
    }
    ends = true;
  });
  size_t failed = 0;
  while (!ends) {
    const absl::Status status = ReadAt(0, kChangedBytes);
    failed += status.ok() ? 0 : 1;
    if (!status.ok()) {
      EXPECT_THAT(status,
                  StatusIs(absl::StatusCode::kDataLoss, HasSubstr(file_.path)));
    }
    ++reads;
  }
  writer.join();
  EXPECT_GE(failed, kRounds);
  EXPECT_THAT(ReadAt(0, kChangedBytes), IsOk());
}

class NoFstat : public internal::FaultHooks {
 public:
  int Error(internal::SystemCall call) override {
    return call == internal::SystemCall::kFstat ? EIO : 0;
  }
};

TEST_P(ChangedFilesTest, WhatCannotBeLookedAtIsVerified) {
  NoFstat hooks;
  const internal::ScopedFaultHooks installed(&hooks);
  EXPECT_THAT(ReadAt(10'000, 10), IsOk());
  EXPECT_EQ(TakeVerified(), 1);
  WriteAt(10'001, "x");
  EXPECT_THAT(ReadAt(10'000, 10),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(file_.path)));
}

}  // namespace
}  // namespace poniente
