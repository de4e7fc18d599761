// SPDX-License-Identifier: Apache-2.0
// Loaders of datasets of the user's own whose name(), length_now() or
// fingerprint() throw.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "poniente/extend/opened_component.h"
#include "poniente/item_loader.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "tests/loader/open_items.h"
#include "tests/loader/open_loader.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Counting;
using testing::CountingWindows;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::NumberLoader;
using testing::NumberOptions;
using testing::Open;
using testing::OpenItems;
using testing::StatusIs;

enum class Answer { kNone, kName, kLength, kFingerprint };

// 100 equal items. One of its functions throws, once that is set.
template <class T>
class FickleLeaf final : public AsyncDataset<T> {
 public:
  explicit FickleLeaf(T item, bool grows = false)
      : item_(std::move(item)), grows_(grows) {}

  std::string name() const override {
    ThrowIf(Answer::kName);
    return "shards";
  }
  LengthState length_now() const override {
    ThrowIf(Answer::kLength);
    return grows_ ? LengthState::Growing(100) : LengthState::Final(100);
  }
  uint64_t fingerprint() const override {
    ThrowIf(Answer::kFingerprint);
    return 1;
  }
  Task<std::vector<T>> GetBatch(std::span<const Index> indices) const override {
    co_return std::vector<T>(indices.size(), item_);
  }

  std::atomic<Answer> throws = Answer::kNone;

 private:
  void ThrowIf(Answer answer) const {
    if (throws == answer) throw std::runtime_error("boom");
  }

  const T item_;
  const bool grows_;
};

using NumberLeaf = FickleLeaf<uint64_t>;
using WindowLeaf = FickleLeaf<TokenWindow>;

std::shared_ptr<NumberLeaf> FickleNumbers(bool grows = false) {
  return std::make_shared<NumberLeaf>(uint64_t{5}, grows);
}
std::shared_ptr<WindowLeaf> FickleWindows(bool grows = false) {
  return std::make_shared<WindowLeaf>(
      TokenWindow(std::vector<uint32_t>(kSeqLen)), grows);
}

// A tree whose first items are those of `leaf`, at "small/mine".
template <class T>
DatasetPtr<T> TreeOver(DatasetPtr<T> leaf, DatasetPtr<T> other) {
  const auto small = *Concat<T>({{"mine", std::move(leaf)}, {"other", other}});
  const auto all = *Concat<T>({{"small", small}, {"big", other}});
  return Map<T>("same", all, [](T item) { return item; });
}
DatasetPtr<uint64_t> TreeOver(const std::shared_ptr<NumberLeaf>& leaf) {
  return TreeOver<uint64_t>(leaf, Counting(50));
}
DatasetPtr<TokenWindow> TreeOver(const std::shared_ptr<WindowLeaf>& leaf) {
  return TreeOver<TokenWindow>(leaf, CountingWindows(50, kSeqLen));
}

// The loader may have begun the step again before its dataset was mended.
absl::StatusOr<Batch> NextAfterError(Loader* loader) {
  absl::StatusOr<Batch> next = loader->NextBlocking();
  return next.ok() ? std::move(next) : loader->NextBlocking();
}

std::string WordsOf(Answer answer) {
  switch (answer) {
    case Answer::kNone:
      return "";
    case Answer::kName:
      return "small: mine: a dataset: name(): boom";
    case Answer::kLength:
      return "small: mine: dataset 'shards': length_now(): boom";
    case Answer::kFingerprint:
      return "small: mine: dataset 'shards': fingerprint(): boom";
  }
  return "";
}

TEST(ThrownAnswersTest, AreAnErrorOfCreateWithThePath) {
  for (const Answer answer :
       {Answer::kName, Answer::kLength, Answer::kFingerprint}) {
    const auto refused = StatusIs(absl::StatusCode::kInternal, WordsOf(answer));
    const auto numbers = FickleNumbers();
    const auto items = TreeOver(numbers);
    numbers->throws = answer;
    EXPECT_THAT(NumberLoader::Create(items, {}), refused);
    const auto windows = FickleWindows();
    const auto tokens = TreeOver(windows);
    windows->throws = answer;
    EXPECT_THAT(Loader::Create(tokens, MakeSchedule(5, 4)), refused);
  }
}

TEST(ThrownAnswersTest, AreToldWithOtherMistakesOfAnItemLoader) {
  const auto numbers = FickleNumbers();
  const auto items = TreeOver(numbers);
  numbers->throws = Answer::kFingerprint;
  EXPECT_THAT(NumberLoader::Create(items, {.rank = 3, .ranks = 2}),
              StatusIs(testing::kInvalid,
                       AllOf(HasSubstr("got rank 3 of 2"),
                             HasSubstr(WordsOf(Answer::kFingerprint)))));
}

// Both loaders have these functions. `loader` has delivered two steps.
template <class AnyLoader, class Leaf>
void ExpectErrors(AnyLoader* loader, Leaf* leaf,
                  std::vector<std::string>* warnings) {
  const std::string whole = loader->State();
  for (const Answer answer : {Answer::kLength, Answer::kFingerprint}) {
    const auto refused = StatusIs(absl::StatusCode::kInternal, WordsOf(answer));
    leaf->throws = answer;
    EXPECT_THAT(loader->State(2), refused);
    EXPECT_THAT(loader->Resume(whole), refused);
    EXPECT_EQ(loader->next_step(), 2u);
    EXPECT_THAT(*warnings, IsEmpty());
    const std::string partial = loader->State();
    EXPECT_THAT(partial,
                AllOf(HasSubstr("step 2\n"), HasSubstr("structure -\n")));
    EXPECT_THAT(*warnings, ElementsAre(AllOf(HasSubstr("the state of step 2"),
                                             HasSubstr(WordsOf(answer)))));
    warnings->clear();
    leaf->throws = Answer::kNone;
    EXPECT_THAT(loader->Resume(partial), IsOk());
    EXPECT_EQ(loader->State(), whole);
    EXPECT_THAT(*warnings, IsEmpty());
  }
  leaf->throws = Answer::kName;
  EXPECT_EQ(loader->State(), whole);
  EXPECT_THAT(loader->Resume(whole), IsOk());
  const LoaderMetrics metrics = loader->metrics();
  EXPECT_TRUE(
      std::any_of(metrics.datasets.begin(), metrics.datasets.end(),
                  [](const DatasetTime& one) { return one.name == "shards"; }));
  leaf->throws = Answer::kNone;
}

TEST(ThrownAnswersTest, OfALaterCallAreAnErrorOfThatCall) {
  std::vector<std::string> warnings;
  const auto keep = [&warnings](std::string_view line) {
    warnings.emplace_back(line);
  };
  const auto numbers = FickleNumbers();
  NumberOptions of_items;
  of_items.batch_size = 4;
  of_items.warning_sink = keep;
  const auto items = OpenItems(TreeOver(numbers), of_items);
  LoaderOptions of_tokens;
  of_tokens.warning_sink = keep;
  const auto windows = FickleWindows();
  const auto tokens = Open(TreeOver(windows), MakeSchedule(20, 4), of_tokens);
  for (int step = 0; step < 2; ++step) {
    EXPECT_THAT(items->NextBlocking(), IsOk());
    EXPECT_THAT(tokens->NextBlocking(), IsOk());
  }
  ExpectErrors(items.get(), numbers.get(), &warnings);
  ExpectErrors(tokens.get(), windows.get(), &warnings);
}

TEST(ThrownAnswersTest, LeaveALoaderItsFingerprintAndThePathsOfItsSources) {
  const auto windows = FickleWindows();
  const auto loader = Open(TreeOver(windows), MakeSchedule(5, 4));
  const uint64_t print = loader->fingerprint();
  windows->throws = Answer::kFingerprint;
  EXPECT_EQ(loader->fingerprint(), print);
  windows->throws = Answer::kName;
  const std::vector<LoaderSource> sources = loader->sources();
  ASSERT_FALSE(sources.empty());
  EXPECT_EQ(sources[0].dataset, "small/mine");
}

TEST(ThrownAnswersTest, OfALengthAreAnErrorOfTheStepWithThePath) {
  const auto windows = FickleWindows();
  const auto loader = Open(TreeOver(windows), MakeSchedule(5, 4));
  windows->throws = Answer::kLength;
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kInternal,
                       "step 0, rank 0: " + WordsOf(Answer::kLength)));
  windows->throws = Answer::kNone;
  EXPECT_THAT(NextAfterError(loader.get()), IsOk());
}

// Nobody needs it before the end is known.
TEST(ThrownAnswersTest, OfTheFingerprintDoNotMatterWhileItGrows) {
  const auto windows = FickleWindows(/*grows=*/true);
  const auto numbers = FickleNumbers(/*grows=*/true);
  windows->throws = Answer::kFingerprint;
  numbers->throws = Answer::kFingerprint;
  const auto tokens = Open(windows, MakeSchedule(20, 4));
  const auto items = OpenItems(numbers, NumberOptions());
  EXPECT_THAT(tokens->NextBlocking(), IsOk());
  EXPECT_THAT(items->NextBlocking(), IsOk());
  EXPECT_THAT(tokens->Resume(tokens->State()), IsOk());
  EXPECT_THAT(items->Resume(items->State()), IsOk());
  EXPECT_EQ(tokens->fingerprint(), 0u) << "none was found before";
}

TEST(ThrownAnswersTest, LeaveTheSeedInTheState) {
  const auto leaf = FickleNumbers(/*grows=*/true);
  const auto root = MixtureDataset<uint64_t>::Create(
      {{"mine", leaf, 1}, {"other", Counting(50), 1}},
      {.block_size = 8, .seed = 42});
  ASSERT_THAT(root, IsOk());
  NumberOptions options;
  options.batch_size = 4;
  options.warning_sink = [](std::string_view) {};
  const auto loader = OpenItems(*root, options);
  leaf->throws = Answer::kLength;
  const std::string state = loader->State();
  leaf->throws = Answer::kNone;
  EXPECT_THAT(state, AllOf(HasSubstr("structure -\n"), HasSubstr("seed 42\n")));
  EXPECT_THAT(loader->Resume(state), IsOk());
}

TEST(ThrownAnswersTest, OfAnAddedComponentAreAnErrorOfTheChangeWithItsName) {
  LoaderOptions options;
  options.component_opener = [](const std::string&, const ComponentText& text) {
    const auto leaf = FickleWindows();
    leaf->throws = Answer::kFingerprint;
    OpenedComponent opened;
    opened.part.component = {.name = text.name, .dataset = leaf, .weight = 1};
    return absl::StatusOr<OpenedComponent>(std::move(opened));
  };
  const auto root = MixtureDataset<TokenWindow>::Create(
      {{"web", CountingWindows(50, kSeqLen), 1}}, MixtureOptions());
  ASSERT_THAT(root, IsOk());
  const auto loader = Open(*root, MakeSchedule(20, 4), options);
  EXPECT_THAT(
      loader->Steer(RunChange::Add("news", "{ weight = 1 }")),
      StatusIs(absl::StatusCode::kInternal,
               HasSubstr("news: dataset 'shards': fingerprint(): boom")));
}

// While it grows, the loader looks after each fetch whether that is over.
TEST(ThrownAnswersTest, OfAGrowingLengthDoNotEndTheProcess) {
  const auto windows = FickleWindows(/*grows=*/true);
  const auto loader = Open(windows, MakeSchedule(20, 4));
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  windows->throws = Answer::kLength;
  EXPECT_THAT(loader->Seek(10), IsOk());
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("step 10, rank 0: dataset 'shards'"),
                             HasSubstr("boom"))));
  windows->throws = Answer::kNone;
  EXPECT_THAT(NextAfterError(loader.get()), IsOk());
}

}  // namespace
}  // namespace poniente
