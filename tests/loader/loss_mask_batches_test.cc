// SPDX-License-Identifier: Apache-2.0
// Batches of stores that say which of their tokens have loss, beside what plain
// loops over the masks say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "poniente/catalog.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
#include "poniente/selection.h"
#include "poniente/token_store.h"
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

LoaderOptions Options(std::vector<BatchTensor> tensors, bool across = false) {
  LoaderOptions options;
  options.token_type = TokenType::kI32;
  options.tensors = std::move(tensors);
  options.documents.loss_across = across;
  return options;
}

const std::vector<BatchTensor> kLossTensors = {BatchTensor::kLabels,
                                               BatchTensor::kLossMask};

// A store with or without a mask, and what it holds.
struct KnownStore {
  KnownStore() = default;
  KnownStore(const std::string& path, uint64_t seed, bool has_mask) {
    std::mt19937_64 random(testing::TestSeed(seed));
    std::vector<uint64_t> lengths(500);
    for (uint64_t& length : lengths) {
      length = random() % 5 == 0 ? random() % 60 : random() % 9;
    }
    testing::Documents documents = testing::ProvenDocuments(lengths, 256);
    if (has_mask) documents = testing::WithProvenLoss(std::move(documents));
    EXPECT_THAT(testing::WriteStore(path, documents), IsOk());
    store = *TokenStore::Open(path);
    Add(documents);
  }

  void Add(const testing::Documents& documents) {
    for (const testing::TextDocument& document : documents) {
      ids.insert(ids.end(), document.ids.begin(), document.ids.end());
      const std::vector<uint8_t> all(document.ids.size(), 1);
      const std::vector<uint8_t>& mask = document.has_loss.value_or(all);
      has_loss.insert(has_loss.end(), mask.begin(), mask.end());
    }
  }

  std::shared_ptr<const TokenSource> store;
  std::vector<uint32_t> ids;
  std::vector<uint8_t> has_loss;
};

class LossMaskBatchesTest : public ::testing::Test {
 protected:
  LossMaskBatchesTest()
      : chat_(folder_.path("chat"), 1, true),
        prose_(folder_.path("prose"), 2, false) {}

  // Compares labels and loss mask of each batch with the masks of the stores.
  void ExpectBatches(const DatasetPtr<TokenWindow>& root,
                     const Schedule& schedule, bool across = false) {
    const auto loader = Open(root, schedule, Options(kLossTensors, across));
    const DatasetTree tree(*root);
    uint64_t without_loss = 0;
    for (uint64_t step = 0; schedule.Has(step); ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      for (size_t i = 0; i < batch.num_samples(); ++i) {
        ExpectSample(batch, i, tree, across, &without_loss);
      }
    }
    EXPECT_GT(without_loss, 0);
  }

  const TempDir folder_;
  KnownStore chat_;  // the store that leaves with a mask come from
  const KnownStore prose_;

 private:
  void ExpectSample(const Batch& batch, size_t sample, const DatasetTree& tree,
                    bool across, uint64_t* without_loss) {
    const uint32_t length = batch.seq_len();
    const SampleProvenance& from = batch.provenance(sample);
    const DatasetNode& leaf = *tree.leaves()[from.source].node;
    const KnownStore& store = leaf.loss_mask() == nullptr ? prose_ : chat_;
    Position position = {from.item, from.epoch};
    if (length != kSeqLen) {
      position.part_begin = static_cast<uint32_t>(from.token_begin);
      position.part_length = length;
    }
    ASSERT_OK_AND_ASSIGN(const auto pieces, PiecesOf(leaf)->Pieces(position));
    // By token: where in the store, and the number of the piece.
    std::vector<std::pair<uint64_t, size_t>> tokens;
    for (size_t p = 0; p < pieces.size(); ++p) {
      for (uint64_t t = pieces[p].begin; t < pieces[p].end; ++t) {
        tokens.push_back({t, pieces[p].is_padding() ? SIZE_MAX : p});
      }
    }
    ASSERT_EQ(tokens.size(), length);
    for (uint32_t t = 0; t < length; ++t) {
      const bool is_followed =
          t + 1 < length && tokens[t].second != SIZE_MAX &&
          tokens[t + 1].second != SIZE_MAX &&
          (across || tokens[t + 1].second == tokens[t].second);
      const bool has = is_followed && store.has_loss[tokens[t + 1].first] != 0;
      *without_loss += is_followed && !has;
      const int32_t label =
          has ? static_cast<int32_t>(store.ids[tokens[t + 1].first])
              : kIgnoredLabel;
      ASSERT_EQ(batch.loss_mask()[sample * length + t], has ? 1 : 0)
          << batch.step() << ' ' << sample << ' ' << t;
      ASSERT_EQ(batch.labels<int32_t>()[sample * length + t], label);
    }
  }
};

TEST_F(LossMaskBatchesTest, OfWindows) {
  for (const bool across : {false, true}) {
    ExpectBatches(*chat_.store->Windows(kSeqLen), MakeSchedule(20, 5), across);
  }
}

TEST_F(LossMaskBatchesTest, OfPackedDocuments) {
  for (const bool across : {false, true}) {
    for (const uint32_t align : {1u, 4u}) {
      ExpectBatches(*chat_.store->PackedWindows(kSeqLen, {.align = align}),
                    MakeSchedule(20, 5), across);
    }
  }
}

TEST_F(LossMaskBatchesTest, InAMixtureWithAStoreThatHasNone) {
  const Schedule schedule = MakeSchedule(40, 7);
  ASSERT_OK_AND_ASSIGN(
      const auto root,
      MixtureDataset<TokenWindow>::Create(
          {{"chat", *chat_.store->Windows(kSeqLen), 1},
           {"packed", *chat_.store->PackedWindows(kSeqLen), 1},
           {"prose", *prose_.store->PackedWindows(kSeqLen), 1},
           {"plain", *prose_.store->Windows(kSeqLen), 1}},
          schedule.MixtureOptionsFrom({.block_size = 16, .seed = 5})));
  ExpectBatches(root, schedule);
}

TEST_F(LossMaskBatchesTest, OfSamplesThatAreCutFromWindows) {
  ScheduleOptions options;
  options.batch_size = 6;
  options.max_seq_len = kSeqLen;
  options.seq_len = 4;
  options.steps = 30;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(
      const auto root,
      MixtureDataset<TokenWindow>::Create(
          {{"chat", *chat_.store->Windows(kSeqLen)}},
          schedule.MixtureOptionsFrom({.block_size = 24, .seed = 5})));
  ExpectBatches(root, schedule);
}

// Windows of selected documents are not read by the loader itself.
TEST_F(LossMaskBatchesTest, OfSelectedDocuments) {
  std::vector<uint64_t> documents;
  for (uint64_t d = 0; d < 500; d += 3) documents.push_back(d);
  ASSERT_OK_AND_ASSIGN(const Selection some,
                       Selection::FromIndices(500, documents));
  const auto windows = *chat_.store->Windows(kSeqLen, some);
  ASSERT_EQ(windows->ranges(), nullptr);
  ExpectBatches(windows, MakeSchedule(10, 5));
  ExpectBatches(*chat_.store->PackedWindows(kSeqLen, {}, some),
                MakeSchedule(10, 5));
}

// The masks of the stores lie in several files, or in none.
TEST_F(LossMaskBatchesTest, OfJoinedStores) {
  const TempDir folder;
  KnownStore all;
  for (const char* name : {"a", "b", "c"}) {
    std::vector<uint64_t> lengths = {30, 2, 9, 44, 7, 13};
    testing::Documents documents = testing::ProvenDocuments(lengths, 256);
    if (std::string(name) != "b") {
      documents = testing::WithProvenLoss(std::move(documents));
    }
    ASSERT_THAT(testing::WriteStore(folder.path(name), documents), IsOk());
    all.Add(documents);
  }
  ASSERT_THAT(StoreCatalog::Write(folder.path()), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto catalog, StoreCatalog::Open(folder.path()));
  ASSERT_OK_AND_ASSIGN(all.store, catalog.OpenJoined());
  ASSERT_EQ(all.store->num_tokens(), all.ids.size());
  chat_ = all;
  ExpectBatches(*all.store->Windows(kSeqLen), MakeSchedule(4, 4));
  ExpectBatches(*all.store->PackedWindows(kSeqLen), MakeSchedule(4, 4));
}

TEST_F(LossMaskBatchesTest, OneOfBothTensors) {
  const auto windows = *chat_.store->PackedWindows(kSeqLen);
  const auto both = Open(windows, MakeSchedule(20, 5), Options(kLossTensors));
  const auto labels =
      Open(windows, MakeSchedule(20, 5), Options({BatchTensor::kLabels}));
  LoaderOptions unsigned_ids = Options({BatchTensor::kLossMask});
  unsigned_ids.token_type = TokenType::kU16;
  const auto mask = Open(windows, MakeSchedule(20, 5), unsigned_ids);
  LoaderOptions wide = Options({BatchTensor::kLabels});
  wide.token_type = TokenType::kI64;
  const auto long_labels = Open(windows, MakeSchedule(20, 5), wide);
  for (int step = 0; step < 20; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch a, both->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const Batch b, labels->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const Batch c, mask->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const Batch d, long_labels->NextBlocking());
    ASSERT_TRUE(std::ranges::equal(a.labels<int32_t>(), b.labels<int32_t>()));
    ASSERT_TRUE(std::ranges::equal(a.loss_mask(), c.loss_mask()));
    ASSERT_TRUE(std::ranges::equal(a.labels<int32_t>(), d.labels<int64_t>()));
  }
}

// A run would go on as if every token had loss.
TEST_F(LossMaskBatchesTest, BatchesThatCannotSayItAreRefused) {
  const auto windows = *chat_.store->Windows(kSeqLen);
  EXPECT_THAT(
      Loader::Create(windows, MakeSchedule(2, 2), Options({})),
      StatusIs(kInvalid, AllOf(HasSubstr(folder_.path("chat")),
                               HasSubstr("neither loss_mask nor labels"))));
  const auto mapped = Map<TokenWindow>(
      "same", windows, [](TokenWindow window) { return window; });
  EXPECT_THAT(Loader::Create(mapped, MakeSchedule(2, 2), Options(kLossTensors)),
              StatusIs(kInvalid, AllOf(HasSubstr(folder_.path("chat")),
                                       HasSubstr("a function makes"))));
}

TEST_F(LossMaskBatchesTest, ADamagedMaskIsAnErrorThatNamesTheFile) {
  const auto loader = Open(*chat_.store->Windows(kSeqLen), MakeSchedule(20, 5),
                           Options(kLossTensors));
  const std::string file = folder_.path("chat") + "/loss_mask-1.bin";
  testing::FlipBit(file, 3);
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("step 0"), HasSubstr(file))));
}

// Its mask is read beside windows that the loader does not read itself.
TEST_F(LossMaskBatchesTest, ADamagedMaskOfSelectedDocumentsIsAnErrorToo) {
  std::vector<uint64_t> documents(50);
  std::iota(documents.begin(), documents.end(), 0);
  ASSERT_OK_AND_ASSIGN(const Selection some,
                       Selection::FromIndices(500, documents));
  const auto loader = Open(*chat_.store->Windows(kSeqLen, some),
                           MakeSchedule(1, 1), Options(kLossTensors));
  const std::string file = folder_.path("chat") + "/loss_mask-1.bin";
  testing::FlipBit(file, 3);
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(file)));
}

}  // namespace
}  // namespace poniente
