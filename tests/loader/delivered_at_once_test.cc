// SPDX-License-Identifier: Apache-2.0
// A batch that is made reaches its consumer, whatever else the loader's thread
// has to do.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "poniente/item_loader.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "tests/loader/open_items.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::Counting;
using testing::CountingWindows;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::Items;
using testing::kSeqLen;

// Lets the first items pass, and the later ones once it is opened.
class Gate {
 public:
  void Pass(uint64_t item) {
    if (item < 3) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!is_open_ && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (!is_open_) is_late_ = true;
  }
  void Open() { is_open_ = true; }
  // Whether an item had to give up.
  bool is_late() const { return is_late_; }

 private:
  std::atomic<bool> is_open_ = false;
  std::atomic<bool> is_late_ = false;
};

// Four batches are under way once the first one has come. The third of them
// holds up the thread.
TEST(DeliveredAtOnceTest, ABatchOfItemsDoesNotWaitForLaterOnes) {
  Gate gate;
  const auto loader =
      testing::OpenItems(Map<uint64_t>("gate", Counting(100),
                                       [&gate](uint64_t number) {
                                         gate.Pass(number);
                                         return number;
                                       }),
                         {.batch_size = 1, .prefetch_batches = 4});
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{0}));
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{1}));
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{2}));
  gate.Open();
  EXPECT_THAT(loader->NextBlocking(), IsOkAndHolds(Items{3}));
  EXPECT_FALSE(gate.is_late());
}

TEST(DeliveredAtOnceTest, ABatchOfTokensDoesNotWaitForLaterOnes) {
  Gate gate;
  LoaderOptions options;
  options.prefetch_batches = 4;
  const auto loader =
      testing::Open(Map<TokenWindow>("gate", CountingWindows(100, kSeqLen),
                                     [&gate](TokenWindow window) {
                                       gate.Pass(window.tokens[0] / kSeqLen);
                                       return window;
                                     }),
                    testing::MakeSchedule(100, 1), options);
  for (uint64_t step = 0; step < 3; ++step) {
    const absl::StatusOr<Batch> batch = loader->NextBlocking();
    ASSERT_THAT(batch, IsOk());
    EXPECT_EQ(batch->step(), step);
  }
  gate.Open();
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_FALSE(gate.is_late());
}

}  // namespace
}  // namespace poniente
