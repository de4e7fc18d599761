// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/plan_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"
#include "bench/readers/command_output.h"
#include "bench/runs/bench_tree.h"
#include "index/keyed_hash.h"
#include "poniente/async_dataset.h"
#include "poniente/dataset_tree.h"
#include "poniente/mixture_dataset.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"
#include "poniente/transforms.h"

namespace poniente::bench {
namespace {

constexpr uint64_t kShards = 50;  // of a component
constexpr uint64_t kSteps = 4000;

// Windows that nobody can read.
class VirtualShard final : public AsyncDataset<TokenWindow> {
 public:
  VirtualShard(uint64_t number, uint64_t windows)
      : number_(number), windows_(windows) {}

  std::string name() const override { return absl::StrCat("shard ", number_); }
  const Vocabulary* vocabulary() const override {
    static const Vocabulary* const kept = new Vocabulary{"bench", 65536};
    return kept;
  }
  uint32_t item_tokens() const override { return kSeqLen; }
  uint64_t fingerprint() const override {
    return internal::Derive(number_, internal::Tag("shard"), windows_);
  }
  LengthState length_now() const override {
    return LengthState::Final(windows_);
  }
  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index>) const override {
    co_return absl::UnimplementedError("a virtual shard holds no tokens");
  }

 private:
  const uint64_t number_;
  const uint64_t windows_;
};

DatasetPtr<TokenWindow> MakeComponent(uint64_t number, uint64_t windows) {
  std::vector<NamedDataset<TokenWindow>> shards;
  for (uint64_t i = 0; i < kShards; ++i) {
    const uint64_t part = windows / kShards + (i < windows % kShards);
    shards.push_back(
        {"", std::make_shared<VirtualShard>(number * kShards + i, part)});
  }
  return Require(Concat(std::move(shards)));
}

DatasetPtr<TokenWindow> MakeMixture(uint64_t tokens) {
  const std::vector<double> shares = LognormalShares(kManyComponents);
  std::vector<MixtureComponent<TokenWindow>> components(shares.size());
  for (size_t i = 0; i < shares.size(); ++i) {
    const double windows = shares[i] * static_cast<double>(tokens) / kSeqLen;
    components[i].name = absl::StrCat("component ", i);
    components[i].weight = shares[i];
    components[i].dataset = MakeComponent(
        i, std::max(kShards, static_cast<uint64_t>(std::llround(windows))));
  }
  return Require(MixtureDataset<TokenWindow>::Create(std::move(components)));
}

// What /proc/self/status says of the most resident memory, in MB.
double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atof(&line[6]) * 1024 / 1e6;
  }
  Require(absl::NotFoundError("/proc/self/status does not tell VmHWM"));
  return 0;
}

void ResolveStep(const DatasetTree& tree, const StepPlan& plan) {
  std::vector<Position> positions(plan.batch_size);
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i].index = plan.first_sample + i;
  }
  std::vector<LeafPosition> items(positions.size());
  Require(tree.Resolve(positions, items));
  const auto found = Require(tree.Find(items[0]));
  if (found != positions[0]) {
    Require(absl::InternalError(
        absl::StrCat("sample ", plan.first_sample, " is not found again")));
  }
}

}  // namespace

void PrintPlanMegabytes(uint64_t tokens) {
  const DatasetPtr<TokenWindow> mixture = MakeMixture(tokens);
  ScheduleOptions options;
  options.tokens = tokens;
  options.batch_size = kBatchWindows;
  options.seq_len = kSeqLen;
  const Schedule schedule = Require(Schedule::Create(options));
  const DatasetTree tree(*mixture);
  Require(tree.CheckEpochs(schedule.samples()));
  const uint64_t steps = schedule.steps();
  for (uint64_t i = 0; i < kSteps; ++i) {
    ResolveStep(tree,
                schedule.At(steps / kSteps * i + steps % kSteps * i / kSteps));
  }
  std::printf("%.6f\n", PeakMegabytes());
}

void MeasurePlanMemory(int processes, const ArgumentsOfTokens& arguments,
                       std::vector<Bar>* bars) {
  const auto measure = [&](uint64_t tokens) {
    return NumberFromSelf(arguments(tokens));
  };
  std::vector<double> whole;
  std::vector<double> thousandth;
  std::vector<double> differences;
  for (int i = 0; i < processes; ++i) {
    whole.push_back(measure(kPlannedTokens));
    thousandth.push_back(measure(kPlannedTokens / 1000));
    differences.push_back(std::abs(whole.back() - thousandth.back()));
  }
  std::printf("plan of 14e12 tokens: %.1f MB resident; of 14e9: %.1f MB\n",
              Median(whole), Median(thousandth));
  bars->push_back({"MB between plans of 14e12 and 14e9 tokens", differences,
                   Bar::Limit::kAtMost, 10});
}

}  // namespace poniente::bench
