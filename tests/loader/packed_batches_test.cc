// SPDX-License-Identifier: Apache-2.0
// Batches of packed documents: tokens, padding and all tensors, beside what
// plain loops over the pieces say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "poniente/dataset_tree.h"
#include "poniente/extend/item_sets.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/flat_mixture.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
#include "poniente/token_store.h"
#include "poniente/transforms.h"
#include "tests/loader/open_loader.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::StatusIs;
using testing::TempDir;

constexpr uint32_t kPaddingId = 256;

const std::vector<BatchTensor> kDocumentTensors = {
    BatchTensor::kLabels,      BatchTensor::kLossMask,
    BatchTensor::kDocumentIds, BatchTensor::kPositions,
    BatchTensor::kCuSeqlens,   BatchTensor::kDocumentCounts,
    BatchTensor::kMaxSeqlens};

// What a row of each tensor must be, token by token.
struct ExpectedRow {
  std::vector<int64_t> tokens, labels, mask, documents, positions;
  std::vector<int64_t> seqlens;  // lengths of the documents for attention
};

ExpectedRow RowOf(const std::vector<ItemPiece>& pieces,
                  const std::vector<uint32_t>& all_ids,
                  const DocumentRules& rules) {
  ExpectedRow row;
  int64_t number = 0;
  std::vector<bool> is_padding;
  std::vector<size_t> piece_of;
  for (size_t p = 0; p < pieces.size(); ++p) {
    const ItemPiece& piece = pieces[p];
    const auto length = static_cast<int64_t>(piece.end - piece.begin);
    const auto first = static_cast<int64_t>(row.tokens.size());
    for (int64_t t = 0; t < length; ++t) {
      const bool pads = piece.is_padding();
      is_padding.push_back(pads);
      piece_of.push_back(p);
      row.tokens.push_back(pads ? kPaddingId : all_ids[piece.begin + t]);
      row.documents.push_back(pads ? -1 : rules.attention_across ? 0 : number);
      row.positions.push_back(pads                      ? 0
                              : rules.restart_positions ? t
                                                        : first + t);
    }
    if (piece.document == kAlignmentPadding) {
      row.seqlens.back() += length;
    } else {
      row.seqlens.push_back(length);
    }
    if (!piece.is_padding()) ++number;
  }
  for (size_t t = 0; t < row.tokens.size(); ++t) {
    const bool has = t + 1 < row.tokens.size() && !is_padding[t] &&
                     !is_padding[t + 1] &&
                     (rules.loss_across || piece_of[t] == piece_of[t + 1]);
    row.mask.push_back(has ? 1 : 0);
    row.labels.push_back(has ? row.tokens[t + 1] : kIgnoredLabel);
  }
  if (rules.attention_across) {
    row.seqlens = {static_cast<int64_t>(row.tokens.size())};
  }
  return row;
}

template <class T>
std::vector<int64_t> Wide(std::span<const T> values) {
  return {values.begin(), values.end()};
}

class PackedBatchesTest : public ::testing::Test {
 protected:
  PackedBatchesTest() {
    std::mt19937_64 random(testing::TestSeed(11));
    std::vector<uint64_t> lengths(400);
    for (uint64_t& length : lengths) {
      length = random() % 9 == 0 ? random() % 60 : random() % 12;
    }
    const testing::Documents documents = testing::ProvenDocuments(lengths, 256);
    EXPECT_THAT(testing::WriteStore(folder_.path("store"), documents), IsOk());
    store_ = *TokenStore::Open(folder_.path("store"));
    ids_ = testing::AllIds(documents);
  }

  DatasetPtr<TokenWindow> Packed(const PackingOptions& options = {}) const {
    return *store_->PackedWindows(kSeqLen, options);
  }
  DatasetPtr<TokenWindow> MixtureOf(DatasetPtr<TokenWindow> dataset) const {
    return *MixtureDataset<TokenWindow>::Create(
        {{"packed", std::move(dataset), 2},
         {"plain", *store_->Windows(kSeqLen), 1}},
        MakeSchedule(50, 6).MixtureOptionsFrom({.block_size = 16, .seed = 5}));
  }

  // Compares every tensor of every batch with what the pieces say.
  template <class Id>
  void ExpectBatches(Loader* loader, const DatasetTree& tree,
                     const DocumentRules& rules, int batches) {
    for (int b = 0; b < batches; ++b) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      ExpectBatch<Id>(batch, tree, rules);
    }
  }

  template <class Id>
  void ExpectBatch(const Batch& batch, const DatasetTree& tree,
                   const DocumentRules& rules) {
    const size_t seq_len = batch.plan().seq_len;
    std::vector<int64_t> cu_seqlens = {0};
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const SampleProvenance& from = batch.provenance(i);
      const PiecewiseItems& pieces =
          *PiecesOf(*tree.leaves()[from.source].node);
      ASSERT_OK_AND_ASSIGN(const auto parts,
                           pieces.Pieces({from.item, from.epoch}));
      const ExpectedRow row = RowOf(parts, ids_, rules);
      const auto of = [&]<class T>(std::span<const T> all) {
        return Wide(all.subspan(i * seq_len, seq_len));
      };
      ASSERT_EQ(Wide(batch.tokens<Id>(i)), row.tokens);
      ASSERT_EQ(of(batch.labels<Id>()), row.labels);
      ASSERT_EQ(of(batch.loss_mask()), row.mask);
      ASSERT_EQ(of(batch.document_ids()), row.documents);
      ASSERT_EQ(of(batch.positions()), row.positions);
      ASSERT_EQ(batch.document_counts()[i],
                static_cast<int32_t>(row.seqlens.size()));
      ASSERT_EQ(batch.max_seqlens()[i],
                *std::max_element(row.seqlens.begin(), row.seqlens.end()));
      for (const int64_t length : row.seqlens) {
        cu_seqlens.push_back(cu_seqlens.back() + length);
      }
    }
    ASSERT_EQ(batch.cu_seqlens().size(),
              batch.num_samples() * batch.max_documents() + 1);
    ASSERT_EQ(cu_seqlens.back(),
              static_cast<int64_t>(batch.num_samples() * seq_len));
    cu_seqlens.resize(batch.cu_seqlens().size(), cu_seqlens.back());
    ASSERT_EQ(Wide(batch.cu_seqlens()), cu_seqlens);
  }

  LoaderOptions Options(TokenType type, DocumentRules rules = {}) const {
    LoaderOptions options;
    options.token_type = type;
    options.tensors = kDocumentTensors;
    options.documents = rules;
    return options;
  }

  const TempDir folder_;
  std::shared_ptr<const TokenStore> store_;
  std::vector<uint32_t> ids_;
};

TEST_F(PackedBatchesTest, AllTensorsAsThePiecesSay) {
  for (const uint32_t align : {1u, 4u}) {
    for (const bool attention : {false, true}) {
      for (const bool loss : {false, true}) {
        DocumentRules rules;
        rules.attention_across = attention;
        rules.loss_across = loss;
        rules.restart_positions = !attention;
        const auto packed = Packed({.align = align});
        const auto loader =
            Open(packed, MakeSchedule(20, 5), Options(TokenType::kI32, rules));
        ExpectBatches<int32_t>(loader.get(), DatasetTree(*packed), rules, 20);
      }
    }
  }
}

// Ids of 2 bytes are widened, those of 4 are read in place.
TEST_F(PackedBatchesTest, InAMixtureAndOfAnotherType) {
  const auto root = MixtureOf(Packed());
  const auto loader = Open(root, MakeSchedule(50, 6), Options(TokenType::kI64));
  EXPECT_EQ(loader->sources()[0].backend, loader->sources()[1].backend);
  EXPECT_NE(loader->sources()[0].backend, "memory");
  ExpectBatches<int64_t>(loader.get(), DatasetTree(*root), {}, 50);
}

TEST_F(PackedBatchesTest, OfStoresWithTheTypeOfTheBatch) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"wide", 100'000};
  options.end_of_document = kPaddingId;
  const std::string path = folder_.path("wide");
  const testing::Documents documents =
      testing::ProvenDocuments({3, 9, 30, 1, 4, 4, 15, 16, 17}, 100'000);
  ASSERT_THAT(testing::WriteStore(path, documents, options), IsOk());
  ids_ = testing::AllIds(documents);
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(path));
  ASSERT_OK_AND_ASSIGN(const auto packed, store->PackedWindows(kSeqLen));
  const auto loader =
      Open(packed, MakeSchedule(2, 4), Options(TokenType::kI32));
  ExpectBatches<int32_t>(loader.get(), DatasetTree(*packed), {}, 2);
}

// Items that a function makes are not read in pieces, and are one document
// each; the windows below them are the same.
TEST_F(PackedBatchesTest, ThroughGetAtAsThroughReads) {
  const auto packed = Packed();
  const auto mapped = Map<TokenWindow>(
      "same", packed, [](TokenWindow window) { return window; });
  LoaderOptions options;
  options.token_type = TokenType::kU16;
  const auto reads = Open(packed, MakeSchedule(20, 5), options);
  const auto items = Open(mapped, MakeSchedule(20, 5), options);
  for (int b = 0; b < 20; ++b) {
    ASSERT_OK_AND_ASSIGN(const Batch a, reads->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const Batch c, items->NextBlocking());
    ASSERT_TRUE(std::ranges::equal(a.bytes(), c.bytes()));
  }
}

TEST_F(PackedBatchesTest, RanksShareTheSamplesOfAStep) {
  const auto root = MixtureOf(Packed());
  LoaderOptions options = Options(TokenType::kI32);
  const auto alone = Open(root, MakeSchedule(50, 6), options);
  std::vector<std::unique_ptr<Loader>> ranks;
  options.ranks = 4;
  options.start_step = 20;
  for (uint32_t r = 0; r < 4; ++r) {
    options.rank = r;
    ranks.push_back(Open(root, MakeSchedule(50, 6), options));
  }
  for (int step = 0; step < 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch all, alone->NextBlocking());
    if (step < 20) continue;
    std::vector<int64_t> tokens, labels, positions;
    for (const auto& rank : ranks) {
      ASSERT_OK_AND_ASSIGN(const Batch share, rank->NextBlocking());
      for (const int64_t id : share.tokens<int32_t>()) tokens.push_back(id);
      for (const int64_t id : share.labels<int32_t>()) labels.push_back(id);
      for (const int64_t at : share.positions()) positions.push_back(at);
      ExpectBatch<int32_t>(share, DatasetTree(*root), {});
    }
    ASSERT_EQ(tokens, Wide(all.tokens<int32_t>()));
    ASSERT_EQ(labels, Wide(all.labels<int32_t>()));
    ASSERT_EQ(positions, Wide(all.positions()));
  }
}

TEST_F(PackedBatchesTest, ARankWithoutSamples) {
  LoaderOptions options = Options(TokenType::kI32);
  options.rank = 0;
  options.ranks = 3;
  const auto loader = Open(Packed(), MakeSchedule(2, 2), options);
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  ASSERT_EQ(batch.num_samples(), 0);
  EXPECT_EQ(Wide(batch.cu_seqlens()), std::vector<int64_t>{0});
}

TEST_F(PackedBatchesTest, CuSeqlensHaveRoomForWhatWasStated) {
  const auto packed = Packed({.max_documents = 4});
  const uint32_t most =
      PackedItemsOf(*packed)->packing_summary().max_pieces + 1;
  DocumentRules rules;
  rules.max_documents = most + 2;
  const auto loader =
      Open(packed, MakeSchedule(20, 5), Options(TokenType::kI32, rules));
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  EXPECT_EQ(batch.max_documents(), most + 2);
  EXPECT_EQ(batch.cu_seqlens().size(), 5 * (most + 2) + 1);
  rules.max_documents = most - 1;
  EXPECT_THAT(Loader::Create(packed, MakeSchedule(20, 5),
                             Options(TokenType::kI32, rules)),
              StatusIs(kInvalid, AllOf(HasSubstr("cu_seqlens have room for"),
                                       HasSubstr("max_documents"))));
  // Windows that are not packed are looked at one by one.
  rules.max_documents = 2;
  const auto plain = Open(*store_->Windows(kSeqLen), MakeSchedule(20, 5),
                          Options(TokenType::kI32, rules));
  EXPECT_THAT(plain->NextBlocking(),
              StatusIs(kInvalid, HasSubstr("have room for 2")));
}

// A mixture has a view for each length, and a root of its own Succession().
TEST_F(PackedBatchesTest, WindowsOfSeveralLengths) {
  ScheduleOptions options;
  options.steps = 20;
  options.batch_size = 4;
  options.seq_len = 8;
  options.max_seq_len = kSeqLen;
  options.seq_lens = {{RunPoint::Step(10), kSeqLen}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  const MixtureOptions lengths = schedule.MixtureOptionsFrom({.seed = 5});
  const auto refused = [](const std::string& what) {
    return StatusIs(kInvalid, AllOf(HasSubstr("'packed'"), HasSubstr(what)));
  };
  // Of the later length alone, from the first step on.
  const auto one =
      MixtureDataset<TokenWindow>::Create({{"packed", Packed()}}, lengths);
  ASSERT_THAT(one, IsOk());
  EXPECT_THAT(Loader::Create(*one, schedule, {}),
              refused("gives windows of 16 tokens, the schedule asks for 8"));

  PackingOptions chunks;
  chunks.chunk_documents = 30;
  chunks.shuffle_chunks = 2;
  const uint64_t each[] = {8, kSeqLen};
  ASSERT_OK_AND_ASSIGN(const auto windows,
                       store_->PackedWindowsOfEach(each, chunks));
  EXPECT_EQ(windows[0]->item_tokens(), 8);
  EXPECT_EQ(windows[0]->item_sets()->identity(),
            windows[1]->item_sets()->identity());
  const auto mixture = MixtureDataset<TokenWindow>::Create(
      {{"packed", windows[0]}}, lengths,
      {{"packed", 40, windows[1], /*keeps_epoch=*/true}});
  ASSERT_THAT(mixture, IsOk());
  // The change is at another sample than the schedule's.
  const auto late = MixtureDataset<TokenWindow>::Create(
      {{"packed", windows[0]}}, lengths,
      {{"packed", 44, windows[1], /*keeps_epoch=*/true}});
  ASSERT_THAT(late, IsOk());
  EXPECT_THAT(Loader::Create(*late, schedule, {}), refused("from step 10 on"));
  ASSERT_OK_AND_ASSIGN(
      const auto succession,
      Succession<TokenWindow>({{0, windows[0]}, {40, windows[1]}}, lengths));
  for (const DatasetPtr<TokenWindow>& root : {*mixture, succession}) {
    ASSERT_OK_AND_ASSIGN(
        const auto loader,
        Loader::Create(root, schedule, Options(TokenType::kI32)));
    const DatasetTree tree(*root);
    for (uint64_t step = 0; step < 20; ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      ASSERT_EQ(batch.plan().seq_len, step < 10 ? 8 : kSeqLen);
      ExpectBatch<int32_t>(batch, tree, {});
    }
  }
}

TEST_F(PackedBatchesTest, WhatCannotContinueAnEpochIsRefused) {
  PackingOptions chunks;
  chunks.chunk_documents = 30;
  const uint64_t each[] = {8, kSeqLen};
  EXPECT_THAT(store_->PackedWindowsOfEach(each, {}),
              StatusIs(kInvalid, HasSubstr("chunk_documents")));
  const auto windows = *store_->PackedWindowsOfEach(each, chunks);
  chunks.chunk_documents = 31;
  const auto other = *store_->PackedWindows(kSeqLen, chunks);
  MixtureOptions options;
  options.max_seq_len = kSeqLen;
  options.seq_lens = {{0, 8}, {40, kSeqLen}};
  const auto mixture = [&](const DatasetPtr<TokenWindow>& later) {
    return MixtureDataset<TokenWindow>::Create({{"a", windows[0]}}, options,
                                               {{"a", 40, later, true}});
  };
  EXPECT_THAT(mixture(windows[1]), IsOk());
  EXPECT_THAT(mixture(other),
              StatusIs(kInvalid, HasSubstr("other documents, or in other")));
  EXPECT_THAT(mixture(Packed()), StatusIs(kInvalid, HasSubstr("by chunks")));
  const auto plain = *store_->Windows(kSeqLen);
  EXPECT_THAT(MixtureDataset<TokenWindow>::Create({{"a", plain}}, options,
                                                  {{"a", 40, plain, true}}),
              StatusIs(kInvalid, HasSubstr("PackedWindows()")));
  const auto succession = [&](uint64_t start,
                              const DatasetPtr<TokenWindow>& later) {
    return Succession<TokenWindow>({{0, windows[0]}, {start, later}}, options);
  };
  EXPECT_THAT(succession(40, windows[1]), IsOk());
  EXPECT_THAT(succession(0, windows[1]),
              StatusIs(kInvalid, HasSubstr("increase from 0")));
  EXPECT_THAT(succession(40, other),
              StatusIs(kInvalid, HasSubstr("the same chunks")));
  EXPECT_THAT(succession(40, plain),
              StatusIs(kInvalid, HasSubstr("the same chunks")));
}

TEST_F(PackedBatchesTest, DamageIsAnErrorThatNamesTheSample) {
  const auto packed = Packed();
  const auto loader =
      Open(packed, MakeSchedule(20, 5), Options(TokenType::kI32));
  const std::string file = store_->path() + "/documents-by-length.bin";
  ASSERT_EQ(::truncate(file.c_str(), 0), 0);
  // Steps that were made ahead come first.
  absl::Status status;
  for (int b = 0; b < 20 && status.ok(); ++b) {
    status = loader->NextBlocking().status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr(file)));
}

}  // namespace
}  // namespace poniente
