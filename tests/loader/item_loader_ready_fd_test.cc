// SPDX-License-Identifier: Apache-2.0
// The descriptor of an item loader is readable exactly while TryNext() has
// something to return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "poniente/item_loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_items.h"
#include "tests/loader/ready_fd.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::_;
using testing::Counting;
using testing::ExpectNothing;
using testing::GatedWindows;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::IsReadable;
using testing::Items;
using testing::kLost;
using testing::OpenItems;
using testing::ReadyFdOf;
using testing::StatusIs;
using WindowLoader = ItemLoader<TokenWindow>;

std::unique_ptr<WindowLoader> OpenGated(
    const std::shared_ptr<GatedWindows>& gate, uint64_t batch_size = 1) {
  auto loader = WindowLoader::Create(gate, {.batch_size = batch_size});
  EXPECT_THAT(loader, IsOk());
  return *std::move(loader);
}

// The first token of the batch that the loader returns at once, which is the
// number of its first item.
uint64_t Take(WindowLoader& loader) {
  const auto batch = loader.TryNext();
  if (!batch.has_value()) {
    ADD_FAILURE() << "no batch is ready";
    return UINT64_MAX;
  }
  EXPECT_THAT(*batch, IsOk());
  return batch->ok() ? (**batch)[0].tokens[0] : UINT64_MAX;
}

TEST(ItemReadyFdTest, IsReadableWhenTheNextBatchIs) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = OpenGated(gate, 2);
  const int fd = ReadyFdOf(*loader);
  EXPECT_EQ(ReadyFdOf(*loader), fd);
  ExpectNothing(*loader, fd);
  gate->Let({0});
  EXPECT_FALSE(IsReadable(fd, 5));
  gate->Let({1});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(Take(*loader), 0u);
  ExpectNothing(*loader, fd);
  // Those of later steps do not count.
  gate->Let({4, 5});
  while (loader->metrics().batches_ready < 1) std::this_thread::yield();
  ExpectNothing(*loader, fd);
  gate->Let({2, 3});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(Take(*loader), 2u);
  EXPECT_TRUE(IsReadable(fd));
  EXPECT_EQ(Take(*loader), 4u);
  ExpectNothing(*loader, fd);
}

// Steps that are asked for together, some thousand times, to the end.
TEST(ItemReadyFdTest, EveryBatchComesOnceAndInOrder) {
  const uint64_t length = 20'000;
  const auto root = *Shuffle(Counting(length), 3);
  const Items expected = *root->GetBatchBlocking(testing::Indices(0, length));
  for (const uint64_t batch_size : {1, 7, 64}) {
    const auto loader = OpenItems(root, {.batch_size = batch_size});
    const int fd = ReadyFdOf(*loader);
    Items all;
    while (true) {
      ASSERT_TRUE(IsReadable(fd, kLost));
      std::optional<absl::StatusOr<Items>> batch = loader->TryNext();
      ASSERT_TRUE(batch.has_value());
      if (!batch->ok()) break;
      all.insert(all.end(), (*batch)->begin(), (*batch)->end());
      // What TryNext() has and the descriptor says is the same.
      if (all.size() % 3 != 0) continue;
      while ((batch = loader->TryNext()).has_value() && batch->ok()) {
        all.insert(all.end(), (*batch)->begin(), (*batch)->end());
      }
    }
    EXPECT_EQ(all, expected);
    EXPECT_THAT(loader->TryNext(), ::testing::Optional(StatusIs(
                                       absl::StatusCode::kOutOfRange, _)));
    EXPECT_TRUE(IsReadable(fd));
  }
}

TEST(ItemReadyFdTest, TryNextAloneStartsThePrefetch) {
  const auto gate = std::make_shared<GatedWindows>();
  const auto loader = OpenGated(gate);
  EXPECT_FALSE(loader->TryNext().has_value());
  gate->Let({0});
  while (loader->metrics().batches_ready == 0) std::this_thread::yield();
  EXPECT_EQ(Take(*loader), 0u);
  // The consumer has waited since the first call.
  EXPECT_EQ(loader->metrics().steps, 1u);
}

TEST(ItemReadyFdTest, AnErrorIsReadableAndTheStepIsMadeAgain) {
  const auto calls = std::make_shared<std::atomic<int>>(0);
  const auto root =
      Map<uint64_t>("flaky", DatasetPtr<uint64_t>(Counting(100)),
                    [calls](uint64_t item) -> absl::StatusOr<uint64_t> {
                      if (item == 4 && ++*calls < 3)
                        return absl::UnavailableError("gone");
                      return item;
                    });
  // One step to a request: those of several would be tried again.
  const auto loader = OpenItems(root, {.batch_size = 2, .prefetch_batches = 4});
  const int fd = ReadyFdOf(*loader);
  for (uint64_t first = 0; first < 4; first += 2) {
    ASSERT_TRUE(IsReadable(fd, kLost));
    EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{first, first + 1}));
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(IsReadable(fd, kLost));
    const auto batch = loader->TryNext();
    ASSERT_TRUE(batch.has_value());
    EXPECT_THAT(*batch, StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("step 2, rank 0")));
    EXPECT_EQ(loader->next_step(), 2u);
  }
  ASSERT_TRUE(IsReadable(fd, kLost));
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{4, 5}));
}

TEST(ItemReadyFdTest, FollowsASeekAndAResume) {
  const auto gate = std::make_shared<GatedWindows>();
  gate->Let({0, 1, 2, 3, 4});
  const auto loader = OpenGated(gate);
  const int fd = ReadyFdOf(*loader);
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_THAT(loader->Seek(50), IsOk());
  ExpectNothing(*loader, fd);
  ASSERT_OK_AND_ASSIGN(const std::string third, loader->State(3));
  EXPECT_THAT(loader->Resume(third), IsOk());
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(Take(*loader), 3u);
  EXPECT_THAT(loader->Seek(60), IsOk());
  ExpectNothing(*loader, fd);
  gate->Let({60});
  EXPECT_TRUE(IsReadable(fd, kLost));
  EXPECT_EQ(Take(*loader), 60u);
}

TEST(ItemReadyFdTest, AClosedLoaderIsReadableForEver) {
  const auto gate = std::make_shared<GatedWindows>();
  auto loader = OpenGated(gate);
  const int fd = ReadyFdOf(*loader);
  const size_t open = testing::OpenDescriptors();
  ExpectNothing(*loader, fd);
  EXPECT_THAT(loader->CloseBlocking(), IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsReadable(fd));
    EXPECT_THAT(loader->TryNext(), ::testing::Optional(StatusIs(
                                       absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("closed"))));
  }
  loader.reset();
  EXPECT_LT(testing::OpenDescriptors(), open);
}

}  // namespace
}  // namespace poniente
