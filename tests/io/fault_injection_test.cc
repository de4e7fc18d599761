// SPDX-License-Identifier: Apache-2.0
// Every call to the kernel fails once, at every place where it is made, and
// then from that place on: each time the bytes are right or a Status says what
// to do, and afterwards the same reader works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <vector>

#include "io/files/fault_hooks.h"
#include "tests/io/checksummed_file.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using internal::SystemCall;
using ::poniente::testing::IsOk;
using ::poniente::testing::Windows;
using ::testing::HasSubstr;

// What a completed read gives instead, beside -errno.
constexpr int64_t kNothing = 0;
constexpr int64_t kHalf = 1;

struct Fault {
  SystemCall call;
  int64_t gives;  // -errno, kNothing or kHalf
  // The batch must succeed nevertheless if it happens once; always.
  bool is_survived_once;
  bool is_survived_always;
};

constexpr Fault kFaults[] = {
    {SystemCall::kOpen, -EMFILE, false, false},
    {SystemCall::kOpen, -ENFILE, false, false},
    {SystemCall::kOpen, -EACCES, false, false},
    {SystemCall::kOpen, -EINTR, true, false},
    {SystemCall::kFstat, -EIO, false, false},
    {SystemCall::kFcntl, -EINVAL, false, false},
    {SystemCall::kOpenDirect, -EINVAL, true, true},
    {SystemCall::kOpenDirect, -EMFILE, true, true},
    {SystemCall::kStatx, -ENOSYS, true, true},
    {SystemCall::kMapFile, -ENOMEM, false, false},
    {SystemCall::kPopulate, -EFAULT, true, true},
    {SystemCall::kMapMemory, -ENOMEM, false, false},
    {SystemCall::kReadChecksum, -EIO, true, false},
    {SystemCall::kReadChecksum, -EINTR, true, false},
    {SystemCall::kFadvise, -ESPIPE, true, true},
    {SystemCall::kPread, -EIO, true, false},
    {SystemCall::kPread, -EINTR, true, false},
    {SystemCall::kPread, -EAGAIN, true, false},
    {SystemCall::kPread, -EINVAL, false, false},
    {SystemCall::kPread, kHalf, true, true},
    {SystemCall::kPread, kNothing, false, false},
    {SystemCall::kUringSetup, -EPERM, false, false},
    {SystemCall::kUringSetup, -ENOSYS, false, false},
    {SystemCall::kUringSetup, -ENOMEM, false, false},
    {SystemCall::kEventfd, -EMFILE, true, true},
    {SystemCall::kRegisterEventfd, -ENOMEM, true, true},
    {SystemCall::kRegisterTables, -ENOMEM, true, true},
    {SystemCall::kRegisterFile, -EMFILE, true, true},
    {SystemCall::kRegisterBuffer, -ENOMEM, true, true},
    {SystemCall::kUringEnter, -EAGAIN, true, true},
    {SystemCall::kUringEnter, -EBUSY, true, true},
    {SystemCall::kUringEnter, -EINTR, true, true},
    {SystemCall::kUringEnter, -EBADF, true, true},
    {SystemCall::kUringRead, -EIO, true, false},
    {SystemCall::kUringRead, -EINTR, true, false},
    {SystemCall::kUringRead, -EAGAIN, true, false},
    {SystemCall::kUringRead, -ECANCELED, true, false},
    {SystemCall::kUringRead, -EINVAL, false, false},
    {SystemCall::kUringRead, -ENOMEM, true, false},
    {SystemCall::kUringRead, kHalf, true, true},
    {SystemCall::kUringRead, kNothing, false, false},
    {SystemCall::kCopy, -EFAULT, true, true},
};

// Gives the fault at its call number `nth`, and at all later ones if
// `for_ever`.
class Inject final : public internal::FaultHooks {
 public:
  Inject(const Fault& fault, int nth, bool for_ever)
      : fault_(fault), nth_(nth), for_ever_(for_ever) {}

  int Error(SystemCall call) override {
    return IsNow(call) ? static_cast<int>(-fault_.gives) : 0;
  }
  int64_t ReadResult(SystemCall call, int64_t result) override {
    if (!IsNow(call)) return result;
    if (fault_.gives != kHalf) return fault_.gives;
    return result <= 1 ? result : result / 2;
  }
  bool happened() const { return calls_ > nth_; }

 private:
  bool IsNow(SystemCall call) {
    if (call != fault_.call) return false;
    const int number = calls_++;
    return for_ever_ ? number >= nth_ : number == nth_;
  }

  const Fault fault_;
  const int nth_;
  const bool for_ever_;
  std::atomic<int> calls_ = 0;
};

using Case = std::tuple<IoBackend, Fault>;

std::string CaseName(const ::testing::TestParamInfo<Case>& tested) {
  const auto& [backend, fault] = tested.param;
  std::string what = fault.gives == kNothing ? "Nothing"
                     : fault.gives == kHalf
                         ? "Half"
                         : strerrorname_np(static_cast<int>(-fault.gives));
  return std::string(IoBackendName(backend)) + "_" +
         std::to_string(static_cast<int>(fault.call)) + what;
}

class FaultInjectionTest : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr uint64_t kBytes = 300'000;
  static constexpr uint64_t kBlockBytes = 61;  // above 4096 blocks

  void SetUp() override {
    if (testing::UsesUring(backend())) PONIENTE_NEEDS_URING();
    file_ =
        testing::WriteChecksummedFile(dir_.path("f"), 0, kBytes, kBlockBytes);
    auto buffer = ReadBuffer::Allocate(1 << 16);
    ASSERT_THAT(buffer, IsOk());
    buffer_ = *std::move(buffer);
  }
  IoBackend backend() const { return std::get<0>(GetParam()); }
  const Fault& fault() const { return std::get<1>(GetParam()); }

  absl::StatusOr<std::shared_ptr<const ByteReader>> Open() {
    ByteReaderOptions options;
    options.backend = backend();
    options.verify = VerifyChecksums::kAlways;
    options.cache_bytes = 0;  // a policy of its own
    std::vector<ByteFile> files = {file_};
    return ByteReader::Open(std::move(files), options);
  }
  // Windows into plain memory and into a ReadBuffer, some of them neighbours.
  absl::Status ReadOnce(const ByteReader& reader) {
    std::vector<ReadRequest> requests;
    std::fill(plain_.begin(), plain_.end(), std::byte{0});
    std::fill(buffer_.bytes().begin(), buffer_.bytes().end(), std::byte{0});
    for (size_t i = 0; i < 8; ++i) {
      const auto into = i % 2 == 0 ? std::span(plain_) : buffer_.bytes();
      requests.push_back({&reader, 0, i * 30'000, into.subspan(i * 512, 512)});
    }
    requests.push_back({&reader, 0, 512, std::span(plain_).subspan(9000, 100)});
    absl::Status result = testing::ReadInNewContext(requests);
    if (result.ok()) ExpectProven(requests);
    return result;
  }
  void ExpectProven(const std::vector<ReadRequest>& requests) {
    for (const ReadRequest& request : requests) {
      ASSERT_EQ(testing::FirstUnproven(0, request.offset, request.into),
                std::nullopt)
          << request.offset;
    }
  }
  // Enough batches for kAuto to read in more ways than one.
  absl::Status ReadMany(const ByteReader& reader) {
    const int batches = backend() == IoBackend::kAuto ? 60 : 1;
    for (int i = 0; i < batches; ++i) {
      absl::Status status = ReadOnce(reader);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  void ExpectHelpful(const absl::Status& status) {
    const bool is_memory = fault().call == SystemCall::kMapMemory;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(is_memory    ? "memory"
                          : IsOfRing() ? "io_uring"
                                       : dir_.path("f")));
    if (fault().gives != -EINVAL) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(";"));
    }
  }
  bool IsOfRing() const { return fault().call == SystemCall::kUringSetup; }
  // Only a read past the cache may take EINVAL.
  bool MustSucceed(bool for_ever) const {
    if (fault().gives == -EINVAL && fault().call == SystemCall::kUringRead) {
      return backend() == IoBackend::kDirect && !for_ever;
    }
    return for_ever ? fault().is_survived_always : fault().is_survived_once;
  }

  // The fault at call number `nth`; false if there was no such call.
  bool Try(int nth, bool for_ever) {
    std::shared_ptr<const ByteReader> reader;
    absl::Status status;
    Inject inject(fault(), nth, for_ever);
    {
      internal::ScopedFaultHooks scope(&inject);
      auto opened = Open();
      status = opened.status();
      if (opened.ok()) {
        reader = *opened;
        status = ReadMany(*reader);
      }
    }
    if (inject.happened() && MustSucceed(for_ever)) {
      EXPECT_THAT(status, IsOk()) << "call " << nth;
    }
    if (!status.ok()) {
      EXPECT_TRUE(inject.happened()) << status;
      ExpectHelpful(status);
    }
    if (reader != nullptr) {
      EXPECT_THAT(ReadOnce(*reader), IsOk()) << "after call " << nth;
    }
    return inject.happened();
  }

  testing::TempDir dir_;
  ByteFile file_;
  std::vector<std::byte> plain_ = std::vector<std::byte>(10'000);
  ReadBuffer buffer_;
};

INSTANTIATE_TEST_SUITE_P(
    Calls, FaultInjectionTest,
    ::testing::Combine(::testing::ValuesIn(testing::kAllBackends),
                       ::testing::ValuesIn(kFaults)),
    CaseName);

TEST_P(FaultInjectionTest, OnceAtEveryCall) {
  // The calls of a kind are some hundred for kAuto: the later ones are alike.
  const int step = backend() == IoBackend::kAuto ? 37 : 1;
  int nth = 0;
  while (Try(nth, /*for_ever=*/false)) {
    ASSERT_FALSE(HasFailure()) << "call " << nth;
    nth += nth < 40 ? 1 : step;
  }
}

TEST_P(FaultInjectionTest, FromEveryCallOn) {
  const int step = backend() == IoBackend::kAuto ? 37 : 1;
  int nth = 0;
  while (Try(nth, /*for_ever=*/true)) {
    ASSERT_FALSE(HasFailure()) << "call " << nth;
    nth += nth < 20 ? 1 : step;
  }
}

// Which calls each backend makes at all: a seam that is not asked any more
// would let the tests above pass without a fault.
TEST(FaultSeamTest, EveryCallIsMadeByTheBackendThatNeedsIt) {
  PONIENTE_NEEDS_URING();
  class Count final : public internal::FaultHooks {
   public:
    int Error(SystemCall call) override {
      ++calls[static_cast<int>(call)];
      return 0;
    }
    int64_t ReadResult(SystemCall call, int64_t result) override {
      ++calls[static_cast<int>(call)];
      return result;
    }
    std::atomic<int> calls[internal::kNumSystemCalls] = {};
  } count;
  testing::TempDir dir;
  const ByteFile file =
      testing::WriteChecksummedFile(dir.path("f"), 0, 300'000, 61);
  internal::ScopedFaultHooks scope(&count);
  ASSERT_OK_AND_ASSIGN(const ReadBuffer buffer, ReadBuffer::Allocate(8192));
  for (const IoBackend backend : {IoBackend::kBuffered, IoBackend::kDirect,
                                  IoBackend::kMmap, IoBackend::kPread}) {
    ByteReaderOptions options;
    options.backend = backend;
    // Its checksums are read by a ring before, and what has been compared by
    // then would not be again.
    if (backend == IoBackend::kMmap) options.verify = VerifyChecksums::kAlways;
    std::vector<ByteFile> files = {file};
    ASSERT_OK_AND_ASSIGN(const auto reader,
                         ByteReader::Open(std::move(files), options));
    for (int i = 0; i < 12; ++i) {
      const ReadRequest requests[] = {
          {reader.get(), 0, 0, buffer.bytes().first(4096)},
          {reader.get(), 0, 100'000 + 61u * i,
           buffer.bytes().subspan(4096, 61)}};
      EXPECT_THAT(testing::ReadInNewContext(requests), IsOk());
    }
  }
  for (int call = 0; call < internal::kNumSystemCalls; ++call) {
    if (call == static_cast<int>(SystemCall::kSetrlimit)) continue;
    EXPECT_GT(count.calls[call], 0) << "SystemCall " << call;
  }
}

}  // namespace
}  // namespace poniente
