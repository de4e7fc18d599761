// SPDX-License-Identifier: Apache-2.0
// Configurations with something wrong in them: whatever is changed, Parse()
// gives a configuration or an error with a place, and never ends the process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "poniente/config.h"
#include "poniente/run_trace.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

constexpr const char* kTexts[] = {R"([data]
seed = 1
total_tokens = 900_000
batch_size = 16
seq_len = 8
max_seq_len = 32
shares_of = "tokens"
block_size = 64
temperature = 2.0
weight_rule = "sizes"
stop = "restart"
group_items = 3
trim = false
last_batch = "drop"
[data.nodes]
n = { tokens = 9000, slice = [3, 200] }
[data.mixture]
a = { tokens = 12e3, weight = 3, block_shuffle = { chunk_tokens = 96, window_chunks = 2 } }
b = { use = "n", weight = 1, max_epochs = 90, filter = { fraction = 0.5 } }
c = { weight = 1, concat = [ { tokens = 320 }, { tokens = 640, era_shuffle = 4 } ], take = 20, repeat = 2 }
[data.mixture.m]
weight = 1
take = 100
mixture = { x = { tokens = 500, weight = 1 }, y = { tokens = 900, weight = 2 } }
stages = [ { start_sample = 30, weights = { x = 3 }, ramp_samples = 10, ramp_blocks = 1 } ]
[[data.stages]]
share = 0.5
name = "one"
lr_scale = 0.5
[[data.stages]]
share = 0.5
seq_len = 16
batch_size = 8
weights = { a = 1, m = 0 }
ramp_share = 0.1
ramp_centred = true
lr_scale_end = 0.1
temperature = inf
[[data.batch_sizes]]
start_share = 0.75
batch_size = 4
[[data.seq_lens]]
start_token = -9000
seq_len = 32
[runtime]
prefetch_batches = 2
)",
                                  R"([train]
batch_size = 4
grad_accum_steps = 2
seq_len = 32
max_steps = 100
[distributed]
dp_shard = 2
[data]
mix_temperature = 1.5
[[data.datasets]]
name = "a"
tokens = 5000
weight = 0.7
[[data.datasets]]
name = "b"
tokens = 900
[[data.phases]]
start_step = 10
dataset_weights = { a = 0.0 }
lr_scale = 0.5
[[data.phases]]
start_step = 20
dataset_weights = { b = 3.5 }
)"};

constexpr const char* kValues[] = {
    "0",
    "1",
    "2",
    "-1",
    "7",
    "31",
    "32",
    "33",
    "4096",
    "65537",
    "1e9",
    "0.5",
    "1e308",
    "-0.0",
    "5e-324",
    "inf",
    "-inf",
    "nan",
    "''",
    "'a'",
    "true",
    "[]",
    "{}",
    "[1, 2]",
    "4294967295",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "4611686018427387903",
    "[0, 9223372036854775807]",
    "{ a = 1 }",
    "1979-05-27",
    "1_000_000_000_000",
    "0.999999999999",
};

std::string Mutated(const std::string& text, std::mt19937_64& random) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  const auto pick = [&random](size_t n) { return random() % n; };
  for (size_t changes = 1 + pick(3); changes > 0; --changes) {
    const size_t at = pick(lines.size());
    switch (pick(5)) {
      case 0:
        lines.erase(lines.begin() + static_cast<ptrdiff_t>(at));
        break;
      case 1:
        std::swap(lines[at], lines[pick(lines.size())]);
        break;
      default: {
        // Another value behind one of the line's equal signs.
        std::vector<size_t> equals;
        for (size_t i = 0; i < lines[at].size(); ++i) {
          if (lines[at][i] == '=') equals.push_back(i);
        }
        if (equals.empty()) break;
        const size_t begin = equals[pick(equals.size())] + 1;
        size_t end = lines[at].find_first_of(",}", begin);
        if (end == std::string::npos) end = lines[at].size();
        lines[at].replace(
            begin, end - begin,
            absl::StrCat(" ", kValues[pick(std::size(kValues))], " "));
      }
    }
    if (lines.empty()) lines.emplace_back();
  }
  return absl::StrJoin(lines, "\n");
}

TEST(ConfigMutationTest, WhateverIsChangedNothingEndsTheProcess) {
  size_t good = 0;
  const uint64_t first = testing::TestSeed(0);
  for (uint64_t seed = first; seed < first + 3000; ++seed) {
    std::mt19937_64 random(seed);
    const std::string text = Mutated(kTexts[seed % std::size(kTexts)], random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", text));
    const auto config = Config::Parse(text, "t.toml", "/nowhere");
    if (!config.ok()) {
      EXPECT_THAT(std::string(config.status().message()),
                  ::testing::StartsWith("t.toml:"));
      continue;
    }
    ++good;
    EXPECT_TRUE(Config::Parse(config->ToToml(), "p.toml", "/").ok())
        << config->ToToml();
    const RunTrace trace(*config->dataset(), config->schedule());
    for (const uint64_t step : {uint64_t{0}, config->schedule().steps() / 2}) {
      if (!config->schedule().Has(step) ||
          config->schedule().At(step).batch_size > 4096) {
        continue;
      }
      const auto samples = trace.Resolve(step);
      EXPECT_TRUE(samples.ok() || absl::IsOutOfRange(samples.status()))
          << samples.status();
    }
  }
  EXPECT_GT(good, 300u);
}

}  // namespace
}  // namespace poniente
