// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/large_run.h"

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/measure/require.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/token_source.h"

namespace poniente::bench {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

constexpr uint64_t kRunTokens = 14'000'000'000'000;
constexpr uint32_t kMaxSeqLen = 32768;
constexpr size_t kPlain = 100;
constexpr size_t kNested = 60;
constexpr size_t kFlat = 40;
constexpr size_t kShards = 250;

class LargeRunBuilder {
 public:
  TracedRun Build() {
    std::vector<MixtureComponent<TokenWindow>> components;
    const auto add = [&](const char* kind, size_t number, Tokens dataset,
                         double weight) {
      components.push_back({absl::StrFormat("%s-%03d", kind, number),
                            std::move(dataset), weight});
    };
    for (size_t i = 0; i < kPlain; ++i) {
      const bool is_tiny = i < 4;
      add("web", i, Source(is_tiny ? 10'000'000 : Tokens10(8, 12)),
          is_tiny ? 0.001 : LogUniform(-3, 0));
    }
    for (size_t i = 0; i < kNested; ++i) {
      add("books", i, NestedMixture(), LogUniform(-3, 0));
    }
    for (size_t i = 0; i < kFlat; ++i) {
      add("code", i, Shards(), LogUniform(-3, 0));
    }
    const Schedule schedule = MakeSchedule(components);
    const Tokens root = Require(MixtureDataset<TokenWindow>::Create(
        std::move(components), schedule.mixture_options()));
    return TracedRun(root, schedule, SourcesOf(*root));
  }

 private:
  double LogUniform(double from, double to) {
    return std::pow(10, std::uniform_real_distribution<>(from, to)(random_));
  }
  uint64_t Tokens10(double from, double to) {
    return static_cast<uint64_t>(LogUniform(from, to));
  }

  Tokens Source(uint64_t tokens) {
    Tokens made =
        Require(DeclaredWindows("tokens", tokens, kMaxSeqLen, std::nullopt));
    tokens_[made.get()] = tokens;
    return made;
  }

  Tokens NestedMixture() {
    std::vector<MixtureComponent<TokenWindow>> components;
    const size_t count = 3 + random_() % 6;
    for (size_t i = 0; i < count; ++i) {
      components.push_back({absl::StrFormat("part-%d", i),
                            Source(Tokens10(8, 11)), LogUniform(-2, 0)});
    }
    return Require(MixtureDataset<TokenWindow>::Create(std::move(components)));
  }

  Tokens Shards() {
    std::vector<NamedDataset<TokenWindow>> shards;
    for (size_t i = 0; i < kShards; ++i) {
      shards.push_back(
          {absl::StrFormat("shard-%05d", i), Source(Tokens10(8, 9.5))});
    }
    return Require(FlatMixture<TokenWindow>::Create(std::move(shards)));
  }

  Schedule MakeSchedule(
      const std::vector<MixtureComponent<TokenWindow>>& components) {
    ScheduleOptions options;
    options.tokens = kRunTokens;
    options.batch_size = 1024;
    options.seq_len = 4096;
    options.max_seq_len = kMaxSeqLen;
    options.seq_lens = {{RunPoint::ShareOfTokens(0.6), 8192},
                        {RunPoint::ShareOfTokens(0.95), kMaxSeqLen}};
    options.batch_sizes = {{RunPoint::ShareOfTokens(0.01), 2048},
                           {RunPoint::ShareOfTokens(0.1), 4096}};
    std::map<std::string, double> upward, downward;
    for (const auto& component : components) {
      options.components.push_back({component.name, component.weight, {}});
      upward[component.name] = component.weight * LogUniform(-0.3, 0.3);
      downward[component.name] = component.weight * LogUniform(-0.5, 0.1);
    }
    ScheduleStage middle;
    middle.start = RunPoint::ShareOfTokens(0.5);
    middle.name = "middle";
    middle.weights = upward;
    ScheduleStage anneal;
    anneal.start = RunPoint::ShareOfTokens(0.9);
    anneal.name = "anneal";
    anneal.lr_scale_end = 0;
    anneal.ramp = RunPoint::ShareOfTokens(0.01);
    anneal.weights = downward;
    options.stages = {middle, anneal};
    return Require(Schedule::Create(std::move(options)));
  }

  std::vector<ConfigSource> SourcesOf(const DatasetNode& root) const {
    std::vector<ConfigSource> sources;
    const DatasetTree tree(root);
    for (const TreeLeaf& leaf : tree.leaves()) {
      sources.push_back({leaf.path, "", tokens_.at(leaf.node), nullptr});
    }
    return sources;
  }

  std::mt19937_64 random_{14};
  std::map<const DatasetNode*, uint64_t> tokens_;
};

}  // namespace

TracedRun LargeRun() { return LargeRunBuilder().Build(); }

}  // namespace poniente::bench
