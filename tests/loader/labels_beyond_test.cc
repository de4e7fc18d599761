// SPDX-License-Identifier: Apache-2.0
// Labels of tokens whose next one lies behind their sample.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "poniente/catalog.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/packing.h"
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

// The number of times that each id is a label. Ids are unique, so this tells
// which tokens have been one.
class LabelsBeyondTest : public ::testing::Test {
 protected:
  LabelsBeyondTest() {
    std::mt19937_64 random(testing::TestSeed(41));
    uint32_t id = 0;
    for (int d = 0; d < 300; ++d) {
      const uint64_t length = random() % 4 == 0 ? random() % 70 : random() % 9;
      testing::TextDocument document;
      auto& mask = document.has_loss.emplace();
      for (uint64_t t = 0; t < length; ++t) {
        starts_.push_back(t == 0);
        mask.push_back(random() % 3 != 0);
        has_loss_.push_back(mask.back());
        document.ids.push_back(id++);
      }
      documents_.push_back(std::move(document));
    }
    Write("masked", TokenStoreWriterOptions());
  }

  void Write(const std::string& name, TokenStoreWriterOptions options) {
    options.vocabulary = {"unique", 100'000};
    EXPECT_THAT(testing::WriteStore(folder_.path(name), documents_, options),
                IsOk());
    store_ = *TokenStore::Open(folder_.path(name));
  }

  void DropMasks() {
    for (testing::TextDocument& document : documents_)
      document.has_loss.reset();
    has_loss_.assign(has_loss_.size(), 1);
    Write("plain", TokenStoreWriterOptions());
  }

  LoaderOptions Options(TokenType type = TokenType::kI32) const {
    LoaderOptions options;
    options.token_type = type;
    options.tensors = {BatchTensor::kLabels, BatchTensor::kLossMask};
    options.documents.labels_beyond_sample = true;
    return options;
  }

  // Expects that each token of the run's samples has its next token as its
  // label, unless that begins a document or has no loss.
  template <class Id>
  void ExpectLabels(const DatasetPtr<TokenWindow>& root,
                    const Schedule& schedule, const LoaderOptions& options) {
    const auto loader = Open(root, schedule, options);
    uint64_t beyond = 0;
    for (uint64_t step = 0; schedule.Has(step); ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      for (size_t i = 0; i < batch.tokens<Id>().size(); ++i) {
        const auto token = static_cast<size_t>(batch.tokens<Id>()[i]);
        const size_t next = token + 1;
        const bool has =
            next < starts_.size() && !starts_[next] && has_loss_[next];
        // Padding has id 0 here, as the first token has.
        if (token == 0) continue;
        ASSERT_EQ(batch.labels<Id>()[i],
                  has ? static_cast<Id>(next) : Id{kIgnoredLabel});
        ASSERT_EQ(batch.loss_mask()[i], has ? 1 : 0);
        beyond += has && (i + 1) % batch.seq_len() == 0;
      }
    }
    EXPECT_GT(beyond, 0);
  }

  const TempDir folder_;
  testing::Documents documents_;
  std::vector<bool> starts_;  // by token: whether it begins a document
  std::vector<uint8_t> has_loss_;
  std::shared_ptr<const TokenStore> store_;
};

TEST_F(LabelsBeyondTest, OfWindows) {
  const Schedule schedule = MakeSchedule(20, 5);
  ExpectLabels<int32_t>(*store_->Windows(kSeqLen), schedule, Options());
  DropMasks();
  ExpectLabels<int32_t>(*store_->Windows(kSeqLen), schedule, Options());
  ExpectLabels<int64_t>(*store_->Windows(kSeqLen), schedule,
                        Options(TokenType::kI64));
}

// Windows reach from one store into the next.
TEST_F(LabelsBeyondTest, OfJoinedStores) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"unique", 100'000};
  for (size_t i = 0; i < documents_.size(); i += 30) {
    const auto first = documents_.begin() + static_cast<ptrdiff_t>(i);
    ASSERT_THAT(
        testing::WriteStore(folder.path("part-" + std::to_string(100 + i)),
                            {first, first + 30}, options),
        IsOk());
  }
  ASSERT_THAT(StoreCatalog::Write(folder.path()), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto catalog, StoreCatalog::Open(folder.path()));
  ASSERT_OK_AND_ASSIGN(const auto joined, catalog.OpenJoined());
  ASSERT_EQ(joined->num_shards(), 10);
  const Schedule schedule = MakeSchedule(20, 5);
  const auto windows = *joined->Windows(kSeqLen);
  ASSERT_NE(windows->ranges(), nullptr);
  ExpectLabels<int32_t>(windows, schedule, Options());
  ExpectLabels<int64_t>(windows, schedule, Options(TokenType::kI64));
  ExpectLabels<int32_t>(*joined->PackedWindows(kSeqLen), schedule, Options());
}

TEST_F(LabelsBeyondTest, OfDocumentsThatPackingHasCut) {
  const Schedule schedule = MakeSchedule(20, 5);
  ExpectLabels<int32_t>(*store_->PackedWindows(kSeqLen), schedule, Options());
  DropMasks();
  ExpectLabels<int32_t>(*store_->PackedWindows(kSeqLen), schedule, Options());
}

// L labels for samples of L tokens, whatever their lengths.
TEST_F(LabelsBeyondTest, OfARunWithSeveralLengths) {
  ScheduleOptions options;
  options.batch_size = 6;
  options.max_seq_len = kSeqLen;
  options.seq_len = 4;
  options.steps = 40;
  options.seq_lens = {{RunPoint::Step(16), 8}, {RunPoint::Step(28), kSeqLen}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const auto root,
                       MixtureDataset<TokenWindow>::Create(
                           {{"a", *store_->Windows(kSeqLen)}},
                           schedule.MixtureOptionsFrom({.block_size = 24})));
  ExpectLabels<int32_t>(root, schedule, Options());
}

TEST_F(LabelsBeyondTest, WindowsThatShareTokensAreRefused) {
  WindowRule rule;
  rule.overlap = 1;
  const auto refused = StatusIs(
      kInvalid, AllOf(HasSubstr("overlap"), HasSubstr(store_->path())));
  EXPECT_THAT(Loader::Create(*store_->Windows(kSeqLen, rule),
                             MakeSchedule(2, 2), Options()),
              refused);
  EXPECT_THAT(Loader::Create(*store_->PackedWindows(kSeqLen, {.overlap = 1}),
                             MakeSchedule(2, 2), Options()),
              refused);
}

TEST_F(LabelsBeyondTest, ChangesNoToken) {
  const auto windows = *store_->PackedWindows(kSeqLen);
  LoaderOptions without = Options();
  without.documents.labels_beyond_sample = false;
  const auto a = Open(windows, MakeSchedule(20, 5), Options());
  const auto b = Open(windows, MakeSchedule(20, 5), without);
  for (int step = 0; step < 20; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch with, a->NextBlocking());
    ASSERT_OK_AND_ASSIGN(const Batch plain, b->NextBlocking());
    ASSERT_TRUE(std::ranges::equal(with.bytes(), plain.bytes()));
  }
}

TEST_F(LabelsBeyondTest, SourcesThatAreNotReadAsTheyAreAreRefused) {
  DropMasks();
  const auto mapped =
      Map<TokenWindow>("same", *store_->Windows(kSeqLen),
                       [](TokenWindow window) { return window; });
  EXPECT_THAT(Loader::Create(mapped, MakeSchedule(2, 2), Options()),
              StatusIs(kInvalid, AllOf(HasSubstr("labels_beyond_sample"),
                                       HasSubstr(store_->path()))));
}

// Whether a document goes on behind a sample is not known.
TEST_F(LabelsBeyondTest, SourcesWithoutDocumentsAreRefused) {
  testing::WriteFile(folder_.path("ids"), std::string(4 * kSeqLen, 'a'));
  ASSERT_OK_AND_ASSIGN(
      const auto reader,
      ByteReader::Open(std::vector<std::string>{folder_.path("ids")}));
  const auto windows = std::make_shared<testing::FileWindows>(reader, kSeqLen);
  EXPECT_THAT(Loader::Create(windows, MakeSchedule(2, 2), Options()),
              StatusIs(kInvalid, AllOf(HasSubstr("labels_beyond_sample"),
                                       HasSubstr("where its documents end"))));
}

}  // namespace
}  // namespace poniente
