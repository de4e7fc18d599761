// SPDX-License-Identifier: Apache-2.0
#include "poniente/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <deque>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "poniente/flat_mixture.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

namespace asio = boost::asio;
using ::testing::AllOf;
using testing::CountingWindows;
using testing::FlakyWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::StatusIs;

DatasetPtr<TokenWindow> Mixture() {
  const auto small = *FlatMixture<TokenWindow>::Create(
      {{"a", CountingWindows(7, kSeqLen, 3)},
       {"b", CountingWindows(40, kSeqLen, 100)}});
  MixtureOptions options;
  options.seed = 42;
  options.block_size = 32;
  options.stages = {{100, {{"big", 0.2}, {"small", 0.8}}}};
  return *MixtureDataset<TokenWindow>::Create(
      {{"big", CountingWindows(500, kSeqLen, 7), 0.7}, {"small", small, 0.3}},
      options);
}

std::vector<std::byte> Bytes(const Batch& batch) {
  return {batch.bytes().begin(), batch.bytes().end()};
}

// The bytes of `step` over all of `ranks` ranks, each by a loader of its own.
std::vector<std::byte> WholeStep(uint64_t step, uint32_t ranks,
                                 uint64_t batch_size) {
  std::vector<std::byte> all;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    LoaderOptions options;
    options.rank = rank;
    options.ranks = ranks;
    options.start_step = step;
    const auto batch =
        Open(Mixture(), MakeSchedule(0, batch_size), options)->NextBlocking();
    EXPECT_THAT(batch, IsOk());
    const std::vector<std::byte> part = Bytes(*batch);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(LoaderTest, ServesTheItemsOfTheDatasetInOrder) {
  const auto dataset = Mixture();
  const auto loader = Open(dataset, MakeSchedule(0, 6));
  for (uint64_t step = 0; step < 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ASSERT_EQ(batch.step(), step);
    ASSERT_EQ(batch.num_samples(), 6u);
    for (uint64_t i = 0; i < 6; ++i) {
      ASSERT_OK_AND_ASSIGN(const TokenWindow window,
                           dataset->GetBlocking(step * 6 + i));
      const auto row = batch.tokens<uint32_t>(i);
      ASSERT_EQ(std::vector<uint32_t>(row.begin(), row.end()), window.tokens);
    }
  }
}

TEST(LoaderTest, SaysWhereEachSampleComesFrom) {
  const auto loader = Open(Mixture(), MakeSchedule(0, 6));
  const std::vector<LoaderSource> sources = loader->sources();
  ASSERT_EQ(sources.size(), 3u);
  EXPECT_EQ(sources[0].path, "big");
  EXPECT_EQ(sources[2].path, "small/b");
  EXPECT_EQ(sources[0].backend, "memory");
  const uint64_t first_token[] = {7, 3, 100};
  for (int step = 0; step < 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (uint64_t i = 0; i < 6; ++i) {
      const SampleProvenance& from = batch.provenance(i);
      EXPECT_EQ(from.sample, batch.plan().first_sample + i);
      EXPECT_EQ(batch.tokens<uint32_t>(i)[0],
                (first_token[from.source] + from.item * kSeqLen) % 251);
    }
  }
}

TEST(LoaderTest, AResumedRunEqualsTheUninterruptedOneForAnyRanks) {
  constexpr uint64_t kBatch = 10;
  const auto whole = Open(Mixture(), MakeSchedule(0, kBatch));
  std::vector<std::vector<std::byte>> steps;
  for (int step = 0; step < 30; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, whole->NextBlocking());
    steps.push_back(Bytes(batch));
  }
  for (const uint32_t ranks : {1, 2, 3, 8}) {
    for (const uint64_t step : {0, 1, 9, 10, 11, 29}) {
      EXPECT_EQ(WholeStep(step, ranks, kBatch), steps[step])
          << "step " << step << ", " << ranks << " ranks";
    }
  }
}

// Batches of 10, 64 and 97 samples, which most of the numbers do not divide.
TEST(LoaderTest, RanksShareEachStepWithoutOverlapWhateverTheirNumber) {
  ScheduleOptions changing;
  changing.seq_len = kSeqLen;
  changing.batch_size = 10;
  changing.batch_sizes = {{RunPoint::Step(2), 64}, {RunPoint::Step(4), 97}};
  const Schedule schedule = *Schedule::Create(changing);
  std::vector<std::vector<std::byte>> whole;
  for (const uint32_t ranks : {1, 2, 3, 7, 8, 64}) {
    std::vector<std::unique_ptr<Loader>> loaders;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      LoaderOptions options;
      options.rank = rank;
      options.ranks = ranks;
      loaders.push_back(Open(Mixture(), schedule, options));
    }
    for (uint64_t step = 0; step < 6; ++step) {
      const StepPlan plan = schedule.At(step);
      std::vector<uint64_t> samples;
      std::vector<std::byte> bytes;
      for (const auto& loader : loaders) {
        ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
        ASSERT_LE(batch.num_samples(), plan.batch_size / ranks + 1);
        for (size_t i = 0; i < batch.num_samples(); ++i) {
          samples.push_back(batch.provenance(i).sample);
        }
        const std::vector<std::byte> part = Bytes(batch);
        bytes.insert(bytes.end(), part.begin(), part.end());
      }
      std::vector<uint64_t> all(plan.batch_size);
      std::iota(all.begin(), all.end(), plan.first_sample);
      ASSERT_EQ(samples, all) << ranks << " ranks, step " << step;
      if (ranks == 1) whole.push_back(bytes);
      ASSERT_TRUE(bytes == whole[step]) << ranks << " ranks, step " << step;
    }
  }
}

TEST(LoaderTest, MoreRanksThanSamplesLeaveSomeWithoutAny) {
  std::vector<size_t> sizes;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    LoaderOptions options;
    options.rank = rank;
    options.ranks = 4;
    ASSERT_OK_AND_ASSIGN(
        const Batch batch,
        Open(Mixture(), MakeSchedule(0, 2), options)->NextBlocking());
    sizes.push_back(batch.num_samples());
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(0, 1, 0, 1));
}

TEST(LoaderTest, SeekGoesAnywhereInEveryState) {
  const auto loader = Open(Mixture(), MakeSchedule(0, 5));
  const auto expected = [&](uint64_t step) { return WholeStep(step, 1, 5); };
  for (const uint64_t step : {7, 0, 3, 3, 1000000, 2}) {
    EXPECT_THAT(loader->Seek(step), IsOk());
    EXPECT_EQ(loader->next_step(), step);
    for (uint64_t more = 0; more < 3; ++more) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      ASSERT_EQ(batch.step(), step + more);
      ASSERT_EQ(Bytes(batch), expected(step + more));
    }
  }
}

TEST(LoaderTest, AFiniteRunEndsWithOutOfRangeForEver) {
  const auto loader = Open(Mixture(), MakeSchedule(3, 5));
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT(loader->NextBlocking(), IsOk());
  }
  for (int again = 0; again < 3; ++again) {
    EXPECT_THAT(loader->NextBlocking(), StatusIs(absl::StatusCode::kOutOfRange,
                                                 HasSubstr("no step 3")));
  }
  EXPECT_THAT(loader->Seek(2), IsOk());
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_THAT(loader->Seek(99), IsOk());
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

TEST(LoaderTest, AFiniteDatasetEndsWithAShortBatchOrWithoutIt) {
  const auto windows = CountingWindows(13, kSeqLen);
  const auto keep = Open(windows, MakeSchedule(0, 5));
  std::vector<size_t> sizes;
  for (int step = 0; step < 3; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, keep->NextBlocking());
    sizes.push_back(batch.num_samples());
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(5, 5, 3));
  EXPECT_FALSE(keep->NextBlocking().ok());
  LoaderOptions options;
  options.last_batch = LastBatch::kDrop;
  const auto drop = Open(windows, MakeSchedule(0, 5), options);
  EXPECT_THAT(drop->NextBlocking(), IsOk());
  EXPECT_THAT(drop->NextBlocking(), IsOk());
  EXPECT_THAT(drop->NextBlocking(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

TEST(LoaderTest, FollowsADatasetThatGrows) {
  InMemoryOptions memory;
  memory.vocabulary = Vocabulary{"modulo", 251};
  const auto growing = InMemoryDataset<TokenWindow>::Growing(memory);
  const auto loader = Open(growing, MakeSchedule(0, 2));
  std::thread writer([&] {
    for (uint32_t i = 0; i < 7; ++i) {
      EXPECT_THAT(
          growing->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, i))}),
          IsOk());
      std::this_thread::yield();
    }
    growing->Finish();
  });
  for (uint32_t step = 0; step < 4; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.tokens<uint32_t>(0)[0], 2 * step);
    EXPECT_EQ(batch.num_samples(), step == 3 ? 1u : 2u);
  }
  EXPECT_FALSE(loader->NextBlocking().ok());
  writer.join();
}

TEST(LoaderTest, CloseAndDestructionEndAWaitThatWouldNeverEnd) {
  const auto growing = InMemoryDataset<TokenWindow>::Growing();
  auto loader = Open(growing, MakeSchedule(0, 2));
  asio::io_context context{1};
  absl::Status first, second;
  asio::co_spawn(context, loader->Next(),
                 [&](std::exception_ptr, absl::StatusOr<Batch> batch) {
                   first = batch.status();
                 });
  context.poll();
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another Next()")));
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  context.run();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("closed")));
  EXPECT_FALSE(loader->NextBlocking().ok());
  EXPECT_FALSE(loader->Seek(1).ok());

  loader = Open(growing, MakeSchedule(0, 2));
  context.restart();
  asio::co_spawn(context, loader->Next(),
                 [&](std::exception_ptr, absl::StatusOr<Batch> batch) {
                   second = batch.status();
                 });
  context.poll();
  loader.reset();
  context.run();
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("closed")));
}

// A fetch that is started while the loader closes must not wait for ever.
TEST(LoaderTest, DestructionRacesWithFetchesThatStart) {
  for (int round = 0; round < 300; ++round) {
    const auto growing = InMemoryDataset<TokenWindow>::Growing();
    const auto loader = Open(growing, MakeSchedule(0, 1));
    EXPECT_THAT(
        growing->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, 5))}),
        IsOk());
    EXPECT_THAT(loader->NextBlocking(), IsOk());
    EXPECT_THAT(loader->Seek(round), IsOk());
  }
}

TEST(LoaderTest, SeekLeavesAWaitThatWouldNeverEnd) {
  InMemoryOptions memory;
  memory.vocabulary = Vocabulary{"modulo", 251};
  const auto growing = InMemoryDataset<TokenWindow>::Growing(memory);
  EXPECT_THAT(growing->Append(std::vector<TokenWindow>(
                  4, TokenWindow(std::vector<uint32_t>(kSeqLen, 9)))),
              IsOk());
  LoaderOptions options;
  options.prefetch_batches = 1;
  options.start_step = 50;
  const auto loader = Open(growing, MakeSchedule(0, 2), options);
  asio::io_context context{1};
  absl::StatusOr<uint64_t> got = absl::UnknownError("not yet");
  asio::co_spawn(context, loader->Next(),
                 [&](std::exception_ptr, absl::StatusOr<Batch> batch) {
                   got = batch.ok() ? absl::StatusOr<uint64_t>(batch->step())
                                    : batch.status();
                 });
  context.poll();
  EXPECT_THAT(loader->Seek(1), IsOk());
  context.run();
  EXPECT_THAT(got, testing::IsOkAndHolds(1));
}

TEST(LoaderTest, ACancelledNextLosesNoBatch) {
  const auto growing = InMemoryDataset<TokenWindow>::Growing();
  const auto loader = Open(growing, MakeSchedule(0, 1));
  asio::io_context context{1};
  asio::cancellation_signal cancel;
  absl::Status got;
  asio::co_spawn(
      context, loader->Next(),
      asio::bind_cancellation_slot(
          cancel.slot(), [&](std::exception_ptr, absl::StatusOr<Batch> batch) {
            got = batch.status();
          }));
  context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  context.run();
  EXPECT_THAT(got, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(growing->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, 5))}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  EXPECT_EQ(batch.step(), 0u);
}

// The context does not come back, but the loader takes its place again.
TEST(LoaderTest, ANextWhoseContextDiesLosesNoBatch) {
  const auto growing = InMemoryDataset<TokenWindow>::Growing();
  auto loader = Open(growing, MakeSchedule(0, 1));
  const auto abandon = [&] {
    asio::io_context context{1};
    asio::co_spawn(context, loader->Next(),
                   [](std::exception_ptr, absl::StatusOr<Batch>) {
                     ADD_FAILURE() << "resumed without its context";
                   });
    context.poll();
  };
  for (int again = 0; again < 3; ++again) abandon();
  EXPECT_THAT(growing->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, 5))}),
              IsOk());
  {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.step(), 0u);
  }
  abandon();
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  loader.reset();
}

TEST(LoaderTest, AContextMayDieWhileItsNextIsResumed) {
  for (int round = 0; round < 300; ++round) {
    const auto growing = InMemoryDataset<TokenWindow>::Growing();
    const auto loader = Open(growing, MakeSchedule(0, 1));
    std::thread writer;
    {
      asio::io_context context{1};
      asio::co_spawn(context, loader->Next(),
                     [](std::exception_ptr, absl::StatusOr<Batch>) {});
      context.poll();
      writer = std::thread([&] {
        EXPECT_THAT(
            growing->Append({TokenWindow(std::vector<uint32_t>(kSeqLen, 5))}),
            IsOk());
      });
    }
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.step(), 0u);
    writer.join();
  }
}

TEST(LoaderTest, AnErrorNamesStepAndRankAndTheStepCanBeTriedAgain) {
  const auto flaky = FlakyWindows(4, 1, "/data/web: Input/output error");
  LoaderOptions options;
  options.rank = 0;
  options.ranks = 2;
  const auto loader = Open(flaky, MakeSchedule(0, 4), options);
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("step 1, rank 0"),
                             HasSubstr("/data/web: Input/output error"))));
  EXPECT_EQ(loader->next_step(), 1u);
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  EXPECT_EQ(batch.step(), 1u);
  EXPECT_EQ(batch.tokens<uint32_t>(0)[0], 4 * kSeqLen);
}

// Batches are delivered in order though later ones are ready first.
TEST(LoaderTest, DeliversInOrderWhateverCompletesFirst) {
  std::atomic<bool> hold = true;
  const auto slow_start = Map<TokenWindow>(
      "slow", CountingWindows(100, kSeqLen), [&hold](TokenWindow window) {
        while (hold && window.tokens[0] == 0) std::this_thread::yield();
        return window;
      });
  const auto loader = Open(slow_start, MakeSchedule(0, 2));
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    hold = false;
  });
  for (uint64_t step = 0; step < 10; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.step(), step);
  }
  release.join();
}

TEST(LoaderTest, RuntimeSettingsNeverChangeAToken) {
  std::vector<std::vector<std::byte>> runs;
  for (const uint32_t prefetch : {1, 2, 7, 64}) {
    LoaderOptions options;
    options.prefetch_batches = prefetch;
    const auto loader = Open(Mixture(), MakeSchedule(1000, 3), options);
    std::vector<std::byte>& run = runs.emplace_back();
    while (true) {
      const auto batch = loader->NextBlocking();
      if (!batch.ok()) break;
      run.insert(run.end(), batch->bytes().begin(), batch->bytes().end());
    }
  }
  ASSERT_EQ(runs[0].size(), 1000u * 3 * kSeqLen * 4);
  for (const auto& run : runs) EXPECT_TRUE(run == runs[0]);
}

TEST(LoaderTest, ServesIdsInTheTypeAskedFor) {
  for (const TokenType type :
       {TokenType::kU8, TokenType::kU16, TokenType::kI32, TokenType::kI64}) {
    LoaderOptions options;
    options.token_type = type;
    const auto loader =
        Open(CountingWindows(4, kSeqLen), MakeSchedule(0, 4), options);
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ASSERT_EQ(batch.bytes().size(), 4 * kSeqLen * TokenTypeBytes(type));
    if (type == TokenType::kI64) {
      EXPECT_EQ(batch.tokens<int64_t>(3)[5], 3 * kSeqLen + 5);
    }
    if (type == TokenType::kU8) {
      EXPECT_EQ(batch.tokens<uint8_t>(3)[5], 3 * kSeqLen + 5);
    }
  }
}

TEST(LoaderTest, RefusesOptionsThatCannotWork) {
  const auto refused = [](LoaderOptions options, std::string_view why) {
    EXPECT_THAT(Loader::Create(CountingWindows(4, kSeqLen), MakeSchedule(0, 4),
                               options),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(std::string(why))));
  };
  LoaderOptions rank;
  rank.rank = 2;
  rank.ranks = 2;
  refused(rank, "rank 2 of 2");
  LoaderOptions prefetch;
  prefetch.prefetch_batches = UINT32_MAX;
  refused(prefetch, "prefetch_batches");
  LoaderOptions narrow;
  narrow.token_type = TokenType::kU8;
  InMemoryOptions wide;
  wide.vocabulary = Vocabulary{"wide", 257};
  EXPECT_THAT(
      Loader::Create(InMemoryDataset<TokenWindow>::Create({}, wide),
                     MakeSchedule(0, 4), narrow),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'wide'")));
}

TEST(LoaderTest, StepsBeyondTheLastSampleAreTheEndOfAnEndlessRun) {
  const auto loader = Open(Mixture(), MakeSchedule(0, 6));
  for (const uint64_t step :
       {UINT64_MAX, (uint64_t{1} << 62) / 6, (uint64_t{1} << 62) / 6 + 1}) {
    EXPECT_THAT(loader->Seek(step), IsOk());
    EXPECT_THAT(loader->NextBlocking(),
                StatusIs(absl::StatusCode::kOutOfRange, ::testing::_))
        << step;
  }
  // The last steps are served, though the prefetch runs over the edge.
  EXPECT_THAT(loader->Seek((uint64_t{1} << 62) / 6 - 2), IsOk());
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
  EXPECT_THAT(loader->Seek(0), IsOk());
  EXPECT_THAT(loader->NextBlocking(), IsOk());
}

TEST(LoaderTest, RefusesABatchThatNoMemoryHolds) {
  ScheduleOptions huge;
  huge.batch_size = uint64_t{1} << 32;
  huge.seq_len = UINT32_MAX - 1;
  EXPECT_THAT(Loader::Create(CountingWindows(1, 4), *Schedule::Create(huge)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not fit in memory")));
}

TEST(LoaderTest, WindowsOfAnotherLengthAndForeignIdsAreErrors) {
  EXPECT_THAT(Open(CountingWindows(4, 15), MakeSchedule(0, 4))->NextBlocking(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("windows of 15 tokens")));
  InMemoryOptions memory;
  memory.vocabulary = Vocabulary{"small", 10};
  const auto corrupt = InMemoryDataset<TokenWindow>::Create(
      {TokenWindow(std::vector<uint32_t>(kSeqLen, 10))}, memory);
  EXPECT_THAT(Open(corrupt, MakeSchedule(0, 1))->NextBlocking(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("id 10")));
}

TEST(LoaderTest, TheFingerprintNamesTheOrderAndNothingElse) {
  const auto print = [](uint64_t seed, uint64_t batch, uint32_t prefetch) {
    LoaderOptions options;
    options.prefetch_batches = prefetch;
    MixtureOptions mixture;
    mixture.seed = seed;
    return Open(*MixtureDataset<TokenWindow>::Create(
                    {{"a", CountingWindows(9, kSeqLen), 1}}, mixture),
                MakeSchedule(0, batch), options)
        ->fingerprint();
  };
  EXPECT_EQ(print(1, 4, 2), print(1, 4, 9));
  EXPECT_NE(print(1, 4, 2), print(2, 4, 2));
  EXPECT_NE(print(1, 4, 2), print(1, 5, 2));
}

// Lengths 4, 16, 8 and batches of 3 and 5, over windows of 16.
Schedule ChangingSchedule() {
  ScheduleOptions options;
  options.steps = 60;
  options.batch_size = 3;
  options.seq_len = 4;
  options.stages = {{.start = RunPoint::Step(20), .seq_len = kSeqLen},
                    {.start = RunPoint::Sample(100), .batch_size = 5},
                    {.start = RunPoint::Step(40), .seq_len = 8}};
  return *Schedule::Create(options);
}

DatasetPtr<TokenWindow> CutMixture(const Schedule& schedule) {
  MixtureOptions base;
  base.block_size = 32;
  base.seed = 42;
  return *MixtureDataset<TokenWindow>::Create(
      {{"big", CountingWindows(500, kSeqLen, 7), 0.7},
       {"small", CountingWindows(9, kSeqLen, 3), 0.3}},
      schedule.MixtureOptionsFrom(base));
}

TEST(LoaderTest, FollowsLengthsAndBatchSizesThatChange) {
  const Schedule schedule = ChangingSchedule();
  const auto dataset = CutMixture(schedule);
  const auto loader = Open(dataset, schedule);
  uint64_t sample = 0;
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    const uint32_t seq_len = step < 20 ? 4 : step < 40 ? 16 : 8;
    ASSERT_EQ(batch.num_samples(), step < 34 ? 3u : 5u) << step;
    ASSERT_EQ(batch.seq_len(), seq_len) << step;
    for (uint64_t i = 0; i < batch.num_samples(); ++i, ++sample) {
      ASSERT_OK_AND_ASSIGN(const TokenWindow window,
                           dataset->GetBlocking(sample));
      const auto row = batch.tokens<uint32_t>(i);
      ASSERT_EQ(std::vector<uint32_t>(row.begin(), row.end()), window.tokens);
      ASSERT_EQ(batch.provenance(i).token_begin % seq_len, 0u);
      const uint64_t first = batch.source(i) == 0 ? 7 : 3;
      ASSERT_EQ(row[0], (first + batch.provenance(i).item * kSeqLen +
                         batch.provenance(i).token_begin) %
                            251);
    }
  }
  EXPECT_EQ(sample, schedule.samples());
}

TEST(LoaderTest, SeeksIntoAnyLength) {
  const Schedule schedule = ChangingSchedule();
  const auto dataset = CutMixture(schedule);
  const auto straight = Open(dataset, schedule);
  const auto jumping = Open(dataset, schedule);
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch expected, straight->NextBlocking());
    if (step % 7 != 5) continue;
    ASSERT_TRUE(jumping->Seek(step).ok());
    ASSERT_OK_AND_ASSIGN(const Batch batch, jumping->NextBlocking());
    ASSERT_EQ(Bytes(batch), Bytes(expected));
  }
}

TEST(LoaderTest, ARootThatIsNoMixtureIsCutAsWell) {
  const Schedule schedule = ChangingSchedule();
  const auto flat =
      *FlatMixture<TokenWindow>::Create({{"a", CountingWindows(20, kSeqLen)},
                                         {"b", CountingWindows(9, kSeqLen)}});
  const auto loader =
      Open(*Cut<TokenWindow>(flat, schedule.mixture_options()), schedule);
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ASSERT_EQ(
        batch.tokens<uint32_t>(0)[0],
        (batch.provenance(0).item * kSeqLen + batch.provenance(0).token_begin) %
            251);
  }
}

TEST(LoaderTest, RefusesADatasetThatDoesNotKnowTheLengths) {
  const Schedule schedule = ChangingSchedule();
  EXPECT_THAT(
      Loader::Create(CutMixture(*Schedule::Create({.steps = 9,
                                                   .batch_size = 3,
                                                   .seq_len = 4,
                                                   .max_seq_len = kSeqLen,
                                                   .stages = {}})),
                     schedule),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("the schedule has samples of 4 tokens from sample 0 "
                          "on, 16 tokens from sample"),
                HasSubstr("the root mixture of 4 tokens from sample 0 on;"))));
}

TEST(LoaderTest, RefusesARunBeyondMaxEpochs) {
  const auto limited = *MixtureDataset<TokenWindow>::Create(
      {{"books", CountingWindows(50, kSeqLen), 1, ShuffleOptions::Full(), 2},
       {"web", CountingWindows(900, kSeqLen), 3}},
      {.block_size = 8});
  // Two epochs of 50 are a quarter of 400 samples.
  EXPECT_THAT(Loader::Create(limited, MakeSchedule(100, 4)), IsOk());
  EXPECT_THAT(Loader::Create(limited, MakeSchedule(101, 4)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("component 'books'"),
                             HasSubstr("epochs (2)"), HasSubstr("sample 4"))));
}

TEST(LoaderTest, AConsumerThatKeepsTooManyBatchesIsToldNotStalled) {
  LoaderOptions options;
  options.max_held = 2;
  const auto loader = Open(Mixture(), MakeSchedule(0, 6), options);
  std::vector<Batch> kept;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(Batch batch, loader->NextBlocking());
    kept.push_back(std::move(batch));
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(loader->NextBlocking(),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         AllOf(HasSubstr("holds 3"), HasSubstr("max_held"))));
  }
  EXPECT_EQ(loader->next_step(), 3u);
  kept.erase(kept.begin());
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  EXPECT_EQ(batch.step(), 3u);
}

TEST(LoaderTest, AConsumerThatKeepsTooManyBatchesWaitsIfItWantsTo) {
  LoaderOptions options;
  options.max_held = 1;
  options.waits_for_held = true;
  const auto loader = Open(Mixture(), MakeSchedule(0, 6), options);
  for (int i = 0; i < 50; ++i) {
    std::vector<Batch> kept;
    for (int j = 0; j < 2; ++j) {
      ASSERT_OK_AND_ASSIGN(Batch batch, loader->NextBlocking());
      kept.push_back(std::move(batch));
    }
    std::atomic<bool> is_there = false;
    std::thread worker([&] {
      // Every other time as a coroutine.
      const auto batch =
          i % 2 == 0 ? loader->NextBlocking() : RunBlocking(loader->Next());
      EXPECT_THAT(batch, IsOk());
      is_there = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(is_there) << "two batches are held";
    kept.clear();
    worker.join();
  }
  EXPECT_EQ(loader->next_step(), 150u);
}

TEST(LoaderTest, AWaitForHeldBatchesEndsWithTheLoader) {
  LoaderOptions options;
  options.max_held = 0;
  options.waits_for_held = true;
  const auto loader = Open(Mixture(), MakeSchedule(0, 6), options);
  ASSERT_OK_AND_ASSIGN(const Batch held, loader->NextBlocking());
  std::thread worker([&] {
    EXPECT_THAT(
        loader->NextBlocking(),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  worker.join();
}

TEST(LoaderTest, AStateCanBeThatOfAnyStep) {
  const auto loader = Open(Mixture(), MakeSchedule(40, 6));
  std::vector<std::string> states = {loader->State()};
  for (uint64_t step = 0; step < 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    states.push_back(loader->State());
  }
  const auto fresh = Open(Mixture(), MakeSchedule(40, 6));
  for (uint64_t step = 0; step <= 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const std::string state, fresh->State(step));
    EXPECT_EQ(state, states[step]);
    ASSERT_OK_AND_ASSIGN(const std::string again, loader->State(step));
    EXPECT_EQ(again, states[step]) << "after the end of the run";
  }
  EXPECT_THAT(fresh->State(41), StatusIs(absl::StatusCode::kOutOfRange,
                                         HasSubstr("after 40 steps")));
  const auto endless = Open(Mixture(), MakeSchedule(0, 6));
  EXPECT_THAT(endless->State(uint64_t{1} << 40), IsOk());
  EXPECT_THAT(endless->State(uint64_t{1} << 62),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("ends")));
}

TEST(LoaderTest, MayLetOneBatchGoAfterTheOther) {
  LoaderOptions options;
  options.max_held = 0;
  options.prefetch_batches = 1;
  const auto loader = Open(Mixture(), MakeSchedule(0, 6), options);
  for (uint64_t step = 0; step < 20; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.step(), step);
  }
}

TEST(LoaderTest, BatchesThatAreHeldKeepTheirIdsWhateverTheLoaderDoes) {
  LoaderOptions options;
  options.max_held = 3;
  const auto reference = Open(Mixture(), MakeSchedule(0, 6));
  std::vector<std::vector<std::byte>> steps;
  for (int step = 0; step < 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, reference->NextBlocking());
    steps.push_back(Bytes(batch));
  }
  auto loader = Open(Mixture(), MakeSchedule(0, 6), options);
  std::deque<Batch> held;
  for (int round = 0; round < 60; ++round) {
    ASSERT_THAT(loader->Seek(round * 7 % 37), IsOk());
    for (int i = 0; i < round % 3 + 1; ++i) {
      ASSERT_OK_AND_ASSIGN(Batch batch, loader->NextBlocking());
      held.push_back(std::move(batch));
      if (held.size() > 3) held.pop_front();
    }
    for (const Batch& batch : held) {
      ASSERT_EQ(Bytes(batch), steps[batch.step()]) << batch.step();
    }
  }
  ASSERT_THAT(loader->CloseBlocking(), IsOk());
  loader.reset();
  for (const Batch& batch : held) {
    EXPECT_EQ(Bytes(batch), steps[batch.step()]) << "after the loader";
  }
}

TEST(LoaderTest, FewBytesOfPrefetchingGiveTheSameBatches) {
  const auto plain = Open(Mixture(), MakeSchedule(0, 6));
  LoaderOptions options;
  options.prefetch_bytes = 1;
  const auto narrow = Open(Mixture(), MakeSchedule(0, 6), options);
  for (int step = 0; step < 20; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch one, plain->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const Batch two, narrow->NextBlocking());
    ASSERT_EQ(Bytes(one), Bytes(two)) << step;
  }
}

TEST(LoaderTest, WithoutTheGpuAskedForBatchesComeFromTheHostWithOneWarning) {
  std::atomic<int> warnings = 0;
  LoaderOptions options;
  options.device = {DeviceType::kCuda, 1'000'000};
  options.warning_sink = [&warnings](std::string_view line) {
    EXPECT_NE(line.find("cuda:1000000"), std::string_view::npos) << line;
    ++warnings;
  };
  const auto loader = Open(Mixture(), MakeSchedule(0, 6), options);
  for (int step = 0; step < 5; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.device(), Device());
    EXPECT_THAT(batch.WaitUntilCopied(), IsOk());
  }
  EXPECT_EQ(warnings, 1);
}

TEST(LoaderTest, RefusesMoreHeldBatchesThanMemoryCouldHold) {
  LoaderOptions options;
  options.max_held = 1'000'000;
  EXPECT_THAT(
      Loader::Create(Mixture(), MakeSchedule(0, 6), options),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_held")));
}

}  // namespace
}  // namespace poniente
