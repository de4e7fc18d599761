// SPDX-License-Identifier: Apache-2.0
// What rings have registered must be let go of: a stale buffer would be written
// where nobody looks, a stale file read where another is meant.
#include "io/read_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "io/files/fault_hooks.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::poniente::internal::FaultHooks;
using ::poniente::internal::ScopedFaultHooks;
using ::poniente::internal::SystemCall;
using ::poniente::testing::IsOk;
using ::poniente::testing::ProvenByte;

class ReadBufferTest : public ::testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override {
    if (testing::UsesUring(GetParam())) PONIENTE_NEEDS_URING();
    testing::WriteProvenFile(dir_.path("f"), 0, kBytes);
    auto reader = ByteReader::Open({dir_.path("f")}, {GetParam()});
    ASSERT_THAT(reader, IsOk());
    reader_ = *reader;
  }
  void ReadAndCheck(const ByteReader& reader, uint64_t proven_as,
                    uint64_t offset, std::span<std::byte> into) {
    const ReadRequest request = {&reader, 0, offset, into};
    std::fill(into.begin(), into.end(), std::byte{0});
    // In one context, so that its ring sees all buffers and files.
    ASSERT_THAT(testing::ReadIn(&context_, std::span(&request, 1)), IsOk());
    ASSERT_EQ(testing::FirstUnproven(proven_as, offset, into), std::nullopt)
        << offset;
  }

  static constexpr uint64_t kBytes = 1 << 20;
  testing::TempDir dir_;
  asio::io_context context_;
  std::shared_ptr<const ByteReader> reader_;
};

INSTANTIATE_TEST_SUITE_P(Backends, ReadBufferTest,
                         ::testing::ValuesIn(testing::kAllBackends),
                         [](const auto& tested) {
                           return std::string(IoBackendName(tested.param));
                         });

TEST_P(ReadBufferTest, MemoryAtTheAddressOfADeadBufferIsReadInto) {
  std::set<const void*> seen;
  bool again = false;
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_OK_AND_ASSIGN(const ReadBuffer buffer,
                         ReadBuffer::Allocate(16384 + i % 2 * 4096));
    again |= !seen.insert(buffer.bytes().data()).second;
    ReadAndCheck(*reader_, 0, i * 4096, buffer.bytes().first(8192));
  }
  EXPECT_TRUE(again) << "no address came twice";
  // Now memory that is no ReadBuffer, at such an address.
  std::byte* dead = nullptr;
  {
    ASSERT_OK_AND_ASSIGN(const ReadBuffer buffer, ReadBuffer::Allocate(8192));
    dead = buffer.bytes().data();
    ReadAndCheck(*reader_, 0, 4096, buffer.bytes());
  }
  void* const plain = ::mmap(dead, 8192, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(plain, dead);
  ReadAndCheck(*reader_, 0, 12288, {dead, 8192});
  ::munmap(plain, 8192);
}

TEST_P(ReadBufferTest, MoreBuffersThanARingHoldsWork) {
  std::vector<ReadBuffer> buffers;
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_OK_AND_ASSIGN(ReadBuffer buffer, ReadBuffer::Allocate(4096));
    ReadAndCheck(*reader_, 0, i * 512, buffer.bytes());
    buffers.push_back(std::move(buffer));
  }
  for (ReadBuffer& buffer : buffers) {
    ReadAndCheck(*reader_, 0, 1234, buffer.bytes());
  }
  while (buffers.size() > 3) buffers.erase(buffers.begin());
  ReadAndCheck(*reader_, 0, 5678, buffers[1].bytes());
}

TEST_P(ReadBufferTest, AnyPartOfABufferAndWhatReachesBeyondItIsReadInto) {
  // Two buffers that happen to follow each other are memory like any other.
  ASSERT_OK_AND_ASSIGN(const ReadBuffer one, ReadBuffer::Allocate(8192));
  ASSERT_OK_AND_ASSIGN(const ReadBuffer two, ReadBuffer::Allocate(8192));
  const auto low = std::min(one.bytes().data(), two.bytes().data());
  const auto high = std::max(one.bytes().data(), two.bytes().data());
  ReadAndCheck(*reader_, 0, 512, {low, 100});
  ReadAndCheck(*reader_, 0, 1024, {high + 4000, 100});
  if (low + 8192 == high) ReadAndCheck(*reader_, 0, 4096, {low + 4096, 8192});
}

TEST_P(ReadBufferTest, AFileWithTheDescriptorOfADeadOneIsReadFrom) {
  for (uint64_t i = 1; i < 40; ++i) {
    const std::string path = dir_.path(std::to_string(i));
    testing::WriteProvenFile(path, i, 10'000);
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         ByteReader::Open({path}, {GetParam()}));
    std::vector<std::byte> into(9'000);
    ReadAndCheck(*reader, i, 600, into);
    if (i % 3 == 0) ReadAndCheck(*reader_, 0, i, into);
  }
}

// A registered file would keep the blocks of a removed one.
TEST_P(ReadBufferTest, ADeadReaderLetsGoOfItsFile) {
  const std::string path = dir_.path("gone");
  testing::WriteProvenFile(path, 9, 1 << 20);
  {
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         ByteReader::Open({path}, {GetParam()}));
    std::vector<std::byte> into(8192);
    ReadAndCheck(*reader, 9, 4096, into);
  }
  const std::string held = std::filesystem::canonical(path).string();
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    EXPECT_NE(std::filesystem::read_symlink(entry, gone).string(), held);
  }
}

// Buffers and readers die on one thread while rings of others submit.
TEST_P(ReadBufferTest, BuffersAndReadersMayDieWhileOtherRingsRead) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      asio::io_context context;
      for (uint64_t i = 0; !stop; ++i) {
        auto buffer = ReadBuffer::Allocate(8192);
        ASSERT_THAT(buffer, IsOk());
        auto own = ByteReader::Open({dir_.path("f")}, {GetParam()});
        ASSERT_THAT(own, IsOk());
        const ReadRequest requests[] = {
            {reader_.get(), 0, i % 100 * 4096, buffer->bytes().first(4096)},
            {own->get(), 0, i % 99 * 512, buffer->bytes().subspan(4096)}};
        EXPECT_THAT(testing::ReadIn(&context, requests), IsOk());
        EXPECT_EQ(buffer->bytes()[t], ProvenByte(0, i % 100 * 4096 + t));
        EXPECT_EQ(buffer->bytes()[4096], ProvenByte(0, i % 99 * 512));
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(ReadBufferAllocateTest, GivesAlignedZerosOfAnySize) {
  for (const size_t bytes : {0, 1, 4096, 100'000}) {
    ASSERT_OK_AND_ASSIGN(const ReadBuffer buffer, ReadBuffer::Allocate(bytes));
    ASSERT_EQ(buffer.bytes().size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.bytes().data()) % 4096, 0);
    for (const std::byte byte : buffer.bytes()) ASSERT_EQ(byte, std::byte{0});
  }
  EXPECT_THAT(ReadBuffer::Allocate(size_t{1} << 60),
              testing::StatusIs(absl::StatusCode::kResourceExhausted,
                                ::testing::HasSubstr("memory")));
}

// Bytes of address space that this process has mapped.
uint64_t MappedBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(LargeReadBufferTest, BeginsAtAHugePageAndMapsNothingElse) {
  constexpr size_t kHugePage = size_t{2} << 20;
  for (const size_t bytes : {kHugePage, kHugePage + 1, 5 * kHugePage - 1}) {
    const uint64_t before = MappedBytes();
    {
      std::vector<ReadBuffer> buffers;
      for (int i = 0; i < 50; ++i) {
        ASSERT_OK_AND_ASSIGN(ReadBuffer buffer, ReadBuffer::Allocate(bytes));
        ASSERT_EQ(buffer.bytes().size(), bytes);
        ASSERT_EQ(
            reinterpret_cast<uintptr_t>(buffer.bytes().data()) % kHugePage, 0u);
        buffer.bytes().front() = std::byte{1};
        buffer.bytes().back() = std::byte{2};
        buffers.push_back(std::move(buffer));
      }
      EXPECT_LT(MappedBytes(), before + 50 * (bytes + kHugePage / 2));
    }
    EXPECT_LT(MappedBytes(), before + 8 * kHugePage);
  }
}

TEST(SharedReadBufferTest, BuffersOfABatchLieInTheSameHugePage) {
  constexpr size_t kHugePage = size_t{2} << 20;
  constexpr size_t kBytes = size_t{512} << 10;
  const uint64_t before = MappedBytes();
  {
    std::vector<ReadBuffer> buffers;
    std::map<uintptr_t, int> pages;
    for (int i = 0; i < 40; ++i) {
      ASSERT_OK_AND_ASSIGN(ReadBuffer buffer, ReadBuffer::Allocate(kBytes));
      const auto begin = reinterpret_cast<uintptr_t>(buffer.bytes().data());
      EXPECT_EQ(begin % 4096, 0u);
      ++pages[begin / kHugePage];
      EXPECT_EQ(begin / kHugePage, (begin + kBytes - 1) / kHugePage);
      buffers.push_back(std::move(buffer));
    }
    // As many as there is room for, but for pages that others have a part of.
    EXPECT_LE(pages.size(), 12u);
    EXPECT_LT(MappedBytes(), before + 14 * kHugePage);
  }
  EXPECT_LT(MappedBytes(), before + 3 * kHugePage);
}

// If each byte is the one after it, all are the first: in one call, as a loop
// over these many bytes takes minutes under TSan.
bool AllAre(std::span<const std::byte> bytes, std::byte value) {
  return bytes.front() == value &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// Every buffer has its own bytes, zeros at first, whatever was given back.
TEST(SharedReadBufferTest, BuffersOfAllSizesComeAndGo) {
  std::mt19937_64 random(17);
  const uint64_t before = MappedBytes();
  {
    struct Owned {
      ReadBuffer buffer;
      std::byte mark;
    };
    std::vector<Owned> all;
    for (int i = 0; i < 3000; ++i) {
      if (all.size() > random() % 40) {
        std::swap(all[random() % all.size()], all.back());
        ASSERT_TRUE(AllAre(all.back().buffer.bytes(), all.back().mark));
        all.pop_back();
        continue;
      }
      const size_t bytes = 1 + random() % (size_t{1} << (10 + random() % 12));
      ASSERT_OK_AND_ASSIGN(ReadBuffer buffer, ReadBuffer::Allocate(bytes));
      ASSERT_EQ(buffer.bytes().size(), bytes);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer.bytes().data()) % 4096, 0u);
      ASSERT_TRUE(AllAre(buffer.bytes(), std::byte{0}));
      const auto mark = static_cast<std::byte>(1 + i % 255);
      std::memset(buffer.bytes().data(), static_cast<int>(mark), bytes);
      all.push_back({std::move(buffer), mark});
    }
  }
  EXPECT_LT(MappedBytes(), before + (size_t{6} << 20));
}

TEST_P(ReadBufferTest, SharedMemoryIsReadIntoWhoeverHadItBefore) {
  constexpr size_t kBytes = size_t{128} << 10;
  for (uint64_t i = 0; i < 60; ++i) {
    ASSERT_OK_AND_ASSIGN(const ReadBuffer one, ReadBuffer::Allocate(kBytes));
    ASSERT_OK_AND_ASSIGN(const ReadBuffer two, ReadBuffer::Allocate(kBytes));
    ReadAndCheck(*reader_, 0, i * 512, one.bytes().first(9000));
    ReadAndCheck(*reader_, 0, i * 4096, two.bytes().first(8192));
    // Across the end of one of them, if they follow each other.
    const auto low = std::min(one.bytes().data(), two.bytes().data());
    const auto high = std::max(one.bytes().data(), two.bytes().data());
    if (low + kBytes == high) {
      ReadAndCheck(*reader_, 0, 4096, {high - 4096, 8192});
    }
  }
}

// Fails the first `count` mappings of memory.
class NoMemoryAtFirst final : public FaultHooks {
 public:
  explicit NoMemoryAtFirst(int count) : left_(count) {}
  int Error(SystemCall call) override {
    return call == SystemCall::kMapMemory && left_-- > 0 ? ENOMEM : 0;
  }

 private:
  std::atomic<int> left_;
};

// A huge page needs room of twice its size to be cut out of.
TEST(ReadBufferAllocateTest, SmallPagesDoWhereHugeOnesDoNotFit) {
  for (const size_t bytes : {size_t{1000} << 10, size_t{5} << 20}) {
    {
      NoMemoryAtFirst hooks(1);
      const ScopedFaultHooks scope(&hooks);
      ASSERT_OK_AND_ASSIGN(const ReadBuffer buffer,
                           ReadBuffer::Allocate(bytes));
      std::memset(buffer.bytes().data(), 1, buffer.bytes().size());
    }
    NoMemoryAtFirst hooks(2);
    const ScopedFaultHooks scope(&hooks);
    EXPECT_THAT(ReadBuffer::Allocate(bytes),
                testing::StatusIs(absl::StatusCode::kResourceExhausted,
                                  ::testing::HasSubstr("cannot get " +
                                                       std::to_string(bytes))));
  }
}

}  // namespace
}  // namespace poniente
