// SPDX-License-Identifier: Apache-2.0
#include "poniente/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "loader/metrics/epoch_lines.h"
#include "loader/metrics/loader_counters.h"
#include "tests/support/made_batch.h"

namespace poniente {
namespace {

using internal::FetchEnd;
using internal::FetchTimes;
using internal::LoaderCounters;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MadeBatch;
using ::testing::Not;

LoaderCounters::Clock::time_point At(int ms) {
  return LoaderCounters::Clock::time_point() + milliseconds(ms);
}

// Three steps: the first waits for half a second, the second is there, the
// third comes a quarter of a second late.
LoaderMetrics SmallRun() {
  const std::vector<TreeLeaf> leaves = {
      {"prose/fables"}, {"prose/fortunes"}, {"code"}};
  LoaderCounters counters(leaves);
  const FetchTimes times = {milliseconds(0), milliseconds(1), milliseconds(240),
                            milliseconds(9)};
  const int fetches[][2] = {{0, 500}, {500, 750}, {500, 1500}, {750, 1600}};
  for (const auto [begin, end] : fetches) {
    counters.FetchBegan(At(begin));
    counters.FetchEnded(At(end), FetchEnd::kReady, times);
  }
  const int steps[][2] = {{0, 500}, {1000, 750}, {1250, 1500}};
  for (const auto [asked, ready] : steps) {
    counters.Asked(At(asked));
    counters.Delivered(MadeBatch({0, 2, 2, 1}, 1024), At(ready));
  }
  counters.Asked(At(1750));
  LoaderMetrics metrics = counters.Read(At(2000));
  metrics.next_step = 3;
  metrics.batches_ready = 1;
  metrics.batches_under_way = 2;
  metrics.cpu_seconds = 0.04;
  metrics.kernel_seconds = 0.02;
  metrics.cpu_wait_seconds = 0.001;
  metrics.bytes_asked = 3145728;
  metrics.bytes_read = 25165824;
  return metrics;
}

// The texts between ``` and ``` of docs/metrics.md.
std::vector<std::string> BlocksOfThePage() {
  std::ifstream page(PONIENTE_SOURCE_DIR "/docs/metrics.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}};
  std::vector<std::string> blocks;
  bool is_inside = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.substr(0, 3) == "```") {
      is_inside = !is_inside;
      if (is_inside) blocks.emplace_back();
    } else if (is_inside) {
      blocks.back().append(line.data(), line.size());
      blocks.back() += '\n';
    }
  }
  return blocks;
}

TEST(MetricsPageTest, ShowsTheLineAndTheTextOfASmallRun) {
  const std::vector<std::string> blocks = BlocksOfThePage();
  ASSERT_EQ(blocks.size(), 4u) << "code, lines of epochs, line, text";
  EXPECT_EQ(blocks[2], MetricsLine(SmallRun()) + "\n");
  EXPECT_EQ(blocks[3], PrometheusText(SmallRun()));
}

TEST(MetricsPageTest, ShowsTheLinesOfSourcesThatBeginAgain) {
  internal::EpochLines lines;
  std::string text;
  for (uint64_t step = 5200; step <= 5210; ++step) {
    if (step == 5200) {
      lines.Add(step, std::vector<internal::EpochNews>{{"wiki", 2, true},
                                                       {"small/code", 1}});
    } else if (step == 5207) {
      lines.Add(step, std::vector<internal::EpochNews>{{"small/math", 1}});
    }
    if (const auto line = lines.AfterStep(step)) text += *line + "\n";
  }
  EXPECT_EQ(BlocksOfThePage()[1], text);
}

TEST(LoaderMetricsTest, RatiosOfNothingAreZero) {
  EXPECT_EQ(LoaderMetrics().stall_share(), 0);
  EXPECT_EQ(LoaderMetrics().read_amplification(), 0);
  EXPECT_EQ(SmallRun().read_amplification(), 8);
  EXPECT_EQ(SmallRun().stall_share(), 0.2);
}

TEST(MetricsSinceTest, SubtractsWhatGrowsAndKeepsWhatIsNow) {
  const LoaderMetrics now = SmallRun();
  LoaderMetrics before = now;
  before.steps = 2;
  before.stall_seconds = 0.125;
  before.bytes_read = 24965824;
  before.sources[2].tokens = 2048;
  before.longest_stall_seconds = 0.125;
  before.batches_ready = 7;
  const LoaderMetrics interval = MetricsSince(before, now);
  EXPECT_EQ(interval.steps, 1u);
  EXPECT_EQ(interval.stall_seconds, 0.125);
  EXPECT_EQ(interval.bytes_read, 200000u);
  EXPECT_EQ(interval.sources[2].tokens, 4096u);
  EXPECT_EQ(interval.sources[2].path, "code");
  EXPECT_EQ(interval.samples, 0u);
  EXPECT_EQ(interval.longest_stall_seconds, 0.25);
  EXPECT_EQ(interval.batches_ready, 1u);
  EXPECT_EQ(interval.next_step, 3u);
}

TEST(MetricsSinceTest, RestartsAreSubtractedAndEpochsAreNow) {
  LoaderMetrics before = SmallRun();
  before.sources[2].epoch = 3;
  before.sources[2].restarts = 3;
  LoaderMetrics now = before;
  now.sources[2].epoch = 5;
  now.sources[2].restarts = 5;
  const LoaderMetrics interval = MetricsSince(before, now);
  EXPECT_EQ(interval.sources[2].epoch, 5u);
  EXPECT_EQ(interval.sources[2].restarts, 2u);
}

// Views of a component: a series may appear only once.
TEST(PrometheusTextTest, OfSourcesOfOnePathTheLatestEpochAndAllRestarts) {
  LoaderMetrics metrics;
  metrics.sources = {{.path = "web", .epoch = 2, .restarts = 2},
                     {.path = "web", .epoch = 5, .restarts = 3}};
  EXPECT_THAT(
      PrometheusText(metrics),
      AllOf(HasSubstr("poniente_loader_source_epoch{source=\"web\"} 5\n"),
            HasSubstr("# TYPE poniente_loader_source_epoch gauge\n"),
            HasSubstr(
                "poniente_loader_source_restarts_total{source=\"web\"} 5\n")));
}

// A number that MetricsSince() forgets would be the same in this interval.
TEST(MetricsSinceTest, FromTheBeginningIsEverythingAndFromNowNothing) {
  const LoaderMetrics now = SmallRun();
  EXPECT_EQ(PrometheusText(MetricsSince({}, now)), PrometheusText(now));
  const std::string nothing = PrometheusText(MetricsSince(now, now));
  for (const absl::string_view line : absl::StrSplit(nothing, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    if (line.find("_total") == absl::string_view::npos) continue;
    EXPECT_EQ(line.substr(line.size() - 2), " 0") << line;
  }
}

LoaderMetrics Interval(double stall, double consumer, double fetching,
                       double cpu) {
  LoaderMetrics interval;
  interval.steps = 10;
  interval.stall_seconds = stall;
  interval.consumer_seconds = consumer;
  interval.fetching_seconds = fetching;
  interval.cpu_seconds = cpu;
  interval.read_seconds = 4 * fetching;  // fetches wait for their turn
  return interval;
}

TEST(FindBottleneckTest, IsWhatOneWouldHaveToMakeFaster) {
  EXPECT_EQ(FindBottleneck({}), Bottleneck::kNone);
  EXPECT_EQ(FindBottleneck(Interval(0, 0, 0, 0)), Bottleneck::kConsumer);
  EXPECT_EQ(FindBottleneck(Interval(0, 10, 10, 10)), Bottleneck::kConsumer);
  EXPECT_EQ(FindBottleneck(Interval(0.9, 9.1, 10, 1)), Bottleneck::kConsumer);
  EXPECT_EQ(FindBottleneck(Interval(1.1, 8.9, 10, 1)), Bottleneck::kDisk);
  EXPECT_EQ(FindBottleneck(Interval(10, 0, 10, 4.9)), Bottleneck::kDisk);
  EXPECT_EQ(FindBottleneck(Interval(10, 0, 10, 5.1)), Bottleneck::kDecode);
  EXPECT_EQ(FindBottleneck(Interval(2, 8, 4, 3)), Bottleneck::kDecode)
      << "though the thread was idle for most of the time";
  LoaderMetrics crowded = Interval(10, 0, 10, 3);
  crowded.cpu_wait_seconds = 4;
  EXPECT_EQ(FindBottleneck(crowded), Bottleneck::kDecode);
  LoaderMetrics in_kernel = Interval(10, 0, 10, 8);
  in_kernel.kernel_seconds = 3.9;
  EXPECT_EQ(FindBottleneck(in_kernel), Bottleneck::kDecode);
  in_kernel.kernel_seconds = 4.1;
  EXPECT_EQ(FindBottleneck(in_kernel), Bottleneck::kKernel);
  EXPECT_EQ(BottleneckName(Bottleneck::kKernel), "kernel");
  in_kernel.cpu_wait_seconds = 1;
  EXPECT_EQ(FindBottleneck(in_kernel), Bottleneck::kDecode)
      << "it lacks a core";
  LoaderMetrics growing = Interval(10, 0, 10, 1);
  growing.read_seconds = 1;
  growing.length_seconds = 30;
  EXPECT_EQ(FindBottleneck(growing), Bottleneck::kWriter);
  LoaderMetrics waiting = Interval(10, 0, 10, 1);
  waiting.decode_seconds = waiting.read_seconds - 1;
  EXPECT_EQ(FindBottleneck(waiting), Bottleneck::kDisk);
  waiting.decode_seconds = waiting.read_seconds + 1;
  EXPECT_EQ(FindBottleneck(waiting), Bottleneck::kDecode)
      << "a function that waits";
}

TEST(FindBottleneckTest, IsADatasetThatTookHalfOfTheTimeToFetch) {
  LoaderMetrics waiting = Interval(10, 0, 10, 1);
  waiting.datasets = {{"web", "web", 4.9}};
  EXPECT_EQ(FindBottleneck(waiting), Bottleneck::kDisk);
  waiting.datasets = {{"web", "web", 5.1}};
  EXPECT_EQ(FindBottleneck(waiting), Bottleneck::kDataset);
  waiting.datasets = {{"a", "a", 2.5}, {"b", "b", 2.6}};
  EXPECT_EQ(FindBottleneck(waiting), Bottleneck::kDataset) << "together";
  waiting.cpu_seconds = 6;
  EXPECT_EQ(FindBottleneck(waiting), Bottleneck::kDecode) << "they computed";
  EXPECT_EQ(BottleneckName(Bottleneck::kDataset), "dataset");
}

TEST(MetricsSinceTest, SubtractsTheTimesOfDatasets) {
  LoaderMetrics before, now;
  before.datasets = {{"web", "mine", 1}};
  now.datasets = {{"web", "mine", 3}, {"code", "other", 5}};
  const LoaderMetrics interval = MetricsSince(before, now);
  ASSERT_EQ(interval.datasets.size(), 2u);
  EXPECT_EQ(interval.datasets[0].seconds, 2);
  EXPECT_EQ(interval.datasets[0].name, "mine");
  EXPECT_EQ(interval.datasets[1].seconds, 5);
}

TEST(MetricsLineTest, NamesTheSlowestDatasetIfDatasetsAreTheBottleneck) {
  LoaderMetrics interval = Interval(2, 0, 2, 0.01);
  interval.datasets = {{"big", "memory", 0.1},
                       {"small/mine", "my\nown", 1.9},
                       {"root", "root", 1.2}};
  EXPECT_THAT(MetricsLine(interval),
              HasSubstr("; dataset-bound (dataset 'my\\nown' at 'small/mine' "
                        "took 1.9 s of 2.0 s)"));
  interval.datasets.erase(interval.datasets.begin(),
                          interval.datasets.begin() + 2);
  EXPECT_THAT(MetricsLine(interval),
              HasSubstr("(dataset 'root' took 1.2 s of 2.0 s)"));
}

TEST(MetricsLineTest, ShowsTheSourcesWithTheMostTokens) {
  LoaderMetrics interval;
  for (int source = 0; source < 12; ++source) {
    const uint64_t tokens = source == 11 ? 0 : 10 * (source + 1);
    interval.sources.push_back({"s" + std::to_string(source), 1, tokens});
    interval.tokens += tokens;
  }
  interval.sources.push_back({"s3", 1, 340});  // a view of the same name
  interval.tokens += 340;
  const std::string line = MetricsLine(interval);
  EXPECT_THAT(line,
              HasSubstr("; tokens from s3 38.0 %, s10 11.0 %, s9 10.0 %"));
  EXPECT_THAT(line, HasSubstr("s4 5.0 % and 3 more"));
  EXPECT_THAT(line, Not(HasSubstr("s11")));
}

TEST(MetricsLineTest, StaysOneLineAndLeavesOutWhatThereWasNot) {
  LoaderMetrics interval;
  interval.sources = {{"new\nline", 1, 8}};
  interval.tokens = 8;
  EXPECT_EQ(MetricsLine(interval),
            "step 0: 0 steps, 0 samples, 8 tokens in 0.00 s (0 tokens/s); "
            "stalls 0.00 s (0.0 %, 0 of 0 steps); queue 0 ready, 0 under way; "
            "tokens from new\\nline 100.0 %");
}

// What the format asks for, read line by line: each family once, its series
// right behind its HELP and TYPE, no series twice, counters that end in _total.
void CheckFormat(const std::string& text) {
  const auto is_series = ::testing::MatchesRegex(
      "[a-zA-Z_:][a-zA-Z0-9_:]*"
      "(\\{([a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\]|\\\\[\\\"n])*\",?)+\\})?"
      " [0-9][0-9.e+-]*");
  ASSERT_TRUE(text.ends_with("\n"));
  std::set<std::string> families, seen;
  std::string family;
  const std::vector<std::string> lines =
      absl::StrSplit(text.substr(0, text.size() - 1), '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> words = absl::StrSplit(lines[i], ' ');
    if (words[0] == "#") {
      ASSERT_EQ(words[1], "HELP") << lines[i];
      family = words[2];
      EXPECT_TRUE(families.insert(family).second) << family;
      ASSERT_LT(++i, lines.size());
      EXPECT_EQ(lines[i],
                "# TYPE " + family +
                    (family.ends_with("_total") ? " counter" : " gauge"));
      continue;
    }
    EXPECT_THAT(lines[i], is_series);
    EXPECT_EQ(lines[i].substr(0, lines[i].find_first_of("{ ")), family);
    EXPECT_TRUE(seen.insert(lines[i].substr(0, lines[i].rfind(' '))).second)
        << lines[i];
  }
  EXPECT_GT(families.size(), 20u);
}

TEST(PrometheusTextTest, FollowsTheFormat) {
  CheckFormat(PrometheusText(LoaderMetrics()));
  CheckFormat(PrometheusText(SmallRun()));
  CheckFormat(
      PrometheusText(SmallRun(), {{"rank", "3"}, {"job", "a\"b\\c\n"}}));
}

TEST(PrometheusTextTest, EscapesLabels) {
  LoaderMetrics metrics;
  metrics.sources = {{"C:\\web\n\"x\" = {1}", 1, 8}, {"\xc3\xb1u", 2, 16}};
  const std::string text = PrometheusText(metrics);
  CheckFormat(text);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("poniente_loader_samples_total{source=\"C:\\\\web\\n"
                      "\\\"x\\\" = {1}\"} 1\n"),
            HasSubstr(
                "poniente_loader_tokens_total{source=\"\xc3\xb1u\"} 16\n")));
}

TEST(PrometheusTextTest, ReplacesWhatIsNoUtf8) {
  const auto shown = [](const std::string& path) {
    LoaderMetrics metrics;
    metrics.sources = {{path, 1, 1}};
    const std::string text = PrometheusText(metrics);
    const size_t begin = text.find("source=\"") + 8;
    return text.substr(begin, text.find("\"}", begin) - begin);
  };
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(shown("a\xff"
                  "b"),
            "a" + bad + "b");
  EXPECT_EQ(shown("\xc3"), bad);                      // cut short
  EXPECT_EQ(shown("\xc0\xaf"), bad + bad);            // too long for '/'
  EXPECT_EQ(shown("\xed\xa0\x80"), bad + bad + bad);  // half of a pair
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(shown("\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\xe2\x82\xac\xf0\x9f\x98\x80");
}

TEST(PrometheusTextTest, SourcesOfOneLabelAreOneSeries) {
  LoaderMetrics metrics;
  metrics.sources = {
      {"web", 1, 8}, {"\xff", 2, 16}, {"web", 4, 32}, {"\xfe", 8, 64}};
  const std::string text = PrometheusText(metrics);
  CheckFormat(text);
  EXPECT_THAT(text, HasSubstr("samples_total{source=\"web\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("samples_total{source=\"\xef\xbf\xbd\"} 10\n"));
}

TEST(PrometheusTextTest, DatasetsAreOneSeriesPerNameAndPath) {
  LoaderMetrics metrics;
  metrics.datasets = {
      {"web", "mine", 1.5}, {"web", "map", 2}, {"web", "mine", 0.25}};
  const std::vector<LabelledMetrics> loaders = {{metrics, {{"run", "train"}}},
                                                {metrics, {{"run", "valid"}}}};
  const std::string text = PrometheusText(loaders);
  CheckFormat(text);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("poniente_loader_dataset_seconds_total{run=\"train\","
                      "source=\"web\",dataset=\"map\"} 2\n"),
            HasSubstr("poniente_loader_dataset_seconds_total{run=\"valid\","
                      "source=\"web\",dataset=\"mine\"} 1.75\n")));
  EXPECT_THAT(PrometheusText(SmallRun()), Not(HasSubstr("dataset_seconds")))
      << "all is read from files";
}

TEST(PrometheusTextTest, PutsSeveralLoadersIntoOneText) {
  const std::vector<LabelledMetrics> loaders = {
      {SmallRun(), {{"run", "train"}}}, {SmallRun(), {{"run", "valid"}}}};
  const std::string text = PrometheusText(loaders);
  CheckFormat(text);
  EXPECT_THAT(text,
              AllOf(HasSubstr("poniente_loader_steps_total{run=\"train\"} 3\n"
                              "poniente_loader_steps_total{run=\"valid\"} 3\n"),
                    HasSubstr("{run=\"valid\",part=\"read\"} 0.96\n")));
}

TEST(PrometheusTextTest, MendsNamesOfLabels) {
  EXPECT_THAT(
      PrometheusText(LoaderMetrics(), {{"1 node-name", "x"}, {"", "y"}}),
      HasSubstr("steps_total{__node_name=\"x\",_=\"y\"} 0\n"));
}

}  // namespace
}  // namespace poniente
