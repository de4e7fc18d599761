// SPDX-License-Identifier: Apache-2.0
// Batches of context-parallel ranks, beside slices taken of whole batches.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "poniente/catalog.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
#include "poniente/selection.h"
#include "poniente/shares.h"
#include "poniente/token_store.h"
#include "tests/loader/open_loader.h"
#include "tests/store/small_stores.h"
#include "tests/support/file_windows.h"
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

const std::vector<BatchTensor> kRowTensors = {
    BatchTensor::kLabels,      BatchTensor::kLossMask,
    BatchTensor::kDocumentIds, BatchTensor::kPositions,
    BatchTensor::kCuSeqlens,   BatchTensor::kDocumentCounts,
    BatchTensor::kMaxSeqlens};

LoaderOptions RowOptions(const DocumentRules& rules = {},
                         TokenType type = TokenType::kI32) {
  LoaderOptions options;
  options.token_type = type;
  options.tensors = kRowTensors;
  options.documents = rules;
  return options;
}

// What a slice has of the rows of a whole batch.
template <class T>
std::vector<T> Gather(std::span<const T> rows, size_t sample, uint32_t seq_len,
                      const ContextSlice& slice) {
  std::vector<T> gathered;
  for (const ContextChunk& chunk : slice.chunks) {
    const auto tokens =
        rows.subspan(sample * seq_len + chunk.begin, chunk.end - chunk.begin);
    gathered.insert(gathered.end(), tokens.begin(), tokens.end());
  }
  return gathered;
}

template <class T>
std::vector<T> RowOfSlice(const Batch& batch, std::span<const T> rows,
                          size_t sample) {
  const auto row = rows.subspan(sample * batch.seq_len(), batch.seq_len());
  return {row.begin(), row.end()};
}

class ContextSlicesTest : public ::testing::Test {
 protected:
  ContextSlicesTest() {
    std::mt19937_64 random(testing::TestSeed(31));
    std::vector<uint64_t> lengths(500);
    for (uint64_t& length : lengths) {
      length = random() % 5 == 0 ? random() % 60 : random() % 9;
    }
    const testing::Documents documents =
        testing::WithProvenLoss(testing::ProvenDocuments(lengths, 256));
    EXPECT_THAT(testing::WriteStore(folder_.path("store"), documents), IsOk());
    store_ = *TokenStore::Open(folder_.path("store"));
  }

  // Compares all ranks of `ranks` with slices of whole batches.
  template <class Id>
  void ExpectSlices(const DatasetPtr<TokenWindow>& root,
                    const Schedule& schedule, ContextSplit split,
                    uint32_t ranks, const LoaderOptions& options) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const auto whole = Open(root, schedule, options);
      LoaderOptions of_rank = options;
      of_rank.context = {rank, ranks, split};
      const auto sliced = Open(root, schedule, of_rank);
      for (uint64_t step = 0; schedule.Has(step); ++step) {
        ASSERT_OK_AND_ASSIGN(const Batch all, whole->NextBlocking());
        ASSERT_OK_AND_ASSIGN(const Batch part, sliced->NextBlocking());
        ASSERT_EQ(part.seq_len(), all.seq_len() / ranks);
        ASSERT_EQ(part.num_samples(), all.num_samples());
        ExpectSlice<Id>(all, part, of_rank);
      }
    }
  }

  const TempDir folder_;
  std::shared_ptr<const TokenStore> store_;

 private:
  template <class Id>
  void ExpectSlice(const Batch& all, const Batch& part,
                   const LoaderOptions& options) {
    std::vector<int32_t> cu_seqlens = {0};
    size_t next = 0;
    for (size_t i = 0; i < all.num_samples(); ++i) {
      std::vector<uint32_t> lengths;
      for (int32_t d = 0; d < all.document_counts()[i]; ++d, ++next) {
        lengths.push_back(static_cast<uint32_t>(all.cu_seqlens()[next + 1] -
                                                all.cu_seqlens()[next]));
      }
      ASSERT_OK_AND_ASSIGN(
          const ContextSlice slice,
          MakeContextSlice(options.context.split, all.seq_len(), lengths,
                           options.context.rank, options.context.ranks));
      const auto expect_row = [&]<class T>(std::span<const T> whole,
                                           std::span<const T> sliced,
                                           const char* tensor) {
        EXPECT_EQ(RowOfSlice(part, sliced, i),
                  Gather(whole, i, all.seq_len(), slice))
            << tensor << " of sample " << i << " in step " << all.step();
      };
      expect_row(all.tokens<Id>(), part.tokens<Id>(), "tokens");
      expect_row(all.labels<Id>(), part.labels<Id>(), "labels");
      expect_row(all.loss_mask(), part.loss_mask(), "loss_mask");
      expect_row(all.document_ids(), part.document_ids(), "document_ids");
      expect_row(all.positions(), part.positions(), "positions");
      EXPECT_EQ(part.document_counts()[i], slice.parts.size());
      EXPECT_EQ(part.max_seqlens()[i], slice.max_seqlen);
      for (const DocumentPart& piece : slice.parts) {
        cu_seqlens.push_back(cu_seqlens.back() +
                             static_cast<int32_t>(piece.tokens));
      }
      ASSERT_FALSE(HasFailure());
    }
    cu_seqlens.resize(part.cu_seqlens().size(), cu_seqlens.back());
    EXPECT_EQ(std::vector<int32_t>(part.cu_seqlens().begin(),
                                   part.cu_seqlens().end()),
              cu_seqlens);
    ASSERT_FALSE(HasFailure());
  }
};

constexpr ContextSplit kOfSamples[] = {ContextSplit::kContiguous,
                                       ContextSplit::kZigZag};

TEST_F(ContextSlicesTest, OfWindows) {
  for (const ContextSplit split : kOfSamples) {
    for (const bool across : {false, true}) {
      for (const uint32_t ranks : {2u, 4u}) {
        DocumentRules rules;
        rules.loss_across = across;
        rules.restart_positions = !across;
        ExpectSlices<int32_t>(*store_->Windows(kSeqLen), MakeSchedule(10, 5),
                              split, ranks, RowOptions(rules));
      }
    }
  }
}

// Windows and slices reach from one store into the next.
TEST_F(ContextSlicesTest, OfJoinedStores) {
  const TempDir folder;
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_THAT(
        testing::WriteStore(folder.path(name),
                            testing::WithProvenLoss(testing::ProvenDocuments(
                                {33, 2, 9, 44, 7, 6}, 256))),
        IsOk());
  }
  ASSERT_THAT(StoreCatalog::Write(folder.path()), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto catalog, StoreCatalog::Open(folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto joined, catalog.OpenJoined());
  const auto windows = *joined->Windows(kSeqLen);
  ASSERT_NE(windows->ranges(), nullptr);
  for (const ContextSplit split : kOfSamples) {
    ExpectSlices<int32_t>(windows, MakeSchedule(5, 5), split, 4, RowOptions());
  }
}

TEST_F(ContextSlicesTest, OfPackedDocuments) {
  for (const ContextSplit split : kOfSamples) {
    for (const bool across : {false, true}) {
      DocumentRules rules;
      rules.attention_across = across;
      rules.loss_across = across;
      ExpectSlices<int64_t>(*store_->PackedWindows(kSeqLen),
                            MakeSchedule(10, 5), split, 2,
                            RowOptions(rules, TokenType::kI64));
    }
  }
}

TEST_F(ContextSlicesTest, OfEachAlignedDocument) {
  for (const uint32_t ranks : {2u, 4u}) {
    ExpectSlices<int32_t>(*store_->PackedWindows(kSeqLen, {.align = 2 * ranks}),
                          MakeSchedule(10, 5), ContextSplit::kZigZagPerDocument,
                          ranks, RowOptions());
    // Tokens that see the whole sample are one document.
    DocumentRules rules;
    rules.attention_across = true;
    ExpectSlices<int32_t>(*store_->PackedWindows(kSeqLen), MakeSchedule(10, 5),
                          ContextSplit::kZigZagPerDocument, ranks,
                          RowOptions(rules));
  }
}

// Slices of what is served: a rank reads tokens from all over a document.
TEST_F(ContextSlicesTest, OfDocumentsFilledInTheMiddle) {
  std::mt19937_64 random(testing::TestSeed(32));
  std::vector<uint64_t> lengths(300);
  for (uint64_t& length : lengths) length = random() % 25;
  ASSERT_THAT(testing::WriteStore(folder_.path("all"),
                                  testing::ProvenDocuments(lengths, 250)),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder_.path("all")));
  InfilledSource source;
  source.options.rate = 0.8;
  source.options.prefix = 251;
  source.options.middle = 252;
  source.options.suffix = 253;
  source.options.min_tokens = 8;
  const auto infilled = [&](DatasetPtr<TokenWindow> windows) {
    return *InfilledDataset::Create(std::move(windows), {source});
  };
  for (const bool across : {false, true}) {
    DocumentRules rules;
    rules.loss_across = across;
    rules.labels_beyond_sample = across;
    for (const ContextSplit split : kOfSamples) {
      ExpectSlices<int32_t>(infilled(*store->Windows(kSeqLen)),
                            MakeSchedule(10, 5), split, 4, RowOptions(rules));
      ExpectSlices<int64_t>(infilled(*store->PackedWindows(kSeqLen)),
                            MakeSchedule(10, 5), split, 2,
                            RowOptions(rules, TokenType::kI64));
      // Their items are made in memory, and cut there.
      rules.labels_beyond_sample = false;
      ExpectSlices<int32_t>(
          infilled(*store->Windows(
              kSeqLen, *Selection::ByHash(store->num_documents(), 0.5, 1))),
          MakeSchedule(5, 5), split, 4, RowOptions(rules));
    }
  }
  ExpectSlices<int32_t>(infilled(*store->PackedWindows(kSeqLen, {.align = 8})),
                        MakeSchedule(10, 5), ContextSplit::kZigZagPerDocument,
                        4, RowOptions());
}

TEST_F(ContextSlicesTest, WithLabelsBeyondSamples) {
  DocumentRules rules;
  rules.labels_beyond_sample = true;
  for (const ContextSplit split : kOfSamples) {
    ExpectSlices<int32_t>(*store_->Windows(kSeqLen), MakeSchedule(10, 5), split,
                          4, RowOptions(rules));
    ExpectSlices<int32_t>(*store_->PackedWindows(kSeqLen), MakeSchedule(10, 5),
                          split, 4, RowOptions(rules));
  }
}

TEST_F(ContextSlicesTest, OfAMixtureWhoseSamplesAreCut) {
  ScheduleOptions options;
  options.batch_size = 6;
  options.max_seq_len = kSeqLen;
  options.seq_len = 8;
  options.steps = 20;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(
      const auto root,
      MixtureDataset<TokenWindow>::Create(
          {{"a", *store_->Windows(kSeqLen)}},
          schedule.MixtureOptionsFrom({.block_size = 24, .seed = 5})));
  ExpectSlices<int32_t>(root, schedule, ContextSplit::kZigZag, 2, RowOptions());
}

// Their tokens are counted in the item, not in the source.
TEST_F(ContextSlicesTest, OfFilesWithoutDocumentsWhoseSamplesAreCut) {
  std::string ids(40 * kSeqLen, '\0');
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<char>(i % 127);
  testing::WriteFile(folder_.path("ids"), ids);
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      ByteReader::Open(std::vector<std::string>{folder_.path("ids")}));
  ScheduleOptions options;
  options.batch_size = 6;
  options.max_seq_len = kSeqLen;
  options.seq_len = 8;
  options.steps = 10;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(
      const auto root,
      MixtureDataset<TokenWindow>::Create(
          {{"a", std::make_shared<testing::FileWindows>(reader, kSeqLen)}},
          schedule.MixtureOptionsFrom({.block_size = 24, .seed = 5})));
  for (const ContextSplit split : kOfSamples) {
    ExpectSlices<int32_t>(root, schedule, split, 2, RowOptions());
  }
}

// Their items are made in memory, and cut there.
TEST_F(ContextSlicesTest, OfItemsThatAreNotReadFromFiles) {
  std::vector<TokenWindow> windows;
  for (uint32_t i = 0; i < 40; ++i) {
    std::vector<uint32_t> ids(kSeqLen);
    for (uint32_t t = 0; t < kSeqLen; ++t) ids[t] = (i * kSeqLen + t) % 251;
    windows.emplace_back(std::move(ids));
  }
  const auto memory = InMemoryDataset<TokenWindow>::Create(windows);
  ASSERT_OK_AND_ASSIGN(
      const auto root,
      MixtureDataset<TokenWindow>::Create(
          {{"memory", memory},
           {"windows", *store_->Windows(kSeqLen)},
           {"packed", *store_->PackedWindows(kSeqLen)}},
          MakeSchedule(20, 6).MixtureOptionsFrom({.block_size = 16})));
  for (const bool across : {false, true}) {
    DocumentRules rules;
    rules.loss_across = across;
    ExpectSlices<int32_t>(root, MakeSchedule(20, 6), ContextSplit::kZigZag, 4,
                          RowOptions(rules));
  }
}

TEST_F(ContextSlicesTest, TokensAloneAsOfTheirType) {
  const testing::Documents documents = testing::ProvenDocuments({90, 70}, 256);
  ASSERT_THAT(testing::WriteStore(folder_.path("plain"), documents), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto store,
                       TokenStore::Open(folder_.path("plain")));
  LoaderOptions options;
  options.token_type = TokenType::kU16;
  options.context = {1, 2, ContextSplit::kZigZag};
  const auto loader =
      Open(*store->Windows(kSeqLen), MakeSchedule(2, 4), options);
  const std::vector<uint32_t> ids = testing::AllIds(documents);
  for (int step = 0; step < 2; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < 4; ++i) {
      for (uint32_t t = 0; t < 8; ++t) {
        ASSERT_EQ(batch.tokens<uint16_t>(i)[t],
                  ids[batch.provenance(i).item * kSeqLen + 4 + t]);
      }
    }
  }
}

TEST_F(ContextSlicesTest, WhatCannotBeDividedIsRefused) {
  const auto windows = *store_->Windows(kSeqLen);
  LoaderOptions options = RowOptions();
  options.context = {2, 2, ContextSplit::kZigZag};
  EXPECT_THAT(Loader::Create(windows, MakeSchedule(2, 2), options),
              StatusIs(kInvalid, HasSubstr("context-parallel rank 2")));
  options.context = {0, 0, ContextSplit::kZigZag};
  EXPECT_THAT(Loader::Create(windows, MakeSchedule(2, 2), options),
              StatusIs(kInvalid, HasSubstr("context-parallel rank 0")));
  options.context = {0, 3, ContextSplit::kZigZag};
  EXPECT_THAT(Loader::Create(windows, MakeSchedule(2, 2), options),
              StatusIs(kInvalid, AllOf(HasSubstr("16"), HasSubstr("6"))));
  options.context = {0, 2, ContextSplit::kZigZagPerDocument};
  EXPECT_THAT(Loader::Create(windows, MakeSchedule(2, 2), options),
              StatusIs(kInvalid,
                       AllOf(HasSubstr("not packed"), HasSubstr("align = 4"))));
  EXPECT_THAT(Loader::Create(*store_->PackedWindows(kSeqLen, {.align = 2}),
                             MakeSchedule(2, 2), options),
              StatusIs(kInvalid, AllOf(HasSubstr("multiples of 2 tokens"),
                                       HasSubstr("align = 4"))));
}

}  // namespace
}  // namespace poniente
