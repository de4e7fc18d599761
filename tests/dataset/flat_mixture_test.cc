// SPDX-License-Identifier: Apache-2.0
#include "poniente/flat_mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "poniente/transforms.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/dataset_conformance.h"
#include "tests/support/slow_order.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"
#include "tests/support/tokens_dataset.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::Counting;
using testing::CountingWindows;
using testing::DatasetCase;
using testing::DatasetConformanceTest;
using testing::Epoch;
using ::testing::HasSubstr;
using testing::Indices;
using testing::StatusIs;

using Child = NamedDataset<uint64_t>;

FlatMixtureOptions Seeded(uint64_t seed) {
  FlatMixtureOptions options;
  options.seed = seed;
  return options;
}

// Lengths 0, 1, 7, 1000 and 65536; all items distinct. Declared in an order
// that is not that of the names.
std::vector<Child> OddChildren() {
  return {{"wiki", Counting(65536, 100000)},
          {"books", Counting(7, 100)},
          {"empty", Counting(0)},
          {"code", Counting(1000, 1000)},
          {"one", Counting(1, 50)}};
}
constexpr uint64_t kOddTotal = 0 + 1 + 7 + 1000 + 65536;

// A list in the order of the names.
std::vector<uint64_t> List(
    const std::map<std::string, std::vector<uint64_t>>& children) {
  std::vector<uint64_t> list;
  for (const auto& [name, items] : children) {
    list.insert(list.end(), items.begin(), items.end());
  }
  return list;
}

std::vector<uint64_t> Deal(const std::vector<uint64_t>& list,
                           const std::vector<uint64_t>& places) {
  std::vector<uint64_t> dealt;
  for (const uint64_t place : places) dealt.push_back(list[place]);
  return dealt;
}

// That list dealt out by the slow permutation.
std::vector<uint64_t> SlowFlat(
    const std::map<std::string, std::vector<uint64_t>>& children, uint64_t seed,
    uint64_t epoch) {
  const std::vector<uint64_t> list = List(children);
  return Deal(list,
              testing::SlowPermutation(
                  list.size(), testing::SlowEpochKey(seed, "flat", epoch)));
}

std::map<std::string, std::vector<uint64_t>> OddItems() {
  return {{"wiki", Indices(100000, 165536)},
          {"books", Indices(100, 107)},
          {"code", Indices(1000, 2000)},
          {"one", Indices(50, 51)}};
}

FlatMixtureOptions Ordered(const ShuffleOptions& shuffle) {
  FlatMixtureOptions options;
  options.seed = 42;
  options.shuffle = shuffle;
  return options;
}

DatasetPtr<uint64_t> OddFlat(const ShuffleOptions& shuffle) {
  return *FlatMixture<uint64_t>::Create(OddChildren(), Ordered(shuffle));
}

const ShuffleOptions kEras = ShuffleOptions::Eras(3000);
const ShuffleOptions kBlocks =
    ShuffleOptions::Blocks({.chunk_items = 100, .window_chunks = 64});

INSTANTIATE_TEST_SUITE_P(
    FlatMixture, DatasetConformanceTest,
    ::testing::Values(
        DatasetCase{
            "OddLengths",
            [] { return *FlatMixture<uint64_t>::Create(OddChildren()); },
            kOddTotal},
        DatasetCase{
            "OneChild",
            [] {
              return *FlatMixture<uint64_t>::Create({{"only", Counting(5)}});
            },
            5},
        DatasetCase{"Stored", [] { return OddFlat(ShuffleOptions::None()); },
                    kOddTotal},
        DatasetCase{"Eras", [] { return OddFlat(kEras); }, kOddTotal},
        DatasetCase{"Blocks", [] { return OddFlat(kBlocks); }, kOddTotal}),
    testing::CaseName);

TEST(FlatMixtureTest, EqualsAListShuffledAndDealtOut) {
  const auto flat = *FlatMixture<uint64_t>::Create(OddChildren(), Seeded(42));
  for (const uint64_t epoch : {0, 1, 5}) {
    const auto expected = SlowFlat(OddItems(), 42, epoch);
    EXPECT_TRUE(Epoch(flat, epoch, kOddTotal) == expected) << epoch;
  }
}

TEST(FlatMixtureTest, EqualsAListOrderedByEras) {
  for (const uint64_t epoch : {0, 1, 5}) {
    EXPECT_TRUE(
        Epoch(OddFlat(kEras), epoch, kOddTotal) ==
        Deal(List(OddItems()),
             testing::SlowEras(kOddTotal, 3000,
                               testing::SlowEpochKey(42, "flat", epoch))))
        << epoch;
  }
}

TEST(FlatMixtureTest, EqualsAListOrderedByBlocks) {
  for (const uint64_t epoch : {0, 1, 5}) {
    EXPECT_TRUE(
        Epoch(OddFlat(kBlocks), epoch, kOddTotal) ==
        Deal(List(OddItems()),
             testing::SlowBlocks(kOddTotal, 100, 64,
                                 testing::SlowEpochKey(42, "flat", epoch))))
        << epoch;
  }
}

TEST(FlatMixtureTest, KeepsTheStoredOrderIfToldSo) {
  const auto flat = OddFlat(ShuffleOptions::None());
  EXPECT_TRUE(Epoch(flat, 0, kOddTotal) == List(OddItems()));
  EXPECT_TRUE(Epoch(flat, 3, kOddTotal) == List(OddItems()));
}

TEST(FlatMixtureTest, FindsEveryItemBackWhateverTheOrder) {
  for (const ShuffleOptions& shuffle :
       {ShuffleOptions::None(), kEras, kBlocks}) {
    const auto flat = OddFlat(shuffle);
    const auto map = flat->map();
    for (uint64_t i = 0; i < kOddTotal; i += 5) {
      const Position here{.index = i, .epoch = 2};
      ChildPosition there;
      map->Resolve({&here, 1}, {&there, 1});
      ASSERT_EQ(map->Find(there.child, there.position), here) << i;
    }
  }
}

TEST(FlatMixtureTest, TheFingerprintCoversTheOrder) {
  const uint64_t full = OddFlat(ShuffleOptions::Full())->fingerprint();
  EXPECT_EQ(full, (*FlatMixture<uint64_t>::Create(OddChildren(), Seeded(42)))
                      ->fingerprint());
  const std::set<uint64_t> prints = {
      full, OddFlat(ShuffleOptions::None())->fingerprint(),
      OddFlat(kEras)->fingerprint(), OddFlat(kBlocks)->fingerprint()};
  EXPECT_EQ(prints.size(), 4u);
}

TEST(FlatMixtureTest, CountsTheItemsOfAChunkIfAllChildrenAgree) {
  const auto options = Ordered(
      ShuffleOptions::Blocks({.chunk_tokens = 640, .window_chunks = 3}));
  const auto a = testing::TokensDataset::Create(90, 64);
  const auto b = testing::TokensDataset::Create(30, 64, 500);
  EXPECT_EQ(Epoch(*FlatMixture<uint64_t>::Create({{"a", a}, {"b", b}}, options),
                  0, 120),
            Deal(List({{"a", Indices(0, 90)}, {"b", Indices(500, 530)}}),
                 testing::SlowBlocks(120, 10, 3,
                                     testing::SlowEpochKey(42, "flat", 0))));
  EXPECT_THAT(
      FlatMixture<uint64_t>::Create({{"a", a}, {"b", Counting(5)}}, options),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("flat_mixture: chunk_tokens 640 "),
                     HasSubstr("state chunk_items instead"))));
}

TEST(FlatMixtureTest, VisitsEveryItemOncePerEpochInANewOrder) {
  const auto flat = *FlatMixture<uint64_t>::Create(OddChildren(), Seeded(1));
  std::vector<uint64_t> all = Indices(100000, 165536);
  for (const auto& more :
       {Indices(100, 107), Indices(1000, 2000), Indices(50, 51)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  std::sort(all.begin(), all.end());
  const std::vector<uint64_t> first = Epoch(flat, 0, kOddTotal);
  const std::vector<uint64_t> second = Epoch(flat, 1, kOddTotal);
  for (std::vector<uint64_t> epoch : {first, second}) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_TRUE(epoch == all);
  }
  EXPECT_FALSE(first == second);
}

TEST(FlatMixtureTest, EqualsItselfAfterARestartAtAnyIndex) {
  const auto whole = Epoch(
      *FlatMixture<uint64_t>::Create(OddChildren(), Seeded(3)), 0, kOddTotal);
  for (uint64_t start = 0; start < kOddTotal; start += 6007) {
    const auto again = *FlatMixture<uint64_t>::Create(OddChildren(), Seeded(3));
    const uint64_t end = std::min(kOddTotal, start + 100);
    EXPECT_EQ(
        *again->GetBatchBlocking(Indices(start, end)),
        std::vector<uint64_t>(whole.begin() + start, whole.begin() + end));
  }
}

TEST(FlatMixtureTest, DeclarationOrderChangesNothing) {
  std::vector<Child> reversed = OddChildren();
  std::reverse(reversed.begin(), reversed.end());
  const auto forward = *FlatMixture<uint64_t>::Create(OddChildren(), Seeded(3));
  const auto backward =
      *FlatMixture<uint64_t>::Create(std::move(reversed), Seeded(3));
  EXPECT_EQ(Epoch(forward, 0, 1000), Epoch(backward, 0, 1000));
  EXPECT_EQ(forward->fingerprint(), backward->fingerprint());
}

TEST(FlatMixtureTest, ANestedChildIsSeededByItsNameAndShuffledPerEpoch) {
  const auto inner = *FlatMixture<uint64_t>::Create(
      {{"a", Counting(90, 0)}, {"b", Counting(30, 500)}});
  const auto outer = *FlatMixture<uint64_t>::Create(
      {{"inner", inner}, {"more", Counting(80, 1000)}}, Seeded(42));
  for (const uint64_t epoch : {0, 3}) {
    const auto below =
        SlowFlat({{"a", Indices(0, 90)}, {"b", Indices(500, 530)}},
                 testing::SlowChildSeed(42, "inner"), epoch);
    EXPECT_EQ(
        Epoch(outer, epoch, 200),
        SlowFlat({{"inner", below}, {"more", Indices(1000, 1080)}}, 42, epoch));
  }
}

TEST(FlatMixtureTest, WaitsForGrowingChildren) {
  const auto growing = InMemoryDataset<uint64_t>::Growing();
  const auto flat = *FlatMixture<uint64_t>::Create(
      {{"a", growing}, {"b", Counting(10, 100)}}, Seeded(1));
  EXPECT_EQ(flat->length_now(), LengthState::Growing(0));
  EXPECT_TRUE(growing->Append({1, 2, 3}).ok());
  growing->Finish();
  EXPECT_EQ(flat->length_now(), LengthState::Final(13));
  EXPECT_EQ(Epoch(flat, 0, 13),
            SlowFlat({{"a", {1, 2, 3}}, {"b", Indices(100, 110)}}, 1, 0));
}

TEST(FlatMixtureTest, RefusesWhatCannotBeMixed) {
  EXPECT_THAT(FlatMixture<uint64_t>::Create({}),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(FlatMixture<uint64_t>::Create({{"a", Counting(0)}}),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(
      FlatMixture<uint64_t>::Create({{"a", Counting(1)}, {"a", Counting(2)}}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'a'")));
  EXPECT_THAT(FlatMixture<uint64_t>::Create({{"a", nullptr}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'a'")));
  EXPECT_THAT(FlatMixture<uint64_t>::Create(
                  {{"a", Counting(1)}, {"b", *Repeat(Counting(3))}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'b'"), HasSubstr("endless"))));
}

TEST(FlatMixtureTest, RefusesTwoTokenizersAndNamesBoth) {
  InMemoryOptions other;
  other.vocabulary = Vocabulary{"llama-3", 128256};
  const auto foreign =
      InMemoryDataset<TokenWindow>::Create({TokenWindow({1, 2, 3, 4})}, other);
  EXPECT_THAT(
      FlatMixture<TokenWindow>::Create(
          {{"web", CountingWindows(3, 4)}, {"code", foreign}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("'web' has tokenizer 'modulo' with 251 ids"),
                     HasSubstr("'code' has 'llama-3' with 128256"))));
}

}  // namespace
}  // namespace poniente
