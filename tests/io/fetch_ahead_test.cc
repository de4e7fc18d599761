// SPDX-License-Identifier: Apache-2.0
// Batches of so many readers that what is known of them is asked for ahead.
#include "io/fetch_ahead.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/byte_reader.h"
#include "poniente/task.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "util/byte_order.h"
#include "util/crc32c.h"

namespace poniente::internal {
namespace {

using testing::IsOk;

constexpr size_t kReaders = 40;
constexpr size_t kFetchedBytes = 1000;

class FetchAheadTest : public ::testing::Test {
 protected:
  // Mapped or read, with checksums or without, by turns.
  void SetUp() override {
    for (size_t i = 0; i < kReaders; ++i) {
      const std::string bytes(kFetchedBytes, static_cast<char>(i + 1));
      ByteFile file;
      file.path = folder_.path(absl::StrCat("file", i));
      testing::WriteFile(file.path, bytes);
      if (i / 2 % 2 == 0) {
        std::string checksum(4, '\0');
        StoreLittle(Crc32c(std::as_bytes(std::span(bytes))),
                    reinterpret_cast<std::byte*>(checksum.data()));
        const std::string path = folder_.path(absl::StrCat("checksum", i));
        testing::WriteFile(path, checksum);
        file.checksums = {path, 0, kFetchedBytes};
      }
      ByteReaderOptions options;
      options.backend = i % 2 == 0 ? IoBackend::kMmap : IoBackend::kPread;
      ASSERT_OK_AND_ASSIGN(
          const auto reader,
          ByteReader::Open(std::vector<ByteFile>{file}, options));
      readers_.push_back(reader);
    }
  }

  // One of ten bytes of each reader, round after round.
  std::vector<ReadRequest> Requests(size_t rounds) {
    memory_.assign(rounds * kReaders * 10, '?');
    std::vector<ReadRequest> requests;
    for (size_t i = 0; i < rounds * kReaders; ++i) {
      requests.push_back(
          {readers_[i % kReaders].get(), 0, i / kReaders * 10,
           std::as_writable_bytes(std::span(memory_)).subspan(i * 10, 10)});
    }
    return requests;
  }

  const testing::TempDir folder_;
  std::vector<std::shared_ptr<const ByteReader>> readers_;
  std::string memory_;
};

TEST_F(FetchAheadTest, EveryRequestGetsItsReadersBytes) {
  // The first reads verify; the last have more readers in a row than are
  // fetched.
  for (const size_t rounds : {1, 2, 20}) {
    ASSERT_THAT(RunBlocking(ReadBatch(Requests(rounds))), IsOk());
    for (size_t i = 0; i < memory_.size(); ++i) {
      ASSERT_EQ(memory_[i], static_cast<char>(i / 10 % kReaders + 1)) << i;
    }
  }
}

TEST_F(FetchAheadTest, AFileThatIsNotThereIsFoundLater) {
  std::vector<ReadRequest> requests = Requests(1);
  requests[30].file = 5;
  FetchAhead(requests);
  EXPECT_DEATH((void)RunBlocking(ReadBatch(requests)), "5 of 1 files");
}

TEST_F(FetchAheadTest, SoIsAReaderThatIsNotThere) {
  std::vector<ReadRequest> requests = Requests(1);
  requests[30].reader = nullptr;
  FetchAhead(requests);
  EXPECT_DEATH((void)RunBlocking(ReadBatch(requests)), "nullptr");
}

}  // namespace
}  // namespace poniente::internal
