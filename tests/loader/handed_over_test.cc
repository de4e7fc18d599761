// SPDX-License-Identifier: Apache-2.0
// Large batches whose tensors are made on threads of their own, while the
// loader's thread reads others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "poniente/batch_tensors.h"
#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "util/usable_cores.h"

namespace poniente {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using testing::TempDir;

constexpr uint32_t kLength = 512;
constexpr uint64_t kSamples = 300;  // of a batch: 2.5 MiB of tensors
constexpr uint64_t kRunSamples = 40 * kSamples;

class HandedOverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random(testing::TestSeed(7));
    for (const char* name : {"a", "b"}) {
      std::vector<uint64_t> lengths(4000);
      for (uint64_t& length : lengths) length = random() % 700;
      ASSERT_THAT(testing::WriteStore(dir_.path(name),
                                      testing::ProvenDocuments(lengths, 257)),
                  IsOk());
    }
  }

  std::unique_ptr<Loader> Open(IoBackend backend, uint32_t prefetch,
                               uint64_t samples = kSamples) const {
    TokenStoreOptions store_options;
    store_options.io.backend = backend;
    std::vector<MixtureComponent<TokenWindow>> components;
    for (const char* name : {"a", "b"}) {
      auto store = TokenStore::Open(dir_.path(name), store_options);
      EXPECT_THAT(store, IsOk());
      auto windows = (*store)->Windows(kLength);
      EXPECT_THAT(windows, IsOk());
      components.push_back({.name = name, .dataset = *windows});
    }
    MixtureOptions mixture;
    mixture.seed = 3;
    auto root = MixtureDataset<TokenWindow>::Create(components, mixture);
    EXPECT_THAT(root, IsOk());
    ScheduleOptions run;
    run.batch_size = samples;
    run.seq_len = kLength;
    run.steps = kRunSamples / samples;
    LoaderOptions options;
    options.token_type = TokenType::kI32;
    options.tensors = {BatchTensor::kTokens, BatchTensor::kLabels,
                       BatchTensor::kLossMask, BatchTensor::kDocumentIds,
                       BatchTensor::kPositions};
    options.prefetch_batches = prefetch;
    options.max_held = 2;
    options.log_sink = [](std::string_view) {};
    auto loader = Loader::Create(*root, *Schedule::Create(run), options);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  static ptrdiff_t Threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                         {});
  }

  static void ExpectSame(const Batch& got, const Batch& want) {
    ASSERT_EQ(got.step(), want.step());
    SCOPED_TRACE(got.step());
    const auto same = [](const auto& a, const auto& b) {
      ASSERT_EQ(a.size(), b.size());
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
    };
    same(got.tokens<int32_t>(), want.tokens<int32_t>());
    same(got.labels<int32_t>(), want.labels<int32_t>());
    same(got.loss_mask(), want.loss_mask());
    same(got.document_ids(), want.document_ids());
    same(got.positions(), want.positions());
  }

  const TempDir dir_;
};

TEST_F(HandedOverTest, BatchesAreTheSame) {
  const auto plain = Open(IoBackend::kMmap, 1);
  const ptrdiff_t before = Threads();
  const auto ahead = Open(IoBackend::kDirect, 4);
  std::mt19937_64 random(testing::TestSeed(8));
  for (int i = 0; i < 60; ++i) {
    if (random() % 8 == 0 || plain->next_step() >= 40) {
      // What is under way is not wanted any more.
      const uint64_t step = random() % 40;
      ASSERT_THAT(plain->Seek(step), IsOk());
      ASSERT_THAT(ahead->Seek(step), IsOk());
    }
    auto want = plain->NextBlocking();
    ASSERT_THAT(want, IsOk());
    auto got = ahead->NextBlocking();
    ASSERT_THAT(got, IsOk());
    ExpectSame(*got, *want);
  }
  // Its own, four that look up documents, and two that make tensors.
  if (internal::UsableCores() > 1) {
    EXPECT_GE(Threads() - before, 7) << "no batch was handed over";
  }
}

// Tensors of 2 MiB and more are written past the caches.
TEST_F(HandedOverTest, LargeBatchesHaveTheRowsOfSmallOnes) {
  constexpr uint64_t kLarge = 4 * kSamples;
  const auto small = Open(IoBackend::kMmap, 1);
  const auto large = Open(IoBackend::kDirect, 3, kLarge);
  for (int step = 0; step < 6; ++step) {
    auto got = large->NextBlocking();
    ASSERT_THAT(got, IsOk());
    for (uint64_t i = 0; i < kLarge; i += kSamples) {
      auto want = small->NextBlocking();
      ASSERT_THAT(want, IsOk());
      const auto same = [i](const auto& all, const auto& part) {
        const auto begin = all.begin() + static_cast<ptrdiff_t>(i * kLength);
        ASSERT_EQ(part.size(), kSamples * kLength);
        ASSERT_TRUE(std::equal(part.begin(), part.end(), begin));
      };
      same(got->tokens<int32_t>(), want->tokens<int32_t>());
      same(got->labels<int32_t>(), want->labels<int32_t>());
      same(got->loss_mask(), want->loss_mask());
      same(got->document_ids(), want->document_ids());
      same(got->positions(), want->positions());
    }
  }
}

// The error of an id is that of the batch, wherever it is found.
TEST_F(HandedOverTest, AnIdThatIsNoneIsAnError) {
  TokenStoreOptions unverified;
  unverified.io.backend = IoBackend::kDirect;
  unverified.io.verify = VerifyChecksums::kOff;
  const std::string path = dir_.path("a/tokens-1.bin");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) / 2 /
                                         2 * 2));
  file.write("\xff\xff", 2);
  file.close();
  ASSERT_OK_AND_ASSIGN(const auto store,
                       TokenStore::Open(dir_.path("a"), unverified));
  ASSERT_OK_AND_ASSIGN(auto windows, store->Windows(kLength));
  ScheduleOptions run;
  run.batch_size = kSamples;
  run.seq_len = kLength;
  LoaderOptions options;
  options.token_type = TokenType::kI32;
  options.prefetch_batches = 4;
  options.log_sink = [](std::string_view) {};
  ASSERT_OK_AND_ASSIGN(
      const auto loader,
      Loader::Create(windows, *Schedule::Create(run), options));
  absl::Status found;
  for (int i = 0; i < 20 && found.ok(); ++i) {
    found = loader->NextBlocking().status();
  }
  EXPECT_THAT(found, StatusIs(absl::StatusCode::kDataLoss,
                              HasSubstr("token id 65535 is not below")));
}

TEST_F(HandedOverTest, ALoaderMayEndMeanwhile) {
  for (int i = 0; i < 20; ++i) {
    const auto loader = Open(IoBackend::kDirect, 4);
    for (int taken = 0; taken < i % 3; ++taken) {
      EXPECT_THAT(loader->NextBlocking(), IsOk());
    }
    if (i % 2 == 0) {
      EXPECT_THAT(loader->Seek(30), IsOk());
    }
  }
}

}  // namespace
}  // namespace poniente
