// SPDX-License-Identifier: Apache-2.0
#include "io/read_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tests/io/checksummed_file.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::ProvenByte;
using ::poniente::testing::TempDir;
using ::poniente::testing::Windows;

struct Planned {
  uint64_t begin;
  uint64_t size;
  size_t places;

  friend bool operator==(const Planned&, const Planned&) = default;
  friend void PrintTo(const Planned& read, std::ostream* out) {
    *out << "[" << read.begin << ", +" << read.size << ") to " << read.places;
  }
};

// What a batch is planned as.
class ReadPlanTest : public ::testing::Test {
 protected:
  void Open(IoBackend backend, uint64_t block_bytes = 0,
            VerifyChecksums verify = VerifyChecksums::kFirstTouch) {
    ByteFile file;
    file.path = dir_.path("f");
    if (block_bytes == 0) {
      testing::WriteProvenFile(file.path, 0, kBytes);
    } else {
      file = testing::WriteChecksummedFile(file.path, 0, kBytes, block_bytes);
    }
    std::vector<ByteFile> files = {file};
    ASSERT_OK_AND_ASSIGN(reader_,
                         ByteReader::Open(std::move(files), {backend, verify}));
  }
  std::vector<Planned> Plan(const Windows& windows) {
    const auto sorted = internal::SortRequests(windows.requests());
    std::span<const internal::OrderedRequest> rest = sorted;
    internal::ReadPlan plan;
    EXPECT_THAT(plan.TakeFrom(&rest), IsOk());
    EXPECT_TRUE(rest.empty());
    std::vector<Planned> planned;
    for (const auto reads : {plan.ring(), plan.mapped(), plan.blocking()}) {
      for (const internal::PendingRead& read : reads) {
        planned.push_back({read.begin(), read.size(), read.places().size()});
      }
    }
    return planned;
  }
  void ExpectProven(const Windows& windows) {
    ASSERT_THAT(testing::Read(windows), IsOk());
    EXPECT_EQ(windows.FirstWrongByte(), "");
  }

  static constexpr uint64_t kBytes = 1'000'000;
  TempDir dir_;
  std::shared_ptr<const ByteReader> reader_;
};

TEST_F(ReadPlanTest, NeighboursInAnyOrderAreOneRead) {
  Open(IoBackend::kPread);
  Windows windows;
  for (const uint64_t i : {2, 0, 3, 1, 6}) {
    windows.Add(*reader_, 0, i * 1000, 1000, 0);
  }
  EXPECT_EQ(Plan(windows),
            (std::vector<Planned>{{0, 4000, 4}, {6000, 1000, 1}}));
  ExpectProven(windows);
  const BackendCounters counters = reader_->counters().pread;
  EXPECT_EQ(counters.reads, 2);
  EXPECT_EQ(counters.bytes_read, 5000);
  // Those of Plan() and of Read().
  EXPECT_EQ(counters.merged_requests, 2 * 3);
}

TEST_F(ReadPlanTest, OverlapsAndDuplicatesAreReadOnce) {
  Open(IoBackend::kPread);
  Windows windows;
  windows.Add(*reader_, 0, 100, 50, 0);   // inside the next
  windows.Add(*reader_, 0, 90, 100, 0);   // [90, 190)
  windows.Add(*reader_, 0, 150, 100, 0);  // [150, 250)
  windows.Add(*reader_, 0, 150, 100, 0);
  windows.Add(*reader_, 0, 200, 51, 0);
  EXPECT_EQ(Plan(windows), (std::vector<Planned>{{90, 161, 3}}));
  ExpectProven(windows);
}

TEST_F(ReadPlanTest, JoinedReadsEndAtTheirLargestSize) {
  Open(IoBackend::kPread);
  Windows windows;  // of a size after which no allocator goes on at once
  for (uint64_t i = 0; i < 40; ++i) {
    windows.Add(*reader_, 0, i * 8000, 8000, 0);
  }
  EXPECT_EQ(Plan(windows), (std::vector<Planned>{{0, 128'000, 16},
                                                 {128'000, 128'000, 16},
                                                 {256'000, 64'000, 8}}));
  ExpectProven(windows);
}

TEST_F(ReadPlanTest, AWindowInsideABlockHasTheBlockReadOnceUntilItIsSeen) {
  Open(IoBackend::kPread, 4096);
  Windows windows;
  windows.Add(*reader_, 0, 5000, 100, 0);
  windows.Add(*reader_, 0, 6000, 100, 0);   // the same block
  windows.Add(*reader_, 0, 8000, 5000, 0);  // it, one whole, and a part
  EXPECT_EQ(Plan(windows), (std::vector<Planned>{{4096, 12288, 3}}));
  ExpectProven(windows);
  EXPECT_EQ(reader_->counters().blocks_verified, 3);
  EXPECT_EQ(
      Plan(windows),
      (std::vector<Planned>{{5000, 100, 1}, {6000, 100, 1}, {8000, 5000, 1}}));
  ExpectProven(windows);
  EXPECT_EQ(reader_->counters().blocks_verified, 3);
}

TEST_F(ReadPlanTest, WholeBlocksAreVerifiedInTheirPlace) {
  Open(IoBackend::kPread, 1000, VerifyChecksums::kAlways);
  Windows windows;
  windows.Add(*reader_, 0, 2000, 3000, 0);
  EXPECT_EQ(Plan(windows), (std::vector<Planned>{{2000, 3000, 1}}));
  windows.Add(*reader_, 0, 9500, 2700, 0);
  EXPECT_EQ(Plan(windows),
            (std::vector<Planned>{{2000, 3000, 1}, {9000, 4000, 3}}));
  for (int i = 0; i < 2; ++i) ExpectProven(windows);
  EXPECT_EQ(reader_->counters().blocks_verified, 2 * 7);
}

TEST_F(ReadPlanTest, DirectReadsAreWholeSectorsUnlessAligned) {
  PONIENTE_NEEDS_URING();
  Open(IoBackend::kDirect);
  if (reader_->backend() != IoBackend::kDirect) {
    GTEST_SKIP() << reader_->fallback_reason();
  }
  ASSERT_OK_AND_ASSIGN(ReadBuffer buffer, ReadBuffer::Allocate(65536));
  const ReadRequest aligned[] = {
      {reader_.get(), 0, 8192, buffer.bytes().subspan(4096, 8192)},
      {reader_.get(), 0, 16384, buffer.bytes().subspan(32768, 4096)}};
  const auto sorted = internal::SortRequests(aligned);
  std::span<const internal::OrderedRequest> rest = sorted;
  internal::ReadPlan plan;
  ASSERT_THAT(plan.TakeFrom(&rest), IsOk());
  ASSERT_EQ(plan.ring().size(), 1);
  EXPECT_EQ(plan.ring()[0].places()[0].iov_base, buffer.bytes().data() + 4096);
  EXPECT_EQ(plan.ring()[0].places()[1].iov_base, buffer.bytes().data() + 32768);
  ASSERT_THAT(RunBlocking(ReadBatch(aligned)), IsOk());
  EXPECT_EQ(reader_->counters().direct.bytes_read, 12288);
  EXPECT_EQ(buffer.bytes()[4096], ProvenByte(0, 8192));
  EXPECT_EQ(buffer.bytes()[32768 + 4095], ProvenByte(0, 16384 + 4095));

  Windows windows;
  windows.Add(*reader_, 0, 10'001, 3, 0);
  windows.Add(*reader_, 0, kBytes - 1, 1, 0);
  for (const Planned& read : Plan(windows)) {
    EXPECT_EQ(read.begin % 512, 0);
    EXPECT_EQ(read.size % 512, 0);
  }
  ExpectProven(windows);
}

TEST_F(ReadPlanTest, CopiesFromMappingsAreGroupedByFileInTheOrderGiven) {
  ByteReaderOptions options;
  options.backend = IoBackend::kMmap;
  for (const char* name : {"0", "1"}) {
    testing::WriteProvenFile(dir_.path(name), name[0] - '0', 10'000);
  }
  std::vector<std::string> paths = {dir_.path("0"), dir_.path("1")};
  ASSERT_OK_AND_ASSIGN(const auto two, ByteReader::Open(paths, options));
  paths.pop_back();
  ASSERT_OK_AND_ASSIGN(const auto one, ByteReader::Open(paths, options));
  Windows windows;
  windows.Add(*two, 1, 9000, 10, 1);
  windows.Add(*one, 0, 500, 20, 0);
  windows.Add(*two, 0, 4000, 30, 0);
  windows.Add(*two, 1, 100, 40, 1);
  windows.Add(*one, 0, 400, 50, 0);
  windows.Add(*two, 1, 5000, 60, 1);
  std::vector<size_t> sizes;
  for (const auto& request : internal::SortRequests(windows.requests())) {
    sizes.push_back(request.request->into.size());
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(10, 40, 60, 20, 50, 30));
  ExpectProven(windows);
}

TEST_F(ReadPlanTest, ScratchIsBoundedByTakingTurns) {
  Open(IoBackend::kPread, 500'000);  // blocks larger than any window
  Windows windows;
  for (int i = 0; i < 2; ++i) windows.Add(*reader_, 0, i * 999'000, 1000, 0);
  for (int i = 0; i < 300; ++i) windows.Add(*reader_, 0, i, 10, 0);
  // At most 500,000 bytes each, so all fit one turn, as blocks are shared: but
  // the bound is by the request.
  const auto sorted = internal::SortRequests(windows.requests());
  std::span<const internal::OrderedRequest> rest = sorted;
  internal::ReadPlan plan;
  ASSERT_THAT(plan.TakeFrom(&rest), IsOk());
  ExpectProven(windows);
}

// A region of memory with canaries around each place.
class Guarded {
 public:
  std::span<std::byte> Add(size_t bytes, size_t lead) {
    memory_.push_back(std::vector<std::byte>(lead + bytes + 64, kCanary));
    leads_.push_back(lead);
    return std::span(memory_.back()).subspan(lead, bytes);
  }
  bool CanariesLive() const {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const auto& bytes = memory_[i];
      const auto is_canary = [](std::byte b) { return b == kCanary; };
      if (!std::all_of(bytes.begin(),
                       bytes.begin() + static_cast<ptrdiff_t>(leads_[i]),
                       is_canary) ||
          !std::all_of(bytes.end() - 64, bytes.end(), is_canary)) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::byte kCanary{0};  // no proven byte is zero
  std::vector<std::vector<std::byte>> memory_;
  std::vector<size_t> leads_;
};

using BackendAndChecks = std::tuple<IoBackend, VerifyChecksums>;
class AnyPlanTest : public ::testing::TestWithParam<BackendAndChecks> {};

INSTANTIATE_TEST_SUITE_P(
    Ways, AnyPlanTest,
    ::testing::Combine(::testing::ValuesIn(testing::kAllBackends),
                       ::testing::Values(VerifyChecksums::kOff,
                                         VerifyChecksums::kFirstTouch,
                                         VerifyChecksums::kAlways)),
    [](const auto& tested) {
      return std::string(IoBackendName(std::get<0>(tested.param))) + "_" +
             std::string(VerifyChecksumsName(std::get<1>(tested.param)));
    });

// Files of many sizes and block sizes; requests that touch, overlap, repeat,
// and lie aligned or not: whatever the plan, the bytes are those asked for, and
// no other memory is written.
TEST_P(AnyPlanTest, EveryRequestGetsItsBytesAndNothingElseIsWritten) {
  const auto [backend, verify] = GetParam();
  if (testing::UsesUring(backend)) PONIENTE_NEEDS_URING();
  std::mt19937_64 random(testing::TestSeed(31));
  TempDir dir;
  std::vector<std::shared_ptr<const ByteReader>> readers;
  uint64_t number = 0;
  for (const uint64_t block_bytes : {1, 700, 4096, 65536, 1 << 20}) {
    std::vector<ByteFile> files;
    for (const uint64_t bytes : {200'000, 8192, 1, 4097}) {
      files.push_back(testing::WriteChecksummedFile(
          dir.path(std::to_string(number)), number, bytes, block_bytes));
      ++number;
    }
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         ByteReader::Open(std::move(files), {backend, verify}));
    readers.push_back(reader);
  }
  for (int round = 0; round < 30; ++round) {
    Guarded memory;
    std::vector<ReadRequest> requests;
    std::vector<uint64_t> proven_as;
    for (int i = 0; i < 80; ++i) {
      const size_t r = random() % readers.size();
      const auto file = static_cast<uint32_t>(random() % 4);
      const uint64_t size = readers[r]->size(file);
      uint64_t offset = random() % size;
      if (random() % 2 == 0) offset = offset / 512 * 512;
      uint64_t bytes = random() % std::min<uint64_t>(size - offset + 1, 20'000);
      if (random() % 2 == 0)
        bytes = std::min(size - offset, bytes / 512 * 512 + 512);
      if (random() % 4 == 0 && !requests.empty()) {  // right after another
        const ReadRequest& last = requests.back();
        if (last.reader == readers[r].get() && last.file == file &&
            last.offset + last.into.size() + bytes <= size) {
          offset = last.offset + last.into.size();
        }
      }
      requests.push_back({readers[r].get(), file, offset,
                          memory.Add(bytes, random() % 3 * 16)});
      proven_as.push_back(4 * r + file);
    }
    ASSERT_THAT(RunBlocking(ReadBatch(requests)), IsOk());
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_EQ(testing::FirstUnproven(proven_as[i], requests[i].offset,
                                       requests[i].into),
                std::nullopt)
          << "round " << round << " request " << i;
    }
    ASSERT_TRUE(memory.CanariesLive()) << "round " << round;
  }
}

}  // namespace
}  // namespace poniente
