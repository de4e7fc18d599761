// SPDX-License-Identifier: Apache-2.0
#include "store/write/direct_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ReadFile;
using testing::StatusIs;
using testing::TempDir;
using testing::TestSeed;
using testing::WriteFile;

constexpr uint64_t kPage = kPageBytes;

struct Piece {
  uint64_t at = 0;
  uint64_t bytes = 0;
};

class DirectWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteFile(path(), "");
    if (DirectWriter::Open(path(), 0, 0) == nullptr) {
      GTEST_SKIP() << "the file system of '" << dir_.path()
                   << "' takes no direct writes";
    }
  }

  std::string path() const { return dir_.path("x"); }

  std::string MadeBytes(size_t bytes) {
    std::string made(bytes, '\0');
    for (char& byte : made) byte = static_cast<char>(random_());
    return made;
  }
  // Of many sizes; together [begin, end).
  std::vector<Piece> Cut(uint64_t begin, uint64_t end) {
    std::vector<Piece> pieces;
    while (begin < end) {
      constexpr uint64_t kMax[] = {1, 10, kPage, 3 * kPage, 100000, 6000000};
      const uint64_t most = kMax[random_() % std::size(kMax)];
      const uint64_t bytes = std::min(end - begin, random_() % (most + 1));
      pieces.push_back({begin, bytes});
      begin += bytes;
    }
    return pieces;
  }
  static absl::Status Write(DirectWriter* writer, const std::string& all,
                            const Piece& piece) {
    DirectWriter::Pages pages;
    const absl::Status staged = writer->Stage(
        piece.at, std::as_bytes(std::span(all)).subspan(piece.at, piece.bytes),
        &pages);
    return staged.ok() ? writer->Write(pages) : staged;
  }

  TempDir dir_;
  std::mt19937_64 random_{TestSeed(311)};
};

TEST_F(DirectWriterTest, PiecesInAnyOrderFromManyThreadsMakeTheFile) {
  for (const uint64_t bytes :
       {uint64_t{1}, kPage - 1, kPage, kPage + 1, uint64_t{20'000'001}}) {
    const std::string all = MadeBytes(bytes);
    std::vector<Piece> pieces = Cut(0, bytes);
    // Not far from their order, as they come.
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      std::swap(pieces[i],
                pieces[std::min(pieces.size() - 1, i + random_() % 8)]);
    }
    WriteFile(path(), "");
    const auto writer = DirectWriter::Open(path(), 0, 0);
    std::atomic<size_t> next = 0;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          for (size_t i; (i = next++) < pieces.size();) {
            EXPECT_THAT(Write(writer.get(), all, pieces[i]), IsOk());
          }
        });
      }
    }
    ASSERT_THAT(writer->WriteKept(bytes), IsOk());
    std::filesystem::resize_file(path(), bytes);
    EXPECT_TRUE(ReadFile(path()) == all) << bytes;
  }
}

// What a checkpoint promises is on the disk, whatever others do beside it.
TEST_F(DirectWriterTest, WhatIsKeptIsWrittenWithoutWhatComesLater) {
  const std::string all = MadeBytes(3'000'000);
  const std::vector<Piece> pieces = Cut(0, all.size());
  const auto writer = DirectWriter::Open(path(), 0, 0);
  for (size_t i = 0; i < pieces.size(); ++i) {
    ASSERT_THAT(Write(writer.get(), all, pieces[i]), IsOk());
    if (i % 7 != 0) continue;
    const uint64_t end = pieces[i].at + pieces[i].bytes;
    ASSERT_THAT(writer->WriteKept(end), IsOk());
    EXPECT_TRUE(ReadFile(path()).substr(0, end) == all.substr(0, end)) << end;
  }
}

TEST_F(DirectWriterTest, AFileIsGoneOnWithBehindAnyByte) {
  const std::string all = MadeBytes(400'000);
  for (const uint64_t there :
       {uint64_t{1}, kPage - 1, kPage, kPage + 1, uint64_t{123'457}}) {
    WriteFile(path(), all.substr(0, there));
    const auto writer = DirectWriter::Open(path(), there, random_() % 300'000);
    std::vector<Piece> pieces = Cut(there, all.size());
    std::shuffle(pieces.begin(), pieces.end(), random_);
    for (const Piece& piece : pieces) {
      ASSERT_THAT(Write(writer.get(), all, piece), IsOk());
    }
    ASSERT_THAT(writer->WriteKept(all.size()), IsOk());
    std::filesystem::resize_file(path(), all.size());
    EXPECT_TRUE(ReadFile(path()) == all) << there;
  }
}

TEST_F(DirectWriterTest, AFullDiskIsAnError) {
  const std::string all = MadeBytes(2'000'000);
  const auto writer = DirectWriter::Open(path(), 0, 0);
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit little = {1'000'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &little);
  const absl::Status written = Write(writer.get(), all, {0, all.size()});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old);
  EXPECT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("'" + path() + "': write at byte ")));
}

// Room ahead would end the process where a limit stands.
TEST_F(DirectWriterTest, UnderALimitOfFileSizesTheCacheIsUsed) {
  rlimit before;
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limited = {1 << 30, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limited);
  const auto writer = DirectWriter::Open(path(), 0, 0);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(writer, nullptr);
}

// As ext4 does: what there is, it keeps.
bool AllocateSomeAndFail(int fd, uint64_t begin, uint64_t end) {
  EXPECT_TRUE(DirectWriter::AllocateRange(fd, begin, (begin + end) / 2));
  return false;
}
bool AllocateTheFirst(int fd, uint64_t begin, uint64_t end) {
  if (begin == 0) return DirectWriter::AllocateRange(fd, begin, end);
  return AllocateSomeAndFail(fd, begin, end);
}

TEST_F(DirectWriterTest, WithoutRoomAheadTheFileStaysAsItIs) {
  WriteFile(path(), "some bytes");
  EXPECT_EQ(DirectWriter::Open(path(), 10, 0, AllocateSomeAndFail), nullptr);
  EXPECT_EQ(ReadFile(path()), "some bytes");
}

std::atomic<int> allocations = 0;
bool CountAllocations(int fd, uint64_t begin, uint64_t end) {
  ++allocations;
  return DirectWriter::AllocateRange(fd, begin, end);
}

// Because each waits for all writes in flight.
TEST_F(DirectWriterTest, AllocatesInFewStepsWhateverIsExpected) {
  constexpr uint64_t kBytes = 400'000'000 / kPage * kPage;
  const std::vector<std::byte> page(kPage);
  for (const uint64_t expected : {uint64_t{0}, kBytes / 40, kBytes}) {
    WriteFile(path(), "");
    allocations = 0;
    const auto writer =
        DirectWriter::Open(path(), 0, expected, CountAllocations);
    ASSERT_NE(writer, nullptr);
    DirectWriter::Pages pages;
    for (uint64_t at = 0; at < kBytes; at += 100 * kPage) {
      ASSERT_THAT(writer->Stage(at, page, &pages), IsOk());
    }
    EXPECT_LE(allocations, 20) << expected;
  }
}

TEST_F(DirectWriterTest, WhereRoomEndsWritesMakeTheFileLonger) {
  const std::string all = MadeBytes(20'000'000);
  const auto writer = DirectWriter::Open(path(), 0, 0, AllocateTheFirst);
  ASSERT_NE(writer, nullptr);
  for (const Piece& piece : Cut(0, all.size())) {
    ASSERT_THAT(Write(writer.get(), all, piece), IsOk());
  }
  ASSERT_THAT(writer->WriteKept(all.size()), IsOk());
  std::filesystem::resize_file(path(), all.size());
  EXPECT_TRUE(ReadFile(path()) == all);
}

}  // namespace
}  // namespace poniente::internal
