// SPDX-License-Identifier: Apache-2.0
// All tensors of batches whose documents are filled in the middle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "poniente/mixture_dataset.h"
#include "poniente/selection.h"
#include "poniente/transforms.h"
#include "tests/loader/infilled_batches.h"

namespace poniente::testing {
namespace {

TEST_F(InfilledBatchesTest, AllTensorsOfPackedDocuments) {
  for (const uint32_t align : {1u, 4u}) {
    for (const bool across : {false, true}) {
      DocumentRules rules;
      rules.attention_across = across;
      rules.loss_across = across;
      rules.restart_positions = !across;
      const std::vector<InfilledSource> sources = {{"", UsualInfilling(), {}}};
      const auto root = Infilled(Packed({.align = align}), sources);
      EXPECT_GT(ExpectBatches<int32_t>(root, MakeSchedule(40, 5), sources,
                                       Options(TokenType::kI32, rules)),
                20u);
    }
  }
}

TEST_F(InfilledBatchesTest, AllTensorsOfPlainWindows) {
  for (const bool beyond : {false, true}) {
    for (const InfilledPieces pieces :
         {InfilledPieces::kAll, InfilledPieces::kWhole}) {
      DocumentRules rules;
      rules.labels_beyond_sample = beyond;
      std::vector<InfilledSource> sources = {{"", UsualInfilling(), {}}};
      sources[0].options.pieces = pieces;
      const auto root = Infilled(*Shuffle(Plain()), sources);
      EXPECT_GT(ExpectBatches<int64_t>(root, MakeSchedule(40, 7), sources,
                                       Options(TokenType::kI64, rules)),
                20u);
    }
  }
}

// Their windows do not lie in files as they are: GetAt() is called.
TEST_F(InfilledBatchesTest, AllTensorsOfSelectedDocuments) {
  const std::vector<InfilledSource> sources = {{"", UsualInfilling(), {}}};
  const auto root = Infilled(
      *store_->Windows(kSeqLen,
                       *Selection::ByHash(store_->num_documents(), 0.7, 3)),
      sources);
  EXPECT_GT(ExpectBatches<int32_t>(root, MakeSchedule(30, 7), sources,
                                   Options(TokenType::kI32)),
            20u);
}

// Sources with rates of their own that change, beside one without.
TEST_F(InfilledBatchesTest, RatesBySourceAndStage) {
  const std::vector<InfilledSource> sources = {
      {"packed", UsualInfilling(0.2), {{100, 0.9}, {200, 0}}},
      {"plain", UsualInfilling(0), {{150, 1}}}};
  const Schedule schedule = MakeSchedule(50, 6);
  const auto root = Infilled(
      *MixtureDataset<TokenWindow>::Create(
          {{"packed", Packed(), 2}, {"plain", Plain(), 1}, {"as is", Plain()}},
          schedule.MixtureOptionsFrom({.block_size = 16, .seed = 5})),
      sources);
  EXPECT_GT(
      ExpectBatches<int32_t>(root, schedule, sources, Options(TokenType::kI32)),
      50u);
}

// Samples that are parts of windows: pieces end with the sample.
TEST_F(InfilledBatchesTest, LengthsThatChange) {
  ScheduleOptions lengths;
  lengths.steps = 40;
  lengths.batch_size = 6;
  lengths.seq_len = kSeqLen;
  lengths.max_seq_len = 64;
  lengths.seq_lens = {{RunPoint::Step(12), 32}, {RunPoint::Step(25), 64}};
  const Schedule schedule = *Schedule::Create(lengths);
  const std::vector<InfilledSource> sources = {{"a", UsualInfilling(), {}}};
  const auto root = Infilled(
      *MixtureDataset<TokenWindow>::Create(
          {{"a", *store_->Windows(64), 2}, {"b", *store_->Windows(64), 1}},
          schedule.MixtureOptionsFrom({.block_size = 16, .seed = 5})),
      sources);
  EXPECT_GT(
      ExpectBatches<int32_t>(root, schedule, sources, Options(TokenType::kI32)),
      20u);
}

}  // namespace
}  // namespace poniente::testing
