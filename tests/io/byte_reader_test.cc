// SPDX-License-Identifier: Apache-2.0
#include "poniente/byte_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>

#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::poniente::testing::DropFromCache;
using ::poniente::testing::IsOk;
using ::poniente::testing::IsOkAndHolds;
using ::poniente::testing::Read;
using ::poniente::testing::StatusIs;
using ::poniente::testing::TempDir;
using ::poniente::testing::Windows;
using ::poniente::testing::WriteProvenFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kBigBytes = 1 << 20;

// Every test runs on each backend.
class ByteReaderTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    if (testing::UsesUring(GetParam())) PONIENTE_NEEDS_URING();
  }

  std::shared_ptr<const ByteReader> MustOpen(std::vector<std::string> paths) {
    auto reader = ByteReader::Open(std::move(paths), {GetParam()});
    EXPECT_THAT(reader, IsOk());
    return reader.ok() ? *std::move(reader) : nullptr;
  }
  std::string Proven(uint64_t file, uint64_t bytes) {
    const std::string path = dir_.path(std::to_string(file));
    WriteProvenFile(path, file, bytes);
    return path;
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Backends, ByteReaderTest,
                         ::testing::ValuesIn(testing::kAllBackends),
                         [](const auto& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

TEST_P(ByteReaderTest, RandomWindowsOverFilesAndReadersHoldTheirBytes) {
  std::mt19937_64 random(testing::TestSeed(81));
  const auto one =
      MustOpen({Proven(0, kBigBytes), Proven(1, 1), Proven(2, 4096)});
  const auto two = MustOpen({Proven(3, 300'001)});
  for (int round = 0; round < 20; ++round) {
    if (round % 4 == 0) DropFromCache(dir_.path("0"));
    Windows windows;
    windows.AddRandom(*one, 0, 40, 9000, &random);
    windows.AddRandom(*two, 3, 24, 9000, &random);
    windows.AddRandom(*one, 0, 5, 9000, &random);
    ASSERT_THAT(Read(windows), IsOk());
    ASSERT_EQ(windows.FirstWrongByte(), "") << "round " << round;
  }
}

TEST_P(ByteReaderTest, ABatchLargerThanTheCachesHoldsItsBytes) {
  std::mt19937_64 random(testing::TestSeed(82));
  const auto one = MustOpen({Proven(0, kBigBytes), Proven(1, kBigBytes)});
  const auto two = MustOpen({Proven(2, kBigBytes)});
  for (int round = 0; round < 3; ++round) {
    Windows windows;
    windows.AddRandom(*one, 0, 300, 20'000, &random);
    windows.Add(*two, 0, 1, kBigBytes - 2, 2);
    windows.AddRandom(*one, 0, 300, 20'000, &random);
    ASSERT_THAT(Read(windows), IsOk());
    ASSERT_EQ(windows.FirstWrongByte(), "") << "round " << round;
  }
}

TEST_P(ByteReaderTest, WholeFileAndItsLastByteCanBeRead) {
  const auto reader = MustOpen({Proven(0, 70'001)});
  Windows windows;
  windows.Add(*reader, 0, 0, 70'001, 0);
  windows.Add(*reader, 0, 70'000, 1, 0);
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
}

TEST_P(ByteReaderTest, EmptyBatchIsOk) {
  EXPECT_THAT(RunBlocking(ReadBatch({})), IsOk());
}

TEST_P(ByteReaderTest, RequestsForNoBytesAreOkUpToTheEnd) {
  const auto reader = MustOpen({Proven(0, 100), Proven(1, 0)});
  Windows windows;
  windows.Add(*reader, 0, 0, 0, 0);
  windows.Add(*reader, 0, 50, 10, 0);
  windows.Add(*reader, 0, 100, 0, 0);
  windows.Add(*reader, 1, 0, 0, 1);
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");

  Windows none;
  none.Add(*reader, 0, 100, 0, 0);
  EXPECT_THAT(Read(none), IsOk());
  Windows past;
  past.Add(*reader, 0, 101, 0, 0);
  EXPECT_THAT(Read(past),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("offset 101")));
}

TEST_P(ByteReaderTest, ARequestPastTheEndFailsTheBatchBeforeAnyRead) {
  const auto reader = MustOpen({Proven(0, 1000)});
  Windows windows;
  windows.Add(*reader, 0, 0, 10, 0);
  windows.Add(*reader, 0, 995, 6, 0);
  EXPECT_THAT(Read(windows),
              StatusIs(absl::StatusCode::kOutOfRange,
                       AllOf(HasSubstr(reader->path(0)), HasSubstr("6 bytes"),
                             HasSubstr("offset 995"), HasSubstr("1000"))));
  EXPECT_EQ(windows.buffer(0)[0], std::byte{0});
  EXPECT_EQ(reader->counters().Total().reads, 0);
}

TEST_P(ByteReaderTest, AnOffsetThatWouldOverflowIsOutOfRange) {
  const auto reader = MustOpen({Proven(0, 1000)});
  Windows windows;
  windows.Add(*reader, 0, UINT64_MAX - 3, 8, 0);
  EXPECT_THAT(Read(windows),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("offset")));
}

TEST_P(ByteReaderTest, FiveThousandRequestsFitOneBatch) {
  std::mt19937_64 random(testing::TestSeed(5000));
  const auto reader = MustOpen({Proven(0, kBigBytes), Proven(1, kBigBytes)});
  DropFromCache(dir_.path("0"));
  Windows windows;
  windows.AddRandom(*reader, 0, 5000, 600, &random);
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
  EXPECT_EQ(reader->counters().Total().requests, 5000);
}

TEST_P(ByteReaderTest, CountersAreExact) {
  const auto reader = MustOpen({Proven(0, 100'000)});
  const auto other = MustOpen({Proven(1, 100'000)});
  Windows windows;
  for (uint64_t i = 0; i < 64; ++i) {
    windows.Add(*reader, 0, i * 1000, 777, 0);
    windows.Add(*other, 0, i, 50, 1);
  }
  ASSERT_THAT(Read(windows), IsOk());
  const ReadCounters by_backend = reader->counters();
  const BackendCounters counters = by_backend.Total();
  EXPECT_EQ(counters.requests, 64);
  EXPECT_EQ(counters.bytes_asked, 64 * 777);
  EXPECT_EQ(counters.retries, 0);
  if (reader->backend() == IoBackend::kDirect) {
    EXPECT_GT(counters.bytes_read, 64 * 777);  // whole sectors, which touch
  } else {
    EXPECT_EQ(counters.reads, 64);
    EXPECT_EQ(counters.merged_requests, 0);
    EXPECT_EQ(counters.bytes_read, 64 * 777);
  }
  const bool ring = testing::UsesUring(reader->backend());
  // Through the cache by 8 and by 56 in turn.
  const bool is_direct = reader->backend() == IoBackend::kDirect;
  EXPECT_EQ(counters.submissions, !ring ? 0 : is_direct ? 1 : 2);
  EXPECT_LE(counters.hits_at_submit, ring ? 64 : 0);
  EXPECT_EQ(by_backend.blocks_verified, 0);
  // Each begins a byte after the one before it.
  const BackendCounters others = other->counters().Total();
  EXPECT_EQ(others.requests, 64);
  EXPECT_EQ(others.bytes_asked, 64 * 50);
  EXPECT_EQ(others.submissions, ring ? 1 : 0);
  if (reader->backend() == IoBackend::kBuffered) {
    EXPECT_EQ(by_backend.buffered, counters);
    EXPECT_EQ(others.reads, 1);
    EXPECT_EQ(others.merged_requests, 63);
    EXPECT_EQ(others.bytes_read, 63 + 50);
  }
}

// 500,500 lies inside a page: what follows it in a mapping reads as zeros.
TEST_P(ByteReaderTest, AFileThatBecameShorterIsDataLoss) {
  const auto reader = MustOpen({Proven(0, kBigBytes)});
  ASSERT_EQ(::truncate(reader->path(0).c_str(), 500'500), 0);
  const struct {
    uint64_t offset;
    size_t bytes;
  } lost[] = {{500'400, 200}, {499'000, 4000}, {500'500, 1}, {900'000, 8192}};
  for (const auto& range : lost) {
    Windows windows;
    windows.Add(*reader, 0, range.offset, range.bytes, 0);
    EXPECT_THAT(
        Read(windows),
        StatusIs(absl::StatusCode::kDataLoss,
                 AllOf(HasSubstr(reader->path(0)),
                       HasSubstr("offset " + std::to_string(range.offset)),
                       HasSubstr("1048576 bytes when opened"),
                       HasSubstr("re-open"))));
  }
  Windows kept;
  kept.Add(*reader, 0, 492'308, 8192, 0);  // ends at 500,500
  ASSERT_THAT(Read(kept), IsOk());
  EXPECT_EQ(kept.FirstWrongByte(), "");
}

// Past the cache both lie in one sector, of which the first is still there.
TEST_P(ByteReaderTest, TheSecondOfTwoNeighboursMayBeLost) {
  const auto reader = MustOpen({Proven(0, 8192)});
  ASSERT_EQ(::truncate(reader->path(0).c_str(), 150), 0);
  Windows windows;
  windows.Add(*reader, 0, 0, 100, 0);
  windows.Add(*reader, 0, 200, 100, 0);
  EXPECT_THAT(Read(windows), StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr("the file ends at 150")));
}

// While a file is cut within a page, the kernel shows zeros for what is gone.
TEST_P(ByteReaderTest, AFileThatIsCutWhileItIsReadGivesItsBytesOrAnError) {
  constexpr size_t kBytes = 1500;
  std::atomic<int> fd = -1;
  std::atomic<uint64_t> turn = 0;
  std::atomic<bool> stop = false;
  std::thread cutter([&] {
    for (uint64_t seen = 0; !stop;) {
      if (turn == seen) continue;
      seen = turn;
      for (uint64_t i = 0; i < seen * 37 % 30000; ++i) asm volatile("");
      EXPECT_EQ(::ftruncate(fd, 8), 0);
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end && !HasFailure()) {
    const std::string path = Proven(0, 4096);
    const auto reader = MustOpen({path});
    fd = ::open(path.c_str(), O_RDWR);
    ++turn;
    for (absl::Status status; status.ok() && !HasFailure();) {
      Windows windows;
      windows.Add(*reader, 0, 16, kBytes, 0);
      status = Read(windows);
      if (status.ok()) {
        EXPECT_EQ(windows.FirstWrongByte(), "");
      } else {
        EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
      }
    }
    ::close(fd);
    std::filesystem::remove(path);
  }
  stop = true;
  cutter.join();
}

TEST_P(ByteReaderTest, WaitingIsCountedOncePerBatch) {
  if (GetParam() == IoBackend::kAuto) return;  // of two backends, maybe
  const std::string path = Proven(0, kBigBytes);
  const auto reader = MustOpen({path});
  DropFromCache(path);
  Windows windows;
  for (uint64_t i = 0; i < 64; ++i) {
    windows.Add(*reader, 0, i * 16'000, 1000, 0);
  }
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_THAT(Read(windows), IsOk());
  const std::chrono::nanoseconds took =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LE(reader->counters().Total().wait_nanoseconds,
            static_cast<uint64_t>(took.count()));
}

TEST_P(ByteReaderTest, TheFirstErrorInTheOrderOfRequestsWins) {
  const auto reader = MustOpen({Proven(0, kBigBytes), Proven(1, kBigBytes)});
  ASSERT_EQ(::truncate(reader->path(0).c_str(), 0), 0);
  ASSERT_EQ(::truncate(reader->path(1).c_str(), 0), 0);
  Windows windows;
  for (uint64_t i = 0; i < 60; ++i) {
    windows.Add(*reader, i % 2 == 0 ? 1 : 0, 4096 * i + 77, 100, 0);
  }
  EXPECT_THAT(Read(windows), StatusIs(absl::StatusCode::kDataLoss,
                                      AllOf(HasSubstr(reader->path(1) + ":"),
                                            HasSubstr("offset 77:"))));
}

TEST_P(ByteReaderTest, AMissingFileIsNotFound) {
  const std::string path = dir_.path("nothing_here");
  EXPECT_THAT(ByteReader::Open({path}, {GetParam()}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(path), HasSubstr("No such file"),
                             HasSubstr("check the path"))));
}

TEST_P(ByteReaderTest, ADirectoryIsRefused) {
  EXPECT_THAT(ByteReader::Open({dir_.path()}, {GetParam()}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(dir_.path()), HasSubstr("directory"),
                             HasSubstr("regular file"))));
}

TEST_P(ByteReaderTest, APipeWithoutAWriterIsRefusedAtOnce) {
  const std::string path = dir_.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(ByteReader::Open({path}, {GetParam()}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr("pipe"))));
}

TEST_P(ByteReaderTest, AReaderKeepsARemovedFile) {
  const auto reader = MustOpen({Proven(0, 10'000)});
  ASSERT_TRUE(std::filesystem::remove(reader->path(0)));
  Windows windows;
  windows.Add(*reader, 0, 1, 9'999, 0);
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
}

TEST(MixedBackendsTest, OneBatchMayUseAllOfThem) {
  TempDir dir;
  std::mt19937_64 random(testing::TestSeed(4));
  std::vector<std::shared_ptr<const ByteReader>> readers;
  const IoBackend backends[] = {IoBackend::kPread, IoBackend::kAuto,
                                IoBackend::kMmap};
  for (uint64_t i = 0; i < 3; ++i) {
    const std::string path = dir.path(std::to_string(i));
    WriteProvenFile(path, i, 200'000);
    DropFromCache(path);
    ASSERT_OK_AND_ASSIGN(auto reader, ByteReader::Open({path}, {backends[i]}));
    readers.push_back(reader);
  }
  Windows windows;
  for (int i = 0; i < 90; ++i) {
    windows.AddRandom(*readers[i % 3], i % 3, 1, 5000, &random);
  }
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");

  // The first error is that of the mapping, which is served second.
  ASSERT_EQ(::truncate(dir.path("0").c_str(), 0), 0);
  ASSERT_EQ(::truncate(dir.path("2").c_str(), 0), 0);
  Windows lost;
  lost.Add(*readers[1], 0, 0, 10, 1);
  lost.Add(*readers[2], 0, 4321, 10, 2);
  lost.Add(*readers[0], 0, 1234, 10, 0);
  EXPECT_THAT(Read(lost),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 4321:")));
}

TEST(AutoBackendTest, UsesIoUringWhereTheKernelHasIt) {
  PONIENTE_NEEDS_URING();
  TempDir dir;
  WriteProvenFile(dir.path("f"), 0, 100);
  ASSERT_OK_AND_ASSIGN(const auto reader, ByteReader::Open({dir.path("f")}));
  EXPECT_NE(reader->backend(), IoBackend::kPread);
  EXPECT_EQ(reader->fallback_reason(), "");
  Windows windows;
  windows.Add(*reader, 0, 1, 99, 0);
  ASSERT_THAT(Read(windows), IsOk());
  EXPECT_EQ(reader->counters().pread.reads, 0);
}

TEST(IoBackendTest, NamesGoThereAndBack) {
  for (const IoBackend backend : testing::kAllBackends) {
    EXPECT_THAT(ParseIoBackend(IoBackendName(backend)), IsOkAndHolds(backend));
  }
  EXPECT_THAT(ParseIoBackend("directt"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("directt"), HasSubstr("'mmap'"))));
}

}  // namespace
}  // namespace poniente
