// SPDX-License-Identifier: Apache-2.0
// Datasets of the user's own that throw, below the nodes of the library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataset/node_answers.h"
#include "poniente/flat_mixture.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "poniente/zipped_dataset.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using testing::Counting;
using testing::IsOk;
using testing::StatusIs;

using Throw = std::function<void()>;

// Item i is i. Item 7 cannot be had: `thrown` throws, in the coroutine or
// before there is one.
class ThrowingLeaf final : public AsyncDataset<uint64_t> {
 public:
  explicit ThrowingLeaf(Throw thrown, bool at_once = false)
      : thrown_(std::move(thrown)), at_once_(at_once) {}

  std::string name() const override { return "shards"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(10); }
  Task<std::vector<uint64_t>> GetBatch(
      std::span<const Index> indices) const override {
    if (at_once_) Look(indices);
    return Read(indices);
  }

 private:
  void Look(std::span<const Index> indices) const {
    for (const Index index : indices) {
      if (index == 7) thrown_();
    }
  }
  Task<std::vector<uint64_t>> Read(std::span<const Index> indices) const {
    Look(indices);
    co_return std::vector<uint64_t>(indices.begin(), indices.end());
  }

  const Throw thrown_;
  const bool at_once_;
};

void Boom() { throw std::runtime_error("boom"); }

DatasetPtr<uint64_t> Leaf(Throw thrown = Boom) {
  return std::make_shared<ThrowingLeaf>(std::move(thrown));
}

// `inner` is "small/mine"; its items come first.
DatasetPtr<uint64_t> Below(DatasetPtr<uint64_t> inner) {
  const auto small =
      *Concat<uint64_t>({{"mine", std::move(inner)}, {"other", Counting(5)}});
  return *Concat<uint64_t>({{"small", small}, {"big", Counting(50)}});
}

absl::Status ErrorAt(const DatasetPtr<uint64_t>& dataset,
                     std::vector<Position> positions) {
  return RunBlocking(dataset->GetAt(positions)).status();
}

TEST(ThrownErrorsTest, OneItemOfALeafIsNamedWithItsPathAndEpoch) {
  EXPECT_THAT(ErrorAt(Below(Leaf()), {{.index = 7, .epoch = 3}}),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: dataset 'shards' item 7 epoch 3: boom"));
  EXPECT_THAT(Below(Leaf())->GetBlocking(7),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: dataset 'shards' item 7 epoch 0: boom"));
  EXPECT_THAT(Below(Leaf())->GetBlocking(8), IsOk());
}

// Answers with one item less than it was asked for.
class ForgetfulLeaf final : public AsyncDataset<uint64_t> {
 public:
  std::string name() const override { return "forgetful"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(10); }
  Task<std::vector<uint64_t>> GetBatch(
      std::span<const Index> indices) const override {
    co_return std::vector<uint64_t>(indices.begin() + 1, indices.end());
  }
};

TEST(ThrownErrorsTest, WhoForgetsItemsIsNamedWithItsPath) {
  const auto leaf = std::make_shared<ForgetfulLeaf>();
  const std::vector<Index> two = {1, 2};
  const std::string what = "dataset 'forgetful' gave 1 items, asked for 2";
  EXPECT_THAT(Below(leaf)->GetBatchBlocking(two),
              StatusIs(absl::StatusCode::kInternal, "small: mine: " + what));
  EXPECT_THAT((*Shuffle<uint64_t>(leaf, 7))->GetBatchBlocking(two),
              StatusIs(absl::StatusCode::kInternal, what));
  EXPECT_THAT((*Zip(NamedDataset<uint64_t>{"a", Counting(10)},
                    NamedDataset<uint64_t>{"b", leaf}))
                  ->GetBatchBlocking(two),
              StatusIs(absl::StatusCode::kInternal, "b: " + what));
}

// Batches are never of one item.
TEST(ThrownErrorsTest, OfSeveralItemsTheOneIsNamed) {
  for (const bool at_once : {false, true}) {
    const auto leaf = std::make_shared<ThrowingLeaf>(Boom, at_once);
    EXPECT_THAT(Below(leaf)->GetBatchBlocking(std::vector<Index>{2, 20, 7, 9}),
                StatusIs(absl::StatusCode::kInternal,
                         "small: mine: dataset 'shards' item 7 epoch 0: boom"));
    EXPECT_THAT(ErrorAt(Below(leaf), {{.index = 4, .epoch = 2},
                                      {.index = 7, .epoch = 3},
                                      {.index = 7, .epoch = 4}}),
                StatusIs(absl::StatusCode::kInternal,
                         "small: mine: dataset 'shards' item 7 epoch 3: boom"));
  }
}

TEST(ThrownErrorsTest, IfNoneThrowsAloneTheirNumberIsSaid) {
  int calls = 0;
  const auto leaf = Leaf([&calls] {
    if (calls++ == 0) throw std::runtime_error("only once");
  });
  EXPECT_THAT(
      Below(leaf)->GetBatchBlocking(std::vector<Index>{7, 20, 2}),
      StatusIs(absl::StatusCode::kInternal,
               "small: mine: dataset 'shards', one of 2 items: only once"));
}

// Asking again would not help.
TEST(ThrownErrorsTest, MemoryThatRunsOutIsOfAllItems) {
  int calls = 0;
  const auto leaf = Leaf([&calls] {
    ++calls;
    throw std::bad_alloc();
  });
  EXPECT_THAT(Below(leaf)->GetBatchBlocking(std::vector<Index>{7, 20, 2}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "small: mine: dataset 'shards', one of 2 items: "
                       "out of memory"));
  EXPECT_EQ(calls, 1);
}

TEST(ThrownErrorsTest, ACallThatThrowsBeforeItIsATaskIsNoDifferent) {
  EXPECT_THAT(Below(std::make_shared<ThrowingLeaf>(Boom, true))->GetBlocking(7),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: dataset 'shards' item 7 epoch 0: boom"));
}

// A leaf whose length is not known yet, and cannot be waited for.
class LostLeaf final : public AsyncDataset<uint64_t> {
 public:
  std::string name() const override { return "lost"; }
  uint64_t fingerprint() const override { return 2; }
  LengthState length_now() const override { return LengthState::Growing(0); }
  Task<std::vector<uint64_t>> GetBatch(
      std::span<const Index> indices) const override {
    co_return std::vector<uint64_t>(indices.begin(), indices.end());
  }
  Task<uint64_t> WaitForLength(uint64_t) const override {
    throw std::runtime_error("the server does not answer");
  }
};

TEST(ThrownErrorsTest, AWaitForItsLengthThatThrowsNamesTheLeaf) {
  const auto mapped =
      Map<uint64_t>("same", DatasetPtr<uint64_t>(std::make_shared<LostLeaf>()),
                    [](uint64_t x) { return x; });
  const auto below = Below(mapped);
  EXPECT_THAT(
      RunBlocking(below->WaitForLength(1)),
      StatusIs(absl::StatusCode::kInternal,
               "small: mine: dataset 'lost': the server does not answer"));
}

TEST(ThrownErrorsTest, BelowANodeWithoutNamesItIsTheLeafThatIsNamed) {
  const auto shuffled = *Shuffle(Leaf(), 5);
  absl::Status seen;
  for (uint64_t i = 0; i < 10; ++i) {
    const absl::Status one = shuffled->GetBlocking(i).status();
    if (!one.ok()) seen = one;
  }
  EXPECT_THAT(seen, StatusIs(absl::StatusCode::kInternal,
                             "dataset 'shards' item 7 epoch 0: boom"));
}

TEST(ThrownErrorsTest, TheCodeIsThatOfTheException) {
  const auto thrown = [](Throw error) {
    return Below(Leaf(std::move(error)))->GetBlocking(7);
  };
  EXPECT_THAT(
      thrown([] { throw std::bad_alloc(); }),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "small: mine: dataset 'shards' item 7 epoch 0: out of memory"));
  EXPECT_THAT(thrown([] { throw 5; }),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: dataset 'shards' item 7 epoch 0: an "
                       "exception of unknown type"));
  EXPECT_THAT(thrown([] {
                throw boost::system::system_error(
                    boost::asio::error::operation_aborted);
              }),
              StatusIs(absl::StatusCode::kCancelled,
                       "small: mine: cancelled by the caller"));
}

TEST(ThrownErrorsTest, AMapNamesTheItemOfManyAndIsNamedItself) {
  const auto picky = Map<uint64_t>("picky", Counting(10), [](uint64_t x) {
    if (x == 7) Boom();
    return x;
  });
  EXPECT_THAT(Below(picky)->GetBatchBlocking(std::vector<Index>{20, 2, 7, 3}),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: dataset 'picky' item 7 epoch 0: boom"));
  EXPECT_THAT(ErrorAt(Below(picky),
                      {{.index = 2, .epoch = 4}, {.index = 7, .epoch = 4}}),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: dataset 'picky' item 7 epoch 4: boom"));
}

TEST(ThrownErrorsTest, AMapOfALeafThatThrowsNamesTheLeaf) {
  const auto copy = Map<uint64_t>("copy", Leaf(), [](uint64_t x) { return x; });
  EXPECT_THAT(Below(copy)->GetBlocking(7),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: dataset 'shards' item 7 epoch 0: boom"));
}

TEST(ThrownErrorsTest, AMapThatRunsOutOfMemoryNamesTheItem) {
  const auto greedy =
      Map<uint64_t>("greedy", Counting(10), [](uint64_t x) -> uint64_t {
        if (x == 7) throw std::bad_alloc();
        return x;
      });
  EXPECT_THAT(
      Below(greedy)->GetBatchBlocking(std::vector<Index>{6, 7}),
      StatusIs(absl::StatusCode::kResourceExhausted,
               "small: mine: dataset 'greedy' item 7 epoch 0: out of memory"));
}

TEST(ThrownErrorsTest, ACallThatThrowsIsOver) {
  const auto leaf = Leaf();
  leaf->CountTime();
  EXPECT_FALSE(Below(leaf)->GetBlocking(7).ok());
  const auto now = internal::BusyTime::Clock::now();
  EXPECT_EQ(leaf->busy_time()->Until(now),
            leaf->busy_time()->Until(now + std::chrono::hours(1)));
}

// A leaf of which some functions throw.
class SilentLeaf final : public AsyncDataset<uint64_t> {
 public:
  enum Function { kNone, kName, kLength, kFingerprint };

  std::string name() const override {
    if (throws == kName) Boom();
    return "silent";
  }
  LengthState length_now() const override {
    if (throws == kLength) Boom();
    return LengthState::Final(10);
  }
  uint64_t fingerprint() const override {
    if (throws == kFingerprint) Boom();
    return 1;
  }
  Task<std::vector<uint64_t>> GetBatch(std::span<const Index>) const override {
    throw std::runtime_error("no items");
  }

  Function throws = kNone;
};

TEST(ThrownErrorsTest, ANameThatThrowsHidesNoOtherError) {
  const auto leaf = std::make_shared<SilentLeaf>();
  const auto below = Below(leaf);
  leaf->throws = SilentLeaf::kName;
  EXPECT_THAT(below->GetBlocking(7),
              StatusIs(absl::StatusCode::kInternal,
                       "small: mine: a dataset (its name() throws) item 7 "
                       "epoch 0: no items"));
}

TEST(ThrownErrorsTest, WhichNodeDoesNotAnswerIsFound) {
  const auto leaf = std::make_shared<SilentLeaf>();
  const auto root =
      Map<uint64_t>("same", Below(leaf), [](uint64_t x) { return x; });
  EXPECT_THAT(internal::CheckAnswers(*root), IsOk());
  const auto boom = std::make_exception_ptr(std::runtime_error("boom"));
  const auto once = std::make_exception_ptr(std::runtime_error("once"));
  const auto expect = [&](SilentLeaf::Function function,
                          const std::string& message) {
    leaf->throws = function;
    EXPECT_THAT(internal::CheckAnswers(*root),
                StatusIs(absl::StatusCode::kInternal, message));
    EXPECT_THAT(internal::ErrorOfNode(*root, boom),
                StatusIs(absl::StatusCode::kInternal, message));
    EXPECT_THAT(internal::ErrorOfNode(*root, once),
                StatusIs(absl::StatusCode::kInternal, "once"))
        << "not by what another one throws now";
  };
  EXPECT_THAT(internal::ErrorOfNode(*root, boom),
              StatusIs(absl::StatusCode::kInternal, "boom"));
  expect(SilentLeaf::kName, "small: mine: a dataset: name(): boom");
  expect(SilentLeaf::kLength,
         "small: mine: dataset 'silent': length_now(): boom");
  expect(SilentLeaf::kFingerprint,
         "small: mine: dataset 'silent': fingerprint(): boom");
  EXPECT_THAT(
      internal::ErrorOfNode(*root, std::make_exception_ptr(std::bad_alloc())),
      StatusIs(absl::StatusCode::kResourceExhausted, "out of memory"));
}

}  // namespace
}  // namespace poniente
