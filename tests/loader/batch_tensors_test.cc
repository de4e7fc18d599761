// SPDX-License-Identifier: Apache-2.0
// Labels, loss masks, documents, positions and loss weights of batches, beside
// what plain loops over the documents say.

#include "poniente/batch_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/flat_mixture.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
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
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::kSeqLen;
using testing::MakeSchedule;
using testing::Open;
using testing::StatusIs;
using testing::TempDir;

using testing::kInvalid;

const std::vector<BatchTensor> kAll = {
    BatchTensor::kTokens,    BatchTensor::kLabels,
    BatchTensor::kLossMask,  BatchTensor::kDocumentIds,
    BatchTensor::kPositions, BatchTensor::kLossWeights};

LoaderOptions With(std::vector<BatchTensor> tensors,
                   TokenType type = TokenType::kI64) {
  LoaderOptions options;
  options.token_type = type;
  options.tensors = std::move(tensors);
  return options;
}

std::vector<uint64_t> RandomLengths(uint64_t seed, size_t count) {
  std::mt19937_64 random(testing::TestSeed(seed));
  std::vector<uint64_t> lengths(count);
  for (uint64_t& length : lengths) {
    length = random() % 4 == 0 ? random() % 60 : random() % 6;
  }
  return lengths;
}

// A store, and of each of its tokens the document.
struct Store {
  Store(const std::string& path, const std::vector<uint64_t>& lengths) {
    EXPECT_THAT(
        testing::WriteStore(path, testing::ProvenDocuments(lengths, 257)),
        IsOk());
    store = *TokenStore::Open(path);
    for (uint64_t d = 0; d < lengths.size(); ++d) {
      documents.insert(documents.end(), lengths[d], d);
    }
  }

  std::shared_ptr<const TokenStore> store;
  std::vector<uint64_t> documents;
};

// Compares all tensors of one sample with what its documents say.
template <class Id>
void ExpectSample(const Batch& batch, size_t sample,
                  const std::vector<uint64_t>& documents) {
  const uint32_t length = batch.seq_len();
  const auto tokens = batch.tokens<Id>(sample);
  const size_t row = sample * length;
  int32_t number = 0;
  int32_t place = 0;
  for (uint32_t t = 0; t < length; ++t) {
    if (t > 0 && documents[t] != documents[t - 1]) {
      ++number;
      place = 0;
    }
    const bool is_followed = t + 1 < length && documents[t + 1] == documents[t];
    ASSERT_EQ(batch.document_ids()[row + t], number) << sample << ' ' << t;
    ASSERT_EQ(batch.positions()[row + t], place++) << sample << ' ' << t;
    ASSERT_EQ(batch.loss_mask()[row + t], is_followed ? 1 : 0);
    ASSERT_EQ(batch.labels<Id>()[row + t],
              is_followed ? tokens[t + 1] : Id{kIgnoredLabel});
  }
}

class BatchTensorsTest : public ::testing::Test {
 protected:
  BatchTensorsTest()
      : small_(folder_.path("small"), RandomLengths(1, 60)),
        big_(folder_.path("big"), RandomLengths(2, 900)) {}

  DatasetPtr<TokenWindow> Tree(
      const Schedule& schedule = MakeSchedule(40, 7)) const {
    MixtureOptions options;
    options.seed = 3;
    options.block_size = 16;
    return *MixtureDataset<TokenWindow>::Create(
        {{"big", *big_.store->Windows(kSeqLen), 3},
         {"small", *small_.store->Windows(kSeqLen), 1}},
        schedule.MixtureOptionsFrom(options));
  }

  std::vector<uint64_t> DocumentsOf(const Batch& batch, size_t sample) const {
    const SampleProvenance& from = batch.provenance(sample);
    const Store& store = from.source == 0 ? big_ : small_;
    const auto begin =
        store.documents.begin() +
        static_cast<ptrdiff_t>(from.item * kSeqLen + from.token_begin);
    return {begin, begin + batch.seq_len()};
  }

  const TempDir folder_;
  const Store small_;
  const Store big_;
};

TEST_F(BatchTensorsTest, FollowTheDocuments) {
  const auto wide = Open(Tree(), MakeSchedule(40, 7), With(kAll));
  const auto narrow =
      Open(Tree(), MakeSchedule(40, 7), With(kAll, TokenType::kI32));
  for (int step = 0; step < 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, wide->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const Batch same, narrow->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const std::vector<uint64_t> documents = DocumentsOf(batch, i);
      ExpectSample<int64_t>(batch, i, documents);
      ExpectSample<int32_t>(same, i, documents);
    }
    EXPECT_THAT(batch.loss_weights(), Each(1.0f));
  }
}

TEST_F(BatchTensorsTest, FollowTheDocumentsInPartsOfItems) {
  ScheduleOptions options;
  options.steps = 40;
  options.batch_size = 16;
  options.seq_len = 4;
  options.max_seq_len = kSeqLen;
  options.seq_lens = {{RunPoint::Step(20), 8}};
  const auto schedule = *Schedule::Create(options);
  const auto loader = Open(Tree(schedule), schedule, With(kAll));
  uint64_t parts = 0;
  for (int step = 0; step < 40; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ASSERT_EQ(batch.seq_len(), step < 20 ? 4u : 8u);
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      parts += batch.provenance(i).token_begin > 0 ? 1 : 0;
      ExpectSample<int64_t>(batch, i, DocumentsOf(batch, i));
    }
  }
  EXPECT_GT(parts, 100u);
}

TEST_F(BatchTensorsTest, NeverChangeATokenAndAreThereOnRequestOnly) {
  const auto bare =
      Open(Tree(), MakeSchedule(10, 7), With({}, TokenType::kI64));
  for (const BatchTensor tensor : kAll) {
    const auto loader = Open(Tree(), MakeSchedule(10, 7), With({tensor}));
    ASSERT_THAT(bare->Seek(0), IsOk());
    for (int step = 0; step < 10; ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      ASSERT_OK_AND_ASSIGN(const Batch plain, bare->NextBlocking());
      ASSERT_TRUE(std::ranges::equal(batch.bytes(), plain.bytes()));
      for (const BatchTensor other : kAll) {
        const bool is_there = other == tensor || other == BatchTensor::kTokens;
        EXPECT_EQ(batch.tensor(other).ok(), is_there);
      }
      EXPECT_EQ(batch.tensors().size(),
                tensor == BatchTensor::kTokens ? 1u : 2u);
    }
  }
  ASSERT_THAT(bare->Seek(0), IsOk());
  ASSERT_OK_AND_ASSIGN(const Batch plain, bare->NextBlocking());
  EXPECT_THAT(plain.tensor(BatchTensor::kLossMask),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("loss_mask"),
                             HasSubstr("LoaderOptions::tensors"))));
  EXPECT_THAT(plain.loss_mask(), IsEmpty());
  EXPECT_THAT(plain.labels<int64_t>(), IsEmpty());
}

TEST_F(BatchTensorsTest, ViewsSayTypeAndShapeAndLieApart) {
  const auto loader = Open(Tree(), MakeSchedule(1, 7), With(kAll));
  ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
  const std::vector<TensorView> views = batch.tensors();
  ASSERT_EQ(views.size(), kAll.size());
  const std::byte* end = views.front().host;
  for (size_t i = 0; i < views.size(); ++i) {
    const TensorView& view = views[i];
    EXPECT_EQ(view.name, BatchTensorName(kAll[i]));
    EXPECT_EQ(view.shape[0], 7u);
    EXPECT_EQ(view.dimensions, kAll[i] == BatchTensor::kLossWeights ? 1u : 2u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.host) % 256, 0u);
    EXPECT_EQ(view.device, nullptr);
    EXPECT_GE(view.host, end);
    end = view.host + view.num_bytes();
  }
  std::vector<std::string> types;
  for (const TensorView& view : views) {
    types.emplace_back(ElementTypeName(view.type));
  }
  EXPECT_THAT(types, ElementsAre("i64", "i64", "u8", "i32", "i32", "f32"));
  EXPECT_EQ(views[1].num_bytes(), 7u * kSeqLen * 8);
  EXPECT_EQ(views[5].num_elements(), 7u);
}

// Items made by a function are not the store's any more.
TEST_F(BatchTensorsTest, WhatAFunctionMadeIsOneDocument) {
  const auto made = Map<TokenWindow>(
      "reverse", *small_.store->Windows(kSeqLen),
      [](TokenWindow window) -> absl::StatusOr<TokenWindow> {
        std::reverse(window.tokens.begin(), window.tokens.end());
        return window;
      });
  const auto in_memory = InMemoryDataset<TokenWindow>::Create(
      {TokenWindow(std::vector<uint32_t>(kSeqLen, 5))});
  for (const auto& dataset :
       std::vector<DatasetPtr<TokenWindow>>{made, in_memory}) {
    const auto loader = Open(dataset, MakeSchedule(1, 1), With(kAll));
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ExpectSample<int64_t>(batch, 0, std::vector<uint64_t>(kSeqLen));
  }
}

TEST_F(BatchTensorsTest, SelectedDocumentsAreTheirOwn) {
  std::vector<uint64_t> even;
  for (uint64_t d = 0; d < big_.store->num_documents(); d += 2) {
    even.push_back(d);
  }
  const auto selection =
      *Selection::FromIndices(big_.store->num_documents(), even);
  std::vector<uint64_t> documents;
  for (const uint64_t d : big_.documents) {
    if (d % 2 == 0) documents.push_back(d);
  }
  const auto loader = Open(*big_.store->Windows(kSeqLen, selection),
                           MakeSchedule(20, 3), With(kAll));
  for (int step = 0; step < 20; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const auto begin =
          documents.begin() +
          static_cast<ptrdiff_t>(batch.provenance(i).item * kSeqLen);
      ExpectSample<int64_t>(batch, i, {begin, begin + kSeqLen});
    }
  }
}

TEST_F(BatchTensorsTest, EveryRankHasItsRows) {
  LoaderOptions options = With(kAll);
  const auto whole = Open(Tree(), MakeSchedule(5, 7), options);
  options.ranks = 9;  // more than samples
  std::vector<std::unique_ptr<Loader>> ranks;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    ranks.push_back(Open(Tree(), MakeSchedule(5, 7), options));
  }
  for (int step = 0; step < 5; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch all, whole->NextBlocking());
    std::vector<int32_t> positions;
    for (const auto& rank : ranks) {
      ASSERT_OK_AND_ASSIGN(const Batch part, rank->NextBlocking());
      positions.insert(positions.end(), part.positions().begin(),
                       part.positions().end());
    }
    ASSERT_TRUE(std::ranges::equal(all.positions(), positions));
  }
}

DatasetPtr<TokenWindow> Fives() {
  return InMemoryDataset<TokenWindow>::Create(std::vector<TokenWindow>(
      8, TokenWindow(std::vector<uint32_t>(kSeqLen, 5))));
}

TEST(LossWeightsTest, TheLongestPathThatFitsCounts) {
  const auto prose = *FlatMixture<TokenWindow>::Create(
      {{"fables", Fives()}, {"fortunes", Fives()}});
  const auto root = *FlatMixture<TokenWindow>::Create(
      {{"code", Fives()}, {"prose", prose}, {"prosecutions", Fives()}});
  LoaderOptions options = With({BatchTensor::kLossWeights}, TokenType::kU16);
  options.loss_weights = {{"prose", 0.5f}, {"prose/fables", 2.0f}};
  const auto loader = Open(root, MakeSchedule(4, 8), options);
  const std::map<std::string, float> expected = {{"code", 1.0f},
                                                 {"prose/fables", 2.0f},
                                                 {"prose/fortunes", 0.5f},
                                                 {"prosecutions", 1.0f}};
  const auto sources = loader->sources();
  for (int step = 0; step < 4; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      EXPECT_EQ(batch.loss_weights()[i],
                expected.at(sources[batch.source(i)].path));
    }
  }
}

TEST(LossWeightsTest, NamesAndNumbersThatFitNothingAreRefused) {
  const auto root = *FlatMixture<TokenWindow>::Create({{"code", Fives()}});
  const auto refused = [&](const std::map<std::string, float>& weights,
                           const std::string& why) {
    LoaderOptions options = With({BatchTensor::kLossWeights}, TokenType::kU16);
    options.loss_weights = weights;
    EXPECT_THAT(Loader::Create(root, MakeSchedule(1, 1), options),
                StatusIs(kInvalid, HasSubstr(why)));
  };
  refused({{"coda", 1.0f}}, "'coda', but no source is, or lies below, it; did");
  refused({{"code", -1.0f}}, "at least 0, got -1");
  refused({{"code", std::numeric_limits<float>::quiet_NaN()}}, "finite");
  LoaderOptions options;
  options.loss_weights = {{"code", 2.0f}};
  EXPECT_THAT(Loader::Create(root, MakeSchedule(1, 1), options),
              StatusIs(kInvalid, HasSubstr("add loss_weights")));
}

TEST(LabelsTest, NeedASignedType) {
  for (const TokenType type :
       {TokenType::kU8, TokenType::kU16, TokenType::kU32}) {
    EXPECT_THAT(Loader::Create(Fives(), MakeSchedule(1, 1),
                               With({BatchTensor::kLabels}, type)),
                StatusIs(kInvalid, AllOf(HasSubstr("-100"),
                                         HasSubstr("set i32 or i64"))));
  }
}

TEST(BatchTensorNamesTest, GoBothWays) {
  for (const BatchTensor tensor : kAll) {
    EXPECT_THAT(ParseBatchTensor(BatchTensorName(tensor)),
                testing::IsOkAndHolds(tensor));
  }
  EXPECT_THAT(ParseBatchTensor("mask"),
              StatusIs(kInvalid, AllOf(HasSubstr("'mask'"),
                                       HasSubstr("loss_mask, document_ids"))));
}

// A leaf that contradicts itself must not write past a row.
class WrongPieces : public AsyncDataset<TokenWindow>, public PiecewiseItems {
 public:
  explicit WrongPieces(std::vector<ItemPiece> pieces)
      : pieces_(std::move(pieces)) {}
  std::string name() const override { return "wrong"; }
  uint64_t fingerprint() const override { return 1; }
  LengthState length_now() const override { return LengthState::Final(1); }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    co_return std::vector<TokenWindow>(
        indices.size(), TokenWindow(std::vector<uint32_t>(kSeqLen)));
  }
  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position&) const override {
    return pieces_;
  }
  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(uint64_t) const override {
    return std::vector<PieceOfItem>();
  }

 private:
  const std::vector<ItemPiece> pieces_;
};

TEST(BatchTensorsErrorsTest, PiecesThatDoNotAddUpAreAnError) {
  for (const std::vector<ItemPiece>& pieces :
       std::vector<std::vector<ItemPiece>>{{},
                                           {{0, 0, kSeqLen - 1}},
                                           {{0, 0, kSeqLen + 1}},
                                           {{0, 0, 10}, {1, 10, 30}},
                                           {{0, 5, 5}, {1, 5, 5 + kSeqLen}},
                                           {{0, 5, 4}},
                                           {{0, 1, 0}, {1, 0, UINT64_MAX}}}) {
    const auto loader =
        Open(std::make_shared<WrongPieces>(pieces), MakeSchedule(1, 1),
             With({BatchTensor::kPositions}));
    EXPECT_THAT(loader->NextBlocking(),
                StatusIs(absl::StatusCode::kInternal,
                         AllOf(HasSubstr("step 0, rank 0"),
                               HasSubstr("do not add up to its 16 tokens"))));
  }
}

class ThrowingPieces final : public WrongPieces {
 public:
  ThrowingPieces() : WrongPieces({}) {}
  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position&) const override {
    throw std::runtime_error("no index");
  }
};

TEST(BatchTensorsErrorsTest, AnExceptionOfPiecesNamesTheLeafAndItem) {
  const auto tree =
      *Concat<TokenWindow>({{"mine", std::make_shared<ThrowingPieces>()}});
  const auto loader =
      Open(tree, MakeSchedule(1, 1), With({BatchTensor::kPositions}));
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("step 0, rank 0"),
                             HasSubstr("'mine' item 0: no index"))));
}

TEST_F(BatchTensorsTest, ADamagedDocumentIndexIsNamed) {
  const std::string path = folder_.path("big/documents-1.bin");
  std::string bytes = testing::ReadFile(path);
  const auto opened = [this] {
    return *(*TokenStore::Open(folder_.path("big")))->Windows(kSeqLen);
  };
  for (size_t at = 0; at < 800; ++at) bytes[at] = '\x7f';
  testing::WriteFile(path, bytes);
  const auto loader =
      Open(opened(), MakeSchedule(1, 4), With({BatchTensor::kLossMask}));
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("documents-1.bin"), HasSubstr("item"))));
}

}  // namespace
}  // namespace poniente
