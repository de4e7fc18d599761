// SPDX-License-Identifier: Apache-2.0
// A run described in C++ is the run that TOML describes.
#include "poniente/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/parse/config_keys.h"
#include "poniente/config.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/run_trace.h"
#include "poniente/score_file.h"
#include "poniente/token_store.h"
#include "poniente/transforms.h"
#include "tests/config/random_run.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using ::testing::Not;
using testing::SmallStores;
using ::testing::StartsWith;
using testing::StatusIs;

using Description = poniente::Run;  // not testing::Test::Run

// What the samples of a step read.
std::vector<std::string> SamplesOf(const Config& config, uint64_t step) {
  std::vector<std::string> lines;
  const RunTrace trace(*config.dataset(), config.schedule());
  const auto samples = trace.Resolve(step);
  if (!samples.ok()) return {std::string(samples.status().message())};
  for (const SampleOrigin& sample : *samples) {
    lines.push_back(absl::StrCat(sample.path, " ", sample.item, " ",
                                 sample.epoch, " ", sample.token_begin, "..",
                                 sample.token_end));
  }
  return lines;
}

// Where all stages start at shares of the run, the first at its start: states
// how much of it each takes instead. Returns whether it does.
bool StateShares(std::vector<RunStage>* stages) {
  const auto is_share = [](const RunStage& stage) {
    return stage.start.unit == RunPoint::Unit::kShareOfSteps ||
           stage.start.unit == RunPoint::Unit::kShareOfTokens;
  };
  if (stages->empty() || stages->front().start.share != 0 ||
      !std::all_of(stages->begin(), stages->end(), is_share)) {
    return false;
  }
  for (size_t i = 0; i < stages->size(); ++i) {
    const bool is_last = i + 1 == stages->size();
    const double end = is_last ? 1 : (*stages)[i + 1].start.share;
    RunStage& stage = (*stages)[i];
    stage.share = end - stage.start.share;
    stage.start = RunPoint();
  }
  return true;
}

// The same for the mixtures at and below a node, whose first stage is not kept.
bool StateNestedShares(Node* node) {
  bool states = false;
  std::vector<RunStage> stages = node->stages;
  if (!stages.empty()) {
    stages.insert(stages.begin(), RunStage{.start = Share(0)});
    states = StateShares(&stages);
    if (states) node->stages = std::move(stages);
  }
  for (Node& child : node->children) states |= StateNestedShares(&child);
  return states;
}

class RunTest : public SmallStores {
 protected:
  void SetUp() override {
    SmallStores::SetUp();
    // 900 ids of u8, and their loss mask.
    testing::WriteFile(dir_.path("r.bin"), std::string(900, 'r'));
    testing::WriteFile(dir_.path("m.bin"),
                       std::string(450, '\0') + std::string(450, '\1'));
    testing::WriteDocuments(dir_.path("d"), 4, 2000);
    const uint64_t documents =
        (*TokenStore::Open(dir_.path("d")))->num_documents();
    std::vector<float> scores;
    for (uint64_t d = 0; d < documents; ++d) {
      scores.push_back(static_cast<float>(d * 7 % 11));
    }
    std::ofstream(dir_.path("d.f32"), std::ios::binary)
        .write(reinterpret_cast<const char*>(scores.data()),
               static_cast<std::streamsize>(4 * documents));
    ASSERT_THAT(
        OrderFile::Write(dir_.path("d.order"), *ScoreOrder::FromScores(scores)),
        IsOk());
    // Every second document, and the first 20.
    testing::WriteFile(dir_.path("d.bits"), EveryOther(documents));
    std::vector<uint64_t> chosen(20);
    std::iota(chosen.begin(), chosen.end(), 0);
    std::ofstream(dir_.path("d.chosen"), std::ios::binary)
        .write(reinterpret_cast<const char*>(chosen.data()), 160);
  }

  // A bitmap of `count` items, in whole words.
  static std::string EveryOther(uint64_t count) {
    std::string bits(8 * ((count + 63) / 64), '\0');
    for (uint64_t i = 0; i < count; i += 2) {
      bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
    }
    return bits;
  }

  // 20 windows of 10 tokens: 0, 1, 2, ...
  static DatasetPtr<TokenWindow> OwnDataset() {
    std::vector<TokenWindow> windows;
    for (uint32_t i = 0; i < 20; ++i) {
      std::vector<uint32_t> ids(10);
      for (uint32_t t = 0; t < 10; ++t) ids[t] = 10 * i + t;
      windows.emplace_back(std::move(ids));
    }
    return InMemoryDataset<TokenWindow>::Create(std::move(windows),
                                                {.name = "own"});
  }

  Description Small() const {
    Description run = {.seed = 3, .batch_size = 4, .seq_len = 10, .steps = 30};
    run.folder = dir_.path();
    return run;
  }

  void ExpectSame(const Config& a, const Config& b) {
    ASSERT_EQ(a.dataset()->fingerprint(), b.dataset()->fingerprint());
    ASSERT_EQ(a.ToToml(), b.ToToml());
    std::mt19937_64 random(1);
    for (int i = 0; i < 3; ++i) {
      const uint64_t step = random() % 60;
      if (!a.schedule().Has(step)) continue;
      ASSERT_EQ(SamplesOf(a, step), SamplesOf(b, step)) << step;
    }
  }
};

// README.md shows both.
TEST(RunExampleTest, TheReadmesExampleIsTheSameRunInTomlAndInCpp) {
  const std::string root = PONIENTE_SOURCE_DIR "/";
  const std::string readme = testing::ReadFile(root + "README.md");
  const std::string toml = testing::ReadFile(root + "examples/mixture.toml");
  EXPECT_THAT(readme, HasSubstr("```toml\n" + toml + "```\n"));
  // The code below, in lines without their indentation.
  const std::string here = testing::ReadFile(__FILE__);
  const size_t begin = here.find("// [begin]\n") + 11;
  std::string code;
  int lines = 0;
  for (absl::string_view line : absl::StrSplit(
           here.substr(begin, here.find("  // [end]", begin) - begin), '\n')) {
    absl::ConsumePrefix(&line, "  ");
    if (line.empty()) break;
    absl::StrAppend(&code, line, "\n");
    ++lines;
  }
  EXPECT_THAT(readme, HasSubstr("```cpp\n" + code + "```\n"));
  const auto toml_lines = std::count(toml.begin(), toml.end(), '\n');
  EXPECT_LE(lines, 1.2 * static_cast<double>(toml_lines));
  using poniente::Run;
  // clang-format off
  // [begin]
  Run run = {.seed = 42, .batch_size = 4, .seq_len = 32};
  run.data = Mixture({
      {"fables", 0.7, Source("fables")},
      {"small", 0.3, Flat({{"recipes", Source("recipes")},
                           {"riddles", Source("riddles")}})}});
  run.stages = {{.start = Steps(100),
                 .weights = {{"fables", 0.2}, {"small", 0.8}}}};
  // [end]
  // clang-format on
  ASSERT_EQ(ToToml(run).value(), R"([data]
seed = 42
batch_size = 4
seq_len = 32

[data.mixture.fables]
weight = 0.7
path = "fables"

[data.mixture.small]
weight = 0.3

[data.mixture.small.flat.recipes]
path = "recipes"

[data.mixture.small.flat.riddles]
path = "riddles"

[[data.stages]]
start_step = 100
weights = { fables = 0.2, small = 0.8 }
)");
  testing::TempDir dir;
  for (const char* const name : {"fables", "recipes", "riddles"}) {
    testing::WriteStore(dir.path(name), name[0], 5000);
  }
  run.folder = dir.path();
  ASSERT_OK_AND_ASSIGN(const Config described, Config::Create(run));
  ASSERT_OK_AND_ASSIGN(const Config stated,
                       Config::Parse(toml, "mixture.toml", dir.path()));
  EXPECT_EQ(described.dataset()->fingerprint(),
            stated.dataset()->fingerprint());
  EXPECT_EQ(described.ToToml(), stated.ToToml());
  for (const uint64_t step : {0, 99, 100, 12345}) {
    EXPECT_EQ(SamplesOf(described, step), SamplesOf(stated, step));
  }
}

TEST_F(RunTest, RandomTomlThroughARunAndBackIsTheSameRun) {
  testing::RandomRun runs(testing::TestSeed(20261124));
  const int rounds = testing::TestRounds(1000);
  int valid = 0;
  int tried = 0;
  std::string texts;  // that came back as the same run
  while (valid < rounds && tried < 4 * rounds) {
    ++tried;
    const std::string text = runs.Text();
    SCOPED_TRACE(text);
    const auto parsed = Config::Parse(text, "t.toml", dir_.path());
    auto run = ParseRun(text, "t.toml", dir_.path());
    if (!run.ok()) {
      ASSERT_EQ(run.status(), parsed.status());
      continue;
    }
    const auto created = Config::Create(*run);
    ASSERT_EQ(created.ok(), parsed.ok()) << created.status() << "\n"
                                         << parsed.status();
    ASSERT_OK_AND_ASSIGN(const std::string written, ToToml(*run));
    SCOPED_TRACE(written);
    ASSERT_OK_AND_ASSIGN(const Description again,
                         ParseRun(written, "u.toml", dir_.path()));
    ASSERT_TRUE(again == *run);
    ASSERT_EQ(ToToml(again).value(), written);
    texts += written;
    Description by_shares = *run;
    bool states_shares = StateShares(&by_shares.stages);
    states_shares |= StateNestedShares(&by_shares.data);
    if (states_shares) {
      ASSERT_OK_AND_ASSIGN(const std::string shares, ToToml(by_shares));
      ASSERT_OK_AND_ASSIGN(const Description from_shares,
                           ParseRun(shares, "s.toml", dir_.path()));
      ASSERT_TRUE(from_shares == *run) << shares;
      texts += shares;
    }
    if (!parsed.ok()) continue;
    ++valid;
    ExpectSame(*parsed, *created);
    if (states_shares) {
      ASSERT_OK_AND_ASSIGN(const Config described, Config::Create(by_shares));
      ExpectSame(*parsed, described);
    }
    ASSERT_OK_AND_ASSIGN(const Config reread,
                         Config::Parse(written, "u.toml", dir_.path()));
    ExpectSame(*parsed, reread);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(valid, rounds) << tried << " tried";
  if (rounds < 1000) return;
  for (const internal::ConfigKey& key : internal::ConfigKeys()) {
    using enum internal::KeyTable;
    // Another form of the same keys.
    if (key.table == kFlatForm || key.table == kPhase || key.table == kTrain) {
      continue;
    }
    const std::string name(key.name);
    // Whole keys: not the end of start_share, nor a table [data.nodes.shared].
    const std::vector<std::string> forms = {
        "\n" + name + " = ", " " + name + " = ", "[" + name + "]",
        "." + name + "]", "." + name + "."};
    EXPECT_TRUE(std::any_of(forms.begin(), forms.end(),
                            [&texts](const std::string& form) {
                              return absl::StrContains(texts, form);
                            }))
        << "no run states " << name << " of "
        << internal::KeyTableName(key.table);
  }
}

TEST_F(RunTest, StagesMayStateSharesOfTheRun) {
  Description run = Small();
  run.shares_of = ShareOf::kSteps;
  run.data = Mixture({{"a", 1, Source("a")},
                      {"m", 1,
                       Mixture({{"u", 1, Source("b")}, {"v", 2, Source("c")}})
                           .Stages({{.share = 0.25, .weights = {{"u", 5}}},
                                    {.share = 0.75, .weights = {{"u", 3}}}})}});
  run.stages = {{.name = "first", .share = 0.125},
                {.name = "then", .share = 0.625, .weights = {{"a", 2}}},
                {.share = 0.25, .lr_scale_end = 0.5}};
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("[[data.mixture.m.stages]]\nshare = 0.25\n"),
            HasSubstr("[[data.mixture.m.stages]]\nshare = 0.75\n"),
            HasSubstr("[[data.stages]]\nshare = 0.125\nname = \"first\"\n"),
            HasSubstr("[[data.stages]]\nshare = 0.625\nname = \"then\"\n"),
            HasSubstr("[[data.stages]]\nshare = 0.25\nlr_scale_end = 0.5\n"),
            Not(HasSubstr("start"))));
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  ASSERT_EQ(config.run().stages.size(), 3u);
  const double starts[] = {0, 0.125, 0.75};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(config.run().stages[i].start, Share(starts[i])) << i;
    EXPECT_FALSE(config.run().stages[i].share.has_value()) << i;
  }
  // The nested mixture's first stage has become its components' own weights.
  const Node& nested = config.run().data.children[1];
  EXPECT_EQ(nested.children[0].weight, 5);
  ASSERT_EQ(nested.stages.size(), 1u);
  EXPECT_EQ(nested.stages[0].start, Share(0.25));
  ASSERT_OK_AND_ASSIGN(const Config parsed,
                       Config::Parse(text, "t.toml", dir_.path()));
  ExpectSame(config, parsed);

  const auto error_of = [&run](const auto& change) {
    Description changed = run;
    change(changed);
    return std::string(Config::Create(changed).status().message());
  };
  EXPECT_EQ(error_of([](auto& of) { of.stages[1].start = Steps(9); }),
            "data.stages[1].share cannot be combined with a start");
  EXPECT_THAT(error_of([](auto& of) { of.stages[1].share = 0.5; }),
              HasSubstr("data.stages have shares that sum to 0.875, not to 1"));
  EXPECT_THAT(error_of([](auto& of) { of.stages[2].share.reset(); }),
              HasSubstr("data.stages must all state a share, or none of them"));
}

TEST_F(RunTest, EveryDifferenceOfTwoDescriptionsIsSeen) {
  Description run = Small();
  run.data = Mixture(
      {{"a", 0.75, Source("a")},
       {"small", 0.25, Flat({{"b", Source("b")}, {"own", OwnDataset()}})}});
  const Description same = run;
  EXPECT_TRUE(same == run);
  const std::vector<std::function<void(Description&)>> changes = {
      [](auto& of) { of.seed = 4; },
      [](auto& of) { of.max_seq_len = 10; },
      [](auto& of) { of.shares_of = ShareOf::kSteps; },
      [](auto& of) { of.folder += "/x"; },
      [](auto& of) { of.catalogs = {"c"}; },
      [](auto& of) { of.io.may_map = false; },
      [](auto& of) { of.loader.max_held = 3; },
      [](auto& of) {
        of.loader.loss_weights = {{"a", 2.0f}};
      },
      [](auto& of) {
        of.loader.device = {DeviceType::kCuda, 1};
      },
      [](auto& of) { of.batch_sizes = {{.start = Steps(9)}}; },
      [](auto& of) { of.seq_lens = {{.start = Steps(9)}}; },
      [](auto& of) { of.stages = {{.start = Steps(9)}}; },
      [](auto& of) { of.stages = {{.share = 1}}; },
      [](auto& of) { of.data.children[1].children[0].take = 9; },
      // Another object, though its items are the same.
      [](auto& of) { of.data.children[1].children[1].dataset = OwnDataset(); },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Description other = run;
    changes[i](other);
    EXPECT_FALSE(other == run) << i;
    EXPECT_TRUE(other == other) << i;
  }
  // What makes no difference.
  Description other = run;
  other.location.file = "t.toml";
  other.loader.log_sink = [](std::string_view) {};
  EXPECT_TRUE(other == run);
}

TEST_F(RunTest, ADatasetOfTheProgramStandsBesideStores) {
  Description run = Small();
  run.data = Mixture(
      {{"a", 0.75, Source("a")},
       {"small", 0.25, Flat({{"b", Source("b")}, {"own", OwnDataset()}})}});
  run.loader.tensors = {BatchTensor::kPositions};
  std::vector<uint32_t> whole;
  uint64_t own = 0;
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  EXPECT_EQ(config.sources()[2].path, "small/own");
  EXPECT_EQ(config.sources()[2].tokens, 200u);
  EXPECT_TRUE(config.sources()[2].is_readable);
  EXPECT_THAT(config.CheckLoader(), IsOk());
  ASSERT_OK_AND_ASSIGN(auto loader, OpenLoader(run));
  for (auto batch = loader->NextBlocking(); batch.ok();
       batch = loader->NextBlocking()) {
    const auto ids = batch->tokens<uint32_t>();
    whole.insert(whole.end(), ids.begin(), ids.end());
    for (size_t i = 0; i < batch->num_samples(); ++i) {
      if (batch->source(i) != 2) continue;
      ++own;
      const auto row = batch->tokens<uint32_t>(i);
      EXPECT_EQ(row[9], row[0] + 9);  // a window of it
      EXPECT_EQ(row[0] % 10, 0u);
    }
  }
  EXPECT_EQ(whole.size(), 30u * 4 * 10);
  EXPECT_GT(own, 0u);
  // The shares of two ranks are the batch.
  ASSERT_OK_AND_ASSIGN(auto first, OpenLoader(run, {.rank = 0, .ranks = 2}));
  ASSERT_OK_AND_ASSIGN(auto second, OpenLoader(run, {.rank = 1, .ranks = 2}));
  std::vector<uint32_t> joined;
  for (int step = 0; step < 30; ++step) {
    for (Loader* const rank : {first.get(), second.get()}) {
      ASSERT_OK_AND_ASSIGN(const Batch batch, rank->NextBlocking());
      EXPECT_TRUE(batch.tensor(BatchTensor::kPositions).ok());
      const auto ids = batch.tokens<uint32_t>();
      joined.insert(joined.end(), ids.begin(), ids.end());
    }
  }
  EXPECT_EQ(joined, whole);
}

TEST_F(RunTest, AWrongRankIsToldWithOtherMistakes) {
  Description run = {.batch_size = 0, .seq_len = 10, .steps = 30};
  run.data = Source("nowhere");
  EXPECT_THAT(OpenLoader(run, {.rank = 4, .ranks = 2}),
              StatusIs(kInvalid, AllOf(HasSubstr("batch_size"),
                                       HasSubstr("got rank 4 of 2"))));
}

// Windows of so many tokens, which item_tokens() says, or does not.
class OwnWindows final : public AsyncDataset<TokenWindow> {
 public:
  OwnWindows(uint32_t tokens, bool says_so)
      : tokens_(tokens), says_so_(says_so) {}
  std::string name() const override { return "own"; }
  uint64_t fingerprint() const override { return 1; }
  uint32_t item_tokens() const override { return says_so_ ? tokens_ : 0; }
  LengthState length_now() const override { return LengthState::Final(100); }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    co_return std::vector<TokenWindow>(
        indices.size(), TokenWindow(std::vector<uint32_t>(tokens_)));
  }

 private:
  const uint32_t tokens_;
  const bool says_so_;
};

TEST_F(RunTest, WindowsOfAnotherLengthNameTheNodeAndBothLengths) {
  for (const bool changes : {false, true}) {
    Description run = Small();
    if (changes) run.seq_lens = {{.start = Steps(3), .seq_len = 20}};
    const auto right = std::make_shared<OwnWindows>(changes ? 20 : 10, false);
    const auto error_of = [&run, &right](bool says_so) {
      const auto wrong = std::make_shared<OwnWindows>(7, says_so);
      run.data = Mixture(
          {{"a", 1, right}, {"b", 1, Flat({{"x", wrong}, {"y", right}})}});
      absl::StatusOr<std::unique_ptr<Loader>> loader = OpenLoader(run);
      if (!loader.ok()) return loader.status();
      EXPECT_FALSE(says_so);
      absl::StatusOr<Batch> batch = (*loader)->NextBlocking();
      while (batch.ok()) batch = (*loader)->NextBlocking();
      return batch.status();
    };
    const std::string wants = changes ? "20" : "10";
    EXPECT_THAT(error_of(true),
                StatusIs(kInvalid, StartsWith("data.mixture.b.flat.x: 'own' "
                                              "gives windows of 7 tokens, the "
                                              "schedule asks for " +
                                              wants)));
    EXPECT_THAT(std::string(error_of(false).message()),
                AllOf(HasSubstr(changes ? "b: x: " : "'b/x'"),
                      HasSubstr(changes ? "has 7" : "of 7 tokens"),
                      HasSubstr("the schedule asks for " +
                                (changes ? "windows of 20 tokens" : wants))));
  }
}

TEST_F(RunTest, ASizeInADatasetOfTheProgramCannotBeRead) {
  Description run = Small();
  auto inner = Concat<TokenWindow>(
      {{"real", OwnDataset()}, {"size", *DeclaredWindows("s", 500, 10)}});
  ASSERT_THAT(inner, IsOk());
  run.data = Mixture({{"a", 1, Source("a")}, {"own", 1, *inner}});
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  EXPECT_THAT(config.CheckLoader(), IsOk());
  EXPECT_THAT(config.OpenLoader(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("only a number of tokens"),
                             HasSubstr(": own/size"))));
}

TEST_F(RunTest, TomlCannotStateADatasetOfTheProgram) {
  Description run = Small();
  run.data = Mixture(
      {{"a", 0.75, Source("a")}, {"x y", 0.25, Concat({{"", OwnDataset()}})}});
  EXPECT_THAT(ToToml(run),
              StatusIs(kInvalid, HasSubstr("data.mixture.\"x y\".concat[0] is "
                                           "a dataset of the program")));
  ASSERT_OK_AND_ASSIGN(const Config config, Config::Create(run));
  // Resolved, it is a size to plan with.
  ASSERT_OK_AND_ASSIGN(const Config planned,
                       Config::Parse(config.ToToml(), "t.toml", ""));
  EXPECT_EQ(SamplesOf(planned, 7), SamplesOf(config, 7));
  EXPECT_THAT(
      planned.OpenLoader(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("x y/0")));
}

TEST_F(RunTest, AllMistakesAreNamedAtOnceByTheirPath) {
  Description run = Small();
  run.steps = 10;
  run.total_tokens = 100;
  run.data = Mixture({{"a", -1, Source("a").Take(5).Take(3)},
                      {"b", {}, Source("b").Filter(Score("") >= 0.5)},
                      {"c", 1, Flat({{"", Source("c")}}).Take(0)}});
  run.stages = {{.start = Steps(20), .weights = {{"d", 1}}}};
  run.loader.prefetch_batches = 65537;
  run.io.cache_bytes = ~uint64_t{0};
  const auto config = Config::Create(run);
  ASSERT_FALSE(config.ok());
  const std::vector<std::string> lines =
      absl::StrSplit(config.status().message(), '\n');
  EXPECT_THAT(
      lines,
      ::testing::UnorderedElementsAre(
          "data.total_tokens cannot be combined with steps",
          HasSubstr("data.mixture.a.weight must be finite and at least 0"),
          "data.mixture.b needs a weight",
          "data.mixture.b.filter.scores must not be empty",
          HasSubstr("data.mixture.c.flat. must have a name"),
          HasSubstr("data.mixture.c.take must be an integer from 1"),
          HasSubstr("data.stages[0] starts at step 20, but the run ends after "
                    "step 9"),
          HasSubstr("data.stages[0].weights.d is not a component of data"),
          HasSubstr("runtime.prefetch_batches must be an integer from 0"),
          "data.mixture.a states Take() twice: put the node into a Concat() "
          "of one part, and state the second there"));
}

TEST_F(RunTest, WrongCallsAreNamedByTheirPath) {
  const auto error_of = [this](Node data) {
    Description run = Small();
    run.data = std::move(data);
    return std::string(Config::Create(run).status().message());
  };
  EXPECT_THAT(
      error_of(Mixture({{"a", 1, Source("a").Take(9).Filter(Fraction(0.5))}})),
      HasSubstr("data.mixture.a states Filter() after Take()"));
  EXPECT_THAT(error_of(Concat({{"x", Source("a").Take(9).Take(3)}})),
              HasSubstr("data.concat[0] states Take() twice"));
  EXPECT_EQ(error_of(DatasetPtr<TokenWindow>()),
            "data is a dataset of the program, but null");
  EXPECT_EQ(error_of(Flat({{"x", Source("a")}, {"x", Source("b")}})),
            "data has two children named 'x'");
  EXPECT_THAT(error_of(Source("a").Seed(3)), HasSubstr("state Run::seed"));
  // Settings of another kind of node are not dropped.
  EXPECT_THAT(error_of(Flat({{"x", Source("a").Settings({.block_size = 9})}})),
              HasSubstr("data.flat.x.block_size"));
  EXPECT_THAT(error_of(Flat({{"x", Declared(9).Files({.column = "ids"})}})),
              HasSubstr("data.flat.x.column"));
  EXPECT_THAT(
      error_of(Flat({{"x", Declared(900).Stages({{.start = Samples(3)}})}})),
      HasSubstr("data.flat.x.stages"));
  EXPECT_THAT(
      error_of(Flat({{"x", Node(OwnDataset()).Documents(Fraction(0.5))}})),
      HasSubstr("data.flat.x.documents is allowed only with path"));
}

// A run that was read from a file, and changed.
TEST_F(RunTest, MistakesInANodeOfAFileNameItsLine) {
  constexpr char kText[] = R"([data]
seed = 3
batch_size = 4
seq_len = 10
steps = 30
[data.mixture.a]
weight = 1
path = "a"
[data.mixture.b]
weight = 1
flat.x = { path = "b", filter = { fraction = 0.5 } }
flat.y = { path = "c" }
[[data.stages]]
start_step = 5
[[data.batch_sizes]]
start_step = 10
batch_size = 2
[[data.batch_sizes]]
start_token = 700
batch_size = 3
)";
  ASSERT_OK_AND_ASSIGN(const Description read,
                       ParseRun(kText, "t.toml", dir_.path()));
  EXPECT_THAT(Config::Create(read), IsOk());
  const auto error_of = [&read](const auto& change) {
    Description run = read;
    change(run);
    return std::string(Config::Create(run).status().message());
  };
  // Mistakes of the description: the path of names.
  EXPECT_EQ(error_of([](auto& run) { run.data.children[0].weight = -1; }),
            "data.mixture.a.weight must be finite and at least 0, got -1");
  // What sources and the schedule tell: the line, too.
  EXPECT_THAT(error_of([](auto& run) {
                run.data.children[1].children[1].path = "none";
              }),
              StartsWith("t.toml:12:10: data.mixture.b.flat.y: "));
  EXPECT_THAT(error_of([](auto& run) {
                run.data.children[1].children[0].filter->fraction = 1e-12;
                run.data.children[1].children.resize(1);
              }),
              StartsWith("t.toml:9:1: data.mixture.b: "));
  EXPECT_THAT(
      error_of([](auto& run) { run.stages[0].start = RunPoint::Token(5000); }),
      StartsWith("t.toml:13:1: data.stages[0]"));
  EXPECT_THAT(error_of([](auto& run) {
                run.batch_sizes[1].start = RunPoint::Token(390);
              }),
              StartsWith("t.toml:18:1: data.batch_sizes[1]: batch_sizes[1] "
                         "(batch_size 3) starts at token 390"));
  // A node that the program has put there has no line.
  EXPECT_THAT(
      error_of([](auto& run) { run.data.children[0] = Source("none"); }),
      Not(HasSubstr("t.toml")));
}

TEST_F(RunTest, ATreeThatUsesItselfTwiceAtEachOf30LevelsIsRefused) {
  Description run = Small();
  run.data = Source("a");
  for (int level = 0; level < 30; ++level) {
    const Node used = Use(absl::StrCat("n", level), run.data);
    run.data = Flat({{"x", used}, {"y", used}});
  }
  EXPECT_THAT(Config::Create(run),
              StatusIs(kInvalid,
                       "data makes a tree of more than 262144 "
                       "nodes"));
  EXPECT_THAT(ToToml(run), StatusIs(kInvalid, HasSubstr("262144 nodes")));
}

TEST_F(RunTest, CopiesOfANodeShareItsChildrenUntilTheyChange) {
  const Node shared = Flat({{"a", Source("a")}, {"b", Source("b")}});
  Node changed = shared;
  const auto first = [](const Node& node) { return &node.children[0]; };
  EXPECT_EQ(first(changed), first(shared));
  changed.children[0].take = 5;
  EXPECT_NE(first(changed), first(shared));
  EXPECT_FALSE(shared.children[0].take.has_value());
  EXPECT_EQ(changed.children.size(), 2u);
  EXPECT_FALSE(changed == shared);
  changed.children[0].take.reset();
  EXPECT_TRUE(changed == shared);
  // One user of a node that is read from a file, and not the other.
  ASSERT_OK_AND_ASSIGN(
      Description run,
      ParseRun("[data]\nbatch_size = 1\nseq_len = 10\n[data.nodes]\n"
               "n.flat = { a = { path = 'a' } }\n[data.flat]\n"
               "x.use = 'n'\ny.use = 'n'\n",
               "t.toml", dir_.path()));
  EXPECT_EQ(first(std::as_const(run).data.children[0].children[0]),
            first(std::as_const(run).data.children[1].children[0]));
  Node& x = run.data.children[0].children[0].children[0];
  x.path = "b";
  EXPECT_EQ(run.data.children[1].children[0].children[0].path, "a");
}

// A sweep: the same reference changes the original between copies.
TEST_F(RunTest, WhatIsWrittenThroughAReferenceChangesNoCopy) {
  Description run = Small();
  run.data = Mixture(
      {{"web", 1, Source("a")}, {"rest", 1, Flat({{"x", Source("b")}})}});
  Node& web = run.data.children[0];
  Node& deep = run.data.children[1].children.front();
  Node* const begin = run.data.children.begin();
  std::vector<Node>& all = run.data.children.nodes();
  std::vector<Description> copies;
  for (int i = 0; i < 4; ++i) {
    web.weight = i;
    deep.take = i;
    begin->name = absl::StrCat("web", i);
    all[1].weight = 10 + i;
    copies.push_back(run);
  }
  for (int i = 0; i < 4; ++i) {
    const Description& copy = copies[i];
    EXPECT_EQ(copy.data.children[0].weight, i);
    EXPECT_EQ(copy.data.children[0].name, absl::StrCat("web", i));
    EXPECT_EQ(copy.data.children[1].weight, 10 + i);
    EXPECT_EQ(copy.data.children[1].children[0].take, i);
  }
  // A copy of a copy, to which no one has a reference, shares its nodes; so
  // does one of a list that is given back.
  const Description copy = copies[0];
  EXPECT_EQ(&copy.data.children[0], &std::as_const(copies)[0].data.children[0]);
  run.data.children.allow_sharing();
  const Description last = run;
  EXPECT_EQ(&last.data.children[1].children[0],
            &std::as_const(run).data.children[1].children[0]);
}

TEST_F(RunTest, WhatNoTextCouldShowIsRefused) {
  const auto error_of = [this](const auto& change) {
    Description run = Small();
    run.data = Flat({{"x", Source("a")}});
    change(run);
    const absl::Status created = Config::Create(run).status();
    EXPECT_EQ(ToToml(run).status(), created);
    return std::string(created.message());
  };
  EXPECT_EQ(error_of([](auto& run) { run.data = Node(); }),
            "data is missing: Run::data says what to read");
  EXPECT_EQ(error_of([](auto& run) { run.data = Mixture({}); }),
            "data is a mixture of nothing: it needs a child");
  EXPECT_EQ(error_of([](auto& run) { run.seed = ~uint64_t{0}; }),
            "data.seed must be at most 9223372036854775807, got "
            "18446744073709551615");
  EXPECT_THAT(
      error_of([](auto& run) { run.loader.rank = 1; }),
      HasSubstr("run.loader states rank, ranks, context or start_step"));
  EXPECT_THAT(error_of([](auto& run) {
                run.loader.tensors = {static_cast<BatchTensor>(99)};
              }),
              HasSubstr("BatchTensor 99, which no enumerator has"));
  EXPECT_THAT(error_of([](auto& run) {
                run.data.children[0].files.dtype = static_cast<StoredType>(99);
              }),
              HasSubstr("data.flat.x has StoredType 99"));
  EXPECT_THAT(error_of([](auto& run) {
                run.stages = {{.start = RunPoint::ShareOfTokens(0.5)}};
              }),
              HasSubstr("Run::shares_of is not ShareOf::kTokens"));
  EXPECT_THAT(error_of([](auto& run) { run.data.children[0].tokens = 5; }),
              HasSubstr("data.flat.x states a number of tokens, but is a "
                        "source"));
  EXPECT_THAT(error_of([](auto& run) {
                run.data = Flat({{"x", Source("\xed\xa0\x80")}});
              }),
              HasSubstr("data.flat.x has a name or a path that is not UTF-8"));
  EXPECT_THAT(error_of([](auto& run) {
                run.data = Flat({{"x", Source(std::string("a\0b", 3))}});
              }),
              HasSubstr("data.flat.x has a name or a path with a zero byte"));
  EXPECT_THAT(error_of([](auto& run) {
                for (int i = 0; i < 300; ++i) {
                  run.data = Flat({{"x", std::move(run.data)}});
                }
              }),
              HasSubstr("is nested deeper than 48 nodes"));
  EXPECT_THAT(error_of([](auto& run) {
                for (int i = 0; i < 300; ++i) {
                  run.data = Use(absl::StrCat("n", i), std::move(run.data));
                }
              }),
              HasSubstr("is nested deeper than 100 nodes"));
  EXPECT_THAT(error_of([](auto& run) {
                run.evals = {{.name = "e", .data = Source("a")}};
                for (int i = 0; i < 300; ++i) {
                  Node& data = run.evals[0].data;
                  data = Use(absl::StrCat("n", i), std::move(data));
                }
              }),
              HasSubstr("data.eval.e is nested deeper than 100 nodes"));
  Description deep = Small();
  deep.data = Source("a");
  for (int i = 0; i < 48; ++i) deep.data = Flat({{"x", std::move(deep.data)}});
  EXPECT_THAT(Config::Create(deep), IsOk());
  EXPECT_THAT(ParseRun(ToToml(deep).value(), "t", dir_.path()), IsOk());
  Description own = Small();
  own.data = Node(OwnDataset()).Tokenizer("other", 3);
  EXPECT_THAT(Config::Create(own),
              StatusIs(kInvalid, HasSubstr("data states a tokenizer")));
}

TEST_F(RunTest, NodesThatAreUsedUnderOneNameMayDiffer) {
  Description run = Small();
  run.data = Flat({{"x", Use("n", Source("a"))}, {"y", Use("n", Source("b"))}});
  ASSERT_OK_AND_ASSIGN(const std::string text, ToToml(run));
  EXPECT_THAT(text, AllOf(HasSubstr("use = \"n\""), HasSubstr("\"n-2\""),
                          HasSubstr("[data.nodes.n-2]\npath = \"b\"")));
  ASSERT_OK_AND_ASSIGN(const Config created, Config::Create(run));
  ASSERT_OK_AND_ASSIGN(const Config parsed,
                       Config::Parse(text, "t", dir_.path()));
  ExpectSame(created, parsed);
  // A threshold from the start on is one component's.
  constexpr char kShared[] = R"([data]
seed = 1
batch_size = 4
seq_len = 10
steps = 8
[data.nodes.w]
path = "b"
filter = { scores = "q.f32", at_least = 0.1 }
[data.mixture]
a = { use = "w", weight = 1 }
b = { use = "w", weight = 1 }
[[data.stages]]
start_step = 0
thresholds = { a = 0.9 }
)";
  std::vector<float> scores(77);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = float(i) / 77;
  std::ofstream(dir_.path("q.f32"), std::ios::binary)
      .write(reinterpret_cast<const char*>(scores.data()), 4 * 77);
  ASSERT_OK_AND_ASSIGN(const Config stated,
                       Config::Parse(kShared, "t", dir_.path()));
  ASSERT_OK_AND_ASSIGN(const Config again,
                       Config::Parse(stated.ToToml(), "u", ""));
  ExpectSame(stated, again);
  ASSERT_OK_AND_ASSIGN(const Config described, Config::Create(stated.run()));
  ExpectSame(stated, described);
}

TEST_F(RunTest, ARootMayUseANode) {
  Description run = Small();
  run.data = Use("x", Flat({{"a", Source("a")}, {"b", Source("b")}}).Seed(5));
  ASSERT_OK_AND_ASSIGN(const Config created, Config::Create(run));
  ASSERT_OK_AND_ASSIGN(
      const Config stated,
      Config::Parse("[data]\nseed = 3\nsteps = 30\nbatch_size = 4\n"
                    "seq_len = 10\nuse = 'x'\n[data.nodes.x]\nseed = 5\n"
                    "flat = { a = { path = 'a' }, b = { path = 'b' } }\n",
                    "t", dir_.path()));
  ExpectSame(created, stated);
  ASSERT_OK_AND_ASSIGN(const Config resolved,
                       Config::Parse(stated.ToToml(), "u", ""));
  ExpectSame(created, resolved);
  run.data = Use("x", Mixture({{"a", 1, Source("a")}})).LossWeight(2);
  EXPECT_THAT(Config::Create(run),
              StatusIs(kInvalid, HasSubstr("data.loss_weight is allowed only "
                                           "below the root")));
  run.data = Use(
      "x", Mixture({{"a", 1, Source("a")}}).Stages({{.start = Samples(9)}}));
  EXPECT_THAT(Config::Create(run),
              StatusIs(kInvalid, HasSubstr("state them in data.stages")));
}

TEST_F(RunTest, TheSettingsOfANodeAreThoseOfToml) {
  Description run = Small();
  run.max_seq_len = 20;
  run.shares_of = ShareOf::kTokens;
  run.data =
      Mixture({{"a", 0.5,
                Source("a")
                    .Files({.overlap = 1})
                    .Filter(!Fraction(0.25, 7))
                    .Slice(3, 300)
                    .Take(200)
                    .Repeat(2)
                    .Shuffle(ShuffleOptions::Eras(16))
                    .MaxEpochs(9)
                    .LossWeight(0.5)},
               {"b", 0.5,
                Mixture({{"u", 1, Use("c", Source("c"))},
                         {"v", 2, Declared(1000).Tokenizer("proof", 250)}})
                    .Settings({.block_size = 32, .temperature = 2})
                    .Stages({{.start = Steps(9), .weights = {{"u", 3}}}})
                    .Seed(8)}})
          .Settings({.block_size = 16});
  run.stages = {{.name = "anneal",
                 .start = Share(0.5),
                 .batch_size = 8,
                 .weights = {{"a", 0.2}},
                 .ramp = Samples(32),
                 .ramp_blocks = 1,
                 .lr_scale_end = 0.1}};
  run.seq_lens = {{.start = Steps(-6), .seq_len = 20}};
  ASSERT_OK_AND_ASSIGN(const Config described, Config::Create(run));
  ASSERT_OK_AND_ASSIGN(const Config stated, Config::Parse(R"(
[data]
seed = 3
steps = 30
batch_size = 4
seq_len = 10
max_seq_len = 20
shares_of = "tokens"
block_size = 16
[data.mixture.a]
weight = 0.5
path = "a"
overlap = 1
filter = { fraction = 0.25, seed = 7, invert = true }
slice = [3, 300]
take = 200
repeat = 2
era_shuffle = 16
max_epochs = 9
loss_weight = 0.5
[data.mixture.b]
weight = 0.5
block_size = 32
temperature = 2
seed = 8
mixture.u = { weight = 1, use = "c" }
mixture.v = { weight = 2, tokens = 1000, tokenizer = "proof", vocab_size = 250 }
stages = [ { start_step = 9, weights = { u = 3 } } ]
[data.nodes.c]
path = "c"
[[data.stages]]
name = "anneal"
start_share = 0.5
batch_size = 8
weights = { a = 0.2 }
ramp_samples = 32
ramp_blocks = 1
lr_scale_end = 0.1
[[data.seq_lens]]
start_step = -6
seq_len = 20
)",
                                                          "t", dir_.path()));
  ExpectSame(described, stated);
  EXPECT_EQ(described.loader_options().loss_weights,
            stated.loader_options().loss_weights);
  EXPECT_TRUE(described.run().data == stated.run().data);
}

TEST_F(RunTest, WhatTomlCannotSayOfTheLoaderIsKept) {
  Description run = Small();
  run.data = Flat({{"a", Source("a")}});
  int lines = 0;
  run.loader.report_every_steps = 10;
  run.loader.log_sink = [&](std::string_view) { ++lines; };
  run.loader.loss_weights = {{"a", 2.0f}};
  run.loader.tensors = {BatchTensor::kLossWeights};
  ASSERT_OK_AND_ASSIGN(auto loader, OpenLoader(run));
  while (loader->NextBlocking().ok()) {
  }
  EXPECT_EQ(lines, 3);
  EXPECT_THAT(ToToml(run), StatusIs(kInvalid, HasSubstr("LossWeight()")));
}

TEST_F(RunTest, ATextThatIsNoTomlIsRefusedWithoutALine) {
  Description run = Small();
  run.data = Flat({{"\xff", Source("a")}});
  EXPECT_THAT(Config::Create(run),
              StatusIs(kInvalid, HasSubstr("is not UTF-8")));
}

}  // namespace
}  // namespace poniente
