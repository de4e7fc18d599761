// SPDX-License-Identifier: Apache-2.0
// Loaders of datasets of the user's own that break their promises.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "poniente/async_next.h"
#include "poniente/mapped_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kSeqLen;
using testing::MakeSchedule;
using ::testing::Not;
using testing::Open;
using testing::StatusIs;

// 100 windows, of which a call gives `surplus` more than it was asked for, or
// an error from item `broken` on.
class WrongSource final : public AsyncDataset<TokenWindow> {
 public:
  WrongSource(int surplus, uint64_t broken)
      : surplus_(surplus), broken_(broken) {}
  std::string name() const override { return "wrong"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(100); }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    for (const Index index : indices) {
      if (index >= broken_) co_return absl::OutOfRangeError("no such shard");
    }
    const auto count = static_cast<int>(indices.size()) + surplus_;
    co_return std::vector<TokenWindow>(
        static_cast<size_t>(count),
        TokenWindow(std::vector<uint32_t>(kSeqLen)));
  }

 private:
  const int surplus_;
  const uint64_t broken_;
};

TEST(WrongSourceTest, TooFewOrTooManyItemsAreAnError) {
  for (const int surplus : {-4, -1, 1, 100}) {
    const auto loader =
        Open(std::make_shared<WrongSource>(surplus, 100), MakeSchedule(5, 4));
    EXPECT_THAT(loader->NextBlocking(),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr("step 0"), HasSubstr("wrong"))));
  }
}

// Windows that cannot be had without an exception.
class ThrowingWindows final : public AsyncDataset<TokenWindow> {
 public:
  std::string name() const override { return "shards"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(100); }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index>) const override {
    throw std::runtime_error("boom");
  }
};

TEST(WrongSourceTest, AnExceptionNamesTheDatasetThatThrew) {
  const auto root = std::make_shared<ThrowingWindows>();
  EXPECT_THAT(Open(root, MakeSchedule(5, 1))->NextBlocking(),
              StatusIs(absl::StatusCode::kInternal,
                       "step 0, rank 0: dataset 'shards' item 0 epoch 0: "
                       "boom"));
  const auto tree = *Concat<TokenWindow>({{"mine", root}});
  EXPECT_THAT(Open(tree, MakeSchedule(5, 4))->NextBlocking(),
              StatusIs(absl::StatusCode::kInternal,
                       "step 0, rank 0: mine: dataset 'shards' item 0 epoch 0: "
                       "boom"));
}

class ThrowingLength final : public AsyncDataset<TokenWindow> {
 public:
  std::string name() const override { return "shards"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override {
    throw std::runtime_error("no length");
  }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index>) const override {
    co_return absl::InternalError("not reached");
  }
};

TEST(WrongSourceTest, AnExceptionWhileALoaderIsMadeIsAStatus) {
  const auto made =
      Loader::Create(std::make_shared<ThrowingLength>(), MakeSchedule(5, 1));
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kInternal,
                             "dataset 'shards': length_now(): no length"));
}

TEST(WrongSourceTest, ItsOutOfRangeIsNotTheEndOfTheRun) {
  const auto loader =
      Open(std::make_shared<WrongSource>(0, 8), MakeSchedule(5, 4));
  std::vector<absl::Status> seen;
  for (const absl::StatusOr<Batch>& batch : Batches(*loader)) {
    seen.push_back(batch.status());
    if (seen.size() == 4) break;
  }
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_TRUE(seen[0].ok() && seen[1].ok());
  const auto broken =
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("step 2"), HasSubstr("no such shard")));
  EXPECT_THAT(seen[2], broken);
  EXPECT_THAT(seen[3], broken);
  EXPECT_EQ(loader->next_step(), 2u);
}

// 100 windows of id 250, which is outside the vocabulary.
class WindowsOfOneId final : public AsyncDataset<TokenWindow> {
 public:
  std::string name() const override { return "own"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(100); }
  const Vocabulary* vocabulary() const override { return &vocabulary_; }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    co_return std::vector<TokenWindow>(
        indices.size(), TokenWindow(std::vector<uint32_t>(kSeqLen, 250)));
  }

 private:
  const Vocabulary vocabulary_ = {"own", 250};
};

TEST(WrongSourceTest, AnIdOutsideTheVocabularyHasTheRemedyOfItsOrigin) {
  EXPECT_THAT(
      Open(std::make_shared<WindowsOfOneId>(), MakeSchedule(5, 4))
          ->NextBlocking(),
      StatusIs(testing::kDataLoss,
               AllOf(HasSubstr("'own' item 0: token id 250 is not below 250"),
                     HasSubstr("a dataset of the program's own"),
                     Not(HasSubstr("function")), Not(HasSubstr("inspect")))));
  const auto changed = Map<TokenWindow>(
      "change", testing::CountingWindows(100, kSeqLen), [](TokenWindow window) {
        window.tokens.back() = 251;
        return window;
      });
  EXPECT_THAT(
      Open(changed, MakeSchedule(5, 4))->NextBlocking(),
      StatusIs(
          testing::kDataLoss,
          AllOf(HasSubstr("'windows' item 0: token id 251 is not below "
                          "251"),
                HasSubstr("a function above the source"),
                Not(HasSubstr("program's own")), Not(HasSubstr("inspect")))));
}

}  // namespace
}  // namespace poniente
