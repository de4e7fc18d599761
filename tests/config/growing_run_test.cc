// SPDX-License-Identifier: Apache-2.0
// Runs over stores that are still being written: every batch is that of a run
// over the finished stores, and a run that stops in between goes on with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "poniente/config.h"
#include "poniente/loader.h"
#include "poniente/run.h"
#include "poniente/run_trace.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"
#include "tests/support/quiet_fork.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::kInvalid;
using testing::StatusIs;

TokenStoreWriterOptions GrowingOptions() {
  TokenStoreWriterOptions options;
  options.vocabulary = {"t", 60000};
  options.publishes = true;
  return options;
}

// Writes documents of a store one after the other.
class GrowingWriter {
 public:
  // Documents from number `changed` on have other ids.
  GrowingWriter(const std::string& path, uint64_t seed, uint64_t documents,
                uint64_t changed = UINT64_MAX)
      : writer_(*TokenStoreWriter::Create(path, GrowingOptions())),
        random_(seed),
        left_(documents),
        changed_(changed) {}

  bool IsDone() const { return left_ == 0; }
  // Writes and publishes some documents; finishes behind the last.
  void GoOn(uint64_t most) {
    for (uint64_t i = 0; i < most && left_ > 0; ++i, --left_) {
      std::vector<uint32_t> ids(random_() % 400);
      for (uint32_t& id : ids) id = static_cast<uint32_t>(random_() % 60000);
      if (written_++ >= changed_ && !ids.empty()) ids[0] ^= 1;
      ASSERT_THAT(writer_->AddDocument(ids, absl::StrCat("d", left_)), IsOk());
    }
    if (left_ > 0) {
      ASSERT_THAT(writer_->Publish(), IsOk());
    } else {
      ASSERT_THAT(writer_->Finish(), IsOk());
    }
  }

 private:
  const std::unique_ptr<TokenStoreWriter> writer_;
  std::mt19937_64 random_;
  uint64_t left_;
  uint64_t changed_;
  uint64_t written_ = 0;
};

constexpr uint64_t kGrowingDocuments = 400;

class GrowingRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"w", "x", "done"}) {
      GrowingWriter(Whole(name), SeedOf(name), kGrowingDocuments)
          .GoOn(kGrowingDocuments);
    }
    std::filesystem::copy(Whole("done"), dir_.path("done"));
  }

  static uint64_t SeedOf(const std::string& name) {
    return static_cast<uint64_t>(name[0]);
  }
  std::string Whole(const std::string& name) const {
    return dir_.path("whole-" + name);
  }
  std::unique_ptr<GrowingWriter> Begin(const std::string& name) const {
    return Begin(name, SeedOf(name));
  }
  std::unique_ptr<GrowingWriter> Begin(const std::string& name,
                                       uint64_t seed) const {
    std::filesystem::remove_all(dir_.path(name));
    return std::make_unique<GrowingWriter>(dir_.path(name), seed,
                                           kGrowingDocuments);
  }

  absl::StatusOr<Config> Load(const std::string& tree) const {
    return Config::Parse(absl::StrCat(kHead, tree), "t.toml", dir_.path());
  }
  // The same over stores that are complete.
  absl::StatusOr<Config> LoadWhole(const std::string& tree) const {
    return Load(absl::StrReplaceAll(
        tree, {{"\"w\"", "\"whole-w\""}, {"\"x\"", "\"whole-x\""}}));
  }

  static std::unique_ptr<Loader> Open(const Config& config, uint32_t rank = 0,
                                      uint32_t ranks = 1) {
    LoaderOptions options = config.loader_options();
    options.rank = rank;
    options.ranks = ranks;
    options.warning_sink = [](std::string_view) {};
    options.log_sink = [](std::string_view) {};
    auto loader = config.OpenLoader(options);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  static void ExpectSameBatch(const Batch& got, const Batch& want) {
    ASSERT_EQ(got.step(), want.step());
    ASSERT_EQ(got.num_samples(), want.num_samples());
    SCOPED_TRACE(absl::StrCat("step ", got.step()));
    const auto same = [](const auto& a, const auto& b) {
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    };
    same(got.tokens<int32_t>(), want.tokens<int32_t>());
    same(got.labels<int32_t>(), want.labels<int32_t>());
    same(got.document_ids(), want.document_ids());
    same(got.loss_mask(), want.loss_mask());
    same(got.positions(), want.positions());
    for (size_t i = 0; i < got.num_samples(); ++i) {
      EXPECT_EQ(got.source(i), want.source(i));
      EXPECT_EQ(got.provenance(i).item, want.provenance(i).item);
      EXPECT_EQ(got.provenance(i).epoch, want.provenance(i).epoch);
    }
  }

  static constexpr char kHead[] = R"(
[runtime]
tensors = ["labels", "document_ids", "loss_mask", "positions"]
prefetch_batches = 3
token_type = "i32"
[data]
seed = 3
steps = 700
batch_size = 8
seq_len = 32
)";
  testing::TempDir dir_;
};

constexpr char kGrowingMixture[] = R"(
block_size = 32
[data.mixture]
w = { weight = 0.5, path = "w", growing = true, era_shuffle = 40 }
x = { weight = 0.2, path = "x", growing = true, shuffle = false }
done = { weight = 0.3, path = "done" }
[[data.stages]]
start_step = 100
weights = { w = 0.2, x = 0.6, done = 0.2 }
)";

const std::vector<std::string>& GrowingTrees() {
  static const auto* const trees = new std::vector<std::string>{
      kGrowingMixture, "path = \"w\"\ngrowing = true\nera_shuffle = 25\n",
      "path = \"w\"\ngrowing = true\nshuffle = false\n",
      R"(
block_size = 32
[data.mixture]
done = { weight = 1, path = "done" }
[data.mixture.deep]
weight = 2
block_size = 16
[data.mixture.deep.mixture]
w = { weight = 1, path = "w", growing = true, era_shuffle = 10 }
x = { weight = 1, path = "x", growing = true, era_shuffle = 30, take = 500 }
)"};
  return *trees;
}

TEST_F(GrowingRunTest, BatchesAreThoseOfTheFinishedStores) {
  std::mt19937_64 random(testing::TestSeed(5));
  for (const std::string& tree : GrowingTrees()) {
    SCOPED_TRACE(tree);
    ASSERT_OK_AND_ASSIGN(const Config whole, LoadWhole(tree));
    const auto want = Open(whole);
    const auto w = Begin("w");
    const auto x = Begin("x");
    auto config = Load(tree);
    ASSERT_THAT(config, IsOk());
    EXPECT_EQ(config->warnings().empty(), false);
    std::vector<std::unique_ptr<Loader>> loaders;
    loaders.push_back(Open(*config));
    std::thread writes([&w = *w, &x = *x, seed = random()] {
      std::mt19937_64 own(seed);
      while (!w.IsDone() || !x.IsDone()) {
        GrowingWriter& next =
            x.IsDone() || (own() % 2 == 0 && !w.IsDone()) ? w : x;
        next.GoOn(1 + own() % 40);
        std::this_thread::sleep_for(std::chrono::milliseconds(own() % 20));
      }
    });
    for (uint64_t step = 0; step < 700; ++step) {
      if (random() % 60 == 0) {
        // Stops, and goes on with as many ranks as it happens.
        const std::string state = loaders[0]->State();
        loaders.clear();
        config = Load(tree);
        ASSERT_THAT(config, IsOk());
        const auto ranks = static_cast<uint32_t>(random() % 2 == 0 ? 1 : 2);
        for (uint32_t r = 0; r < ranks; ++r) {
          loaders.push_back(Open(*config, r, ranks));
          ASSERT_THAT(loaders.back()->Resume(state), IsOk());
        }
        // The same after the end.
        ASSERT_THAT(want->Resume(state), IsOk());
      }
      auto expected = want->NextBlocking();
      ASSERT_THAT(expected, IsOk());
      if (loaders.size() == 1) {
        auto batch = loaders[0]->NextBlocking();
        ASSERT_THAT(batch, IsOk());
        ExpectSameBatch(*batch, *expected);
        continue;
      }
      for (uint32_t r = 0; r < 2; ++r) {
        auto batch = loaders[r]->NextBlocking();
        ASSERT_THAT(batch, IsOk());
        ASSERT_EQ(batch->num_samples(), 4u);
        for (size_t i = 0; i < 4; ++i) {
          const auto got = batch->tokens<int32_t>(i);
          const auto all = expected->tokens<int32_t>(4 * r + i);
          EXPECT_TRUE(std::equal(got.begin(), got.end(), all.begin()));
        }
      }
    }
    writes.join();
    // Its data is known now.
    EXPECT_EQ(Open(*Load(tree))->fingerprint(), want->fingerprint());
  }
}

// Of a run that ends before the store does, and of what is edited meanwhile.
TEST_F(GrowingRunTest, StatesOutliveTheGrowthAndKnowTheTree) {
  std::vector<std::string> trees = GrowingTrees();
  for (std::string& tree : trees) {
    SCOPED_TRACE(tree);
    const auto w = Begin("w");
    const auto x = Begin("x");
    w->GoOn(120);
    x->GoOn(120);
    const auto open = [&](const std::string& text) {
      auto config = Config::Parse(
          absl::StrCat(absl::StrReplaceAll(kHead, {{"700", "200"}}), text),
          "t.toml", dir_.path());
      EXPECT_THAT(config, IsOk());
      return Open(*config);
    };
    std::string state;
    {
      const auto loader = open(tree);
      for (int step = 0; step < 20; ++step) {
        ASSERT_THAT(loader->NextBlocking(), IsOk());
      }
      state = loader->State();
    }
    const auto refused = [&](const std::string& from, const std::string& to) {
      if (!absl::StrContains(tree, from)) return;
      EXPECT_THAT(open(absl::StrReplaceAll(tree, {{from, to}}))->Resume(state),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr("would have been other")))
          << from << " -> " << to;
    };
    const auto check = [&] {
      EXPECT_THAT(open(tree)->Resume(state), IsOk());
      refused("era_shuffle = 10", "era_shuffle = 12");
      refused("era_shuffle = 25", "era_shuffle = 20");
      refused("era_shuffle = 40", "era_shuffle = 20");
      refused("w = { weight = 1,", "w = { weight = 3,");
      refused("weight = 2", "weight = 3");
      refused("block_size = 16", "block_size = 32");
    };
    check();
    w->GoOn(100);
    check();
    w->GoOn(kGrowingDocuments);
    check();
    x->GoOn(kGrowingDocuments);
    check();
  }
}

// What is hashed of a store does not depend on how much of it there was.
TEST_F(GrowingRunTest, StatesGoOnBelowEveryNode) {
  for (const char* const tree : {R"(
shuffle = false
concat = [{ name = "done", path = "done", shuffle = false, take = 50 },
          { name = "w", path = "w", growing = true, shuffle = false, take = 1500 }]
)",
                                 R"(
era_shuffle = 25
concat = [{ name = "done", path = "done", shuffle = false, take = 50 },
          { name = "w", path = "w", growing = true, shuffle = false, take = 1500 }]
)",
                                 R"(
block_size = 16
[data.mixture]
c = { weight = 1, era_shuffle = 25, concat = [{ name = "w", path = "w", growing = true, shuffle = false, take = 1500 }] }
done = { weight = 1, path = "done" }
)",
                                 R"(
block_size = 16
[data.mixture]
w = { weight = 1, path = "w", growing = true, era_shuffle = 400 }
done = { weight = 1, path = "done" }
)",
                                 R"(
block_size = 16
[data.mixture]
w = { weight = 1, path = "w", growing = true, shuffle = false, slice = [20, 1500] }
done = { weight = 1, path = "done" }
)",
                                 R"(
block_size = 16
[data.mixture]
w = { weight = 1, path = "w", growing = true, era_shuffle = 30, repeat = 2 }
done = { weight = 1, path = "done" }
)"}) {
    SCOPED_TRACE(tree);
    const auto w = Begin("w");
    w->GoOn(150);
    std::string state;
    {
      auto config = Load(tree);
      ASSERT_THAT(config, IsOk());
      const auto loader = Open(*config);
      for (int step = 0; step < 20; ++step) {
        ASSERT_THAT(loader->NextBlocking(), IsOk());
      }
      state = loader->State();
    }
    for (const uint64_t more :
         {uint64_t{0}, uint64_t{7}, uint64_t{100}, kGrowingDocuments}) {
      SCOPED_TRACE(more);
      if (more > 0) w->GoOn(more);
      EXPECT_THAT(Open(*Load(tree))->Resume(state), IsOk());
    }
  }
}

// Also of an era whose items are read in any order; of a lone source.
// Readings of what is there are those of the finished run; none is made up of
// what is not.
TEST_F(GrowingRunTest, OnlyStepsThatAreThereAreTraced) {
  constexpr const char* kTree = R"(
block_size = 16
[data.mixture]
w = { weight = 1, path = "w", growing = true, era_shuffle = 400 }
done = { weight = 0.1, path = "done" }
)";
  const auto w = Begin("w");
  w->GoOn(100);
  const auto grown = Load(kTree);
  ASSERT_THAT(grown, IsOk());
  const auto whole = LoadWhole(kTree);
  ASSERT_THAT(whole, IsOk());
  const RunTrace trace(*grown->dataset(), grown->schedule());
  const RunTrace later(*whole->dataset(), whole->schedule());
  EXPECT_EQ(later.steps_there(), std::nullopt);
  ASSERT_TRUE(trace.steps_there().has_value());
  const uint64_t there = *trace.steps_there();
  ASSERT_GT(there, 4u);
  ASSERT_LT(there, grown->schedule().steps());
  EXPECT_THAT(trace.Resolve(there - 1),
              IsOkAndHolds(*later.Resolve(there - 1)));
  EXPECT_THAT(trace.Resolve(there),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr(absl::StrCat("ends with step ", there - 1))));
  const uint64_t end = grown->schedule().steps();
  for (const char* const path : {"w", "done"}) {
    for (Index item = 0; item < 40; ++item) {
      EXPECT_THAT(trace.Find(path, item, 0, there),
                  IsOkAndHolds(*later.Find(path, item, 0, there)));
      EXPECT_EQ(trace.Find(path, item, there + 1, end)->size(), 0u) << item;
    }
  }
}

TEST_F(GrowingRunTest, AllOfAnEraIsKnown) {
  for (const char* const tree :
       {"path = \"w\"\ngrowing = true\nera_shuffle = 400\n",
        R"(
block_size = 16
[data.mixture]
w = { weight = 1, path = "w", growing = true, era_shuffle = 400 }
done = { weight = 0.1, path = "done" }
)"}) {
    SCOPED_TRACE(tree);
    std::string state;
    const auto kept = [&] {
      auto w = Begin("w");
      w->GoOn(100);
      return w;
    };
    auto w = kept();
    {
      const auto loader = Open(*Load(tree));
      for (int step = 0; step < 4; ++step) {
        ASSERT_THAT(loader->NextBlocking(), IsOk());
      }
      state = loader->State();
    }
    w.reset();
    w = kept();
    EXPECT_THAT(Open(*Load(tree))->Resume(state), IsOk());
    // Its last documents are others.
    w.reset();
    std::filesystem::remove_all(dir_.path("w"));
    {
      GrowingWriter first(dir_.path("w"), SeedOf("w"), kGrowingDocuments, 55);
      first.GoOn(100);
      EXPECT_THAT(Open(*Load(tree))->Resume(state),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr("other data in what was read of")));
    }
  }
}

TEST_F(GrowingRunTest, StatesKnowWhatWasReadOfAStoreThatGrew) {
  const std::string tree = GrowingTrees()[0];
  std::string state;
  {
    const auto w = Begin("w");
    const auto x = Begin("x");
    w->GoOn(120);
    x->GoOn(120);
    const auto loader = Open(*Load(tree));
    for (int step = 0; step < 20; ++step) {
      ASSERT_THAT(loader->NextBlocking(), IsOk());
    }
    state = loader->State();
  }
  EXPECT_THAT(state, HasSubstr("\ngrowing "));
  for (const uint64_t written : {uint64_t{150}, kGrowingDocuments}) {
    SCOPED_TRACE(written);
    // Begun anew with the same documents, also in other portions.
    auto w = Begin("w");
    auto x = Begin("x");
    for (uint64_t i = 0; i < written; i += 50) w->GoOn(50);
    x->GoOn(written);
    EXPECT_THAT(Open(*Load(tree))->Resume(state), IsOk());
    // With others.
    w.reset();
    w = Begin("w", 77);
    w->GoOn(written);
    EXPECT_THAT(Open(*Load(tree))->Resume(state),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("other data in what was read of 'w'"),
                               HasSubstr("in the state"))));
  }
}

TEST_F(GrowingRunTest, MayBeOpenedAgainAfterAForkAndInAnotherFolder) {
  const auto w = Begin("w");
  w->GoOn(50);
  ASSERT_OK_AND_ASSIGN(const Config config, Load(GrowingTrees()[1]));
  const pid_t child = testing::QuietFork();
  if (child == 0) {
    ::alarm(20);
    const bool is_there = ::chdir("/") == 0;
    const auto loader = Open(config);
    for (int step = 0; step < 200; ++step) {
      if (!loader->NextBlocking().ok()) ::_exit(1);
    }
    ::_exit(is_there ? 0 : 1);
  }
  w->GoOn(kGrowingDocuments);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(GrowingRunTest, ARunWithoutAnEndEndsWithTheStore) {
  const auto w = Begin("w");
  auto text = absl::StrReplaceAll(kHead, {{"steps = 700\n", ""}});
  absl::StrAppend(&text, GrowingTrees()[1]);
  ASSERT_OK_AND_ASSIGN(const Config config,
                       Config::Parse(text, "t.toml", dir_.path()));
  const auto loader = Open(config);
  std::thread writes([&w = *w] {
    while (!w.IsDone()) w.GoOn(50);
  });
  uint64_t samples = 0;
  while (true) {
    const auto batch = loader->NextBlocking();
    if (absl::IsOutOfRange(batch.status())) break;
    ASSERT_THAT(batch, IsOk());
    samples += batch->num_samples();
  }
  writes.join();
  const auto store = *TokenStore::Open(dir_.path("w"));
  EXPECT_EQ(samples, store->num_tokens() / 32);
}

TEST_F(GrowingRunTest, GoesOnFromFilesOnceTheStoreIsComplete) {
  const auto w = Begin("w");
  ASSERT_OK_AND_ASSIGN(const Config config, Load(GrowingTrees()[1]));
  const auto loader = Open(config);
  w->GoOn(300);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_EQ(loader->sources()[0].backend, "memory");
  w->GoOn(kGrowingDocuments);
  // Which batch is the first depends on when the loader hears of it.
  for (int step = 0; step < 600; ++step) {
    ASSERT_THAT(loader->NextBlocking(), IsOk());
    if (loader->metrics().bytes_read > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_NE(loader->sources()[0].backend, "memory");
  EXPECT_GT(loader->metrics().bytes_read, 0u);
}

TEST_F(GrowingRunTest, CanBeSteeredWhileItGrows) {
  const auto w = Begin("w");
  const auto x = Begin("x");
  w->GoOn(200);
  x->GoOn(200);
  ASSERT_OK_AND_ASSIGN(const Config config, Load(kGrowingMixture));
  const auto loader = Open(config);
  ASSERT_THAT(loader->NextBlocking(), IsOk());
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"w", 3}, {"done", 1}})),
              IsOk());
  EXPECT_THAT(loader->Steer(RunChange::DropDocuments("done", {{3, 9}})),
              IsOk());
  const auto refused = loader->Steer(RunChange::DropDocuments("w", {{3, 9}}));
  EXPECT_THAT(refused,
              StatusIs(kInvalid, AllOf(HasSubstr("still being written"),
                                       HasSubstr("`masked`"))));
  const auto added = loader->Steer(RunChange::Add(
      "new", "{ path = \"w\", growing = true, weight = 1, shuffle = false }"));
  EXPECT_THAT(added, StatusIs(kInvalid, AllOf(HasSubstr("'new'"),
                                              HasSubstr("weight 0"))));
  const Journal journal = loader->journal();
  EXPECT_EQ(journal.size(), 2u);

  ASSERT_OK_AND_ASSIGN(const Config whole, LoadWhole(kGrowingMixture));
  LoaderOptions options = whole.loader_options();
  options.journal = journal;
  ASSERT_OK_AND_ASSIGN(const auto want, whole.OpenLoader(options));
  ASSERT_THAT(want->NextBlocking(), IsOk());
  std::thread writes([&w = *w, &x = *x] {
    while (!w.IsDone()) w.GoOn(30);
    while (!x.IsDone()) x.GoOn(30);
  });
  for (int step = 1; step < 300; ++step) {
    const auto batch = loader->NextBlocking();
    ASSERT_THAT(batch, IsOk());
    ExpectSameBatch(*batch, *want->NextBlocking());
  }
  writes.join();
}

TEST_F(GrowingRunTest, WhatNeedsAllOfAStoreIsRefusedWhileItGrows) {
  const auto w = Begin("w");
  w->GoOn(100);
  const std::string at = "t.toml:";
  const auto expect = [&](const std::string& tree, const std::string& what) {
    EXPECT_THAT(Load(tree), StatusIs(kInvalid, AllOf(HasSubstr("t.toml:"),
                                                     HasSubstr(what))))
        << tree;
  };
  const std::string w_grows = "path = \"w\", growing = true";
  expect("path = \"w\"\ngrowing = true\n", "era_shuffle");
  expect("path = \"w\"\n", "growing = true");
  expect(absl::StrCat("[data.mixture]\nw = { weight = 1, ", w_grows, " }\n"),
         "era_shuffle");
  expect(absl::StrCat("[data.flat]\nw = { ", w_grows, " }\n"), "era_shuffle");
  expect(absl::StrCat("[data.mixture]\nw = { weight = 1, max_epochs = 2, ",
                      w_grows, ", era_shuffle = 9 }\n"),
         "max_epochs");
  expect(absl::StrCat("stop = \"first_exhausted\"\n[data.mixture]\n"
                      "w = { weight = 1, ",
                      w_grows, ", era_shuffle = 9 }\n"),
         "stop = ");
  for (const char* const key :
       {"filter = { fraction = 0.5 }", "documents = { fraction = 0.5 }",
        "order = { path = \"q\" }", "order_documents = { path = \"q\" }",
        "pack_documents = true", "hold_out = { documents = 0.1 }",
        "overlap = 1", "dtype = \"u16\"", "glob = \"*\""}) {
    expect(absl::StrCat("[data.mixture]\nw = { weight = 1, ", w_grows, ", ",
                        key, ", era_shuffle = 9 }\n"),
           "cannot be combined with growing");
  }
  // Stated above it.
  expect(absl::StrCat("pack_documents = true\n[data.mixture]\n"
                      "w = { weight = 1, ",
                      w_grows, ", era_shuffle = 9 }\n"),
         "packed");
  expect("tokens = 500\ngrowing = true\n", "growing");
}

TEST(GrowingNodeTest, TomlSaysTheSame) {
  poniente::Run run = {.seed = 1, .batch_size = 2, .seq_len = 8};
  run.data = Source("stores/w").Growing().Shuffle(ShuffleOptions::Eras(100));
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  EXPECT_THAT(text, HasSubstr("growing = true"));
  ASSERT_OK_AND_ASSIGN(const poniente::Run back, ParseRun(text, "t.toml", ""));
  EXPECT_TRUE(back.data.files.growing);
  ASSERT_OK_AND_ASSIGN(const std::string again, ToToml(back));
  EXPECT_EQ(again, text);
}

}  // namespace
}  // namespace poniente
