// SPDX-License-Identifier: Apache-2.0
// Samples that are divided among ranks by their work.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
#include "poniente/run_trace.h"
#include "poniente/shares.h"
#include "poniente/token_store.h"
#include "tests/loader/open_loader.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::kInvalid;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::StatusIs;
using testing::TempDir;

class EvenWorkTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kBatch = 37;
  static constexpr uint64_t kSteps = 12;

  EvenWorkTest() {
    std::mt19937_64 random(testing::TestSeed(51));
    std::vector<uint64_t> lengths(2000);
    for (uint64_t& length : lengths) {
      length = random() % 5 == 0 ? random() % 40 : random() % 6;
    }
    EXPECT_THAT(testing::WriteStore(folder_.path("store"),
                                    testing::ProvenDocuments(lengths, 256)),
                IsOk());
    store_ = *TokenStore::Open(folder_.path("store"));
    root_ = *MixtureDataset<TokenWindow>::Create(
        {{"packed", *store_->PackedWindows(kSeqLen), 3},
         {"plain", *store_->Windows(kSeqLen), 1}},
        MakeSchedule(kSteps, kBatch)
            .MixtureOptionsFrom({.block_size = 16, .seed = 5}));
  }

  static LoaderOptions Options(uint64_t linear_cost) {
    LoaderOptions options;
    options.token_type = TokenType::kU16;
    options.tensors = {BatchTensor::kCuSeqlens, BatchTensor::kDocumentCounts};
    options.sharing.even_work = true;
    options.sharing.linear_cost = linear_cost;
    return options;
  }

  // Rows and provenance by number of the sample.
  using Rows = std::map<uint64_t, std::vector<uint16_t>>;
  static void AddRows(const Batch& batch, Rows* rows) {
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const auto row = batch.tokens<uint16_t>(i);
      const bool is_new =
          rows->emplace(batch.provenance(i).sample,
                        std::vector<uint16_t>(row.begin(), row.end()))
              .second;
      ASSERT_TRUE(is_new) << batch.provenance(i).sample;
    }
  }

  // The work of the samples of a step, from the lengths that batches say.
  std::vector<uint64_t> WorkOf(const Batch& all, uint64_t linear_cost) const {
    const DatasetTree tree(*root_);
    std::map<uint64_t, uint64_t> work;
    size_t next = 0;
    for (size_t i = 0; i < all.num_samples(); ++i) {
      const SampleProvenance& from = all.provenance(i);
      std::vector<uint32_t> lengths;
      for (int32_t d = 0; d < all.document_counts()[i]; ++d, ++next) {
        lengths.push_back(static_cast<uint32_t>(all.cu_seqlens()[next + 1] -
                                                all.cu_seqlens()[next]));
      }
      const bool is_packed =
          PackedItemsOf(*tree.leaves()[from.source].node) != nullptr;
      if (!is_packed) lengths = {kSeqLen};
      // Padding at the end is no work of attention.
      const auto pieces = *PiecesOf(*tree.leaves()[from.source].node)
                               ->Pieces({from.item, from.epoch});
      if (is_packed && pieces.back().document == kNoDocument) {
        lengths.pop_back();
      }
      work[from.sample] = SampleWork(lengths, kSeqLen, linear_cost);
    }
    std::vector<uint64_t> in_order;
    for (const auto& [sample, one] : work) in_order.push_back(one);
    return in_order;
  }

  const TempDir folder_;
  std::shared_ptr<const TokenStore> store_;
  DatasetPtr<TokenWindow> root_;
};

TEST_F(EvenWorkTest, RanksHaveTheSamplesOfBalancedOrder) {
  for (const uint64_t linear_cost : {0, 5}) {
    LoaderOptions consecutive = Options(linear_cost);
    consecutive.sharing.even_work = false;
    const auto alone = Open(root_, MakeSchedule(kSteps, kBatch), consecutive);
    constexpr uint32_t kRanks = 5;
    std::vector<std::unique_ptr<Loader>> loaders;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      LoaderOptions options = Options(linear_cost);
      options.rank = rank;
      options.ranks = kRanks;
      loaders.push_back(Open(root_, MakeSchedule(kSteps, kBatch), options));
    }
    const RunTrace trace(*root_, MakeSchedule(kSteps, kBatch),
                         Options(linear_cost).sharing);
    const RunTrace consecutive_trace(*root_, MakeSchedule(kSteps, kBatch),
                                     consecutive.sharing);
    EXPECT_THAT(trace.WorkOfRanks(kSteps, 3),
                StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("step")));
    for (uint64_t step = 0; step < kSteps; ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch all, alone->NextBlocking());
      const std::vector<uint64_t> work = WorkOf(all, linear_cost);
      const std::vector<uint64_t> order = BalancedOrder(work, kRanks);
      Rows expected;
      AddRows(all, &expected);
      EXPECT_THAT(consecutive_trace.WorkOfRanks(step, 1),
                  IsOkAndHolds(ElementsAre(work)));
      // Any rank knows the work of any other.
      ASSERT_OK_AND_ASSIGN(const auto by_rank, trace.WorkOfRanks(step, kRanks));
      ASSERT_EQ(by_rank.size(), kRanks);
      Rows got;
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        ASSERT_OK_AND_ASSIGN(const Batch batch, loaders[rank]->NextBlocking());
        AddRows(batch, &got);
        const BatchShare share = RankShare(kBatch, rank, kRanks);
        ASSERT_EQ(batch.num_samples(), share.end - share.begin);
        for (size_t i = 0; i < batch.num_samples(); ++i) {
          ASSERT_EQ(batch.provenance(i).sample,
                    step * kBatch + order[share.begin + i]);
        }
        ASSERT_EQ(by_rank[rank].size(), batch.num_samples());
        for (size_t i = 0; i < batch.num_samples(); ++i) {
          ASSERT_EQ(by_rank[rank][i], work[order[share.begin + i]]);
        }
      }
      ASSERT_EQ(got, expected);
    }
  }
}

// Another number of ranks, from a step in the middle on: the same samples.
TEST_F(EvenWorkTest, StepsAreTheSameForAnyNumberOfRanks) {
  const auto of = [this](uint32_t ranks, uint64_t from) {
    Rows rows;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      LoaderOptions options = Options(3);
      options.rank = rank;
      options.ranks = ranks;
      options.start_step = from;
      const auto loader = Open(root_, MakeSchedule(kSteps, kBatch), options);
      for (uint64_t step = from; step < kSteps; ++step) {
        AddRows(*loader->NextBlocking(), &rows);
      }
    }
    return rows;
  };
  const Rows one = of(1, 4);
  EXPECT_EQ(one.size(), (kSteps - 4) * kBatch);
  EXPECT_EQ(of(3, 4), one);
  EXPECT_EQ(of(64, 4), one);  // some ranks have no samples
}

TEST_F(EvenWorkTest, IsRefusedWhereAllSamplesAreAlike) {
  LoaderOptions options = Options(0);
  EXPECT_THAT(
      Loader::Create(*store_->Windows(kSeqLen), MakeSchedule(2, 2), options),
      StatusIs(kInvalid, HasSubstr("pack the documents")));
  options.documents.attention_across = true;
  EXPECT_THAT(Loader::Create(root_, MakeSchedule(kSteps, kBatch), options),
              StatusIs(kInvalid, HasSubstr("attention_across")));
}

}  // namespace
}  // namespace poniente
