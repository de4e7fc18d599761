// SPDX-License-Identifier: Apache-2.0
// Ten thousand files, and processes that may not have so many, or no io_uring,
// or no memory for it. Each limit is set in a process of its own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "poniente/byte_reader.h"
#include "tests/io/checksummed_file.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::poniente::testing::IsOk;
using ::poniente::testing::ProvenByte;
using ::poniente::testing::ReadIn;
using ::poniente::testing::Windows;
using ::testing::ExitedWithCode;

constexpr uint64_t kFileBytes = 1'000'000;
// Where each sparse file holds proven bytes.
constexpr uint64_t kProvenAt[] = {0, 500'736, kFileBytes - 9000};
constexpr uint64_t kProvenBytes = 9000;

void WriteSparseFile(const std::string& path, uint64_t number) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(fd, 0) << path;
  ASSERT_EQ(::ftruncate(fd, kFileBytes), 0);
  std::vector<std::byte> bytes(kProvenBytes);
  for (const uint64_t begin : kProvenAt) {
    testing::FillProven(number, begin, bytes);
    ASSERT_EQ(
        ::pwrite(fd, bytes.data(), kProvenBytes, static_cast<off_t>(begin)),
        kProvenBytes);
  }
  ::close(fd);
}

rlimit Descriptors() {
  rlimit limit;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

TEST(ManyFilesTest, TenThousandReadersAreReadAtRandom) {
  constexpr uint64_t kFiles = 10'000;
  if (Descriptors().rlim_max < kFiles + 500) {
    GTEST_SKIP() << "ulimit -Hn is " << Descriptors().rlim_max
                 << ": too few for 10,000 files";
  }
  testing::TempDir dir;
  for (uint64_t i = 0; i < kFiles; ++i) {
    WriteSparseFile(dir.path(std::to_string(i)), i % 64);
    if (HasFatalFailure()) return;
  }
  std::mt19937_64 random(testing::TestSeed(10));
  for (const IoBackend backend : testing::kAllBackends) {
    if (testing::UsesUring(backend) && testing::UringSetupErrno() != 0) {
      continue;  // the other tests of such backends are skipped, and say so
    }
    std::vector<std::shared_ptr<const ByteReader>> readers;
    for (uint64_t i = 0; i < kFiles; ++i) {
      ASSERT_OK_AND_ASSIGN(
          auto reader,
          ByteReader::Open({dir.path(std::to_string(i))}, {backend}));
      readers.push_back(std::move(reader));
    }
    for (int batch = 0; batch < 40; ++batch) {
      Windows windows;
      for (int i = 0; i < 64; ++i) {
        const uint64_t file = random() % kFiles;
        windows.Add(*readers[file], 0, kProvenAt[random() % 3] + random() % 808,
                    8192, file % 64);
      }
      ASSERT_THAT(testing::Read(windows), IsOk()) << IoBackendName(backend);
      ASSERT_EQ(windows.FirstWrongByte(), "") << IoBackendName(backend);
    }
  }
}

class LimitsTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    if (testing::UsesUring(GetParam())) PONIENTE_NEEDS_URING();
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process
    for (uint64_t i = 0; i < kFiles; ++i) {
      testing::WriteProvenFile(Path(i), i, 10'000);
    }
  }
  std::string Path(uint64_t i) { return dir_.path(std::to_string(i)); }

  // Opens all files, one reader each, and reads them in one batch.
  absl::Status OpenAndReadAll() {
    std::vector<std::shared_ptr<const ByteReader>> readers;
    Windows windows;
    for (uint64_t i = 0; i < kFiles; ++i) {
      auto reader = ByteReader::Open({Path(i)}, options_);
      if (!reader.ok()) return reader.status();
      readers.push_back(*reader);
      windows.Add(*readers.back(), 0, 7 * i, 3000, i);
    }
    absl::Status status = testing::Read(windows);
    if (!status.ok()) return status;
    const std::string wrong = windows.FirstWrongByte();
    return wrong.empty() ? absl::OkStatus() : absl::InternalError(wrong);
  }
  // Ends the process: 0 if it went well, 1 after telling the error.
  [[noreturn]] void ReadAllAndExit() {
    const absl::Status status = OpenAndReadAll();
    std::cerr << status << std::endl;
    std::_Exit(status.ok() ? 0 : 1);
  }

  static constexpr uint64_t kFiles = 60;
  ByteReaderOptions options_ = {GetParam()};
  testing::TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Backends, LimitsTest,
                         ::testing::ValuesIn(testing::kAllBackends),
                         [](const auto& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

void LimitDescriptors(rlim_t soft, rlim_t hard) {
  const rlimit limit = {soft, hard};
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(2);
}

TEST_P(LimitsTest, TheSoftLimitOfDescriptorsIsRaised) {
  EXPECT_EXIT(
      {
        LimitDescriptors(40, Descriptors().rlim_max);
        ReadAllAndExit();
      },
      ExitedWithCode(0), "");
}

// Whatever it is that finds none left.
TEST_P(LimitsTest, EachSoftLimitIsRaised) {
  for (rlim_t soft = 3; soft <= 24; soft += 2) {
    EXPECT_EXIT(
        {
          LimitDescriptors(soft, Descriptors().rlim_max);
          ReadAllAndExit();
        },
        ExitedWithCode(0), "")
        << soft;
  }
}

// Files are opened again, or mapped, where rings need no descriptors of them.
TEST_P(LimitsTest, AtTheHardLimitOfDescriptorsFilesAreOpenedAgain) {
  const bool needs_them =
      GetParam() == IoBackend::kBuffered || GetParam() == IoBackend::kDirect;
  EXPECT_EXIT(
      {
        LimitDescriptors(40, 40);
        ReadAllAndExit();
      },
      ExitedWithCode(needs_them ? 1 : 0),
      needs_them ? "RESOURCE_EXHAUSTED.*/[0-9]+: cannot open.*ulimit" : "");
}

// Without a mapping each read opens its file.
class ReopenedFilesTest : public LimitsTest {
 protected:
  ReopenedFilesTest() { options_.may_map = false; }
};

INSTANTIATE_TEST_SUITE_P(Backends, ReopenedFilesTest,
                         ::testing::Values(IoBackend::kAuto, IoBackend::kPread),
                         [](const auto& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

TEST_P(ReopenedFilesTest, WithoutMappingsFilesAreOpenedAgainForEachRead) {
  EXPECT_EXIT(
      {
        LimitDescriptors(40, 40);
        ReadAllAndExit();
      },
      ExitedWithCode(0), "");
}

// Files with so many checksums that these stay in their files.
TEST_P(ReopenedFilesTest, ChecksumsAreComparedToo) {
  constexpr uint64_t kBlockBytes = 16;
  constexpr uint64_t kBytes = 5000 * kBlockBytes;
  std::vector<ByteFile> files;
  for (uint64_t i = 0; i < kFiles; ++i) {
    files.push_back(
        testing::WriteChecksummedFile(Path(i), i, kBytes, kBlockBytes));
  }
  const auto read_all = [&] {
    LimitDescriptors(40, 40);
    std::vector<std::shared_ptr<const ByteReader>> readers;
    Windows windows;
    for (uint64_t i = 0; i < kFiles; ++i) {
      auto reader = ByteReader::Open({files[i]}, options_);
      std::cerr << reader.status() << std::endl;
      if (!reader.ok()) std::_Exit(2);
      readers.push_back(*std::move(reader));
      windows.Add(*readers.back(), 0, kBytes - 3000, 3000, i);
    }
    const absl::Status status = testing::Read(windows);
    std::cerr << status << std::endl;
    std::_Exit(status.ok() && windows.FirstWrongByte().empty() ? 0 : 1);
  };
  EXPECT_EXIT(read_all(), ExitedWithCode(0), "");
  std::fstream last(Path(kFiles - 1), std::ios::in | std::ios::out);
  last.seekp(kBytes - 1000);
  last << "damage" << std::flush;
  EXPECT_EXIT(read_all(), ExitedWithCode(1), "DATA_LOSS.*checksum mismatch");
}

// What is read of a file that has no descriptor, after `change`.
TEST_P(ReopenedFilesTest, WhatHappensToAFileWithoutADescriptorIsSeen) {
  const auto read_after = [this](const std::function<void()>& change) {
    LimitDescriptors(40, 40);
    std::vector<std::shared_ptr<const ByteReader>> readers;
    for (uint64_t i = 0; i < kFiles; ++i) {
      auto reader = ByteReader::Open({Path(i)}, options_);
      if (!reader.ok()) std::_Exit(2);
      readers.push_back(*std::move(reader));
    }
    change();
    Windows windows;
    windows.Add(*readers.back(), 0, 70, 3000, kFiles - 1);
    const absl::Status status = testing::Read(windows);
    std::cerr << status << std::endl;
    std::_Exit(status.ok() && windows.FirstWrongByte().empty() ? 0 : 1);
  };
  const std::string last = Path(kFiles - 1);
  EXPECT_EXIT(read_after([] {}), ExitedWithCode(0), "");
  EXPECT_EXIT(read_after([&] { std::filesystem::current_path("/"); }),
              ExitedWithCode(0), "");
  EXPECT_EXIT(read_after([&] { std::filesystem::resize_file(last, 100); }),
              ExitedWithCode(1), "DATA_LOSS.*the file ends at 100");
  // Both at once, so that the inode cannot be the same.
  EXPECT_EXIT(read_after([&] {
                testing::WriteProvenFile(last + ".new", 1, 10'000);
                std::filesystem::rename(last + ".new", last);
              }),
              ExitedWithCode(1), "replaced or removed");
  // One after the other: many file systems give the inode again.
  EXPECT_EXIT(read_after([&] {
                std::filesystem::remove(last);
                testing::WriteProvenFile(last, 2, 10'000);
              }),
              ExitedWithCode(1), "replaced or removed");
  EXPECT_EXIT(read_after([&] { std::filesystem::remove(last); }),
              ExitedWithCode(1), "NOT_FOUND.*replaced or removed");
}

// Room for the files, not for a second descriptor of each.
TEST_P(LimitsTest, FewDescriptorsLeaveTheReadsPastTheCacheOut) {
  EXPECT_EXIT(
      {
        LimitDescriptors(90, 90);
        ReadAllAndExit();
      },
      ExitedWithCode(0), "");
}

TEST_P(LimitsTest, NoLockedMemoryIsNeeded) {
  const auto run = [this] {
    const rlimit none = {0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) std::_Exit(2);
    ReadAllAndExit();
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

// As the profiles of containers do.
void Forbid(std::initializer_list<unsigned> calls, int error) {
  std::vector<sock_filter> program;
  program.push_back(
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
  for (const unsigned call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(
        BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()),
                             program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::cerr << "cannot forbid calls: " << std::strerror(errno) << std::endl;
    std::_Exit(2);
  }
}

TEST_P(LimitsTest, ForbiddenIoUringIsReadByPreadOrUnavailable) {
  const auto run = [this](int error) {
    Forbid({SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register},
           error);
    ReadAllAndExit();
  };
  const bool forced = testing::UsesUring(GetParam());
  for (const int error : {EPERM, ENOSYS}) {
    EXPECT_EXIT(run(error), ExitedWithCode(forced ? 1 : 0),
                forced ? "UNAVAILABLE.*io_uring_setup.*choose 'auto'" : "OK");
  }
}

// One call after the other is forbidden while a ring exists.
TEST_P(LimitsTest, IoUringThatIsForbiddenLaterIsReadByPread) {
  const auto run = [this](unsigned call) {
    auto reader = ByteReader::Open({Path(0)}, {GetParam()});
    Windows windows;
    for (uint64_t i = 0; i < 9; ++i) {
      windows.Add(**reader, 0, i * 1000, 500, 0);
    }
    asio::io_context context;
    if (!ReadIn(&context, windows.requests()).ok()) std::_Exit(3);
    Forbid({call}, EPERM);
    for (int i = 0; i < 3; ++i) {
      windows.Fill(std::byte{0});
      const absl::Status status = ReadIn(&context, windows.requests());
      std::cerr << status << std::endl;
      if (!status.ok()) std::_Exit(1);
      if (!windows.FirstWrongByte().empty()) std::_Exit(4);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(run(SYS_io_uring_enter), ExitedWithCode(0), "");
  EXPECT_EXIT(run(SYS_io_uring_register), ExitedWithCode(0), "");
}

// The child has the parent's descriptors, not the memory of its rings.
TEST_P(LimitsTest, AForkedChildReadsAndLeavesTheParentsRingAlone) {
  ASSERT_OK_AND_ASSIGN(auto reader, ByteReader::Open({Path(0)}, {GetParam()}));
  ASSERT_OK_AND_ASSIGN(ReadBuffer buffer, ReadBuffer::Allocate(4096));
  Windows windows;
  windows.Add(*reader, 0, 100, 5000, 0);
  const ReadRequest into_buffer = {reader.get(), 0, 0, buffer.bytes()};
  const auto read_all = [&](asio::io_context* context) {
    windows.Fill(std::byte{0});
    return ReadIn(context, windows.requests()).ok() &&
           testing::Read(windows).ok() &&
           RunBlocking(ReadBatch(std::span(&into_buffer, 1))).ok() &&
           windows.FirstWrongByte().empty() &&
           buffer.bytes()[9] == ProvenByte(0, 9);
  };
  asio::io_context context;
  ASSERT_TRUE(read_all(&context));
  const pid_t child = ::fork();
  if (child == 0) {
    context.notify_fork(asio::execution_context::fork_child);
    bool good = read_all(&context) && OpenAndReadAll().ok();
    reader.reset();  // lets go of nothing in the parent's ring
    buffer = ReadBuffer();
    std::_Exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(read_all(&context));
}

TEST_P(LimitsTest, AForkedChildMayDropAReadThatIsSuspended) {
  ASSERT_OK_AND_ASSIGN(auto reader, ByteReader::Open({Path(0)}, {GetParam()}));
  Windows windows;
  windows.Add(*reader, 0, 100, 5000, 0);
  for (int round = 0; round < 20; ++round) {
    windows.Fill(std::byte{0});
    auto context = std::make_unique<asio::io_context>();
    absl::Status read = absl::UnknownError("not yet");
    asio::co_spawn(
        *context, ReadBatch(windows.requests()),
        [&](std::exception_ptr, absl::Status status) { read = status; });
    context->poll();
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      context.reset();  // must not wait for the parent's ring
      std::_Exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    context->run();
    EXPECT_THAT(read, IsOk());
    EXPECT_EQ(windows.FirstWrongByte(), "");
  }
}

}  // namespace
}  // namespace poniente
