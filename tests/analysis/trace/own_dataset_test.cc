// SPDX-License-Identifier: Apache-2.0
// What is said of runs over datasets of the program's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/diff.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/mapped_dataset.h"
#include "poniente/trace.h"
#include "poniente/zipped_dataset.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using poniente::testing::SmallStores;
using poniente::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr uint32_t kOwnTokens = 20;
constexpr uint64_t kOwnDocument = 50;
constexpr uint64_t kAllOfThem = 1000000;

// Windows of documents of 50 tokens, all of one id.
class OwnWindows : public AsyncDataset<TokenWindow> {
 public:
  struct Options {
    uint64_t items = 200;
    uint64_t fingerprint = 77;
    uint32_t id = 1;
    std::optional<Vocabulary> vocabulary = Vocabulary{"proof", 250};
  };
  explicit OwnWindows(Options options) : options_(std::move(options)) {}

  std::string name() const override { return "/srv/mine"; }
  uint64_t fingerprint() const override { return options_.fingerprint; }
  LengthState length_now() const override {
    return LengthState::Final(options_.items);
  }
  uint32_t item_tokens() const override { return kOwnTokens; }
  const Vocabulary* vocabulary() const override {
    return options_.vocabulary ? &*options_.vocabulary : nullptr;
  }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    const TokenWindow window(std::vector<uint32_t>(kOwnTokens, options_.id));
    co_return std::vector<TokenWindow>(indices.size(), window);
  }

 protected:
  const Options options_;
};

class OwnDocuments final : public OwnWindows, public PiecewiseItems {
 public:
  using OwnWindows::OwnWindows;

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    uint64_t begin = position.index * kOwnTokens + position.part_begin;
    const uint64_t end = begin + std::min(position.part_length, kOwnTokens);
    std::vector<ItemPiece> pieces;
    while (begin < end) {
      const uint64_t document = begin / kOwnDocument;
      const uint64_t stop = std::min(end, (document + 1) * kOwnDocument);
      pieces.push_back({document, begin, stop});
      begin = stop;
    }
    return pieces;
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    if (document == 3) return absl::DataLossError("server down");
    if (document >= options_.items * kOwnTokens / kOwnDocument) {
      return absl::OutOfRangeError("no such doc");
    }
    uint64_t begin = document * kOwnDocument;
    const uint64_t end = begin + kOwnDocument;
    std::vector<PieceOfItem> pieces;
    while (begin < end) {
      const uint64_t item = begin / kOwnTokens;
      const uint64_t stop = std::min(end, (item + 1) * kOwnTokens);
      pieces.push_back(
          {item, static_cast<uint32_t>(begin % kOwnTokens), begin, stop});
      begin = stop;
    }
    return pieces;
  }
};

// The source "mine" lies in "grp", beside a store.
class OwnDatasetTest : public SmallStores {
 protected:
  static Node Own(OwnWindows::Options options = {}) {
    return std::make_shared<OwnWindows>(std::move(options));
  }

  Config Open(Node mine) const {
    poniente::Run run = {.seed = 1, .batch_size = 4, .seq_len = kOwnTokens};
    run.steps = 200;
    run.folder = dir_.path();
    run.data = Mixture(
        {{"a", .5, Source("a")},
         {"grp", .5, Flat({{"mine", std::move(mine)}, {"b", Source("b")}})}});
    auto config = Config::Create(run);
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }
  TracedRun Traced(Node mine) const { return TracedRun(Open(std::move(mine))); }
  RunDiff Diff(Node one, Node other) const {
    auto diff =
        DiffRuns(Traced(std::move(one)), Traced(std::move(other)), kAllOfThem);
    EXPECT_TRUE(diff.ok()) << diff.status();
    return *std::move(diff);
  }

  // The first step of a run that reads the source.
  static uint64_t FirstReadOf(const std::string& path, const TracedRun& run) {
    for (uint64_t step = 0; step < *run.steps(); ++step) {
      const TracedStep shown = *run.Show(step);
      for (const TracedSample& sample : shown.samples) {
        if (sample.origin.path == path) return step;
      }
    }
    ADD_FAILURE() << path << " is not read";
    return 0;
  }
};

TEST_F(OwnDatasetTest, AnotherFingerprintDiffersWhereItIsFirstRead) {
  const uint64_t first = FirstReadOf("grp/mine", Traced(Own()));
  const RunDiff diff = Diff(Own(), Own({.fingerprint = 78}));
  ASSERT_TRUE(diff.compared.first.has_value());
  EXPECT_EQ(diff.compared.first->step, first);
  ASSERT_THAT(diff.differences, SizeIs(1));
  const RunDifference& source = diff.differences[0];
  EXPECT_EQ(source.what, "source 'grp/mine'");
  EXPECT_EQ(source.a, DiffValue("a dataset of the program's own (4000 tokens, "
                                "fingerprint 000000000000004d)"));
  EXPECT_EQ(source.b, DiffValue("a dataset of the program's own (4000 tokens, "
                                "fingerprint 000000000000004e)"));
  EXPECT_EQ(source.from_step, first);
  EXPECT_TRUE(source.decides_tokens);
}

TEST_F(OwnDatasetTest, TheSameFingerprintIsTheSame) {
  const RunDiff diff = Diff(Own(), Own());
  EXPECT_EQ(diff.compared.first, std::nullopt);
  EXPECT_THAT(diff.differences, IsEmpty());
}

// Steps that read the same items are the same, whatever else there is.
TEST_F(OwnDatasetTest, AnotherLengthDiffersOnlyWhereOtherItemsAreRead) {
  const auto run = [&](Node mine) {
    poniente::Run made = {.seed = 1, .batch_size = 4, .seq_len = kOwnTokens};
    made.steps = 40;
    made.folder = dir_.path();
    made.data = Concat({{"mine", std::move(mine)}, {"b", Source("b")}})
                    .Shuffle(ShuffleOptions::None());
    return TracedRun(Config::Create(made).value());
  };
  const TracedRun all = run(Own());
  ASSERT_OK_AND_ASSIGN(const RunDiff taken,
                       DiffRuns(all, run(Own().Take(100)), kAllOfThem));
  ASSERT_TRUE(taken.compared.first.has_value());
  EXPECT_EQ(taken.compared.first->step, 25u);
  ASSERT_OK_AND_ASSIGN(const RunDiff longer,
                       DiffRuns(all, run(Own({.items = 300})), kAllOfThem));
  EXPECT_EQ(longer.compared.first, std::nullopt);
}

// The leaf is the same.
TEST_F(OwnDatasetTest, AnotherFunctionDiffersWhereItIsFirstRead) {
  const auto mapped = [](const std::string& name) -> Node {
    return Map<TokenWindow>(
        name,
        DatasetPtr<TokenWindow>(
            std::make_shared<OwnWindows>(OwnWindows::Options())),
        [](TokenWindow window) { return window; });
  };
  EXPECT_EQ(Diff(mapped("plain"), mapped("plain")).compared.first,
            std::nullopt);
  const uint64_t first = FirstReadOf("grp/mine", Traced(mapped("plain")));
  const RunDiff diff = Diff(mapped("plain"), mapped("upper"));
  ASSERT_TRUE(diff.compared.first.has_value());
  EXPECT_EQ(diff.compared.first->step, first);
  ASSERT_THAT(diff.differences, SizeIs(1));
  EXPECT_EQ(diff.differences[0].what, "nodes above 'grp/mine'");
  EXPECT_EQ(diff.differences[0].a, DiffValue("plain"));
  EXPECT_EQ(diff.differences[0].b, DiffValue("upper"));
  EXPECT_EQ(diff.differences[0].from_step, first);
}

// A sample is traced to the first dataset of a Zip().
TEST(ZipDiffTest, WhatElseAFunctionReadsDiffersToo) {
  const auto run = [](uint64_t fingerprint) {
    OwnWindows::Options other;
    other.fingerprint = fingerprint;
    const DatasetPtr<TokenWindow> one =
        std::make_shared<OwnWindows>(OwnWindows::Options());
    const DatasetPtr<TokenWindow> two = std::make_shared<OwnWindows>(other);
    const DatasetPtr<TokenWindow> root =
        Map<TokenWindow>("joined", *Zip(one, two),
                         [](std::tuple<TokenWindow, TokenWindow> both) {
                           return std::get<0>(std::move(both));
                         });
    ConfigSource source;
    source.is_readable = true;
    std::vector<ConfigSource> sources(2, source);
    sources[0].path = "0";
    sources[1].path = "1";
    return TracedRun(
        root, *Schedule::Create({.batch_size = 4, .seq_len = kOwnTokens}),
        std::move(sources));
  };
  ASSERT_OK_AND_ASSIGN(const RunDiff same,
                       DiffRuns(run(77), run(77), kAllOfThem));
  EXPECT_EQ(same.compared.first, std::nullopt);
  ASSERT_OK_AND_ASSIGN(const RunDiff diff,
                       DiffRuns(run(77), run(78), kAllOfThem));
  ASSERT_TRUE(diff.compared.first.has_value());
  EXPECT_EQ(diff.compared.first->step, 0u);
}

TEST_F(OwnDatasetTest, IsNotANumberOfTokens) {
  const RunDiff diff = Diff(Own(), Declared(4000));
  EXPECT_TRUE(diff.compared.first.has_value());
  ASSERT_THAT(diff.differences, SizeIs(1));
  EXPECT_EQ(diff.differences[0].what, "source 'grp/mine'");
  EXPECT_EQ(diff.differences[0].b, DiffValue("4000 tokens"));
}

TEST_F(OwnDatasetTest, ItsDocumentsAreFoundByNumber) {
  const TracedRun run =
      Traced(std::make_shared<OwnDocuments>(OwnWindows::Options()));
  ASSERT_OK_AND_ASSIGN(const std::vector<TracedReading> found,
                       run.FindDocument("grp/mine", 1, std::nullopt));
  EXPECT_THAT(found, Not(IsEmpty()));
  EXPECT_THAT(run.DocumentsNamed("grp/mine", "x"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("'grp/mine' have no names"),
                             HasSubstr("find them by number"))));
  EXPECT_THAT(run.FindDocument("grp/mine", 80, std::nullopt),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "'grp/mine' has no document 80: no such doc"));
  EXPECT_THAT(run.FindDocument("grp/mine", 3, std::nullopt),
              StatusIs(absl::StatusCode::kDataLoss,
                       "'grp/mine' document 3: server down"));
  EXPECT_THAT(run.FindDocument("a", 1, std::nullopt),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "'a' has 1 document, 0 to 0: there is no document 1"));
}

TEST_F(OwnDatasetTest, WithoutDocumentsSaysThatItIsOne) {
  const TracedRun run = Traced(Own());
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("'grp/mine' are not known"),
                     HasSubstr("a dataset of the program's own")));
  EXPECT_THAT(run.DocumentsNamed("grp/mine", "x"), refused);
  EXPECT_THAT(run.FindDocument("grp/mine", 1, std::nullopt), refused);
}

// `poniente inspect` has no store to look at.
TEST_F(OwnDatasetTest, TooLargeAnIdNamesTheVocabularyThatItStates) {
  const Config config = Open(Own({.id = 250}));
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  absl::Status status;
  for (int step = 0; step < 200 && status.ok(); ++step) {
    status = loader->NextBlocking().status();
  }
  EXPECT_THAT(
      status,
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr("'grp/mine' item"),
                     HasSubstr("token id 250 is not below 250"),
                     HasSubstr("dataset of the program's own, its tokens must "
                               "be below the vocabulary that it states"))));
}

TEST_F(OwnDatasetTest, TooLargeAnIdWithoutAVocabularyAsksForOne) {
  const Config config = Open(Own({.id = 70'000, .vocabulary = std::nullopt}));
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  absl::Status status;
  for (int step = 0; step < 200 && status.ok(); ++step) {
    status = loader->NextBlocking().status();
  }
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("token id 70000 is not below"),
                             HasSubstr("states no vocabulary(): state one, and "
                                       "a token_type that holds its ids"))));
}

}  // namespace
}  // namespace poniente::internal
