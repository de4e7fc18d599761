// SPDX-License-Identifier: Apache-2.0
// A loader over a file whose blocks have checksums, one of which is damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "poniente/byte_reader.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "tests/support/file_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "util/byte_order.h"
#include "util/crc32c.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using testing::TempDir;

constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kBlocks = 16;
constexpr uint32_t kDamagedSeqLen = 256;                   // bytes too
constexpr uint64_t kBatch = kBlockBytes / kDamagedSeqLen;  // step s is block s

class DamagedBlockTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::string bytes;
    std::string checksums(4 * kBlocks, '\0');
    for (uint64_t b = 0; b < kBlocks; ++b) {
      const std::string block(kBlockBytes, static_cast<char>(b));
      internal::StoreLittle(internal::Crc32c(std::as_bytes(std::span(block))),
                            reinterpret_cast<std::byte*>(&checksums[4 * b]));
      bytes += block;
    }
    testing::WriteFile(file(), bytes);
    testing::WriteFile(folder_.path("checksums"), checksums);
  }
  std::string file() const { return folder_.path("ids"); }

  std::unique_ptr<Loader> Open() const {
    ByteFile ids;
    ids.path = file();
    ids.checksums = {folder_.path("checksums"), 0, kBlockBytes};
    const auto reader = ByteReader::Open(std::vector<ByteFile>{ids});
    EXPECT_THAT(reader, IsOk());
    DatasetPtr<TokenWindow> windows =
        std::make_shared<testing::FileWindows>(*reader, kDamagedSeqLen);
    if (GetParam()) {  // a function on the way takes the general path
      windows = Map<TokenWindow>("same", std::move(windows),
                                 [](TokenWindow window) { return window; });
    }
    ScheduleOptions options;
    options.batch_size = kBatch;
    options.seq_len = kDamagedSeqLen;
    LoaderOptions one_at_a_time;  // no batch is tried again before it is asked
    one_at_a_time.prefetch_batches = 1;
    auto loader = Loader::Create(std::move(windows), *Schedule::Create(options),
                                 one_at_a_time);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  const TempDir folder_;
};

TEST_P(DamagedBlockTest, DamageBehindItsFirstReadIsFound) {
  const auto first = Open();
  for (uint64_t step = 0; step < kBlocks; ++step) {
    ASSERT_THAT(first->NextBlocking(), IsOk()) << step;
  }
  // Every block has been verified in this process.
  const auto loader = Open();
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  // So that the file system's clock has gone on.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  testing::FlipBit(file(), 3 * kBlockBytes + 77);
  for (uint64_t step = 1; step < 3; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk()) << step;
  }
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("step 3, rank 0: "), HasSubstr(file()),
                             HasSubstr("block 3"))));
}

TEST_P(DamagedBlockTest, NextNamesItAndGoesOnOnceItIsMended) {
  testing::FlipBit(file(), 3 * kBlockBytes + 77);
  const auto loader = Open();
  for (uint64_t step = 0; step < 3; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk()) << step;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(loader->NextBlocking(),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("step 3, rank 0: "), HasSubstr(file()),
                               HasSubstr("block 3"), HasSubstr("offset 12288"),
                               HasSubstr("stored"), HasSubstr("computed"))));
  }
  testing::FlipBit(file(), 3 * kBlockBytes + 77);
  for (uint64_t step = 3; step < kBlocks; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.step(), step);
    EXPECT_THAT(batch.tokens<uint32_t>(0), ::testing::Each(step));
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, DamagedBlockTest, ::testing::Bool(),
                         [](const auto& is_general) {
                           return is_general.param ? "General" : "Fast";
                         });

}  // namespace
}  // namespace poniente
