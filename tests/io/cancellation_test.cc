// SPDX-License-Identifier: Apache-2.0
// A batch is cancelled, or its context dies, after every number of handlers: no
// byte may arrive after the call has returned or the context is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <thread>

#include "io/read_plan.h"
#include "tests/io/checksummed_file.h"
#include "tests/io/cold_ring.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::poniente::testing::IsOk;
using ::poniente::testing::Windows;

constexpr std::byte kCanary{0};  // no proven byte is zero

struct Way {
  const char* name;
  IoBackend backend;
  VerifyChecksums verify;
  uint64_t unaligned;  // added to each offset
  bool two_rings = false;
};

// What lands in its place at once, and what is read beside it.
constexpr Way kWays[] = {
    {"Buffered", IoBackend::kBuffered, VerifyChecksums::kOff, 0},
    {"BufferedVerified", IoBackend::kBuffered, VerifyChecksums::kAlways, 3},
    {"BufferedTwoRings", IoBackend::kBuffered, VerifyChecksums::kOff, 3, true},
    {"Direct", IoBackend::kDirect, VerifyChecksums::kOff, 0},
    {"DirectUnaligned", IoBackend::kDirect, VerifyChecksums::kOff, 3},
    {"DirectVerified", IoBackend::kDirect, VerifyChecksums::kAlways, 3},
    {"Pread", IoBackend::kPread, VerifyChecksums::kAlways, 3},
    {"Mmap", IoBackend::kMmap, VerifyChecksums::kAlways, 3},
};

class CancellationTest : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (testing::UsesUring(GetParam().backend)) PONIENTE_NEEDS_URING();
    const ByteFile file =
        testing::WriteChecksummedFile(dir_.path("f"), 0, 1 << 20, 16'384);
    ByteReaderOptions options;
    options.backend = GetParam().backend;
    options.verify = GetParam().verify;
    std::vector<ByteFile> files = {file};
    auto reader = ByteReader::Open(std::move(files), options);
    ASSERT_THAT(reader, IsOk());
    reader_ = *reader;
    auto memory = ReadBuffer::Allocate(kWindows * kWindowBytes);
    ASSERT_THAT(memory, IsOk());
    memory_ = *std::move(memory);
    for (uint64_t i = 0; i < kWindows; ++i) {
      requests_.push_back(
          {reader_.get(), 0,
           (i * 37 % kWindows) * 16'384 + GetParam().unaligned,
           memory_.bytes().subspan(i * kWindowBytes, kWindowBytes)});
    }
  }
  void MakeCold() {
    testing::DropFromCache(dir_.path("f"));
    std::fill(memory_.bytes().begin(), memory_.bytes().end(), kCanary);
  }
  // Has the batch read in the context the way that is tested.
  void Prepare(asio::io_context* context) const {
    if (!GetParam().two_rings) return;
    const auto& second = testing::ColdRingOf(context);
    const auto sorted = internal::SortRequests(requests_);
    std::span<const internal::OrderedRequest> rest = sorted;
    internal::ReadPlan plan;
    ASSERT_THAT(plan.TakeFrom(&rest), IsOk());
    ASSERT_EQ(second.ShareOf(plan.ring()), kWindows / 2);
  }
  bool IsProven() const {
    for (const ReadRequest& request : requests_) {
      for (size_t i = 0; i < request.into.size(); i += 97) {
        if (request.into[i] != testing::ProvenByte(0, request.offset + i)) {
          return false;
        }
      }
    }
    return true;
  }
  // Nothing is written any more.
  void ExpectNoMoreWrites() {
    std::fill(memory_.bytes().begin(), memory_.bytes().end(), kCanary);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    ASSERT_TRUE(std::all_of(memory_.bytes().begin(), memory_.bytes().end(),
                            [](std::byte byte) { return byte == kCanary; }));
  }

  static constexpr uint64_t kWindows = 63;
  static constexpr size_t kWindowBytes = 8192;
  testing::TempDir dir_;
  std::shared_ptr<const ByteReader> reader_;
  ReadBuffer memory_;
  std::vector<ReadRequest> requests_;
};

INSTANTIATE_TEST_SUITE_P(Ways, CancellationTest, ::testing::ValuesIn(kWays),
                         [](const auto& tested) {
                           return std::string(tested.param.name);
                         });

TEST_P(CancellationTest, AfterEveryHandlerEndsWithoutALateWrite) {
  bool ended_first = false;
  for (int handlers = 0; !ended_first && handlers < 200; ++handlers) {
    MakeCold();
    asio::io_context context;
    Prepare(&context);
    asio::cancellation_signal signal;
    std::optional<absl::Status> result;
    asio::co_spawn(context, ReadBatch(requests_),
                   asio::bind_cancellation_slot(
                       signal.slot(),
                       [&result](std::exception_ptr thrown, absl::Status s) {
                         result = thrown ? absl::CancelledError("threw") : s;
                       }));
    for (int i = 0; i < handlers && !result; ++i) context.run_one();
    ended_first = result.has_value();
    signal.emit(asio::cancellation_type::terminal);
    context.run();
    ASSERT_TRUE(result.has_value()) << handlers;
    if (ended_first) {
      ASSERT_THAT(*result, IsOk()) << handlers;
      ASSERT_TRUE(IsProven()) << handlers;
    } else if (result->ok()) {
      ASSERT_TRUE(IsProven()) << handlers;
    } else {
      ASSERT_EQ(result->code(), absl::StatusCode::kCancelled) << *result;
    }
    ExpectNoMoreWrites();
  }
  EXPECT_TRUE(ended_first);
}

TEST_P(CancellationTest, TheContextMayDieAfterEveryHandler) {
  bool ended = false;
  for (int handlers = 0; !ended && handlers < 200; ++handlers) {
    MakeCold();
    {
      asio::io_context context;
      Prepare(&context);
      asio::co_spawn(
          context, ReadBatch(requests_),
          [&ended](std::exception_ptr, absl::Status) { ended = true; });
      for (int i = 0; i < handlers && !ended; ++i) context.run_one();
    }
    ExpectNoMoreWrites();
  }
  EXPECT_TRUE(ended);
  // The reader is none the worse for it.
  ASSERT_THAT(RunBlocking(ReadBatch(requests_)), IsOk());
  EXPECT_TRUE(IsProven());
}

}  // namespace
}  // namespace poniente
