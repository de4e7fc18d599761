// SPDX-License-Identifier: Apache-2.0
// Runs whose documents are filled in the middle, from their description to what
// plan, show, find and diff say of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "poniente/config.h"
#include "poniente/diff.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/plan.h"
#include "poniente/run.h"
#include "poniente/token_store_writer.h"
#include "poniente/trace.h"
#include "tests/analysis/trace/document_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::kInvalid;
using poniente::testing::OpenRun;
using poniente::testing::StatusIs;
using poniente::testing::TempDir;
using poniente::testing::WriteDocuments;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kMarks = "prefix = 257, middle = 258, suffix = 259";

class InfilledRunTest : public ::testing::Test {
 protected:
  InfilledRunTest() {
    std::mt19937_64 random(poniente::testing::TestSeed(41));
    Write("a", 150, random);
    Write("b", 90, random);
  }

  void Write(const std::string& name, int documents, std::mt19937_64& random) {
    std::vector<std::vector<uint32_t>> written;
    for (int d = 0; d < documents; ++d) {
      std::vector<uint32_t>& ids = written.emplace_back(random() % 60);
      for (uint32_t& id : ids) id = random() % 250;
      ids.push_back(256);
    }
    WriteDocuments(folder_, name, written, 260);
  }

  absl::StatusOr<Config> Parse(const std::string& data) const {
    return OpenRun(
        folder_,
        absl::StrCat("[data]\nbatch_size = 6\nseq_len = 32\nsteps = 60\n",
                     data));
  }

  static InfillingOptions Marks(double rate) {
    InfillingOptions options;
    options.rate = rate;
    options.prefix = 257;
    options.middle = 258;
    options.suffix = 259;
    return options;
  }

  // `how`: of all sources.
  std::string Mixture(const std::string& how) const {
    return absl::StrCat(
        "seed = 9\nfill_in_the_middle = ", how,
        "\n[data.mixture.a]\nweight = 0.6\npath = 'a'\npack_documents = true\n"
        "[data.mixture.rest]\nweight = 0.4\nflat = { b = { path = 'b' }, c = { "
        "path = 'a', fill_in_the_middle = false } }\n");
  }
  const std::string usual_ =
      Mixture(absl::StrCat("{ rate = 0.5, ", kMarks, " }"));
  const std::string stage_ =
      "[[data.stages]]\nname = 'anneal'\nstart_step = 30\nfim_rates = { a = "
      "1.0 }\n";

  TempDir folder_;
};

std::vector<std::vector<uint32_t>> StepsOf(const Config& config, int steps) {
  std::vector<std::vector<uint32_t>> all;
  const auto loader = *config.OpenLoader();
  for (int step = 0; step < steps; ++step) {
    const absl::StatusOr<Batch> batch = loader->NextBlocking();
    EXPECT_THAT(batch, IsOk());
    const auto tokens = batch->tokens<uint32_t>();
    all.emplace_back(tokens.begin(), tokens.end());
  }
  return all;
}

// A run keeps its order, and what is not filled in the middle its tokens.
TEST_F(InfilledRunTest, NothingButTokensOfItsSourcesChanges) {
  ASSERT_OK_AND_ASSIGN(const Config plain, Parse(Mixture("false")));
  EXPECT_EQ(InfilledOf(*plain.dataset()), nullptr);
  ASSERT_OK_AND_ASSIGN(
      const Config without,
      Parse(absl::StrReplaceAll(Mixture("false"),
                                {{"fill_in_the_middle = false\n", ""},
                                 {", fill_in_the_middle = false", ""}})));
  EXPECT_EQ(plain.dataset()->fingerprint(), without.dataset()->fingerprint());
  ASSERT_OK_AND_ASSIGN(const Config infilled, Parse(usual_));
  EXPECT_NE(plain.dataset()->fingerprint(), infilled.dataset()->fingerprint());
  const TracedRun a(plain), b(infilled);
  std::map<std::string, std::pair<int, int>> changed;  // of how many
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep step_a, a.Show(step));
    ASSERT_OK_AND_ASSIGN(const TracedStep step_b, b.Show(step));
    ASSERT_OK_AND_ASSIGN(const auto tokens_a, a.Tokens(step_a.samples));
    ASSERT_OK_AND_ASSIGN(const auto tokens_b, b.Tokens(step_b.samples));
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(step_a.samples[i].origin, step_b.samples[i].origin);
      auto& [differs, all] = changed[step_a.samples[i].origin.path];
      differs += tokens_a[i] != tokens_b[i] ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(changed["a"].first, changed["a"].second / 3);
  EXPECT_GT(changed["rest/b"].first, changed["rest/b"].second / 5);
  EXPECT_EQ(changed["rest/c"].first, 0);
}

// What is shown is what the loader serves.
TEST_F(InfilledRunTest, ShowSaysHowDocumentsAreServed) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(usual_ + stage_));
  ASSERT_OK_AND_ASSIGN(const Config plain, Parse(Mixture("false")));
  const auto steps = StepsOf(config, 60);
  const TracedRun run(config);
  std::map<InfillingOrder, int> orders;
  int long_late = 0, infilled_late = 0;
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep traced, run.Show(step));
    ASSERT_OK_AND_ASSIGN(const auto tokens, run.Tokens(traced.samples));
    ASSERT_OK_AND_ASSIGN(const auto original,
                         TracedRun(plain).Tokens(traced.samples));
    for (size_t i = 0; i < 6; ++i) {
      const auto row = std::span(steps[step]).subspan(i * 32, 32);
      ASSERT_TRUE(std::equal(row.begin(), row.end(), tokens[i].tokens.begin()));
      size_t at = 0;
      for (const TracedDocument& document : traced.samples[i].documents) {
        std::vector<uint32_t> wanted(
            original[i].tokens.begin() + static_cast<ptrdiff_t>(at),
            original[i].tokens.begin() +
                static_cast<ptrdiff_t>(at + document.tokens));
        if (document.infilled.has_value()) {
          ++orders[document.infilled->shape().order];
          const std::vector<uint32_t> piece = wanted;
          for (uint32_t place = 0; place < wanted.size(); ++place) {
            const auto mark = document.infilled->MarkAt(place);
            wanted[place] =
                mark ? *mark : piece[*document.infilled->TokenAt(place)];
          }
          if (piece.back() == 256) {
            EXPECT_EQ(wanted.back(), 256);
          }
        }
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(),
                               row.begin() + static_cast<ptrdiff_t>(at)));
        at += document.tokens;
        if (traced.samples[i].source != "a" || step < 30) continue;
        const bool is_long = !document.is_padding() && document.tokens >= 16;
        long_late += is_long ? 1 : 0;
        infilled_late += document.infilled.has_value() ? 1 : 0;
      }
      ASSERT_FALSE(HasFailure()) << "step " << step;
    }
  }
  EXPECT_GT(orders[InfillingOrder::kPsm], 30);
  EXPECT_GT(orders[InfillingOrder::kSpm], 30);
  // From the stage on, all long documents of this source.
  EXPECT_EQ(long_late, infilled_late);
  EXPECT_GT(long_late, 50);
}

TEST_F(InfilledRunTest, FindAfterShowIsTheIdentity) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(usual_ + stage_));
  const TracedRun run(config);
  std::map<std::pair<std::string, uint64_t>, std::set<uint64_t>> shown;
  for (uint64_t step = 0; step < 60; ++step) {
    ASSERT_OK_AND_ASSIGN(const TracedStep traced, run.Show(step));
    for (const TracedSample& sample : traced.samples) {
      for (const TracedDocument& document : sample.documents) {
        if (document.is_padding()) continue;
        shown[{sample.origin.path, document.number}].insert(
            sample.origin.sample);
      }
    }
  }
  for (const auto& [path, documents] :
       {std::pair("a", 150), std::pair("rest/b", 90)}) {
    for (uint64_t d = 0; d < static_cast<uint64_t>(documents); ++d) {
      ASSERT_OK_AND_ASSIGN(const auto found, run.FindDocument(path, d, {}));
      std::set<uint64_t> samples;
      for (const TracedReading& reading : found) {
        samples.insert(reading.reading.sample);
      }
      ASSERT_EQ(samples, (shown[{path, d}])) << path << ' ' << d;
    }
  }
}

TEST_F(InfilledRunTest, AsTomlAndInCpp) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(usual_ + stage_));
  poniente::Run run = {.seed = 9, .batch_size = 6, .seq_len = 32, .steps = 60};
  run.folder = folder_.path();
  run.data =
      poniente::Mixture(
          {{"a", 0.6, Source("a").PackDocuments()},
           {"rest", 0.4, Flat({{"b", Source("b")}, {"c", Source("a")}})}})
          .FillInTheMiddle(Marks(0.5));
  run.data.children[1].children[1].fill_in_the_middle =
      NodeInfilling{.is_infilled = false};
  run.stages = {
      {.name = "anneal", .start = Steps(30), .fim_rates = {{"a", 1.0}}}};
  ASSERT_OK_AND_ASSIGN(const Config created, Config::Create(run));
  EXPECT_EQ(created.dataset()->fingerprint(), config.dataset()->fingerprint());
  EXPECT_EQ(StepsOf(created, 60), StepsOf(config, 60));
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  ASSERT_OK_AND_ASSIGN(const poniente::Run again,
                       ParseRun(text, "run.toml", folder_.path()));
  EXPECT_TRUE(again == run) << text;
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run resolved,
      ParseRun(config.ToToml(), "resolved.toml", folder_.path()));
  ASSERT_OK_AND_ASSIGN(const Config opened, Config::Create(resolved));
  EXPECT_EQ(StepsOf(opened, 60), StepsOf(config, 60));
  run.data = Source("a").FillInTheMiddle(Marks(1)).FillInTheMiddle(Marks(0));
  EXPECT_THAT(Config::Create(run),
              StatusIs(kInvalid, HasSubstr("FillInTheMiddle() twice")));
}

TEST_F(InfilledRunTest, EveryOptionThroughTomlAndBack) {
  InfillingOptions options = Marks(0.25);
  options.spm_rate = 1;
  options.pieces = InfilledPieces::kWhole;
  options.min_tokens = 20;
  poniente::Run run = {.batch_size = 2, .seq_len = 32, .steps = 5};
  run.folder = folder_.path();
  run.data = Source("a").FillInTheMiddle(options);
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  ASSERT_OK_AND_ASSIGN(const poniente::Run again,
                       ParseRun(text, "run.toml", folder_.path()));
  ASSERT_TRUE(again.data.fill_in_the_middle.has_value()) << text;
  EXPECT_EQ(again.data.fill_in_the_middle->options, options) << text;
  // A root that is a source has no name, and none of its folder's.
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  const InfilledDataset* const infilled = InfilledOf(*config.dataset());
  ASSERT_NE(infilled, nullptr);
  ASSERT_EQ(infilled->infillings().sources().size(), 1u);
  EXPECT_EQ(infilled->infillings().sources()[0].path, "");
  EXPECT_EQ(infilled->infillings().sources()[0].options, options);
}

// A stage that starts the run, and one that goes back to the source's own rate.
TEST_F(InfilledRunTest, RatesOfStages) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse(absl::StrCat(usual_,
                         "[[data.stages]]\nstart_step = 0\nfim_rates = { rest "
                         "= 0.1 }\n[[data.stages]]\nstart_step = 10\nfim_rates "
                         "= { a = 0.75, rest = 0.1 }\n"
                         "[[data.stages]]\nstart_step = 20\n")));
  const auto sources = InfilledOf(*config.dataset())->infillings().sources();
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].path, "a");
  EXPECT_EQ(sources[0].options, Marks(0.5));
  EXPECT_THAT(sources[0].rates,
              ElementsAre(InfillingRate{60, 0.75}, InfillingRate{120, 0.5}));
  EXPECT_EQ(sources[1].path, "rest/b");
  EXPECT_EQ(sources[1].options, Marks(0.1));
  EXPECT_THAT(sources[1].rates, ElementsAre(InfillingRate{120, 0.5}));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config, 500));
  for (const PlannedRunSource& source : plan.sources) {
    if (source.path == "a") {
      EXPECT_THAT(source.fim_rates, ElementsAre(0.5, 0.75, 0.5));
    } else if (source.path == "rest/b") {
      EXPECT_THAT(source.fim_rates, ElementsAre(0.1, 0.1, 0.5));
    } else {
      EXPECT_THAT(source.fim_rates, IsEmpty()) << source.path;
    }
  }
}

// A component whose name looks like the path of a node below another one.
TEST_F(InfilledRunTest, ARateThatWouldHaveNoEffectIsRefused) {
  const std::string marks = absl::StrCat("{ rate = 0.5, ", kMarks, " }");
  EXPECT_THAT(
      Parse(absl::StrCat(
          "\n[data.mixture.\"m/c\"]\nweight = 1\npath = 'a'\n"
          "[data.mixture.m]\nweight = 1\nflat = { c = { path = 'b', "
          "fill_in_the_middle = ",
          marks, " } }\n[[data.stages]]\nstart_step = 10\n",
          "fim_rates = { \"m/c\" = 0.1 }\n")),
      StatusIs(kInvalid, HasSubstr("names m/c, which has no source with")));
}

// Of a node below a component: it wins over the component's.
TEST_F(InfilledRunTest, RatesOfNodesBelowAComponent) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse(absl::StrCat(
          usual_,
          "[[data.stages]]\nstart_step = 10\nfim_rates = { rest = 0.1 }\n"
          "[[data.stages]]\nstart_step = 20\nfim_rates = { \"rest/b\" = 0.2, "
          "a = 1 }\n"
          "[[data.stages]]\nstart_step = 30\nfim_rates = { \"rest/b\" = 0.3, "
          "rest = 0.9 }\n")));
  const auto sources = InfilledOf(*config.dataset())->infillings().sources();
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[1].path, "rest/b");
  EXPECT_THAT(sources[1].rates,
              ElementsAre(InfillingRate{60, 0.1}, InfillingRate{120, 0.2},
                          InfillingRate{180, 0.3}));
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run resolved,
      ParseRun(config.ToToml(), "resolved.toml", folder_.path()));
  ASSERT_OK_AND_ASSIGN(const Config again, Config::Create(resolved));
  EXPECT_EQ(StepsOf(again, 40), StepsOf(config, 40));
  EXPECT_THAT(Parse(absl::StrCat(usual_,
                                 "[[data.stages]]\nstart_step = 10\n"
                                 "fim_rates = { \"rest/d\" = 0.1 }\n")),
              StatusIs(kInvalid, HasSubstr("nor the path of a node below")));
}

TEST_F(InfilledRunTest, PlansAreThoseOfTheSameRunWithoutIt) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(usual_));
  ASSERT_OK_AND_ASSIGN(const Config plain, Parse(Mixture("false")));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config));
  ASSERT_OK_AND_ASSIGN(const PlannedRun other, MakePlan(plain));
  ASSERT_EQ(plan.sources.size(), other.sources.size());
  EXPECT_EQ(plan.series.bands.size(), other.series.bands.size());
  for (size_t i = 0; i < plan.sources.size(); ++i) {
    EXPECT_EQ(plan.sources[i].path, other.sources[i].path);
    EXPECT_EQ(plan.sources[i].samples, other.sources[i].samples);
    EXPECT_EQ(plan.sources[i].packing, other.sources[i].packing);
  }
}

TEST_F(InfilledRunTest, DiffNamesTheSourceAndTheStep) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(usual_));
  ASSERT_OK_AND_ASSIGN(const Config staged, Parse(usual_ + stage_));
  ASSERT_OK_AND_ASSIGN(const Config plain, Parse(Mixture("false")));
  const auto diff = [](const Config& a, const Config& b) {
    return DiffRuns(TracedRun(a), TracedRun(b), 100'000);
  };
  ASSERT_OK_AND_ASSIGN(const RunDiff same, diff(config, config));
  EXPECT_THAT(same.differences, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const RunDiff later, diff(config, staged));
  ASSERT_TRUE(later.compared.first.has_value());
  EXPECT_EQ(later.compared.first->step, 30u);
  std::string what;
  for (const RunDifference& one : later.differences) {
    if (one.decides_tokens) absl::StrAppend(&what, one.what, ";");
  }
  EXPECT_EQ(what, "fill_in_the_middle of 'a';");
  ASSERT_OK_AND_ASSIGN(const RunDiff all, diff(config, plain));
  ASSERT_TRUE(all.compared.first.has_value());
  EXPECT_EQ(all.compared.first->step, 0u);
}

TEST_F(InfilledRunTest, MistakesNameTheirPlace) {
  const auto refused = [](auto... parts) {
    return StatusIs(kInvalid, AllOf(HasSubstr(parts)...));
  };
  const auto source = [](const std::string& how) {
    return absl::StrCat("path = 'a'\nfill_in_the_middle = ", how, "\n");
  };
  const std::string marks = kMarks;
  EXPECT_THAT(Parse(source("true")), refused("run.toml:6", "needs a table"));
  EXPECT_THAT(Parse(source("{ prefix = 257, middle = 258 }")),
              refused("run.toml:6", "needs suffix"));
  EXPECT_THAT(Parse(source("{ prefix = 257, middle = 258, suffix = 258 }")),
              refused("run.toml:6", "three different ids"));
  EXPECT_THAT(Parse(source("{ rate = 1.5, " + marks + " }")),
              refused("run.toml:6", "from 0 to 1, got 1.5"));
  EXPECT_THAT(Parse(source("{ min_tokens = 7, " + marks + " }")),
              refused("min_tokens", "8"));
  EXPECT_THAT(Parse(source("{ pieces = 'half', " + marks + " }")),
              refused("pieces", "whole"));
  EXPECT_THAT(Parse(source("{ rat = 0.5, " + marks + " }")),
              refused("rat", "did you mean 'rate'"));
  EXPECT_THAT(Parse(source("{ prefix = 257, middle = 258, suffix = 260 }")),
              refused("run.toml:6", "id 260 is not below 260", "'bytes'"));
  EXPECT_THAT(Parse(usual_ + "[[data.stages]]\nstart_step = 9\nfim_rates = { "
                             "a = 2 }\n"),
              refused("fim_rates", "must be from 0 to 1, got 2 for a"));
  EXPECT_THAT(Parse(usual_ + "[[data.stages]]\nstart_step = 9\nfim_rates = { "
                             "d = 0.5 }\n"),
              refused("fim_rates.d", "is not a component"));
  EXPECT_THAT(Parse(Mixture("false") +
                    "[[data.stages]]\nstart_step = 9\nfim_rates = { a = 1 }\n"),
              refused("fim_rates", "names a, which has no source"));
  EXPECT_THAT(Parse(source("{ " + marks + " }") +
                    "[[data.stages]]\nstart_step = 9\nfim_rates = { a = 1 }\n"),
              refused("fim_rates", "need a mixture at the root"));
  EXPECT_THAT(Parse("[data.mixture.m]\nweight = 1\nmixture = { a = { weight = "
                    "1, path = 'a' } }\n[[data.mixture.m.stages]]\n"
                    "start_sample = 9\nfim_rates = { a = 1 }\n"),
              refused("fim_rates"));
  // Of raw files, documents are not known.
  std::ofstream(folder_.path("raw.bin")) << std::string(4000, 'x');
  EXPECT_THAT(
      Parse("path = 'raw.bin'\ndtype = 'u8'\nfill_in_the_middle = { " + marks +
            " }"),
      refused("run.toml:7", "nobody knows where they end", "document_end"));
}

// Sources that are only a size can be planned with.
TEST_F(InfilledRunTest, DeclaredSources) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse(absl::StrCat("fill_in_the_middle = { ", kMarks,
                         " }\n[data.mixture]\na = { weight = 1, path = 'a' }\n"
                         "big = { weight = 2, tokens = 1e9 }\n")));
  EXPECT_EQ(InfilledOf(*config.dataset())->infillings().sources().size(), 1u);
  EXPECT_THAT(MakePlan(config), IsOk());
}

}  // namespace
}  // namespace poniente::internal
