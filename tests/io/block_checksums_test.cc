// SPDX-License-Identifier: Apache-2.0
#include "io/block_checksums.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/io/checksummed_file.h"
#include "tests/io/needs_uring.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "util/crc32c.h"

namespace poniente {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::Read;
using ::poniente::testing::StatusIs;
using ::poniente::testing::Windows;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kSummedBytes = 100'000;
constexpr uint64_t kBlockBytes = 4096;

// Changes one byte, so that its file is another to every reader opened later.
void FlipByte(const std::string& path, off_t offset) {
  const int fd = ::open(path.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  char byte;
  ASSERT_EQ(::pread(fd, &byte, 1, offset), 1);
  byte = static_cast<char>(byte ^ 0x40);
  ASSERT_EQ(::pwrite(fd, &byte, 1, offset), 1);
  ::close(fd);
}

class BlockChecksumsTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    if (testing::UsesUring(GetParam())) PONIENTE_NEEDS_URING();
    file_ = testing::WriteChecksummedFile(dir_.path("f"), 0, kSummedBytes,
                                          kBlockBytes);
  }
  std::shared_ptr<const ByteReader> Open(VerifyChecksums verify) {
    std::vector<ByteFile> files = {file_};
    auto reader = ByteReader::Open(std::move(files), {GetParam(), verify});
    EXPECT_THAT(reader, IsOk());
    return reader.ok() ? *reader : nullptr;
  }
  absl::Status ReadAt(const ByteReader& reader, uint64_t offset, size_t bytes) {
    return testing::ReadProven(reader, offset, bytes);
  }

  testing::TempDir dir_;
  ByteFile file_;
};

INSTANTIATE_TEST_SUITE_P(Backends, BlockChecksumsTest,
                         ::testing::ValuesIn(testing::kAllBackends),
                         [](const auto& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

TEST_P(BlockChecksumsTest, ADamagedBlockIsFoundFromAnyWindowOfIt) {
  FlipByte(file_.path, 3 * kBlockBytes + 7);
  for (const auto verify :
       {VerifyChecksums::kFirstTouch, VerifyChecksums::kAlways}) {
    const auto reader = Open(verify);
    const struct {
      uint64_t offset;
      size_t bytes;
    } windows[] = {{4 * kBlockBytes - 1, 1},   // not the byte itself
                   {3 * kBlockBytes - 5, 10},  // of two blocks
                   {0, 10 * kBlockBytes},      // whole, among others
                   {3 * kBlockBytes, kBlockBytes}};
    for (const auto& window : windows) {
      EXPECT_THAT(ReadAt(*reader, window.offset, window.bytes),
                  StatusIs(absl::StatusCode::kDataLoss,
                           AllOf(HasSubstr(file_.path), HasSubstr("block 3"),
                                 HasSubstr("offset 12288"), HasSubstr("stored"),
                                 HasSubstr("computed"), HasSubstr("restore"))));
    }
    EXPECT_THAT(ReadAt(*reader, 4 * kBlockBytes, 5000), IsOk());
    EXPECT_THAT(ReadAt(*reader, kSummedBytes - 1, 1),
                IsOk());  // the short block
  }
  const auto trusting = Open(VerifyChecksums::kOff);
  Windows windows;
  windows.Add(*trusting, 0, 3 * kBlockBytes, 100, 0);
  EXPECT_THAT(Read(windows), IsOk());
  EXPECT_THAT(windows.FirstWrongByte(), HasSubstr("byte 12295"));
}

TEST_P(BlockChecksumsTest, ADamagedLastBlockIsFound) {
  FlipByte(file_.path, kSummedBytes - 1);
  const auto reader = Open(VerifyChecksums::kFirstTouch);
  EXPECT_THAT(ReadAt(*reader, kSummedBytes - 100, 10),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("block 24"), HasSubstr("1696 bytes"))));
}

TEST_P(BlockChecksumsTest, ABlockIsVerifiedOnceForAllReadersOfItsFile) {
  const auto one = Open(VerifyChecksums::kFirstTouch);
  ASSERT_THAT(ReadAt(*one, 5, 3 * kBlockBytes), IsOk());
  EXPECT_EQ(one->counters().blocks_verified, 4);
  const auto two = Open(VerifyChecksums::kFirstTouch);
  ASSERT_THAT(ReadAt(*two, 0, 6 * kBlockBytes), IsOk());
  EXPECT_EQ(two->counters().blocks_verified, 2);
  ASSERT_THAT(ReadAt(*one, 0, 6 * kBlockBytes), IsOk());
  EXPECT_EQ(one->counters().blocks_verified, 4);
  const auto always = Open(VerifyChecksums::kAlways);
  for (int i = 0; i < 3; ++i) ASSERT_THAT(ReadAt(*always, 0, 10), IsOk());
  EXPECT_EQ(always->counters().blocks_verified, 3);
}

TEST_P(BlockChecksumsTest, AFileThatWasChangedIsVerifiedAnew) {
  ASSERT_THAT(ReadAt(*Open(VerifyChecksums::kFirstTouch), 0, kSummedBytes),
              IsOk());
  ::usleep(10'000);  // a tick of the file system's clock
  FlipByte(file_.path, 100);
  EXPECT_THAT(ReadAt(*Open(VerifyChecksums::kFirstTouch), 0, 10),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 0")));
}

TEST_P(BlockChecksumsTest, TooFewChecksumsAreRefusedAtOpening) {
  std::filesystem::resize_file(file_.checksums->path, 12 + 25 * 4 - 1);
  std::vector<ByteFile> files = {file_};
  EXPECT_THAT(ByteReader::Open(std::move(files), {GetParam()}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(file_.checksums->path),
                             HasSubstr("25 blocks"))));
}

TEST_P(BlockChecksumsTest, BlocksOfNoBytesAreRefused) {
  file_.checksums->block_bytes = 0;
  std::vector<ByteFile> files = {file_};
  EXPECT_THAT(
      ByteReader::Open(std::move(files), {GetParam()}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("block_bytes")));
}

// Of more than one chunk the checksums stay in their file until they are
// needed.
class ManyChecksumsTest : public BlockChecksumsTest {
 protected:
  void SetUp() override {
    BlockChecksumsTest::SetUp();
    if (IsSkipped()) return;
    file_ = testing::WriteChecksummedFile(dir_.path("g"), 0, kSummedBytes, 16);
  }

  static constexpr uint64_t kSecondChunk = 4096 * 16;
};

INSTANTIATE_TEST_SUITE_P(Backends, ManyChecksumsTest,
                         ::testing::ValuesIn(testing::kAllBackends),
                         [](const auto& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

TEST_P(ManyChecksumsTest, ChecksumsThatAreCutShortLaterAreAnError) {
  const auto reader = Open(VerifyChecksums::kFirstTouch);
  std::filesystem::resize_file(file_.checksums->path, 12 + 4 * 5000);
  Windows early, late;
  early.Add(*reader, 0, kSecondChunk - 16, 5, 0);
  late.Add(*reader, 0, kSecondChunk, 5, 0);
  ASSERT_THAT(Read(early), IsOk());
  EXPECT_THAT(Read(late), StatusIs(absl::StatusCode::kDataLoss,
                                   AllOf(HasSubstr(file_.checksums->path),
                                         HasSubstr("ends at 20012"))));
}

TEST_P(ManyChecksumsTest, AreReadOnceForAllBlocksOfAChunk) {
  const auto reader = Open(VerifyChecksums::kAlways);
  Windows first, of_both_chunks;
  first.Add(*reader, 0, 0, 5, 0);
  first.Add(*reader, 0, kSecondChunk, 5, 0);
  ASSERT_THAT(Read(first), IsOk());
  std::filesystem::resize_file(file_.checksums->path, 0);
  of_both_chunks.Add(*reader, 0, 5, 99'000, 0);
  EXPECT_THAT(Read(of_both_chunks), IsOk());
  EXPECT_EQ(of_both_chunks.FirstWrongByte(), "");
}

TEST_P(ManyChecksumsTest, DamageIsFoundInEachChunk) {
  FlipByte(file_.path, 100);
  FlipByte(file_.path, kSecondChunk + 100);
  const auto reader = Open(VerifyChecksums::kFirstTouch);
  EXPECT_THAT(ReadAt(*reader, 99, 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 6 ")));
  EXPECT_THAT(ReadAt(*reader, kSecondChunk + 99, 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 4102 ")));
  EXPECT_THAT(ReadAt(*reader, 112, 60'000), IsOk());
}

TEST_P(ManyChecksumsTest, WithoutMemoryForThemEachIsReadWhenItIsCompared) {
  internal::checksum_memory.SetLimit(1);
  const auto reader = Open(VerifyChecksums::kAlways);
  FlipByte(file_.path, kSecondChunk + 100);
  Windows windows;
  windows.Add(*reader, 0, 5, kSecondChunk, 0);
  EXPECT_THAT(Read(windows), IsOk());
  EXPECT_EQ(windows.FirstWrongByte(), "");
  EXPECT_THAT(ReadAt(*reader, kSecondChunk + 99, 1),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("block 4102 ")));
  std::filesystem::resize_file(file_.checksums->path, 0);
  EXPECT_THAT(
      ReadAt(*reader, 5, 1),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("checksums of 4 bytes")));
  internal::checksum_memory.SetLimit(0);
}

// Blocks of 80 MiB, larger than what scratch a batch has: a sparse file of
// zeros, whose checksum is known.
TEST_P(BlockChecksumsTest, BlocksLargerThanScratchAreReadOneByOne) {
  constexpr uint64_t kBig = uint64_t{80} << 20;
  const std::string path = dir_.path("big");
  std::ofstream(path).close();
  std::filesystem::resize_file(path, 3 * kBig);
  const std::vector<std::byte> zeros(kBig);
  const uint32_t crc = internal::Crc32c(zeros);
  {
    std::ofstream sums(path + ".crc", std::ios::binary);
    for (int i = 0; i < 3; ++i) {
      sums.write(reinterpret_cast<const char*>(&crc), 4);
    }
  }
  std::vector<ByteFile> files(1);
  files[0].path = path;
  files[0].checksums = BlockChecksums{path + ".crc", 0, kBig};
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       ByteReader::Open(std::move(files), {GetParam()}));
  std::vector<std::byte> into(300, std::byte{1});
  std::vector<ReadRequest> requests;
  for (uint64_t i = 0; i < 3; ++i) {
    requests.push_back({reader.get(), 0, i * kBig + 1000,
                        std::span(into).subspan(i * 100, 100)});
  }
  ASSERT_THAT(RunBlocking(ReadBatch(requests)), IsOk());
  EXPECT_EQ(into, std::vector<std::byte>(300));
  EXPECT_EQ(reader->counters().blocks_verified, 3);
}

// Of a plan of any size: 2^29 blocks and a few more.
TEST(BlockMarksTest, TakeNoMoreThan64MiBOfAllFiles) {
  std::vector<std::shared_ptr<internal::BlockMarks>> held;
  internal::FileIdentity identity;
  const internal::ChecksumLocation place = {{}, 0, 65536};
  uint64_t marked = 0;
  for (uint64_t file = 0; file < 20; ++file) {
    identity.facts[0] = 1000 + file;
    auto marks =
        internal::MarksOf(identity, (uint64_t{1} << 26) - 3, place);  // 8 MiB
    if (marks == nullptr) continue;
    marked += marks->bytes();
    held.push_back(std::move(marks));
  }
  EXPECT_EQ(held.size(), 7);  // and the rest of the process's
  EXPECT_LE(marked, uint64_t{64} << 20);
  EXPECT_EQ(internal::MarksOf(identity, uint64_t{1} << 40, place), nullptr);
  // What nobody reads any more makes room.
  held.clear();
  EXPECT_NE(internal::MarksOf(identity, uint64_t{1} << 28, place), nullptr);
}

}  // namespace
}  // namespace poniente
