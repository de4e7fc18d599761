// SPDX-License-Identifier: Apache-2.0
// What is thrown on any thread of a run is the run's error: no thread is left
// behind, and none waits for one that has ended. Inputs that are taken while
// others are read ahead are those of the run, in their order.
#include "pack/pack_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "poniente/token_store.h"
#include "store/manifest/written_manifest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::IsOk;
using ::poniente::testing::StatusIs;
using ::poniente::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::Values;

constexpr uint64_t kUnits = 200;
constexpr uint64_t kUnitTokens = 5000;

// Units that are a document each.
class MadeInput : public PackInput {
 public:
  using Throw = std::function<void(std::string_view place, uint64_t unit)>;

  explicit MadeInput(const Throw& may_throw) : may_throw_(may_throw) {
    may_throw_("Open", kUnits / 2);
  }

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override {
    may_throw_("Cut", begin.at);
    PackUnit unit;
    unit.begin = begin;
    unit.end.at = begin.at + 1;
    unit.is_last = unit.end.at == kUnits;
    unit.bytes = 1;
    return unit;
  }
  absl::Status Convert(const PackUnit& unit, UnitDocuments* to) const override {
    may_throw_("Convert", unit.begin.at);
    to->AppendBytes(std::string(kUnitTokens, 'x'));
    to->EndDocument(unit.begin.at + 1);
    return absl::OkStatus();
  }

 private:
  const Throw may_throw_;
};

class PackRunTest : public ::testing::TestWithParam<std::string> {
 protected:
  // What a run gives in which `fault` is thrown at that place.
  static absl::Status RunWith(int threads, bool directly,
                              const std::function<void()>& fault) {
    const auto may_throw = [&fault](std::string_view place, uint64_t unit) {
      if (place == GetParam() && unit == kUnits / 2) fault();
    };
    const TempDir folder;
    TokenStoreWriterOptions options;
    options.vocabulary = {"bytes", 257};
    auto builder =
        StoreBuilder::Create(folder.path("out"), *ManifestToWrite("", options));
    if (!builder.ok()) return builder.status();
    if (directly) (*builder)->WriteDirectly(0);
    PackJob job;
    job.inputs.push_back({.path = "in", .name = "in"});
    job.open = [&may_throw](const TextInput&, const std::atomic<bool>*) {
      return std::make_unique<MadeInput>(may_throw);
    };
    job.threads = threads;
    PackRun run(job, builder->get(), PackState());
    return run.Run(
        [&may_throw] {
          may_throw("Interrupted", kUnits / 2);
          return false;
        },
        [&may_throw](uint64_t) { may_throw("Tick", kUnits / 2); });
  }

  static void ExpectEach(const std::function<void()>& fault,
                         const ::testing::Matcher<absl::Status>& expected) {
    for (const int threads : {1, 2, 8}) {
      for (const bool directly : {false, true}) {
        EXPECT_THAT(RunWith(threads, directly, fault), expected)
            << threads << (directly ? " directly" : "");
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Places, PackRunTest,
                         Values("Open", "Cut", "Convert", "Tick",
                                "Interrupted"),
                         [](const auto& tested) { return tested.param; });

TEST_P(PackRunTest, NoMemoryIsAnError) {
  ExpectEach([] { throw std::bad_alloc(); },
             StatusIs(absl::StatusCode::kResourceExhausted,
                      HasSubstr("out of memory; use fewer threads")));
}

TEST_P(PackRunTest, WhatElseIsThrownIsAnErrorToo) {
  ExpectEach(
      [] { throw std::runtime_error("thrown by a test"); },
      StatusIs(absl::StatusCode::kInternal, HasSubstr("thrown by a test")));
}

// Units of a document each, the later ones with a mask, made slowly enough that
// checkpoints are saved meanwhile.
class MaskedInput : public PackInput {
 public:
  static constexpr uint64_t kDocumentTokens = 1001;

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override {
    PackUnit unit;
    unit.begin = begin;
    unit.end.at = begin.at + 1;
    unit.is_last = unit.end.at == kUnits;
    unit.bytes = 1;
    return unit;
  }
  absl::Status Convert(const PackUnit& unit, UnitDocuments* to) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::string text(kDocumentTokens, 'x');
    std::vector<uint8_t> has_loss;
    for (uint64_t t = 0; t < kDocumentTokens; ++t) {
      has_loss.push_back(HasLoss(unit.begin.at, t));
    }
    HasMask(unit.begin.at) ? to->AppendBytes(text, has_loss)
                           : to->AppendBytes(text);
    to->EndDocument(unit.begin.at + 1);
    return absl::OkStatus();
  }

  static bool HasMask(uint64_t unit) {
    return unit > kUnits / 3 && unit % 3 != 0;
  }
  static uint8_t HasLoss(uint64_t unit, uint64_t token) {
    return !HasMask(unit) || (unit + token / 7) % 2 == 0 ? 1 : 0;
  }
};

TEST(PackRunMaskTest, MasksAreInOrderWhileCheckpointsAreSaved) {
  for (const bool directly : {false, true}) {
    const TempDir folder;
    TokenStoreWriterOptions options;
    options.vocabulary = {"bytes", 257};
    ASSERT_OK_AND_ASSIGN(const auto builder,
                         StoreBuilder::CreateToSave(
                             folder.path("out"), *ManifestToWrite("", options),
                             [](auto) { return false; }));
    if (directly) builder->WriteDirectly(0);
    PackJob job;
    job.inputs.push_back({.path = "in", .name = "in"});
    job.open = [](const TextInput&, const std::atomic<bool>*) {
      return std::make_unique<MaskedInput>();
    };
    job.threads = 4;
    job.can_resume = true;
    job.checkpoint_bytes = 1;
    PackRun run(job, builder.get(), PackState());
    ASSERT_THAT(run.Run([] { return false; }, [](uint64_t) {}), IsOk());
    EXPECT_TRUE(run.has_saved());
    ASSERT_THAT(builder->Finish(), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto store,
                         TokenStore::Open(folder.path("out")));
    EXPECT_THAT(VerifyTokenStore(*store), IsOk());
    ASSERT_OK_AND_ASSIGN(
        const std::vector<uint8_t> mask,
        RunBlocking(store->ReadLossMask(0, store->num_tokens())));
    ASSERT_EQ(mask.size(), kUnits * MaskedInput::kDocumentTokens);
    for (size_t t = 0; t < mask.size(); ++t) {
      ASSERT_EQ(mask[t], MaskedInput::HasLoss(t / MaskedInput::kDocumentTokens,
                                              t % MaskedInput::kDocumentTokens))
          << t;
    }
  }
}

constexpr int kAheadThreads = 4;

// Inputs of one unit. While one thread cuts the first, all others begin to read
// the second ahead; they end when the second is cut, and so find nothing opened
// ahead any more.
struct TakenMeanwhile {
  std::latch others_read_ahead{kAheadThreads - 1};
  std::latch second_is_cut{1};
};

class TakenInput : public PackInput {
 public:
  TakenInput(size_t number, TakenMeanwhile* taken)
      : number_(number), taken_(taken) {}

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override {
    if (number_ == 0) taken_->others_read_ahead.wait();
    if (number_ == 1) taken_->second_is_cut.count_down();
    PackUnit unit;
    unit.begin = begin;
    unit.is_last = true;
    unit.bytes = 1;
    return unit;
  }
  bool ReadAhead() override {
    if (number_ == 1) {
      taken_->others_read_ahead.count_down();
      taken_->second_is_cut.wait();
    }
    return false;
  }
  absl::Status Convert(const PackUnit&, UnitDocuments* to) const override {
    to->AppendBytes(std::string(number_ + 1, 'x'));
    to->EndDocument(1);
    return absl::OkStatus();
  }

 private:
  const size_t number_;
  TakenMeanwhile* const taken_;
};

TEST(PackRunAheadTest, InputsTakenWhileOneIsReadAhead) {
  constexpr size_t kInputs = 20;
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 257};
  auto builder =
      StoreBuilder::Create(folder.path("out"), *ManifestToWrite("", options));
  ASSERT_TRUE(builder.ok()) << builder.status();
  TakenMeanwhile taken;
  PackJob job;
  for (size_t i = 0; i < kInputs; ++i) {
    job.inputs.push_back({.path = std::to_string(i), .name = "in"});
  }
  std::vector<int> opened(kInputs, 0);
  job.open = [&](const TextInput& input, const std::atomic<bool>*) {
    const size_t number = std::stoul(input.path);
    ++opened[number];
    return std::make_unique<TakenInput>(number, &taken);
  };
  job.threads = kAheadThreads;
  PackRun run(job, builder->get(), PackState());
  EXPECT_THAT(run.Run([] { return false; }, [](uint64_t) {}), IsOk());
  EXPECT_THAT(opened, ::testing::Each(1));
  // Of 1 to 20 bytes each, and an end each if there is one.
  EXPECT_EQ(run.state().input, kInputs);
  EXPECT_GE((*builder)->manifest().tokens, 210u);
}

// An input whose units hold their bytes. Counts those that have been cut and
// not been converted yet. The first is converted when `awaited` have been cut.
struct Held {
  size_t unit_bytes = 1;
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  int awaited = 1;
  std::atomic<int> cut = 0;
};

class HeldInput : public PackInput {
 public:
  explicit HeldInput(Held* held) : held_(held) {}

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override {
    PackUnit unit;
    unit.begin = begin;
    unit.end.at = begin.at + 1;
    unit.is_last = unit.end.at == kUnits;
    unit.bytes = 1;
    unit.data.Append(std::string(held_->unit_bytes, 'x'));
    const int now = ++held_->now;
    int most = held_->most;
    while (most < now && !held_->most.compare_exchange_weak(most, now)) {
    }
    ++held_->cut;
    held_->cut.notify_all();
    return unit;
  }
  absl::Status Convert(const PackUnit& unit, UnitDocuments* to) const override {
    for (int cut = held_->cut; cut < held_->awaited; cut = held_->cut) {
      held_->cut.wait(cut);
    }
    if (unit.begin.at % 10 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    to->AppendBytes(unit.data.view().substr(0, 1));
    to->EndDocument(unit.begin.at + 1);
    --held_->now;
    return absl::OkStatus();
  }

 private:
  Held* const held_;
};

void PackHeld(int threads, Held* held) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 257};
  auto builder =
      StoreBuilder::Create(folder.path("out"), *ManifestToWrite("", options));
  ASSERT_TRUE(builder.ok()) << builder.status();
  PackJob job;
  job.inputs.push_back({.path = "in", .name = "in"});
  job.open = [&](const TextInput&, const std::atomic<bool>*) {
    return std::make_unique<HeldInput>(held);
  };
  job.threads = threads;
  PackRun run(job, builder->get(), PackState());
  EXPECT_THAT(run.Run([] { return false; }, [](uint64_t) {}), IsOk());
  EXPECT_EQ((*builder)->manifest().documents, kUnits);
}

TEST(PackRunAheadTest, UnitsAreCutWhileOthersAreConverted) {
  for (const int threads : {2, 3, 8}) {
    Held held;
    held.awaited = 2 * threads - 1;
    PackHeld(threads, &held);
    EXPECT_LE(held.most, 3 * threads - 2);
  }
}

TEST(PackRunAheadTest, OneThreadHoldsOneUnit) {
  Held held;
  PackHeld(1, &held);
  EXPECT_EQ(held.most, 1);
}

// Large ones are cut no further ahead than by one.
TEST(PackRunAheadTest, FewLargeUnitsAreHeld) {
  for (const int threads : {2, 3, 8}) {
    Held held;
    held.unit_bytes = size_t{3} << 20;
    held.awaited = 2;
    PackHeld(threads, &held);
    EXPECT_LE(held.most, threads + 1);
  }
}

}  // namespace
}  // namespace poniente::internal
