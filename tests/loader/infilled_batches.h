// SPDX-License-Identifier: Apache-2.0
// Batches of documents that are filled in the middle, beside what lists of the
// pieces say.

#ifndef PONIENTE_TESTS_LOADER_INFILLED_BATCHES_H_
#define PONIENTE_TESTS_LOADER_INFILLED_BATCHES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/loader.h"
#include "poniente/packing.h"
#include "poniente/token_store.h"
#include "tests/index/fim/slow_infilling.h"
#include "tests/loader/open_loader.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {

inline constexpr uint32_t kEndId = 256;
inline constexpr uint64_t kRunSeed = 77;

inline InfillingOptions UsualInfilling(double rate = 0.6) {
  InfillingOptions options;
  options.rate = rate;
  options.spm_rate = 0.4;
  options.prefix = 290;
  options.middle = 291;
  options.suffix = 292;
  options.min_tokens = 8;
  return options;
}

inline const std::vector<BatchTensor> kInfilledTensors = {
    BatchTensor::kLabels,      BatchTensor::kLossMask,
    BatchTensor::kDocumentIds, BatchTensor::kPositions,
    BatchTensor::kCuSeqlens,   BatchTensor::kDocumentCounts,
    BatchTensor::kMaxSeqlens};

// What a row of each tensor must be, token by token.
struct InfilledRow {
  std::vector<int64_t> tokens, labels, mask, documents, positions;
  std::vector<int64_t> seqlens;  // lengths of the documents for attention
  uint32_t infilled = 0;         // pieces
};

template <class T>
std::vector<int64_t> Widened(std::span<const T> values) {
  return {values.begin(), values.end()};
}

class InfilledBatchesTest : public ::testing::Test {
 protected:
  InfilledBatchesTest() {
    std::mt19937_64 random(TestSeed(21));
    std::vector<uint64_t> lengths(500);
    for (uint64_t& length : lengths) {
      length = random() % 6 == 0 ? random() % 60 : random() % 15;
    }
    documents_ = ProvenDocuments(lengths, 256);
    TokenStoreWriterOptions options;
    options.vocabulary = {"bytes", 300};
    options.end_of_document = kEndId;
    EXPECT_THAT(WriteStore(folder_.path("store"), documents_, options), IsOk());
    store_ = *TokenStore::Open(folder_.path("store"));
    ids_ = AllIds(documents_);
  }

  DatasetPtr<TokenWindow> Packed(const PackingOptions& options = {}) const {
    return *store_->PackedWindows(kSeqLen, options);
  }
  DatasetPtr<TokenWindow> Plain() const { return *store_->Windows(kSeqLen); }

  // All samples of the root under the seed of the test.
  static DatasetPtr<TokenWindow> Infilled(DatasetPtr<TokenWindow> root,
                                          std::vector<InfilledSource> sources) {
    auto made = InfilledDataset::Create(std::move(root), std::move(sources));
    EXPECT_THAT(made, IsOk());
    return (*made)->WithSeed(kRunSeed);
  }

  static LoaderOptions Options(TokenType type, DocumentRules rules = {}) {
    LoaderOptions options;
    options.token_type = type;
    options.tensors = kInfilledTensors;
    options.documents = rules;
    return options;
  }

  // The row of a sample by lists.
  InfilledRow RowOf(const SampleProvenance& from, const DatasetTree& tree,
                    const std::vector<InfilledSource>& sources,
                    const DocumentRules& rules, uint32_t seq_len) const {
    InfilledRow row;
    const TreeLeaf& leaf = tree.leaves()[from.source];
    const InfilledSource* source = nullptr;
    for (const InfilledSource& one : sources) {
      if (one.path == leaf.path || one.path.empty()) source = &one;
    }
    const auto pieces =
        *PiecesOf(*leaf.node)
             ->Pieces({from.item, from.epoch, from.token_begin, seq_len});
    int64_t number = 0;
    std::vector<size_t> piece_of;
    std::vector<bool> pads, is_infilled(pieces.size());
    for (size_t p = 0; p < pieces.size(); ++p) {
      const ItemPiece& piece = pieces[p];
      Ids ids(piece.end - piece.begin, kEndId);
      if (!piece.is_padding()) {
        ids.assign(ids_.begin() + static_cast<ptrdiff_t>(piece.begin),
                   ids_.begin() + static_cast<ptrdiff_t>(piece.end));
        if (source != nullptr) {
          const SlowServed served = Fill(piece, from, *source, ids);
          is_infilled[p] = !served.order.empty();
          ids = served.ids;
        }
      }
      const auto first = static_cast<int64_t>(row.tokens.size());
      for (size_t t = 0; t < ids.size(); ++t) {
        piece_of.push_back(p);
        pads.push_back(piece.is_padding());
        row.tokens.push_back(ids[t]);
        row.documents.push_back(pads.back()              ? -1
                                : rules.attention_across ? 0
                                                         : number);
        row.positions.push_back(pads.back() ? 0
                                : rules.restart_positions
                                    ? static_cast<int64_t>(t)
                                    : first + static_cast<int64_t>(t));
      }
      if (piece.document == kAlignmentPadding) {
        row.seqlens.back() += static_cast<int64_t>(ids.size());
      } else {
        row.seqlens.push_back(static_cast<int64_t>(ids.size()));
      }
      if (!piece.is_padding()) ++number;
      row.infilled += is_infilled[p] ? 1 : 0;
    }
    for (size_t t = 0; t < row.tokens.size(); ++t) {
      bool has = t + 1 < row.tokens.size() && !pads[t] && !pads[t + 1] &&
                 (rules.loss_across || piece_of[t] == piece_of[t + 1]);
      int64_t label = has ? row.tokens[t + 1] : kIgnoredLabel;
      if (t + 1 == row.tokens.size() && rules.labels_beyond_sample &&
          !pads[t] && !is_infilled[piece_of[t]] &&
          pieces.back().end < DocumentOf(pieces.back()).end) {
        has = true;
        label = ids_[pieces.back().end];
      }
      row.mask.push_back(has ? 1 : 0);
      row.labels.push_back(label);
    }
    if (rules.attention_across) {
      row.seqlens = {static_cast<int64_t>(row.tokens.size())};
    }
    return row;
  }

  TokenRange DocumentOf(const ItemPiece& piece) const {
    return *store_->DocumentRange(piece.document);
  }

  SlowServed Fill(const ItemPiece& piece, const SampleProvenance& from,
                  const InfilledSource& source, const Ids& ids) const {
    const TokenRange document = DocumentOf(piece);
    InfillingOptions options = source.options;
    for (const InfillingRate& rate : source.rates) {
      if (rate.start_sample <= from.sample) options.rate = rate.rate;
    }
    const bool is_whole =
        piece.begin == document.begin && piece.end == document.end;
    if (options.pieces == InfilledPieces::kWhole && !is_whole) return {ids};
    return SlowInfilled({.seed = kRunSeed,
                         .path = source.path,
                         .epoch = from.epoch,
                         .document = piece.document,
                         .begin = piece.begin,
                         .keeps_last = piece.end == document.end},
                        ids, options);
  }

  // Compares every tensor of all batches with the lists, and the tokens with
  // those of the dataset. Returns the pieces that were rearranged.
  template <class Id>
  uint32_t ExpectBatches(const DatasetPtr<TokenWindow>& root,
                         const Schedule& schedule,
                         const std::vector<InfilledSource>& sources,
                         const LoaderOptions& options) {
    const auto loader = Open(root, schedule, options);
    const DatasetTree tree(*root);
    uint32_t infilled = 0;
    for (uint64_t step = 0; schedule.Has(step); ++step) {
      absl::StatusOr<Batch> batch = loader->NextBlocking();
      EXPECT_THAT(batch, IsOk());
      if (!batch.ok()) break;
      infilled += ExpectBatch<Id>(*batch, *root, tree, sources, options);
      if (::testing::Test::HasFailure()) break;
    }
    return infilled;
  }

  template <class Id>
  uint32_t ExpectBatch(const Batch& batch,
                       const AsyncDataset<TokenWindow>& root,
                       const DatasetTree& tree,
                       const std::vector<InfilledSource>& sources,
                       const LoaderOptions& options) {
    uint32_t infilled = 0;
    std::vector<int64_t> cu_seqlens = {0};
    const uint32_t seq_len = batch.seq_len();
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const SampleProvenance& from = batch.provenance(i);
      const InfilledRow row =
          RowOf(from, tree, sources, options.documents, seq_len);
      infilled += row.infilled;
      const auto of = [&]<class T>(std::span<const T> all) {
        return Widened(all.subspan(i * seq_len, seq_len));
      };
      EXPECT_EQ(Widened(batch.tokens<Id>(i)), row.tokens);
      EXPECT_EQ(of(batch.labels<Id>()), row.labels);
      EXPECT_EQ(of(batch.loss_mask()), row.mask);
      EXPECT_EQ(of(batch.document_ids()), row.documents);
      EXPECT_EQ(of(batch.positions()), row.positions);
      EXPECT_EQ(batch.document_counts()[i],
                static_cast<int32_t>(row.seqlens.size()));
      EXPECT_EQ(batch.max_seqlens()[i],
                *std::max_element(row.seqlens.begin(), row.seqlens.end()));
      for (const int64_t length : row.seqlens) {
        cu_seqlens.push_back(cu_seqlens.back() + length);
      }
      const auto window = root.GetBlocking(from.sample);
      EXPECT_THAT(window, IsOk());
      EXPECT_EQ(Widened(std::span<const uint32_t>(window->tokens)), row.tokens);
    }
    cu_seqlens.resize(batch.cu_seqlens().size(), cu_seqlens.back());
    EXPECT_EQ(Widened(batch.cu_seqlens()), cu_seqlens);
    return infilled;
  }

  const TempDir folder_;
  Documents documents_;
  std::shared_ptr<const TokenStore> store_;
  std::vector<uint32_t> ids_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_LOADER_INFILLED_BATCHES_H_
