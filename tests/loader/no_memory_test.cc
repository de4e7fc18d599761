// SPDX-License-Identifier: Apache-2.0
// A loader, or a read, whose process has no memory at one moment: an error, and
// no other batch. In a program of its own, whose operator new can fail.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "async/notifier.h"
#include "io/files/fault_hooks.h"
#include "poniente/byte_reader.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/item_loader.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/task.h"
#include "poniente/token_store.h"
#include "poniente/transforms.h"
#include "poniente/zipped_dataset.h"
#include "tests/io/cold_ring.h"
#include "tests/io/needs_uring.h"
#include "tests/io/proven_file.h"
#include "tests/loader/open_items.h"
#include "tests/loader/open_loader.h"
#include "tests/loader/ready_fd.h"
#include "tests/store/small_stores.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/temp_dir.h"
#include "util/usable_cores.h"

namespace {

// Allocations until one fails; negative: none does.
std::atomic<int64_t> allocations_left = -1;

void* Allocate(std::size_t bytes, std::size_t alignment) {
  if (allocations_left.load(std::memory_order_relaxed) >= 0 &&
      allocations_left.fetch_sub(1, std::memory_order_relaxed) == 0) {
    return nullptr;
  }
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(alignment, sizeof(void*)), bytes) !=
      0) {
    return nullptr;
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = Allocate(bytes, alignof(std::max_align_t));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = Allocate(bytes, static_cast<std::size_t>(alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace poniente::testing {
namespace {

constexpr uint64_t kSteps = 6;
constexpr uint64_t kBatchSize = 4;

// How a consumer takes the next batch.
using Take = absl::StatusOr<Batch> (*)(Loader& loader);

absl::StatusOr<Batch> TakeBlocking(Loader& loader) {
  return loader.NextBlocking();
}

// As an event loop does.
absl::StatusOr<Batch> TakeWhenReadable(Loader& loader) {
  const absl::StatusOr<int> fd = loader.ReadyFd();
  if (!fd.ok()) return fd.status();
  while (true) {
    if (!IsReadable(*fd, kLost)) {
      ADD_FAILURE() << "a lost wake-up";
      std::abort();
    }
    auto batch = loader.TryNext();
    if (batch.has_value()) return *std::move(batch);
  }
}

// Takes small batches, of which requests grow to many, while allocation
// `number` fails. False if the run has fewer.
bool ItemsFailOnce(int64_t number, int* errors) {
  constexpr uint64_t kItems = 120;
  const auto root = InMemoryDataset<uint64_t>::Create(Indices(0, kItems));
  auto loader = OpenItems(root, {});
  allocations_left = number;
  for (uint64_t step = 0; step < kItems;) {
    auto batch = loader->TryNext();
    const absl::StatusOr<int> fd = loader->ReadyFd();
    if (!batch.has_value()) {
      if (!fd.ok() || IsReadable(*fd, kLost)) continue;
      ADD_FAILURE() << "a lost wake-up: allocation " << number;
      std::abort();
    }
    if (batch->ok()) {
      EXPECT_TRUE((*batch)->size() == 1 && (*batch)->front() == step);
      ++step;
      continue;
    }
    ++*errors;
    EXPECT_TRUE(absl::IsResourceExhausted(batch->status()))
        << number << ' ' << batch->status();
    EXPECT_EQ(loader->next_step(), step) << number;
    if (batch->status().message().find("open the loader again") !=
        std::string::npos) {
      loader = OpenItems(root, {});
      EXPECT_THAT(loader->Seek(step), IsOk());
    }
  }
  loader = nullptr;
  return allocations_left.exchange(-1) < 0;
}

TEST(NoMemoryItemsTest, SmallBatches) {
  int64_t number = 0;
  int errors = 0;
  while (ItemsFailOnce(number, &errors)) ++number;
  EXPECT_GT(number, 200);
  EXPECT_GT(errors, 20);
}

// Reads a batch, half of it by a second ring, while allocation `number` fails.
// False if it has fewer.
bool BothRingsFailOnce(const ByteReader& reader, int64_t number, int* errors) {
  Windows windows;
  for (uint64_t i = 0; i < 32; ++i) {
    windows.Add(reader, 0, i * 8192, 1000, 0);
  }
  bool is_read = false;
  bool is_over = false;
  {
    boost::asio::io_context context;
    // The first ring is made while memory may fail, too.
    MakeCold(&internal::SecondRing::Of(context.get_executor()));
    allocations_left = number;
    try {
      boost::asio::co_spawn(
          context, ReadBatch(windows.requests()),
          [&is_read](std::exception_ptr thrown, absl::Status status) {
            is_read = !thrown && status.ok();
          });
      context.run();
    } catch (const std::bad_alloc&) {  // the end of the context waits
    }
    is_over = allocations_left.exchange(-1) >= 0;
  }
  if (is_read) {
    EXPECT_EQ(windows.FirstWrongByte(), "") << number;
  }
  *errors += !is_read;
  return !is_over;
}

TEST(NoMemoryReadTest, BothRings) {
  PONIENTE_NEEDS_URING();
  const TempDir folder;
  WriteProvenFile(folder.path("f"), 0, 1 << 18);
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      ByteReader::Open({folder.path("f")}, {.backend = IoBackend::kBuffered}));
  int64_t number = 0;
  int errors = 0;
  while (BothRingsFailOnce(*reader, number, &errors) && !HasFailure()) ++number;
  EXPECT_GT(number, 30);
  EXPECT_GT(errors, 10);
  // The second ring was still used in the end.
  SubmittingThreads threads;
  const internal::ScopedFaultHooks scope(&threads);
  EXPECT_FALSE(BothRingsFailOnce(*reader, 1'000'000, &errors));
  if (internal::UsableCores() > 1) {
    EXPECT_GT(threads.others_calls(), 0);
  }
}

// Writes to what the caller of WhenAll() owns, also after it has waited.
Task<> AddTwice(internal::Notifier* notifier, uint64_t* sum) {
  ++*sum;
  absl::Status waited = co_await notifier->WaitPast(0);
  if (!waited.ok()) co_return waited;
  ++*sum;
  co_return absl::OkStatus();
}

Task<> Notify(internal::Notifier* notifier) {
  notifier->NotifyAll();
  co_return absl::OkStatus();
}

// Waits for several tasks while allocation `number` fails.
Task<> AddAll(internal::Notifier* notifier, int64_t number) {
  std::vector<uint64_t> sums(3);
  std::vector<Task<>> tasks;
  for (uint64_t& sum : sums) tasks.push_back(AddTwice(notifier, &sum));
  tasks.push_back(Notify(notifier));
  allocations_left = number;
  absl::Status all = co_await WhenAll(std::move(tasks));
  if (all.ok()) {
    EXPECT_EQ(sums, std::vector<uint64_t>(3, 2));
  }
  // The tasks must not write to this any more.
  sums.assign(3, 0);
  co_return all;
}

TEST(NoMemoryTasksTest, WhenAllWaitsForAllThatHaveBegun) {
  int64_t number = 0;
  int errors = 0;
  for (bool fired = true; fired && !HasFailure(); ++number) {
    internal::Notifier notifier;
    const absl::Status all = RunBlocking(AddAll(&notifier, number));
    fired = allocations_left.exchange(-1) < 0;
    if (all.ok()) continue;
    ++errors;
    EXPECT_TRUE(fired && absl::IsResourceExhausted(all)) << all;
  }
  EXPECT_GT(number, 20);
  EXPECT_GT(errors, number / 2);
}

// Gets items of two functions, each of which runs on threads.
TEST(NoMemoryTasksTest, ZipOfParallelMaps) {
  const auto twice = [](const char* name) {
    return Map<uint64_t>(name, Counting(100),
                         [](uint64_t item) { return 2 * item; },
                         {.parallel = 2});
  };
  const std::vector<Index> indices = Indices(10, 14);
  int64_t left = 0;  // below 0: allocation `number` was made, and failed
  const auto run = [&](int64_t number) {
    const auto zipped = *Zip(twice("a"), twice("b"));
    allocations_left = number;
    auto items = zipped->GetBatchBlocking(indices);
    left = allocations_left.exchange(-1);
    return items;
  };
  constexpr int64_t kMany = 1'000'000;
  ASSERT_THAT(run(kMany), IsOk());
  const int64_t usual = kMany - left;
  // Some runs make a few more or fewer, as their threads meet at other moments:
  // all have been failed when ten runs in a row have made no more.
  int64_t number = 0;
  int errors = 0;
  for (int idle_runs = 0; idle_runs < 10 && !HasFailure(); ++number) {
    const auto items = run(number);
    idle_runs = left < 0 ? 0 : idle_runs + 1;
    if (items.ok()) {
      ASSERT_EQ(items->size(), indices.size());
      EXPECT_EQ(items->back(), std::tuple(uint64_t{26}, uint64_t{26}));
      continue;
    }
    ++errors;
    EXPECT_TRUE(left < 0 && absl::IsResourceExhausted(items.status()))
        << items.status();
  }
  EXPECT_GT(number, 50);
  EXPECT_GE(number, usual);
  EXPECT_GT(errors, number / 4);
}

class NoMemoryTest : public ::testing::TestWithParam<Take> {
 protected:
  // Fails allocation `number` on the way through a run, from step `from` on.
  // False if it has fewer.
  bool FailsOnce(const DatasetPtr<TokenWindow>& dataset,
                 const Schedule& schedule, uint64_t from, int64_t number) {
    LoaderOptions options;
    options.prefetch_batches = 2;
    auto loader = Open(dataset, schedule, options);
    for (uint64_t step = 0; step < schedule.steps();) {
      if (step == from) allocations_left = number;
      from = step == from ? UINT64_MAX : from;
      const auto batch = GetParam()(*loader);
      if (batch.ok()) {
        EXPECT_EQ(batch->step(), step);
        EXPECT_EQ(FirstId(*batch), first_ids_[step]) << step;
        ++step;
        continue;
      }
      ++errors_;
      if (!absl::IsResourceExhausted(batch.status())) ++others_;
      EXPECT_EQ(loader->next_step(), step);
      if (batch.status().message().find("open the loader again") !=
          std::string::npos) {
        ++broken_;
        loader = Open(dataset, schedule, options);
        EXPECT_THAT(loader->Seek(step), IsOk());
      }
    }
    loader = nullptr;
    return allocations_left.exchange(-1) < 0;
  }

  void FailEverywhere(const DatasetPtr<TokenWindow>& dataset) {
    FailEverywhere(dataset, MakeSchedule(kSteps, kBatchSize), 0, INT64_MAX);
  }
  // Below `end`, of the allocations of a run from step `from` on.
  void FailEverywhere(const DatasetPtr<TokenWindow>& dataset,
                      const Schedule& schedule, uint64_t from, int64_t end) {
    auto loader = Open(dataset, schedule);
    for (uint64_t step = 0; step < schedule.steps(); ++step) {
      const auto batch = loader->NextBlocking();
      ASSERT_THAT(batch, IsOk());
      first_ids_.push_back(FirstId(*batch));
    }
    loader = nullptr;
    int64_t number = 0;
    while (number < end && !HasFailure() &&
           FailsOnce(dataset, schedule, from, number)) {
      ++number;
    }
    std::printf("%d allocations, %d errors, %d of another kind, %d broken\n",
                static_cast<int>(number), errors_, others_, broken_);
    EXPECT_GT(number, 50);
    EXPECT_EQ(others_, 0);
    EXPECT_GT(errors_, number / 4);
  }

  void FailEverywhereReading(IoBackend backend) {
    const TempDir folder;
    ASSERT_THAT(WriteStore(folder.path("s"),
                           ProvenDocuments({100, 200, 300, 400}, 256)),
                IsOk());
    TokenStoreOptions options;
    options.io.backend = backend;
    ASSERT_OK_AND_ASSIGN(const auto store,
                         TokenStore::Open(folder.path("s"), options));
    ASSERT_OK_AND_ASSIGN(auto windows, store->Windows(kSeqLen));
    FailEverywhere(windows);
  }

  static uint8_t FirstId(const Batch& batch) {
    return static_cast<uint8_t>(batch.bytes()[0]);
  }

  std::vector<uint8_t> first_ids_;
  int errors_ = 0;
  int others_ = 0;
  int broken_ = 0;
};

TEST_P(NoMemoryTest, WindowsInMemory) {
  FailEverywhere(CountingWindows(100, kSeqLen));
}

TEST_P(NoMemoryTest, WindowsOfAStore) {
  FailEverywhereReading(IoBackend::kPread);
}

TEST_P(NoMemoryTest, WindowsOfAStoreByTheRing) {
  PONIENTE_NEEDS_URING();
  FailEverywhereReading(IoBackend::kDirect);
}

// Reads 4 KiB at offset 64 KiB * `at`, into memory of its own, while allocation
// `number` fails, on a context whose ring it makes.
class ReadsWithoutMemory {
 public:
  explicit ReadsWithoutMemory(IoBackend backend) {
    std::string bytes;
    for (int i = 0; i < kPieces; ++i) bytes += std::string(kPiece, 'A' + i);
    std::ofstream(path_, std::ios::binary) << bytes;
    ByteReaderOptions options;
    options.backend = backend;
    auto reader = ByteReader::Open(std::vector<std::string>{path_}, options);
    EXPECT_THAT(reader, IsOk());
    reader_ = *std::move(reader);
  }

  const std::string& path() const { return path_; }
  static constexpr int kPieces = 8;
  static constexpr int kPiece = 65536;

  // Returns nullopt if the coroutine was dropped, because there was no memory
  // for waiting.
  std::optional<absl::Status> Read(int at, int64_t number) {
    auto buffer = ReadBuffer::Allocate(kPiece);
    EXPECT_THAT(buffer, IsOk());
    const std::span<std::byte> into = buffer->bytes().first(4096);
    std::fill(into.begin(), into.end(), std::byte{'?'});
    const std::vector<ReadRequest> requests = {
        {reader_.get(), 0, static_cast<uint64_t>(at) * kPiece, into}};
    std::optional<absl::Status> result;
    context_.restart();
    allocations_left = number;
    try {
      boost::asio::co_spawn(
          context_, ReadBatch(requests),
          [&result](const std::exception_ptr& error, absl::Status status) {
            result = error ? internal::StatusFromException(error)
                           : std::move(status);
          });
      context_.run();
    } catch (const std::bad_alloc&) {
    }
    fired_ = allocations_left.exchange(-1) < 0;
    if (result && result->ok()) {
      EXPECT_EQ(into.front(), std::byte(static_cast<char>('A' + at)));
      EXPECT_EQ(into.back(), into.front());
    }
    return result;
  }
  // Whether the last read came to the allocation that fails.
  bool fired() const { return fired_; }

 private:
  const TempDir folder_;
  const std::string path_ = folder_.path("bytes");
  std::shared_ptr<const ByteReader> reader_;
  boost::asio::io_context context_;
  bool fired_ = false;
};

class ReadWithoutMemoryTest : public ::testing::TestWithParam<IoBackend> {};

// What a ring did not get once must not make a later read wrong.
TEST_P(ReadWithoutMemoryTest, LaterReadsAreRight) {
  PONIENTE_NEEDS_URING();
  bool fired = true;
  int64_t number = 0;
  for (; fired; ++number) {
    ReadsWithoutMemory reads(GetParam());
    (void)reads.Read(0, number);
    fired = reads.fired();
    for (int at = 1; at < reads.kPieces; ++at) {
      const auto later = reads.Read(at, -1);
      ASSERT_TRUE(later.has_value()) << number;
      ASSERT_THAT(*later, IsOk()) << number;
    }
  }
  EXPECT_GT(number, 10);
}

// An error whose text finds no memory is an error all the same.
TEST_P(ReadWithoutMemoryTest, ATruncatedFileIsAnError) {
  PONIENTE_NEEDS_URING();
  bool fired = true;
  for (int64_t number = 0; fired; ++number) {
    ReadsWithoutMemory reads(GetParam());
    std::filesystem::resize_file(reads.path(), 100);
    const auto read = reads.Read(1, number);
    fired = reads.fired();
    EXPECT_FALSE(read.has_value() && read->ok()) << number;
    const auto again = reads.Read(1, -1);
    ASSERT_TRUE(again.has_value()) << number;
    ASSERT_EQ(again->code(), absl::StatusCode::kDataLoss) << number;
  }
}

// Behind the first batches, the consumer makes some, or a second thread of the
// loader.
TEST_P(NoMemoryTest, WindowsOfAStoreThatHelpersRead) {
  constexpr uint64_t kLarge = 1024;  // of 64 KiB
  constexpr uint64_t kCalm = 12;
  const TempDir folder;
  ASSERT_THAT(
      WriteStore(folder.path("s"), ProvenDocuments({100, 200, 300, 400}, 256)),
      IsOk());
  TokenStoreOptions options;
  options.io.backend = IoBackend::kMmap;
  ASSERT_OK_AND_ASSIGN(const auto store,
                       TokenStore::Open(folder.path("s"), options));
  ASSERT_OK_AND_ASSIGN(auto windows, store->Windows(kSeqLen));
  ASSERT_OK_AND_ASSIGN(auto endless, Repeat<TokenWindow>(windows));
  FailEverywhere(endless, MakeSchedule(2 * kCalm, kLarge), kCalm, 400);
}

INSTANTIATE_TEST_SUITE_P(Backends, ReadWithoutMemoryTest,
                         ::testing::Values(IoBackend::kDirect,
                                           IoBackend::kBuffered));

INSTANTIATE_TEST_SUITE_P(Consumers, NoMemoryTest,
                         ::testing::Values(&TakeBlocking, &TakeWhenReadable));

}  // namespace
}  // namespace poniente::testing
