// SPDX-License-Identifier: Apache-2.0
// What decides how documents are filled in the middle, and what does not.

#include "tests/loader/infilled_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "poniente/in_memory_dataset.h"
#include "poniente/journal.h"
#include "poniente/mapped_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(InfilledBatchesTest, RanksBatchSizesAndOtherWaysOfReading) {
  const std::vector<InfilledSource> sources = {{"", UsualInfilling(), {}}};
  const auto root = Infilled(Packed(), sources);
  std::map<uint64_t, Ids> rows;
  const auto expect_same = [&](const DatasetPtr<TokenWindow>& dataset,
                               uint64_t batch_size,
                               const LoaderOptions& options) {
    const Schedule schedule = MakeSchedule(120 / batch_size, batch_size);
    const auto loader = Open(dataset, schedule, options);
    for (uint64_t step = 0; schedule.Has(step); ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
      for (size_t i = 0; i < batch.num_samples(); ++i) {
        const auto row = batch.tokens<uint32_t>(i);
        const Ids ids(row.begin(), row.end());
        const auto [at, is_new] = rows.emplace(batch.provenance(i).sample, ids);
        if (!is_new) {
          EXPECT_EQ(at->second, ids);
        }
      }
    }
  };
  expect_same(root, 4, {});
  ASSERT_EQ(rows.size(), 120u);
  expect_same(root, 30, {});
  for (uint32_t rank = 0; rank < 3; ++rank) {
    expect_same(root, 6, {.rank = rank, .ranks = 3, .prefetch_batches = 1});
  }
  // Below another node, the loader does not read the files itself.
  expect_same((*Take(root, 1000))->WithSeed(kRunSeed), 6, {});
  for (const IoBackend backend :
       {IoBackend::kBuffered, IoBackend::kMmap, IoBackend::kPread}) {
    TokenStoreOptions options;
    options.io.backend = backend;
    ASSERT_OK_AND_ASSIGN(const auto store,
                         TokenStore::Open(folder_.path("store"), options));
    expect_same(Infilled(*store->PackedWindows(kSeqLen), sources), 6, {});
  }
}

TEST_F(InfilledBatchesTest, EpochsDiffer) {
  const std::vector<InfilledSource> sources = {{"", UsualInfilling(), {}}};
  const auto root = Infilled(Plain(), sources);
  EXPECT_FALSE(internal::DependsOnEpoch(*Plain()));
  EXPECT_TRUE(internal::DependsOnEpoch(*root));
  uint64_t same = 0, infilled = 0;
  const uint64_t windows = root->length_now().readable;
  for (uint64_t w = 0; w < windows; ++w) {
    const Position positions[2] = {{.index = w}, {.index = w, .epoch = 1}};
    ASSERT_OK_AND_ASSIGN(const auto items, RunBlocking(root->GetAt(positions)));
    const auto original = Plain()->GetBlocking(w);
    infilled += items[0] != *original ? 1 : 0;
    same += items[0] == items[1] && items[0] != *original ? 1 : 0;
  }
  EXPECT_GT(infilled, windows / 4);
  EXPECT_LT(same, infilled / 4);
}

// From a place of a batch to the token of the source, and back.
TEST_F(InfilledBatchesTest, PlacesAreInverse) {
  const std::vector<InfilledSource> sources = {{"", UsualInfilling(0.8), {}}};
  const auto root = Infilled(Packed({.align = 2}), sources);
  const InfilledDataset& infilled = *InfilledOf(*root);
  const auto loader = Open(root, MakeSchedule(30, 5));
  uint32_t marks = 0;
  for (int step = 0; step < 30; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      ASSERT_OK_AND_ASSIGN(
          const auto served,
          infilled.ServedPieces({.index = batch.provenance(i).sample}));
      for (uint32_t place = 0; place < kSeqLen; ++place) {
        const uint32_t id = batch.tokens<uint32_t>(i)[place];
        const auto token = SourceTokenAt(served, place);
        if (token.has_value()) {
          ASSERT_EQ(id, ids_[*token]);
          ASSERT_EQ(PlaceOfSourceToken(served, *token), place);
        } else {
          ASSERT_GE(id, kEndId);
          marks += id > kEndId ? 1 : 0;
        }
      }
      ASSERT_EQ(SourceTokenAt(served, kSeqLen), std::nullopt);
    }
  }
  EXPECT_GT(marks, 100u);
}

TEST_F(InfilledBatchesTest, SavedStates) {
  const Schedule schedule = MakeSchedule(40, 6);
  const auto rooted = [&](std::vector<InfilledSource> sources) {
    return Infilled(
        *MixtureDataset<TokenWindow>::Create(
            {{"packed", Packed(), 2}, {"plain", Plain(), 1}},
            schedule.MixtureOptionsFrom({.block_size = 16, .seed = 5})),
        std::move(sources));
  };
  const InfilledSource usual = {"packed", UsualInfilling(0.5), {{180, 0.9}}};
  const auto loader = Open(rooted({usual}), schedule);
  std::vector<Ids> rows;
  std::string state;
  for (int step = 0; step < 30; ++step) {
    if (step == 20) state = loader->State();
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    const auto row = batch.tokens<uint32_t>();
    rows.emplace_back(row.begin(), row.end());
  }
  const auto resumed = Open(rooted({usual}), schedule, {.rank = 0, .ranks = 1});
  ASSERT_THAT(resumed->Resume(state), IsOk());
  for (int step = 20; step < 30; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, resumed->NextBlocking());
    const auto row = batch.tokens<uint32_t>();
    ASSERT_EQ(rows[static_cast<size_t>(step)], Ids(row.begin(), row.end()));
  }
  // Later rates may be edited, what has been served may not.
  InfilledSource later = usual;
  later.rates = {{180, 0.1}, {210, 0}};
  EXPECT_THAT(Open(rooted({later}), schedule)->Resume(state), IsOk());
  std::vector<InfilledSource> others(4, usual);
  others[0].options.rate = 0.4;
  others[1].options.suffix = 295;
  others[2].options.min_tokens = 9;
  others[3].rates = {{60, 0.9}};
  for (const InfilledSource& other : others) {
    EXPECT_THAT(
        Open(rooted({other}), schedule)->Resume(state),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("packed")));
  }
  EXPECT_THAT(
      Open(rooted({}), schedule)->Resume(state),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("packed")));
  // Rates of a source change the fingerprint of the run; later ones do not.
  const uint64_t print = loader->fingerprint();
  EXPECT_EQ(Open(rooted({later}), schedule)->fingerprint(), print);
  EXPECT_NE(Open(rooted({others[0]}), schedule)->fingerprint(), print);
}

// A run whose weights change while it goes on serves what it would have served
// had they been known.
TEST_F(InfilledBatchesTest, RunsThatAreSteered) {
  ScheduleOptions options;
  options.steps = 60;
  options.batch_size = 6;
  options.seq_len = kSeqLen;
  options.mixture.block_size = 16;
  options.mixture.seed = kRunSeed;
  options.components = {{"packed", 0.7, {}}, {"plain", 0.3, {}}};
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  const auto root =
      Infilled(*MixtureDataset<TokenWindow>::Create(
                   {{"packed", Packed(), 0.7}, {"plain", Plain(), 0.3}},
                   schedule.mixture_options()),
               {{"packed", UsualInfilling(1), {}}});
  const auto rows_of = [](Loader* loader, int steps) {
    std::vector<Ids> rows;
    for (int step = 0; step < steps; ++step) {
      const absl::StatusOr<Batch> batch = loader->NextBlocking();
      EXPECT_THAT(batch, IsOk());
      const auto row = batch->tokens<uint32_t>();
      rows.emplace_back(row.begin(), row.end());
    }
    return rows;
  };
  const auto loader = Open(root, schedule);
  std::vector<Ids> rows = rows_of(loader.get(), 10);
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"packed", 3}})), IsOk());
  for (Ids& row : rows_of(loader.get(), 50)) rows.push_back(std::move(row));
  EXPECT_GT(std::count(rows[40].begin(), rows[40].end(), 291u), 0);
  LoaderOptions with_journal;
  with_journal.journal = loader->journal();
  EXPECT_EQ(rows_of(Open(root, schedule, with_journal).get(), 60), rows);
  EXPECT_NE(rows_of(Open(root, schedule).get(), 60), rows);
}

TEST_F(InfilledBatchesTest, Refused) {
  const auto create = [&](DatasetPtr<TokenWindow> root, std::string path,
                          const InfillingOptions& options) {
    return InfilledDataset::Create(std::move(root),
                                   {{std::move(path), options, {}}});
  };
  EXPECT_THAT(create(Plain(), "web", UsualInfilling()),
              StatusIs(kInvalid, HasSubstr("'web', but no source")));
  InfillingOptions wrong = UsualInfilling();
  wrong.suffix = 300;
  EXPECT_THAT(
      create(Plain(), "", wrong),
      StatusIs(kInvalid, AllOf(HasSubstr("id 300 is not below 300"),
                               HasSubstr("ids that the tokenizer has"))));
  wrong = UsualInfilling(1.5);
  EXPECT_THAT(create(Plain(), "", wrong),
              StatusIs(kInvalid, HasSubstr("from 0 to 1, got 1.5")));
  EXPECT_THAT(create(std::make_shared<InMemoryDataset<TokenWindow>>(
                         InMemoryOptions{.name = "own"}),
                     "", UsualInfilling()),
              StatusIs(kInvalid, AllOf(HasSubstr("'own'"),
                                       HasSubstr("nobody knows where"))));
  EXPECT_THAT(create(Map<TokenWindow>("upper", Plain(),
                                      [](TokenWindow window) {
                                        return absl::StatusOr<TokenWindow>(
                                            std::move(window));
                                      }),
                     "", UsualInfilling()),
              StatusIs(kInvalid, HasSubstr("leave the function out")));
  ASSERT_THAT(WriteStore(folder_.path("masked"), WithProvenLoss(documents_)),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const auto masked,
                       TokenStore::Open(folder_.path("masked")));
  EXPECT_THAT(create(*masked->Windows(kSeqLen), "", UsualInfilling()),
              StatusIs(kInvalid, AllOf(HasSubstr("which of its tokens have"),
                                       HasSubstr("--loss-mask drop"))));
  EXPECT_THAT(InfilledDataset::Create(
                  Plain(), {{"", UsualInfilling(), {{9, 0}, {9, 1}}}}),
              StatusIs(kInvalid, HasSubstr("after sample 9, got sample 9")));
}

}  // namespace
}  // namespace poniente::testing
