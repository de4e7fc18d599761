// SPDX-License-Identifier: Apache-2.0
// What it costs to change a run while it goes on.
//
//   steering_bench [CHANGES [STEERED [ADDED]]]
//
// CHANGES (default 10000) changes of 64 weights, one by one: the memory of the
// plan and of the journal, the time of a change, and of look-ups both ways
// afterwards; then STEERED (default 300) changes of 200 weights by
// Loader::Steer() while batches are taken. Then ADDED components (default 20)
// are added to each. Times are of one thread, in microseconds: median and
// greatest.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "index/mixture/stage_plan.h"
#include "poniente/extend/opened_component.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "poniente/mixture_plan.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

class Times {
 public:
  template <class Function>
  void Add(Function function) {
    const auto begin = Clock::now();
    function();
    took_.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - begin)
            .count());
  }

  void Print(const char* what) {
    if (took_.empty()) return;
    std::sort(took_.begin(), took_.end());
    std::printf("%-44s median %8.2f  99 %% %8.2f  most %8.2f us\n", what,
                took_[took_.size() / 2], took_[took_.size() * 99 / 100],
                took_.back());
  }

 private:
  std::vector<double> took_;
};

double HeapMegabytes() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd) / 1e6;
}

std::map<std::string, double> AnyWeights(int components,
                                         std::mt19937_64& random) {
  std::map<std::string, double> weights;
  for (int c = 0; c < components; ++c) {
    weights[absl::StrCat("source-", c)] =
        static_cast<double>(1 + random() % 100000);
  }
  return weights;
}

// Adds components to a plan that has been changed up to the sample.
void MeasureAdditions(MixturePlan plan, uint64_t sample, int additions) {
  Times times;
  for (int i = 0; i < additions; ++i) {
    MixtureDecision decision;
    decision.start = plan.EarliestStart(sample += 1);
    decision.added = {{absl::StrCat("added-", i), 100, {}}};
    times.Add([&] { plan = Require(plan.With(std::span(&decision, 1))); });
  }
  times.Print("an addition to the plan");
}

void MeasurePlan(uint64_t changes, int additions) {
  constexpr int kComponents = 64;
  constexpr uint64_t kBetween = 4096;  // samples
  std::mt19937_64 random(1);
  std::vector<WeightedComponent> components;
  for (int c = 0; c < kComponents; ++c) {
    components.push_back({absl::StrCat("source-", c), 1, {}});
  }
  const double before = HeapMegabytes();
  MixturePlan plan = Require(MixturePlan::Create({}, components));
  Times change;
  for (uint64_t d = 1; d <= changes; ++d) {
    MixtureDecision decision;
    decision.start = d * kBetween;
    decision.weights = AnyWeights(kComponents, random);
    change.Add([&] { plan = Require(plan.With(std::span(&decision, 1))); });
  }
  std::printf("%lu changes of %d weights: plan %.1f MB\n", changes, kComponents,
              HeapMegabytes() - before);
  change.Print("a change of the plan");
  Times find;
  Times locate;
  const uint64_t samples = changes * kBetween;
  uint64_t wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    const uint64_t sample = random() % samples;
    Draw draw;
    locate.Add([&] { draw = plan.stages()->At(sample, 7); });
    std::optional<uint64_t> found;
    find.Add([&] {
      found = plan.stages()->FindSample(draw.component, draw.ordinal, 7);
    });
    wrong += found != sample ? 1 : 0;
  }
  Require(wrong == 0 ? absl::OkStatus()
                     : absl::InternalError("a look-up was not inverted"));
  MeasureAdditions(plan, samples, additions);
  locate.Print("sample -> source and draw, cold");
  find.Print("source and draw -> sample");

  const double journal_before = HeapMegabytes();
  Journal journal;
  Times append;
  for (uint64_t d = 1; d <= changes; ++d) {
    const RunChange one = RunChange::Weights(AnyWeights(kComponents, random));
    append.Add([&] {
      Require(journal.Append(
          Require(journal.LineOf(one, d * kBetween, d * kBetween / 64))));
    });
  }
  std::printf("journal: %.1f MB of text, %.1f MB of memory\n",
              static_cast<double>(journal.bytes().size()) / 1e6,
              HeapMegabytes() - journal_before);
  append.Print("an entry of the journal");
  Times parse;
  parse.Add([&] { Require(Journal::Parse(journal.bytes())); });
  parse.Print("reading the whole journal");
}

void MeasureLoader(uint64_t changes, int additions) {
  constexpr int kComponents = 200;
  constexpr uint32_t kLength = 128;
  std::vector<MixtureComponent<TokenWindow>> components;
  ScheduleOptions options;
  for (int c = 0; c < kComponents; ++c) {
    std::vector<TokenWindow> windows(
        50, TokenWindow(std::vector<uint32_t>(kLength, 1)));
    MixtureComponent<TokenWindow>& one = components.emplace_back();
    one.name = absl::StrCat("source-", c);
    one.dataset = InMemoryDataset<TokenWindow>::Create(std::move(windows));
    options.components.push_back({one.name, 1, {}});
  }
  options.batch_size = 64;
  options.seq_len = kLength;
  const Schedule schedule = Require(Schedule::Create(options));
  LoaderOptions quiet;
  quiet.journal_sink = [](std::string_view) { return absl::OkStatus(); };
  quiet.log_sink = [](std::string_view) {};
  quiet.component_opener =
      [](const std::string&,
         const ComponentText& text) -> absl::StatusOr<OpenedComponent> {
    std::vector<TokenWindow> windows(
        50, TokenWindow(std::vector<uint32_t>(kLength, 1)));
    OpenedComponent opened;
    opened.part.component.name = text.name;
    opened.part.component.dataset =
        InMemoryDataset<TokenWindow>::Create(std::move(windows));
    return opened;
  };
  auto loader = Require(
      Loader::Create(Require(MixtureDataset<TokenWindow>::Create(
                         std::move(components), schedule.mixture_options())),
                     schedule, quiet));
  std::mt19937_64 random(2);
  Times steer;
  Times calm;
  Times after;
  for (uint64_t round = 0; round < changes; ++round) {
    for (int i = 0; i < 50; ++i) {
      calm.Add([&] { Require(loader->NextBlocking()); });
    }
    const RunChange change =
        RunChange::Weights(AnyWeights(kComponents, random));
    steer.Add([&] { Require(loader->Steer(change)); });
    after.Add([&] { Require(loader->NextBlocking()); });
  }
  Times add;
  for (int i = 0; i < additions; ++i) {
    Require(loader->NextBlocking());
    const RunChange change = RunChange::Add(absl::StrCat("added-", i), "{}");
    add.Add([&] { Require(loader->Steer(change)); });
  }
  std::printf("loader over %d sources in memory, batches of 64\n", kComponents);
  steer.Print("Steer()");
  add.Print("Steer() that adds a component");
  calm.Print("NextBlocking()");
  after.Print("the first NextBlocking() after a change");
}

}  // namespace

int Main(int argc, char** argv) {
  const int additions = argc > 3 ? std::atoi(argv[3]) : 20;
  MeasurePlan(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000,
              additions);
  MeasureLoader(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 300,
                additions);
  return 0;
}

}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
