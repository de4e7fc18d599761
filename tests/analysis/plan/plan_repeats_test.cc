// SPDX-License-Identifier: Apache-2.0
// The first repeats that a plan says, against all samples of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "poniente/plan.h"
#include "poniente/run_trace.h"
#include "tests/config/small_stores.h"

namespace poniente::internal {
namespace {

class PlanRepeatsTest : public poniente::testing::SmallStores {
 protected:
  Config Parse(const std::string& text) {
    auto config = Config::Parse(text, "t.toml", dir_.path());
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }

  // The first step that reads a token of a source again, by path.
  static std::map<std::string, uint64_t> Walk(const Config& config,
                                              uint64_t steps) {
    std::map<std::string, uint64_t> first;
    std::map<std::tuple<std::string, Index>, std::set<uint32_t>> read;
    const RunTrace trace(*config.dataset(), config.schedule());
    for (uint64_t step = 0; step < steps; ++step) {
      const auto origins = trace.Resolve(step);
      EXPECT_TRUE(origins.ok()) << origins.status();
      for (const SampleOrigin& origin : *origins) {
        std::set<uint32_t>& tokens = read[{origin.path, origin.item}];
        bool is_again = false;
        for (uint32_t t = origin.token_begin; t < origin.token_end; ++t) {
          is_again |= !tokens.insert(t).second;
        }
        if (!is_again) continue;
        const std::string& path = origin.path;
        for (size_t cut = path.find('/');; cut = path.find('/', cut + 1)) {
          first.try_emplace(path.substr(0, cut), step);
          if (cut == std::string::npos) break;
        }
      }
    }
    return first;
  }

  // Returns how many sources have an exact first repeat.
  size_t Compare(const std::string& text) {
    const Config config = Parse(text);
    const auto plan = MakePlan(config, std::nullopt);
    EXPECT_TRUE(plan.ok()) << plan.status();
    const auto walked = Walk(config, plan->steps);
    size_t exact = 0;
    for (const PlannedRunSource& source : plan->sources) {
      if (!source.length.has_value()) continue;
      const auto found = walked.find(source.path);
      if (!source.first_repeat.has_value()) {
        EXPECT_EQ(found, walked.end()) << source.path << " is read again";
        continue;
      }
      const uint64_t step = source.first_repeat->step;
      if (source.first_repeat->is_exact) {
        ++exact;
        EXPECT_EQ(step, found == walked.end() ? UINT64_MAX : found->second)
            << source.path;
      } else if (found != walked.end()) {
        EXPECT_LE(step, found->second) << source.path;
      }
    }
    return exact;
  }
};

// A block of the mixture puts items of the second epoch first.
TEST_F(PlanRepeatsTest, OfAShuffledBlock) {
  EXPECT_EQ(Compare("[data]\nsteps = 200\nbatch_size = 8\nseq_len = 20\n"
                    "[data.mixture]\n"
                    "a = { path = 'a', weight = 0.9 }\n"
                    "b = { path = 'b', weight = 0.1 }\n"
                    "[[data.stages]]\nstart_step = 120\n"
                    "weights = { a = 0.5, b = 0.5 }\n"),
            2u);
}

// Parts of one token, and of tokens that are the last of another length's part.
TEST_F(PlanRepeatsTest, OfPartsThatShareNoToken) {
  for (int seed = 0; seed < 20; ++seed) {
    const std::string run = absl::StrCat(
        "[data]\nseed = ", seed,
        "\nsteps = 30\nbatch_size = 1\nseq_len = 1\nmax_seq_len = 4\n"
        "group_items = 100\nblock_size = 4\nmixture.a = { path = 'b', weight "
        "= 1, slice = [0, 5], block_shuffle = { chunk_items = 1, "
        "window_chunks = 1000 } }\n"
        "[[data.seq_lens]]\nstart_step = 4\nseq_len = 2\n");
    EXPECT_EQ(Compare(run), 1u) << seed;
  }
}

// Windows of two epochs hold other documents: only where the second begins is
// known.
TEST_F(PlanRepeatsTest, OfPackedDocumentsIsALowerBound) {
  poniente::testing::WriteDocuments(dir_.path("docs"), 9, 600);
  const Config config = Parse(
      "[data]\nsteps = 30\nbatch_size = 2\nseq_len = 60\n"
      "mixture.d = { path = 'docs', weight = 1, pack_documents = true }\n");
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config));
  ASSERT_TRUE(plan.sources[0].first_repeat.has_value());
  EXPECT_FALSE(plan.sources[0].first_repeat->is_exact);
}

// Windows that were skipped are read for the first time in the second epoch.
TEST_F(PlanRepeatsTest, WhereWindowsWereSkipped) {
  EXPECT_EQ(Compare("[data]\nsteps = 400\nbatch_size = 8\nseq_len = 16\n"
                    "max_seq_len = 64\nblock_size = 64\n"
                    "[data.mixture]\n"
                    "n = { weight = 1, mixture = { x = { path = 'a', "
                    "weight = 1 }, y = { tokens = 5000, weight = 3 } } }\n"
                    "f = { weight = 1, flat = { p = { tokens = 9999 }, q = { "
                    "path = 'b' } } }\n"
                    "[[data.stages]]\nstart_step = 100\nseq_len = 32\n"
                    "[[data.stages]]\nstart_step = 200\nseq_len = 64\n"
                    "weights = { n = 0.3, f = 0.7 }\n"),
            5u);
}

TEST_F(PlanRepeatsTest, BelowFiltersSlicesAndRepeats) {
  EXPECT_EQ(Compare("[data]\nsteps = 300\nbatch_size = 4\nseq_len = 10\n"
                    "max_seq_len = 25\nlast_batch = 'drop'\n"
                    "[data.mixture]\n"
                    "a = { path = 'a', weight = 1, filter = { fraction = 0.5 "
                    "}, repeat = 3 }\n"
                    "b = { weight = 3, flat = { x = { path = 'c', slice = [3, "
                    "90] }, y = { path = 'b', repeat = 2 } } }\n"
                    "[[data.seq_lens]]\nstart_step = 100\nseq_len = 12\n"
                    "[[data.seq_lens]]\nstart_step = 200\nseq_len = 25\n"),
            4u);
}

// Another threshold begins a new epoch over windows that were read before.
TEST_F(PlanRepeatsTest, AViewReadsWhatTheOneBeforeItRead) {
  std::string scores;
  for (int i = 0; i < 500; ++i) {
    const float score = static_cast<float>(i % 100) / 100;
    scores.append(reinterpret_cast<const char*>(&score), sizeof score);
  }
  poniente::testing::WriteFile(dir_.path("s.f32"), scores);
  EXPECT_EQ(Compare("[data]\nsteps = 100\nbatch_size = 4\nseq_len = 20\n"
                    "block_size = 16\n"
                    "[data.mixture]\n"
                    "a = { path = 'a', weight = 1, filter = { scores = "
                    "'s.f32', at_least = 0.2 } }\n"
                    "c = { path = 'c', weight = 1 }\n"
                    "[[data.stages]]\nstart_step = 50\n"
                    "thresholds = { a = 0.7 }\n"),
            2u);
}

// Too long to be looked up as a whole.
TEST_F(PlanRepeatsTest, OfALongRun) {
  EXPECT_EQ(
      Compare("[data]\nsteps = 900\nbatch_size = 64\nseq_len = 16\n"
              "max_seq_len = 64\n"
              "[data.mixture]\n"
              "a = { weight = 1, tokens = 500000 }\n"
              "n = { weight = 1, mixture = { x = { tokens = 90000, weight = 1 "
              "}, y = { tokens = 300000, weight = 3 } } }\n"
              "f = { weight = 1, flat = { p = { tokens = 99999 }, q = { "
              "tokens = 200000 } } }\n"
              "[[data.stages]]\nstart_step = 300\nseq_len = 32\n"
              "[[data.stages]]\nstart_step = 500\nseq_len = 64\n"),
      6u);
}

}  // namespace
}  // namespace poniente::internal
